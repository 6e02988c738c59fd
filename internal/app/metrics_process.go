package app

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"parapet/internal/clock"
	"parapet/internal/postgres"
	"parapet/jobs"
)

// newBuildInfo returns a gauge that is always 1. Its labels name the program that runs.
func newBuildInfo(version string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "parapet_build_info", Help: "Version of the program; the value is always 1.",
		ConstLabels: prometheus.Labels{"version": version, "revision": sourceRevision(), "goversion": runtime.Version()},
	}, func() float64 { return 1 })
}

// sourceRevision returns the commit from which the program was built, or "unknown".
func sourceRevision() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
}

// keyCountLifetime is how long counted keys are reported again, because counting reads keys of
// all tenants and scrapes are frequent.
const keyCountLifetime = 5 * time.Minute

// keyCollector collects the number of keys that expire soon. It reports numbers only, because
// /metrics needs no credential.
type keyCollector struct {
	pool  postgres.Querier
	clock clock.Clock
	keys  *prometheus.GaugeVec

	mu      sync.Mutex
	counted time.Time
}

func newKeyCollector(pool postgres.Querier, c clock.Clock) *keyCollector {
	return &keyCollector{pool: pool, clock: c, keys: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "parapet_service_keys_expiring", Help: "Active keys of service principals in all tenants that expire within this time.",
	}, []string{"within"})}
}

// Describe implements prometheus.Collector.
func (k *keyCollector) Describe(ch chan<- *prometheus.Desc) { k.keys.Describe(ch) }

// Collect implements prometheus.Collector. It omits the metric if the database does not provide
// it in time.
func (k *keyCollector) Collect(ch chan<- prometheus.Metric) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.clock.Now(); k.counted.IsZero() || now.Sub(k.counted) >= keyCountLifetime {
		ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
		defer cancel()
		n, err := jobs.CountExpiringKeys(ctx, k.pool, now)
		if err != nil {
			k.counted = time.Time{}
			return
		}
		k.keys.WithLabelValues("1d").Set(float64(n.Day))
		k.keys.WithLabelValues("3d").Set(float64(n.ThreeDays))
		k.keys.WithLabelValues("14d").Set(float64(n.TwoWeeks))
		k.counted = now
	}
	k.keys.Collect(ch)
}
