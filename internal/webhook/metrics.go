package webhook

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"parapet/internal/module"
	"parapet/internal/op"
)

// metrics counts the attempts of this process.
type metrics struct {
	delivered, failed, skipped, disabled, attempts, nanoseconds atomic.Int64
}

// countTimeout limits the count of pending deliveries for a scrape.
const countTimeout = 2 * time.Second

const countPendingSQL = `SELECT count(*) FROM events.webhook_deliveries WHERE status = 'PENDING'`

// gauges returns the metrics. Those that end in _total only increase.
func (s *Service) gauges() []module.Gauge {
	m := &s.metrics
	return []module.Gauge{
		{Name: "parapet_webhook_delivered_total", Help: "Deliveries to webhooks that the receiver accepted.", Value: valueOf(&m.delivered)},
		{Name: "parapet_webhook_failed_total", Help: "Attempts to deliver to a webhook that failed.", Value: valueOf(&m.failed)},
		{Name: "parapet_webhook_skipped_total", Help: "Deliveries to webhooks that were not sent, for example because the owner may not read the event.", Value: valueOf(&m.skipped)},
		{Name: "parapet_webhook_disabled_total", Help: "Webhooks that the server disabled.", Value: valueOf(&m.disabled)},
		{Name: "parapet_webhook_attempts_total", Help: "Requests to webhooks.", Value: valueOf(&m.attempts)},
		{Name: "parapet_webhook_attempt_seconds_total", Help: "Time that requests to webhooks took.", Value: func() float64 {
			return time.Duration(m.nanoseconds.Load()).Seconds()
		}},
		{Name: "parapet_webhook_pending", Help: "Deliveries to webhooks that wait for their first or next attempt; -1 if the database did not answer.", Value: s.countPending},
	}
}

func valueOf(n *atomic.Int64) func() float64 {
	return func() float64 { return float64(n.Load()) }
}

func (s *Service) countPending() float64 {
	ctx, cancel := context.WithTimeout(context.Background(), countTimeout) //nolint:forbidigo // a scrape has no context
	defer cancel()
	var n float64
	if err := s.deps.Jobs.QueryRow(ctx, countPendingSQL).Scan(&n); err != nil {
		return -1
	}
	return n
}

// workersPerTenant limits how many webhooks of one tenant a process serves at a time.
const workersPerTenant = 8

// tenantSlots counts the webhooks that are served now, by tenant.
type tenantSlots struct {
	mu   sync.Mutex
	used map[op.UUID]int
}

// acquire reports whether the tenant may use another worker.
func (t *tenantSlots) acquire(tenant op.UUID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.used == nil {
		t.used = map[op.UUID]int{}
	}
	if t.used[tenant] >= workersPerTenant {
		return false
	}
	t.used[tenant]++
	return true
}

func (t *tenantSlots) release(tenant op.UUID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.used[tenant]--; t.used[tenant] == 0 {
		delete(t.used, tenant)
	}
}
