package identity_test

import (
	"context"
	"regexp"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	contract "parapet/internal/contract/identity"
	"parapet/internal/mail"
	"parapet/internal/op"
)

// recordingSender stores the messages; the next failures calls return err.
type recordingSender struct {
	mu       sync.Mutex
	messages []mail.Message
	failures int
	err      error
}

func (o *recordingSender) Send(_ context.Context, m mail.Message) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failures > 0 {
		o.failures--
		return o.err
	}
	o.messages = append(o.messages, m)
	return nil
}

var linkPattern = regexp.MustCompile(`https://parapet\.example/reset-password#([A-Za-z0-9_-]{86})\n`)

// links returns the recipients and tokens of the messages sent so far.
func (o *recordingSender) links(t *testing.T) (to, tokens []string) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range o.messages {
		found := linkPattern.FindStringSubmatch(m.Text)
		if found == nil {
			t.Fatalf("got message %q, want a link", m.Text)
		}
		to, tokens = append(to, m.To), append(tokens, found[1])
	}
	return to, tokens
}

// runResetJobs processes each pending event about resets once, as the jobs do.
func (r *fixture) runResetJobs() {
	r.t.Helper()
	for {
		processed := 0
		for _, kind := range []string{contract.EventResetRequested.Name, contract.EventResetStarted.Name} {
			rows, err := r.owner.Query(context.Background(), `
				UPDATE events.outbox SET dispatched_at = now() WHERE type = $1 AND dispatched_at IS NULL
				RETURNING tenant_id::text, aggregate_id, coalesce(payload->'resource'->>'email', '')`, kind)
			if err != nil {
				r.t.Fatal(err)
			}
			type event struct{ Tenant, Aggregate, Email string }
			list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[event])
			if err != nil {
				r.t.Fatal(err)
			}
			for _, e := range list {
				processed++
				if kind == contract.EventResetRequested.Name {
					err = r.service.StartResets(context.Background(), e.Email)
				} else {
					err = r.service.SendReset(context.Background(), op.UUID(e.Tenant), op.UUID(e.Aggregate))
				}
				if err != nil {
					r.t.Fatalf("%s: %v", kind, err)
				}
			}
		}
		if processed == 0 {
			return
		}
	}
}
