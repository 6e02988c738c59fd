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

// PasswordResets sends reset links.
type PasswordResets struct {
	// Send creates the link of a reset and sends it.
	Send func(ctx context.Context, tenant, reset op.UUID) error
	// Start starts a reset for each account with the address.
	Start func(ctx context.Context, email string) error
}

// resetLinkArgs are the arguments of a job that sends the link of one reset. They contain
// no secret, because the link is created when it is sent.
type resetLinkArgs struct {
	Tenant op.UUID `json:"tenant"`
	Reset  op.UUID `json:"reset"`
}

// Kind implements river.JobArgs.
func (resetLinkArgs) Kind() string { return "password_reset_link" }

type resetLinkWorker struct {
	river.WorkerDefaults[resetLinkArgs]
	resets PasswordResets
}

// Work implements river.Worker. It makes one attempt.
func (w *resetLinkWorker) Work(ctx context.Context, job *river.Job[resetLinkArgs]) error {
	if w.resets.Send == nil {
		return errors.New("this process cannot send reset links")
	}
	return w.resets.Send(ctx, job.Args.Tenant, job.Args.Reset)
}

// resetRequestArgs are the arguments of a job that resets each account with an address.
type resetRequestArgs struct {
	Email string `json:"email"`
}

// Kind implements river.JobArgs.
func (resetRequestArgs) Kind() string { return "password_reset_request" }

type resetRequestWorker struct {
	river.WorkerDefaults[resetRequestArgs]
	resets PasswordResets
}

// Work implements river.Worker. It makes one attempt.
func (w *resetRequestWorker) Work(ctx context.Context, job *river.Job[resetRequestArgs]) error {
	if w.resets.Start == nil {
		return errors.New("this process cannot start password resets")
	}
	return w.resets.Start(ctx, job.Args.Email)
}

// resetQueue inserts jobs for events about password resets.
type resetQueue struct{ client *river.Client[pgx.Tx] }

// subscriber returns the subscriber for password resets. It inserts each job in the
// transaction that marks its event as processed, so there is one job per event.
func (q *resetQueue) subscriber() events.Subscriber {
	return events.Subscriber{
		Name: "password resets", Types: []string{contract.EventResetStarted, contract.EventResetRequested}, Handle: q.insert,
	}
}

func (q *resetQueue) insert(ctx context.Context, tx postgres.Querier, list []events.Event) error {
	raw, ok := tx.(pgx.Tx)
	if !ok {
		return fmt.Errorf("jobs: a subscriber needs a pgx.Tx, got %T", tx)
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
			return fmt.Errorf("jobs: the aggregate of %s is not a reset id: %w", e.Type, err)
		}
		jobs = append(jobs, river.InsertManyParams{Args: resetLinkArgs{Tenant: e.TenantID, Reset: reset}})
	}
	_, err := q.client.InsertManyTx(ctx, raw, jobs)
	return err
}
