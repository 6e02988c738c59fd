package webhook

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"parapet/internal/clock"
	"parapet/internal/events"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/jobs"
)

// eventJobArgs are the arguments of a job that sends one event to all receivers.
type eventJobArgs struct {
	Event op.UUID `json:"event"`
}

// Kind implements jobs.Args.
func (eventJobArgs) Kind() string { return "benchmark_event" }

// benchmarkEvents is how many events one iteration publishes.
const benchmarkEvents = 2000

// BenchmarkDeliver delivers events to three receivers: with one job per webhook, as the product
// does, and for comparison with one job per event, without decisions and without a log.
func BenchmarkDeliver(b *testing.B) {
	b.Run("job per webhook", func(b *testing.B) {
		benchmarkDelivery(b, func(w *world, urls []string) jobs.Deps {
			for _, url := range urls {
				w.create("SECRET", url)
			}
			m := w.service.Module()
			return jobs.Deps{Jobs: m.Jobs, Triggers: m.Triggers}
		})
	})
	b.Run("job per event", func(b *testing.B) {
		benchmarkDelivery(b, func(w *world, urls []string) jobs.Deps {
			send := func(ctx context.Context, a eventJobArgs) (time.Duration, error) {
				for _, url := range urls {
					w.service.sender.send(ctx, url, a.Event, time.Now(), []byte(`{}`), []byte("key"))
				}
				return 0, nil
			}
			return jobs.Deps{
				Jobs: []jobs.Job{jobs.New(jobs.Settings{Queue: "benchmark", Workers: workers}, send)},
				Triggers: []jobs.Trigger{{Name: "benchmark", Types: []string{"projects.*"}, Args: func(e events.Event) (jobs.Args, error) {
					return eventJobArgs{e.ID}, nil
				}}},
			}
		})
	})
}

func benchmarkDelivery(b *testing.B, newDeps func(w *world, urls []string) jobs.Deps) {
	b.Helper()
	w := newWorld(b, func(d *Deps) { d.Clock = clock.System{} })
	var received, want atomic.Int64
	reached := make(chan struct{}, 1)
	var urls []string
	for range 3 {
		s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			if received.Add(1) == want.Load() {
				reached <- struct{}{}
			}
			rw.WriteHeader(http.StatusNoContent)
		}))
		b.Cleanup(s.Close)
		urls = append(urls, s.URL)
	}
	deps := newDeps(w, urls)
	deps.Pool = w.db.PoolWith(b, postgres.Config{URL: w.db.RoleURL(postgres.RoleJobs), MaxConns: 16})
	runner, err := jobs.Start(b.Context(), deps)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(b.Context()), time.Minute)
		defer cancel()
		if err := runner.Stop(ctx); err != nil {
			b.Error(err)
		}
	})
	list := make([]events.Event, benchmarkEvents)
	for b.Loop() {
		for i := range list {
			list[i] = events.Event{
				Type: "projects.task.created", TenantID: seeded.acme["tenant"], AggregateType: "task", AggregateID: "x", Payload: []byte(`{"classification":"UNCLASSIFIED"}`),
			}
		}
		want.Store(received.Load() + 3*benchmarkEvents)
		err := w.db.Pool(b, postgres.RoleTracker).InTx(b.Context(), string(seeded.acme["tenant"]), nil, func(tx *postgres.Tx) error {
			return events.Append(b.Context(), tx, list)
		})
		if err != nil {
			b.Fatal(err)
		}
		<-reached
	}
	b.ReportMetric(float64(benchmarkEvents*b.N)/b.Elapsed().Seconds(), "events/s")
}
