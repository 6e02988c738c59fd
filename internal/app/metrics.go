package app

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"parapet/internal/admission"
	"parapet/internal/events"
	"parapet/internal/postgres"
	"parapet/jobs"
)

const scrapeTimeout = 2 * time.Second

// collector collects the metrics of all components for /metrics.
type collector struct {
	app                                         *App
	decisions, failures, reloads                *prometheus.Desc
	logged, dropped                             *prometheus.Desc
	undispatched, undelivered, parked, poolConn *prometheus.Desc
	// Metrics of the admission queues. They are labelled by role and lane, never by tenant.
	poolLimit, poolHeld, poolWaiting, poolRefused, poolWait *prometheus.Desc
}

func newCollector(a *App) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("parapet_"+name, help, labels, nil)
	}
	return &collector{
		app:          a,
		decisions:    desc("decisions_total", "Decisions, by result.", "result"),
		failures:     desc("decision_failures_total", "Policy evaluations that failed and therefore denied, by reason.", "reason"),
		reloads:      desc("policy_reloads_total", "Policy reloads, by result.", "result"),
		logged:       desc("decision_log_written_total", "Decisions written to the decision log."),
		dropped:      desc("decision_log_dropped_total", "Decisions that were not written to the decision log."),
		undispatched: desc("outbox_undispatched", "Events that are not yet in any subscriber's queue."),
		undelivered:  desc("outbox_undelivered", "Deliveries in the subscribers' queues."),
		parked:       desc("outbox_parked", "Deliveries that failed too often."),
		poolConn:     desc("pool_connections", "Connections to the database, by role and state.", "role", "state"),
		poolLimit:    desc("pool_limit", "Limits of a pool, in connections; tenant_queue is in requests.", "role", "limit"),
		poolHeld:     desc("pool_admitted", "Requests that use a connection, by lane.", "role", "lane"),
		poolWaiting:  desc("pool_waiting", "Requests that wait for a connection, by lane.", "role", "lane"),
		poolRefused:  desc("pool_refused_total", "Requests rejected with 503: the tenant's queue was full, or the wait for a connection timed out.", "role", "lane", "reason"),
		poolWait:     desc("pool_wait_seconds", "Time that requests waited for a connection before they got it, by lane.", "role", "lane"),
	}
}

// newCheckpointCounter counts the attempts of this process to sign a checkpoint of
// the audit chains. Every result exists from the start, so that an alert on "refused"
// has a series.
func newCheckpointCounter() *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "parapet_audit_checkpoints_total", Help: "Attempts to sign a checkpoint of the audit chains, by result; refused: a chain failed verification.",
	}, []string{"result"})
	for _, result := range []string{jobs.CheckpointSigned, jobs.CheckpointRefused, jobs.CheckpointFailed} {
		c.WithLabelValues(result)
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.decisions, c.failures, c.reloads, c.logged, c.dropped, c.undispatched, c.undelivered, c.parked, c.poolConn, c.poolLimit, c.poolHeld, c.poolWaiting, c.poolRefused, c.poolWait} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. It omits the metrics that the database cannot
// provide in time.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	stats := c.app.engine.Stats()
	counter(c.decisions, float64(stats.Allowed), "allow")
	counter(c.decisions, float64(stats.Denied), "deny")
	for reason, n := range stats.Failed {
		counter(c.failures, float64(n), reason)
	}
	counter(c.reloads, float64(stats.Reloads), "taken")
	counter(c.reloads, float64(stats.ReloadFailures), "refused")
	counter(c.logged, float64(c.app.decisions.Written()))
	counter(c.dropped, float64(c.app.decisions.Dropped()))
	for role, pool := range c.app.pools.byRole {
		s := pool.Stat()
		gauge(c.poolConn, float64(s.AcquiredConns()), role, "in_use")
		gauge(c.poolConn, float64(s.IdleConns()), role, "idle")
		c.collectAdmission(ch, role, pool.Admission())
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	if backlog, err := events.Pending(ctx, c.app.pools.byRole[postgres.RoleJobs]); err == nil {
		gauge(c.undispatched, float64(backlog.Undispatched))
		gauge(c.undelivered, float64(backlog.Undelivered))
		gauge(c.parked, float64(backlog.Parked))
	}
}

// collectAdmission collects the metrics of one pool's admission queue.
func (c *collector) collectAdmission(ch chan<- prometheus.Metric, role string, queue *admission.Queue) {
	limits := queue.Limits()
	for name, limit := range map[string]int{
		"connections": limits.Slots, "reserved": limits.Reserve, "writers": limits.Writers, "bulk": limits.Bulk,
		"tenant": limits.Share, "tenant_writers": limits.ShareWriters, "tenant_bulk": limits.ShareBulk, "tenant_queue": limits.Queue,
	} {
		ch <- prometheus.MustNewConstMetric(c.poolLimit, prometheus.GaugeValue, float64(limit), role, name)
	}
	for _, lane := range admission.Lanes() {
		s := queue.Stats(lane)
		ch <- prometheus.MustNewConstMetric(c.poolHeld, prometheus.GaugeValue, float64(s.Held), role, lane.String())
		ch <- prometheus.MustNewConstMetric(c.poolWaiting, prometheus.GaugeValue, float64(s.Waiting), role, lane.String())
		ch <- prometheus.MustNewConstMetric(c.poolRefused, prometheus.CounterValue, float64(s.Full), role, lane.String(), "queue_full")
		ch <- prometheus.MustNewConstMetric(c.poolRefused, prometheus.CounterValue, float64(s.Timeout), role, lane.String(), "timeout")
		ch <- prometheus.MustNewConstHistogram(c.poolWait, s.Granted, s.Seconds, s.Waited, role, lane.String())
	}
}
