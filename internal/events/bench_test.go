package events_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"parapet/internal/events"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/uid"
)

// BenchmarkDispatch moves ten thousand events to three subscribers, whose effect
// is one statement a batch.
func BenchmarkDispatch(b *testing.B) {
	const n = 10_000
	db := pgtest.New(b)
	withTaken(b, db)
	module, tenant := db.Pool(b, postgres.RoleTracker), uid.New()
	d := dispatcher(b, db, nil, collector("one", nil), collector("two", nil), collector("three", nil))
	var list []events.Event
	for i := range n {
		list = append(list, numbered(tenant, fmt.Sprint("a", i%100), fmt.Sprint(i)))
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

// BenchmarkAppend writes one event a transaction.
func BenchmarkAppend(b *testing.B) {
	db := pgtest.New(b)
	module, tenant := db.Pool(b, postgres.RoleTracker), uid.New()
	for b.Loop() {
		publish(b, module, tenant, numbered(tenant, "a", "1"))
	}
}

// BenchmarkLatency is the time from the commit to the effect, woken by a notice.
func BenchmarkLatency(b *testing.B) {
	db := pgtest.New(b)
	withTaken(b, db)
	module, tenant := db.Pool(b, postgres.RoleTracker), uid.New()
	taken := make(chan struct{}, 1)
	d := dispatcher(b, db, nil, collector("s", func(context.Context, []events.Event) error { taken <- struct{}{}; return nil }))
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = d.Run(ctx) }()
	publish(b, module, tenant, numbered(tenant, "a", "0"))
	<-taken
	time.Sleep(time.Second) // until it sleeps between its ticks
	for b.Loop() {
		publish(b, module, tenant, numbered(tenant, "a", "1"))
		<-taken
	}
	stop()
	<-ended
}
