package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	contract "parapet/internal/contract/identity"
	"parapet/internal/events"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// PasswordResets is what sends reset links.
type PasswordResets struct {
	// Send makes the link of a reset and sends it.
	Send func(ctx context.Context, tenant, reset op.UUID) error
	// Start starts a reset for each account of an address.
	Start func(ctx context.Context, email string) error
}

// resetLinkArgs asks for the link of one reset. It holds no secret: the link is
// made when it is sent.
type resetLinkArgs struct {
	Tenant op.UUID `json:"tenant"`
	Reset  op.UUID `json:"reset"`
}

// Kind is the job's name.
func (resetLinkArgs) Kind() string { return "password_reset_link" }

type resetLinkWorker struct {
	river.WorkerDefaults[resetLinkArgs]
	resets PasswordResets
}

// Work makes one attempt.
func (w *resetLinkWorker) Work(ctx context.Context, job *river.Job[resetLinkArgs]) error {
	if w.resets.Send == nil {
		return errors.New("reset links are not sent here")
	}
	return w.resets.Send(ctx, job.Args.Tenant, job.Args.Reset)
}

// resetRequestArgs asks for a reset of each account of an address.
type resetRequestArgs struct {
	Email string `json:"email"`
}

// Kind is the job's name.
func (resetRequestArgs) Kind() string { return "password_reset_request" }

type resetRequestWorker struct {
	river.WorkerDefaults[resetRequestArgs]
	resets PasswordResets
}

// Work makes one attempt.
func (w *resetRequestWorker) Work(ctx context.Context, job *river.Job[resetRequestArgs]) error {
	if w.resets.Start == nil {
		return errors.New("password resets are not started here")
	}
	return w.resets.Start(ctx, job.Args.Email)
}

// resetQueue turns events about password resets into jobs.
type resetQueue struct{ client *river.Client[pgx.Tx] }

// subscriber inserts each job in the transaction that notes its event as
// processed, so there is one job an event.
func (q *resetQueue) subscriber() events.Subscriber {
	return events.Subscriber{
		Name: "password resets", Types: []string{contract.EventResetStarted, contract.EventResetRequested}, Handle: q.insert,
	}
}

func (q *resetQueue) insert(ctx context.Context, tx postgres.Querier, list []events.Event) error {
	raw, ok := tx.(pgx.Tx)
	if !ok {
		return fmt.Errorf("jobs: a subscriber was given a %T", tx)
	}
	var jobs []river.InsertManyParams
	for _, e := range list {
		if e.Type == contract.EventResetRequested {
			var request contract.ResetRequest
			if err := json.Unmarshal(e.Payload, &request); err != nil {
				return fmt.Errorf("jobs: %s: %w", e.Type, err)
			}
			jobs = append(jobs, river.InsertManyParams{Args: resetRequestArgs{Email: request.Email}})
			continue
		}
		reset, err := op.ParseUUID(e.AggregateID)
		if err != nil {
			return fmt.Errorf("jobs: %s names no reset: %w", e.Type, err)
		}
		jobs = append(jobs, river.InsertManyParams{Args: resetLinkArgs{Tenant: e.TenantID, Reset: reset}})
	}
	_, err := q.client.InsertManyTx(ctx, raw, jobs)
	return err
}
