package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"parapet/internal/postgres"
	"parapet/internal/postgres/riverschema"
)

// Admin lists, retries and cancels jobs, for operators.
type Admin struct{ client *river.Client[pgx.Tx] }

// NewAdmin returns an Admin. The pool's role must be parapet_jobs.
func NewAdmin(pool *postgres.Pool) (*Admin, error) {
	client, err := river.NewClient(riverpgxv5.New(pool.Raw()), &river.Config{Schema: riverschema.Name})
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	return &Admin{client}, nil
}

// Listed is a job, for operators.
type Listed struct {
	ID    int64
	Kind  string
	Queue string
	State string
	// Tenant is the tenant in the job's arguments; empty if there is none. Other arguments are
	// not shown: they can contain addresses.
	Tenant               string
	Attempt, MaxAttempts int
	CreatedAt            time.Time
	ScheduledAt          time.Time
	// LastError is the error of the last attempt that failed; empty if there is none.
	LastError string
}

// ListFilter selects jobs. Empty fields select all.
type ListFilter struct {
	States, Kinds, Queues []string
	Limit                 int
}

// States returns the states that a job can have.
func States() []string {
	var names []string
	for _, s := range rivertype.JobStates() {
		names = append(names, string(s))
	}
	return names
}

// List returns jobs, newest first.
func (a *Admin) List(ctx context.Context, f ListFilter) ([]Listed, error) {
	params := river.NewJobListParams().First(f.Limit).OrderBy(river.JobListOrderByID, river.SortOrderDesc)
	if len(f.Kinds) > 0 {
		params = params.Kinds(f.Kinds...)
	}
	if len(f.Queues) > 0 {
		params = params.Queues(f.Queues...)
	}
	var states []rivertype.JobState
	for _, name := range f.States {
		if !slices.Contains(States(), name) {
			return nil, fmt.Errorf("unknown state %q; allowed: %s", name, strings.Join(States(), ", "))
		}
		states = append(states, rivertype.JobState(name))
	}
	if len(states) > 0 {
		params = params.States(states...)
	}
	result, err := a.client.JobList(ctx, params)
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	list := make([]Listed, len(result.Jobs))
	for i, job := range result.Jobs {
		list[i] = toListed(job)
	}
	return list, nil
}

// Retry makes a job run as soon as possible. A job that runs or waits without a delay does not
// change.
func (a *Admin) Retry(ctx context.Context, id int64) (Listed, error) {
	job, err := a.client.JobRetry(ctx, id)
	return toResult(job, id, err)
}

// Cancel cancels a job. A job that runs is stopped; a job that has ended does not change.
func (a *Admin) Cancel(ctx context.Context, id int64) (Listed, error) {
	job, err := a.client.JobCancel(ctx, id)
	return toResult(job, id, err)
}

func toResult(job *rivertype.JobRow, id int64, err error) (Listed, error) {
	switch {
	case errors.Is(err, rivertype.ErrNotFound):
		return Listed{}, fmt.Errorf("there is no job %d; ptd jobs list shows the jobs", id)
	case err != nil:
		return Listed{}, fmt.Errorf("jobs: %w", err)
	default:
		return toListed(job), nil
	}
}

func toListed(job *rivertype.JobRow) Listed {
	l := Listed{
		ID: job.ID, Kind: job.Kind, Queue: job.Queue, State: string(job.State), Attempt: job.Attempt, MaxAttempts: job.MaxAttempts,
		CreatedAt: job.CreatedAt, ScheduledAt: job.ScheduledAt,
	}
	var args struct {
		Tenant string `json:"tenant"`
	}
	if json.Unmarshal(job.EncodedArgs, &args) == nil {
		l.Tenant = args.Tenant
	}
	if n := len(job.Errors); n > 0 {
		l.LastError = job.Errors[n-1].Error
	}
	return l
}
