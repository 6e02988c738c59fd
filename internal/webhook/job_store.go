package webhook

import (
	"context"
	"errors"
	"time"

	"parapet/internal/op"
	"parapet/internal/postgres"
)

// owned is a webhook with the present state of its owner, as a job reads it.
type owned struct {
	URL                 string
	Enabled             bool
	Secret              []byte
	PreviousSecret      []byte
	PreviousSecretUntil *time.Time
	Failures            int
	FailingSince        *time.Time
	PausedUntil         *time.Time
	LastSuccessAt       *time.Time
	RunNumber           int64
	OwnerID             op.UUID
	// The state of the owner is empty if the user or the membership no longer exists.
	OwnerKind     string
	OwnerStatus   string
	Membership    string
	TenantEnabled bool
	Revision      int64
	id            op.UUID
	// secrets are the decrypted secrets that sign now.
	secrets [][]byte
}

func (w *owned) isPaused(now time.Time) bool {
	return w.PausedUntil != nil && now.Before(*w.PausedUntil)
}

const lockOwnedSQL = `
SELECT w.url, w.enabled, w.secret, w.previous_secret, w.previous_secret_until, w.failures, w.failing_since, w.paused_until, w.last_success_at,
       w.run_number, w.owner_id, coalesce(u.principal_kind, '') AS owner_kind, coalesce(u.status, '') AS owner_status,
       coalesce(t.membership_status, '') AS membership, coalesce(t.tenant_enabled, false) AS tenant_enabled, coalesce(t.grants_revision, 0) AS revision
FROM events.webhooks w
LEFT JOIN identity.users u ON u.id = w.owner_id
LEFT JOIN LATERAL identity.tenant_context(w.owner_id, @tenant) t ON true
WHERE w.tenant_id = @tenant AND w.id = @id
FOR NO KEY UPDATE OF w`

// lock reads and locks the webhook. It returns nil if it was deleted.
func (j *sending) lock(ctx context.Context, tx *postgres.Tx) (*owned, error) {
	w, err := postgres.One[owned](ctx, tx, lockOwnedSQL, postgres.Args{"tenant": j.tenant, "id": j.webhook})
	if postgres.IsNoRows(err) {
		return nil, nil //nolint:nilnil // nil means that it was deleted
	}
	w.id = j.webhook
	return &w, err
}

const resealSQL = `
UPDATE events.webhooks SET secret = @secret, previous_secret = @previous, previous_secret_until = @until WHERE tenant_id = @tenant AND id = @id`

// openSecrets decrypts the secrets. It encrypts them again if they were encrypted with the
// previous secret of the installation, and removes an expired one.
func (w *owned) openSecrets(ctx context.Context, tx *postgres.Tx, j *sending, now time.Time) error {
	key, isOld, err := j.s.vault.open(j.tenant, j.webhook, w.Secret)
	if errors.Is(err, errSealed) {
		j.disable = disabledUnreadable
		return nil
	}
	w.secrets = [][]byte{key}
	args := postgres.Args{"tenant": j.tenant, "id": j.webhook, "secret": w.Secret, "previous": w.PreviousSecret, "until": w.PreviousSecretUntil}
	change := isOld
	if isOld {
		args["secret"] = j.s.vault.seal(j.tenant, j.webhook, key)
	}
	if w.PreviousSecret != nil {
		previous, previousOld, err := j.s.vault.open(j.tenant, j.webhook, w.PreviousSecret)
		switch {
		case err != nil || !now.Before(*w.PreviousSecretUntil):
			args["previous"], args["until"], change = nil, nil, true
		default:
			w.secrets = append(w.secrets, previous)
			if previousOld {
				args["previous"], change = j.s.vault.seal(j.tenant, j.webhook, previous), true
			}
		}
	}
	if !change {
		return nil
	}
	_, err = tx.Exec(ctx, resealSQL, args)
	return err
}

// claimSQL claims the next due deliveries. A claim is an attempt that was interrupted, until its
// result is stored: after a crash the log is right, and the delivery is tried again.
const claimSQL = `
WITH due AS (
	SELECT d.id FROM events.webhook_deliveries d
	WHERE d.tenant_id = @tenant AND d.webhook_id = @webhook AND d.status = 'PENDING' AND d.next_attempt_at <= @now::timestamptz
	ORDER BY d.next_attempt_at, d.id LIMIT @size
), claimed AS (
	UPDATE events.webhook_deliveries d
	SET attempts = d.attempts + 1, first_attempt_at = coalesce(d.first_attempt_at, @now::timestamptz), last_attempt_at = @now::timestamptz,
	    next_attempt_at = @now::timestamptz + make_interval(secs => (@waits::int[])[least(d.attempts + 1, cardinality(@waits::int[]))]),
	    outcome = 'INTERRUPTED', message = @interrupted, response_status = NULL, response_excerpt = NULL, duration_ms = NULL
	FROM due
	WHERE d.tenant_id = @tenant AND d.id = due.id
	RETURNING d.id, d.webhook_id, d.event_id, d.event_type, d.attempts, d.created_at, d.first_attempt_at, d.classification
)
SELECT c.id, c.webhook_id, coalesce(c.event_id::text, '') AS event_id, c.event_type, c.attempts, c.created_at, c.first_attempt_at, c.classification,
       identity.may_read(c.classification, w.max_classification) AS within_limit, o.id IS NOT NULL AS event_exists,
       coalesce(o.aggregate_type, '') AS aggregate_type, coalesce(o.aggregate_id, '') AS aggregate_id, coalesce(o.position, 0) AS position,
       coalesce(o.occurred_at, c.created_at) AS occurred_at, coalesce(o.actor_id::text, '') AS actor_id,
       coalesce(o.correlation_id::text, '') AS correlation_id, coalesce(o.payload, '{}') AS payload
FROM claimed c
JOIN events.webhooks w ON w.tenant_id = @tenant AND w.id = c.webhook_id
LEFT JOIN events.outbox o ON o.tenant_id = @tenant AND o.id = c.event_id
ORDER BY c.id`

// claim returns the next due deliveries, none if none is due.
func (j *sending) claim(ctx context.Context, tx *postgres.Tx, now time.Time) ([]delivery, error) {
	seconds := make([]int, len(waits))
	for i, w := range waits {
		seconds[i] = int(w.Seconds())
	}
	return postgres.Collect[delivery](ctx, tx, claimSQL, postgres.Args{
		"tenant": j.tenant, "webhook": j.webhook, "now": now, "waits": seconds, "interrupted": interruptedMessage, "size": j.size,
	})
}

// storedResult is what a result does to its delivery.
type storedResult struct {
	status string
	next   *time.Time
}

// storeResultSQL does not change a delivery that was ended or started anew during the attempt.
const storeResultSQL = `
UPDATE events.webhook_deliveries
SET status = @status::text, next_attempt_at = @next, finished_at = CASE WHEN @status::text <> 'PENDING' THEN @now::timestamptz END, outcome = @outcome,
    attempts = attempts - @unsent::int, message = nullif(@message, ''), response_status = nullif(@code::int, 0), response_excerpt = nullif(@excerpt, ''),
    duration_ms = @duration::int
WHERE tenant_id = @tenant AND id = @id AND status = 'PENDING' AND attempts > 0`

func storeResult(ctx context.Context, tx *postgres.Tx, tenant, id op.UUID, r *result, u storedResult, now time.Time) error {
	unsent := 0
	if u.status == statusSkipped {
		unsent = 1
	}
	_, err := tx.Exec(ctx, storeResultSQL, postgres.Args{
		"tenant": tenant, "id": id, "status": u.status, "next": u.next, "now": now, "outcome": r.outcome, "message": r.message, "unsent": unsent,
		"code": r.status, "excerpt": r.excerpt, "duration": r.duration.Milliseconds(),
	})
	return err
}

const releaseClaimSQL = `
UPDATE events.webhook_deliveries
SET attempts = attempts - 1, next_attempt_at = @now, outcome = NULL, message = NULL,
    first_attempt_at = CASE WHEN attempts > 1 THEN first_attempt_at END, last_attempt_at = CASE WHEN attempts > 1 THEN first_attempt_at END
WHERE tenant_id = @tenant AND id = @id AND status = 'PENDING' AND attempts > 0`

// releaseClaim undoes the claim of a delivery for which no attempt was made.
func releaseClaim(ctx context.Context, tx *postgres.Tx, tenant, id op.UUID, now time.Time) error {
	_, err := tx.Exec(ctx, releaseClaimSQL, postgres.Args{"tenant": tenant, "id": id, "now": now})
	return err
}

// succeededSQL does not write the webhook again for each of many deliveries.
const succeededSQL = `
UPDATE events.webhooks SET failures = 0, failing_since = NULL, paused_until = NULL, last_success_at = @now WHERE tenant_id = @tenant AND id = @id`

func (w *owned) succeeded(ctx context.Context, tx *postgres.Tx, tenant op.UUID, now time.Time) error {
	if w.Failures == 0 && w.LastSuccessAt != nil && now.Sub(*w.LastSuccessAt) < 10*time.Second {
		return nil
	}
	w.Failures, w.FailingSince, w.PausedUntil, w.LastSuccessAt = 0, nil, nil, &now
	_, err := tx.Exec(ctx, succeededSQL, postgres.Args{"tenant": tenant, "id": w.id, "now": now})
	return err
}

const failedSQL = `
UPDATE events.webhooks SET failures = @failures, failing_since = @since, paused_until = @paused WHERE tenant_id = @tenant AND id = @id`

// failed counts a failed attempt, and pauses the webhook after several ones or if the receiver
// asks for a wait.
func (w *owned) failed(ctx context.Context, tx *postgres.Tx, tenant op.UUID, retryAfter time.Duration, now time.Time) error {
	w.Failures++
	if w.FailingSince == nil {
		w.FailingSince = &now
	}
	if wait := max(jitter(pause(w.Failures)), retryAfter); wait > 0 {
		until := now.Add(wait)
		w.PausedUntil = &until
	}
	_, err := tx.Exec(ctx, failedSQL, postgres.Args{
		"tenant": tenant, "id": w.id, "failures": w.Failures, "since": w.FailingSince, "paused": w.PausedUntil,
	})
	return err
}

const nextDueSQL = `
SELECT d.next_attempt_at FROM events.webhook_deliveries d
WHERE d.tenant_id = @tenant AND d.webhook_id = @webhook AND d.status = 'PENDING'
ORDER BY d.next_attempt_at LIMIT 1`

const setRunSQL = `UPDATE events.webhooks SET run_at = @at WHERE tenant_id = @tenant AND id = @id`

// schedule determines when the job must run again. The webhook is locked, so the subscriber adds
// a delivery either before, and the statement finds it, or afterwards, and starts another job.
func (j *sending) schedule(ctx context.Context, tx *postgres.Tx, w *owned, now time.Time) error {
	var due time.Time
	var at *time.Time
	err := tx.QueryRow(ctx, nextDueSQL, postgres.Args{"tenant": j.tenant, "webhook": j.webhook}).Scan(&due)
	switch {
	case postgres.IsNoRows(err):
		j.wait = 0
	case err != nil:
		return err
	default:
		if w.isPaused(now) && w.PausedUntil.After(due) {
			due = *w.PausedUntil
		}
		if due.Before(now) {
			due = now
		}
		at, j.wait = &due, max(due.Sub(now), again)
	}
	_, err = tx.Exec(ctx, setRunSQL, postgres.Args{"tenant": j.tenant, "id": j.webhook, "at": at})
	return err
}
