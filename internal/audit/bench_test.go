package audit_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"parapet/internal/audit"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/uid"
)

// BenchmarkAppend writes one entry per transaction, with eight writers: into one chain and
// into a hundred chains.
func BenchmarkAppend(b *testing.B) {
	for _, chains := range []int{1, 100} {
		b.Run(fmt.Sprintf("chains=%d", chains), func(b *testing.B) {
			db := pgtest.New(b)
			pool := db.PoolWith(b, postgres.Config{URL: db.RoleURL(postgres.RoleTracker), MaxConns: 8})
			tenants := make([]op.UUID, chains)
			for i := range tenants {
				tenants[i] = uid.New()
			}
			var n atomic.Int64
			var running sync.WaitGroup
			b.ResetTimer()
			for range 8 {
				running.Go(func() {
					for i := n.Add(1); i <= int64(b.N); i = n.Add(1) {
						tenant := tenants[i%int64(chains)]
						if err := write(b.Context(), pool, tenant, entry(tenant, int(i))); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			running.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}

// BenchmarkBulk writes ten thousand entries in one transaction.
func BenchmarkBulk(b *testing.B) {
	db := pgtest.New(b)
	pool, tenant := db.Pool(b, postgres.RoleTracker), uid.New()
	const n = 10_000
	list := repeatEntry(entry(tenant, 1), n)
	for b.Loop() {
		mustWrite(b, pool, tenant, list...)
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "entries/s")
}

// BenchmarkVerify verifies a chain of fifty thousand entries.
func BenchmarkVerify(b *testing.B) {
	db := pgtest.New(b)
	pool, jobs, tenant := db.Pool(b, postgres.RoleTracker), db.Pool(b, postgres.RoleJobs), uid.New()
	const n = 50_000
	mustWrite(b, pool, tenant, repeatEntry(entry(tenant, 1), n)...)
	for b.Loop() {
		report, err := audit.Verify(b.Context(), jobs, "", nil)
		if err != nil || report.Entries != n || len(report.Problems) > 0 {
			b.Fatal(report, err)
		}
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "entries/s")
}
