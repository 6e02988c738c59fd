package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	contract "parapet/internal/contract/identity"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

const (
	// turn is how long a job sends deliveries before it lets other webhooks run. The last attempt
	// of a turn can take attemptTimeout longer, which together is less than the time limit of a job.
	turn = 20 * time.Second
	// again lets a job run again as soon as a worker is free.
	again = time.Millisecond
	// crowded is how long a job waits if its tenant uses all its workers.
	crowded = 500 * time.Millisecond
	// maxBatch limits the deliveries that are claimed together, and batchTime how long they may be
	// sent before the job reads again what the owner may read, and stores the results.
	maxBatch  = 32
	batchTime = time.Second
)

// delivery is a claimed delivery with its event. The fields of the event are zero if it was
// deleted, and for a test.
type delivery struct {
	ID             op.UUID
	WebhookID      op.UUID
	EventID        op.UUID
	EventType      string
	Attempts       int
	CreatedAt      time.Time
	FirstAttemptAt time.Time
	Classification string
	// WithinLimit reports whether the classification is at most that of the webhook.
	WithinLimit   bool
	EventExists   bool
	AggregateType string
	AggregateID   string
	Position      int64
	OccurredAt    time.Time
	ActorID       op.UUID
	CorrelationID op.UUID
	Payload       json.RawMessage
}

// sending is the state of one run of the job of a webhook.
type sending struct {
	s         *Service
	tenant    op.UUID
	webhook   op.UUID
	number    int64
	deadline  time.Time
	authority authority
	// size is how many deliveries to claim next: more after each batch without a failure.
	size int
	// yield ends the turn after the current delivery.
	yield bool
	// wait is when the job must run again; zero for never.
	wait time.Duration
	// disable is the reason why the webhook must be disabled; empty if it must not.
	disable string
}

// Send sends the due deliveries of a webhook one after the other. It returns after how long it
// must be called again; zero if there is nothing left to send. number is the run_number with
// which the job was started.
func (s *Service) Send(ctx context.Context, tenant, webhook op.UUID, number int64) (time.Duration, error) {
	if !s.tenants.acquire(tenant) {
		return crowded + rand.N(crowded), nil //nolint:gosec // no secret
	}
	defer s.tenants.release(tenant)
	j := &sending{s: s, tenant: tenant, webhook: webhook, number: number, size: 1, deadline: s.deps.Clock.Now().Add(turn), authority: authority{s: s, tenant: tenant}}
	var done []finished
	for {
		w, batch, err := j.advance(ctx, done)
		if err != nil {
			return 0, err
		}
		if j.disable != "" {
			return 0, s.disable(ctx, tenant, webhook, j.disable)
		}
		if len(batch) == 0 {
			return j.wait, nil
		}
		if done, err = j.deliverBatch(ctx, w, batch); err != nil {
			return 0, err
		}
	}
}

// deliverBatch delivers claimed deliveries one after the other. After a failure, and after
// batchTime, it leaves the rest unsent.
func (j *sending) deliverBatch(ctx context.Context, w *owned, batch []delivery) ([]finished, error) {
	end := j.s.deps.Clock.Now().Add(batchTime)
	done := make([]finished, 0, len(batch))
	j.size = min(2*j.size, maxBatch)
	for i := range batch {
		if len(done) > 0 && (j.size == 1 || j.s.deps.Clock.Now().After(end)) {
			done = append(done, finished{delivery: &batch[i], unsent: true})
			continue
		}
		f, err := j.deliver(ctx, w, &batch[i])
		if err != nil {
			return nil, err
		}
		if done = append(done, *f); !f.skipped && f.result.outcome != outcomeAccepted {
			j.size = 1
		}
	}
	return done, nil
}

// finished is a delivery with the result of its attempt.
type finished struct {
	delivery *delivery
	result   result
	skipped  bool
	// unsent means that the delivery was claimed, but no attempt was made.
	unsent bool
}

func skip(d *delivery, outcome, message string) *finished {
	return &finished{delivery: d, result: result{outcome: outcome, message: message}, skipped: true}
}

// deliver decides whether the delivery may be sent, and sends it. It uses no database
// connection during the request.
func (j *sending) deliver(ctx context.Context, w *owned, d *delivery) (*finished, error) {
	if d.EventID != "" && !d.EventExists {
		return skip(d, outcomeDeleted, "The event was deleted after its retention period."), nil
	}
	readable, err := j.authority.mayRead(ctx, w, d)
	if err != nil {
		return nil, err
	}
	if !readable {
		return skip(d, outcomeNotReadable, "The owner of the webhook is not active, or may not read events like this one."), nil
	}
	body, err := newBody(j.tenant, d)
	if err != nil {
		return skip(d, outcomeDeleted, "The event cannot be read."), nil //nolint:nilerr // the event stays unreadable
	}
	r := j.s.sender.send(ctx, w.URL, d.ID, j.s.deps.Clock.Now(), body, w.secrets...)
	j.s.metrics.attempts.Add(1)
	j.s.metrics.nanoseconds.Add(int64(r.duration))
	if r.outcome == outcomeInterrupted {
		// The process stops. The claim says that the attempt was interrupted.
		return nil, errors.Join(context.Cause(ctx), context.Canceled)
	}
	// A receiver that does not answer gives its worker back after each attempt.
	j.yield = r.outcome == outcomeTimeout
	return &finished{delivery: d, result: r}, nil
}

// advance stores the results of the last deliveries and claims the next ones, in one transaction.
// It returns no delivery if the turn ends.
func (j *sending) advance(ctx context.Context, done []finished) (*owned, []delivery, error) {
	var w *owned
	var next []delivery
	err := j.s.deps.Pool.InTx(ctx, string(j.tenant), nil, func(tx *postgres.Tx) error {
		var err error
		next = nil
		now := j.s.deps.Clock.Now()
		if w, err = j.lock(ctx, tx); err != nil {
			return err
		}
		if w == nil {
			j.wait = 0
			return nil
		}
		for i := range done {
			if err := j.store(ctx, tx, w, &done[i], now); err != nil {
				return err
			}
		}
		switch {
		case w.RunNumber != j.number || !w.Enabled || j.disable != "":
			j.wait = 0
			return nil
		case j.yield || !now.Before(j.deadline) || w.isPaused(now):
			return j.schedule(ctx, tx, w, now)
		}
		if err := w.openSecrets(ctx, tx, j, now); err != nil {
			return err
		}
		if j.disable != "" {
			return nil
		}
		if next, err = j.claim(ctx, tx, now); err != nil || len(next) > 0 {
			return err
		}
		return j.schedule(ctx, tx, w, now)
	})
	if err != nil {
		return nil, nil, err
	}
	for i := range done {
		j.count(&done[i])
	}
	return w, next, nil
}

func (j *sending) count(done *finished) {
	switch {
	case done.unsent:
	case done.skipped:
		j.s.metrics.skipped.Add(1)
	case done.result.outcome == outcomeAccepted:
		j.s.metrics.delivered.Add(1)
	default:
		j.s.metrics.failed.Add(1)
	}
}

// store stores the result of an attempt, and counts the failures of the webhook.
func (j *sending) store(ctx context.Context, tx *postgres.Tx, w *owned, done *finished, now time.Time) error {
	d, r := done.delivery, &done.result
	u := storedResult{status: statusPending}
	switch {
	case done.unsent:
		return releaseClaim(ctx, tx, j.tenant, d.ID, now)
	case done.skipped:
		u.status = statusSkipped
		return storeResult(ctx, tx, j.tenant, d.ID, r, u, now)
	case r.outcome == outcomeAccepted:
		u.status = statusDelivered
		if err := w.succeeded(ctx, tx, j.tenant, now); err != nil {
			return err
		}
		return storeResult(ctx, tx, j.tenant, d.ID, r, u, now)
	}
	if err := w.failed(ctx, tx, j.tenant, r.retryAfter, now); err != nil {
		return err
	}
	switch {
	case r.outcome == outcomeGone:
		j.disable = disabledGone
	case now.Sub(*w.FailingSince) >= giveUpAfter:
		j.disable = disabledFailing
	}
	if at, ok := nextAttempt(now, d.FirstAttemptAt, d.Attempts, r.retryAfter); ok && j.disable == "" {
		u.next = &at
	} else {
		u.status = statusFailed
	}
	return storeResult(ctx, tx, j.tenant, d.ID, r, u, now)
}

// disable disables a webhook, and reports it to its owner and the administrators.
func (s *Service) disable(ctx context.Context, tenant, webhook op.UUID, reason string) error {
	isNew := false
	err := s.executor.RunAsSystem(ctx, tenant, func(ctx context.Context, c *executor.Call) error {
		isNew = false
		row, err := readWebhook(ctx, c, lockWebhookSQL, webhook)
		if fault.HasCode(err, fault.CodeNotFound) || err == nil && !row.Enabled {
			return nil
		}
		if err != nil {
			return err
		}
		w := &row.Webhook
		if err := failPending(ctx, c, webhook); err != nil {
			return err
		}
		w.Enabled, w.DisabledReason, w.DisabledAt = false, reason, &c.Now
		if err := updateWebhookRow(ctx, c.DB, tenant, w, c.Now); err != nil {
			return err
		}
		isNew = true
		record(c, w, contract.ActionWebhookDisabled, contract.EventWebhookDisabled, []string{"enabled"}, map[string]any{"reason": reason})
		return nil
	})
	if err == nil && isNew {
		s.metrics.disabled.Add(1)
		s.deps.Log.WarnContext(ctx, "a webhook was disabled", "tenant", tenant, "webhook", webhook, "reason", reason)
	}
	return err
}
