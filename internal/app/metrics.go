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

// collector gives what the parts count to whoever scrapes /metrics.
type collector struct {
	app                                         *App
	decisions, failures, reloads                *prometheus.Desc
	logged, dropped                             *prometheus.Desc
	undispatched, undelivered, parked, poolConn *prometheus.Desc
	// Of the admission: by role and lane, never by tenant.
	poolLimit, poolHeld, poolWaiting, poolRefused, poolWait *prometheus.Desc
}

func newCollector(a *App) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("parapet_"+name, help, labels, nil)
	}
	return &collector{
		app:          a,
		decisions:    desc("decisions_total", "Decisions, by result.", "result"),
		failures:     desc("decision_failures_total", "Evaluations that gave no answer and so denied, by reason.", "reason"),
		reloads:      desc("policy_reloads_total", "Policy sets taken and refused.", "result"),
		logged:       desc("decision_log_written_total", "Decisions that the decision log has kept."),
		dropped:      desc("decision_log_dropped_total", "Decisions that the decision log has lost."),
		undispatched: desc("outbox_undispatched", "Events that no subscriber's queue has yet."),
		undelivered:  desc("outbox_undelivered", "Deliveries in the subscribers' queues."),
		parked:       desc("outbox_parked", "Deliveries that failed too often."),
		poolConn:     desc("pool_connections", "Connections to the database, by role and state.", "role", "state"),
		poolLimit:    desc("pool_limit", "Limits of the admission to a pool: connections, and for tenant_queue requests.", "role", "limit"),
		poolHeld:     desc("pool_admitted", "Requests that have a connection, by lane.", "role", "lane"),
		poolWaiting:  desc("pool_waiting", "Requests that wait for a connection, by lane.", "role", "lane"),
		poolRefused:  desc("pool_refused_total", "Requests answered 503 without a connection: the tenant's queue was full, or the wait was over.", "role", "lane", "reason"),
		poolWait:     desc("pool_wait_seconds", "Wait for a connection of the requests that got one, by lane.", "role", "lane"),
	}
}

// newCheckpointCounter counts the attempts of this process to sign a checkpoint of
// the audit chains. Every result is there from the start, so that an alert on
// "refused" has a series to watch.
func newCheckpointCounter() *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "parapet_audit_checkpoints_total", Help: "Attempts to sign a checkpoint of the audit chains, by result; refused: a chain is not what was written.",
	}, []string{"result"})
	for _, result := range []string{jobs.CheckpointSigned, jobs.CheckpointRefused, jobs.CheckpointFailed} {
		c.WithLabelValues(result)
	}
	return c
}

// Describe names the metrics.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.decisions, c.failures, c.reloads, c.logged, c.dropped, c.undispatched, c.undelivered, c.parked, c.poolConn, c.poolLimit, c.poolHeld, c.poolWaiting, c.poolRefused, c.poolWait} {
		ch <- d
	}
}

// Collect reads them. What the database can't tell now is left out.
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

// collectAdmission gives the numbers of the admission to one pool.
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
