package events_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"parapet/internal/events"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/uid"
)

// BenchmarkDispatch moves ten thousand events to three subscribers, which execute one
// statement per batch.
func BenchmarkDispatch(b *testing.B) {
	const n = 10_000
	db := pgtest.New(b)
	createTakenTable(b, db)
	module, tenant := db.Pool(b, postgres.RoleTracker), uid.New()
	d := dispatcher(b, db, nil, recordingSubscriber("one", nil), recordingSubscriber("two", nil), recordingSubscriber("three", nil))
	var list []events.Event
	for i := range n {
		list = append(list, numberedEvent(tenant, fmt.Sprint("a", i%100), fmt.Sprint(i)))
	}
	for b.Loop() {
		b.StopTimer()
		publish(b, module, tenant, list...)
		b.StartTimer()
		if moved, err := d.Drain(b.Context()); err != nil || moved != n {
			b.Fatal(moved, err)
		}
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkBacklog delivers 20,000 pending events to three subscribers. It starts
// with statements that the server planned for an empty queue.
func BenchmarkBacklog(b *testing.B) {
	const n = 20_000
	for b.Loop() {
		b.StopTimer()
		db := pgtest.New(b)
		owner := createTakenTable(b, db)
		module, tenant := db.Pool(b, postgres.RoleTracker), uid.New()
		d := dispatcher(b, db, nil, recordingSubscriber("one", nil), recordingSubscriber("two", nil), recordingSubscriber("three", nil))
		planForEmptyTables(b, owner, d)
		for from := 0; from < n; from += 5000 {
			var list []events.Event
			for i := from; i < from+5000; i++ {
				list = append(list, numberedEvent(tenant, fmt.Sprint("a", i%1000), fmt.Sprint(i)))
			}
			publish(b, module, tenant, list...)
		}
		b.StartTimer()
		if moved, err := d.Drain(b.Context()); err != nil || moved != n {
			b.Fatal(moved, err)
		}
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkLatencyAtRate measures the time from commit to effect at a steady 300 events a
// second, for ten seconds.
func BenchmarkLatencyAtRate(b *testing.B) {
	const rate, n = 300, 3000
	db := pgtest.New(b)
	createTakenTable(b, db)
	module, tenant := db.Pool(b, postgres.RoleTracker), uid.New()
	var mu sync.Mutex
	committed, taken := map[op.UUID]time.Time{}, map[op.UUID]time.Time{}
	all := make(chan struct{})
	d := dispatcher(b, db, nil, recordingSubscriber("s", func(_ context.Context, list []events.Event) error {
		mu.Lock()
		defer mu.Unlock()
		for _, e := range list {
			taken[e.ID] = time.Now()
		}
		if len(taken) == n {
			close(all)
		}
		return nil
	}))
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = d.Run(ctx) }()
	for b.Loop() {
		clear(taken)
		tick := time.NewTicker(time.Second / rate)
		var writers sync.WaitGroup
		for i := range n {
			<-tick.C
			writers.Go(func() {
				e := numberedEvent(tenant, fmt.Sprint("a", i), "1")
				e.ID = uid.New()
				publish(b, module, tenant, e)
				mu.Lock()
				committed[e.ID] = time.Now()
				mu.Unlock()
			})
		}
		writers.Wait()
		<-all
		tick.Stop()
	}
	var took []time.Duration
	for id, at := range taken {
		took = append(took, max(at.Sub(committed[id]), 0))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	stop()
	<-ended
}

// BenchmarkAppend writes one event per transaction.
func BenchmarkAppend(b *testing.B) {
	db := pgtest.New(b)
	module, tenant := db.Pool(b, postgres.RoleTracker), uid.New()
	for b.Loop() {
		publish(b, module, tenant, numberedEvent(tenant, "a", "1"))
	}
}

// BenchmarkLatency measures the time from commit to effect after a notification.
func BenchmarkLatency(b *testing.B) {
	db := pgtest.New(b)
	createTakenTable(b, db)
	module, tenant := db.Pool(b, postgres.RoleTracker), uid.New()
	taken := make(chan struct{}, 1)
	d := dispatcher(b, db, nil, recordingSubscriber("s", func(context.Context, []events.Event) error { taken <- struct{}{}; return nil }))
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = d.Run(ctx) }()
	publish(b, module, tenant, numberedEvent(tenant, "a", "0"))
	<-taken
	time.Sleep(time.Second) // until the dispatcher waits for its next tick
	for b.Loop() {
		publish(b, module, tenant, numberedEvent(tenant, "a", "1"))
		<-taken
	}
	stop()
	<-ended
}
