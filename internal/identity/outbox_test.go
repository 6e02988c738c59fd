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

// sentMail keeps what is sent, and fails as often as it is told to.
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

// links gives the addresses and tokens of the messages sent so far.
func (o *recordingSender) links(t *testing.T) (to, tokens []string) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range o.messages {
		found := linkPattern.FindStringSubmatch(m.Text)
		if found == nil {
			t.Fatalf("no link in %q", m.Text)
		}
		to, tokens = append(to, m.To), append(tokens, found[1])
	}
	return to, tokens
}

// runResetJobs does what the jobs do with the events about resets, once each.
func (r *fixture) runResetJobs() {
	r.t.Helper()
	for {
		done := 0
		for _, kind := range []string{contract.EventResetRequested, contract.EventResetStarted} {
			rows, err := r.owner.Query(context.Background(), `
				UPDATE events.outbox SET dispatched_at = now() WHERE type = $1 AND dispatched_at IS NULL
				RETURNING tenant_id::text, aggregate_id, coalesce(payload->>'email', '')`, kind)
			if err != nil {
				r.t.Fatal(err)
			}
			type event struct{ Tenant, Aggregate, Email string }
			list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[event])
			if err != nil {
				r.t.Fatal(err)
			}
			for _, e := range list {
				done++
				if kind == contract.EventResetRequested {
					err = r.service.StartResets(context.Background(), e.Email)
				} else {
					err = r.service.SendReset(context.Background(), op.UUID(e.Tenant), op.UUID(e.Aggregate))
				}
				if err != nil {
					r.t.Fatalf("%s: %v", kind, err)
				}
			}
		}
		if done == 0 {
			return
		}
	}
}
