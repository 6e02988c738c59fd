package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"parapet/internal/clock"
	"parapet/internal/decisionlog"
	"parapet/internal/events"
	"parapet/internal/postgres"
	"parapet/internal/postgres/riverschema"
	"parapet/internal/uid"
)

// Deps is what the jobs need.
type Deps struct {
	// Pool is parapet_jobs'. River listens on one of its connections, each
	// subscriber works on one, and a handful of jobs: eight are few, sixteen plenty.
	Pool *postgres.Pool
	// Subscribers are those besides the notifications.
	Subscribers []events.Subscriber
	// DecisionLog is written while the jobs run, when there is one.
	DecisionLog *decisionlog.Log
	// Housekeepers are the modules' own retention, run with ours every hour.
	Housekeepers []Housekeeper
	// Maintenance are what the modules do by themselves every minute.
	Maintenance []Housekeeper
	// AgentRuns carries out what agents are given.
	AgentRuns AgentRuns
	// PasswordResets sends reset links.
	PasswordResets PasswordResets
	// Score scores finished agent runs, every five minutes, where it is set.
	Score      func(ctx context.Context) error
	Retention  Retention
	Checkpoint CheckpointConfig
	Clock      clock.Clock
	Log        *slog.Logger
}

// What bounds a job. A job that is older than rescueAfter and whose process does
// not tell that it is done is run again; River looks every 30 s, so two minutes
// after its start at the latest.
const (
	jobTimeout  = 60 * time.Second
	rescueAfter = 80 * time.Second
	softStop    = 10 * time.Second
	workers     = 8
)

// Runner is the jobs of one process.
type Runner struct {
	client     *river.Client[pgx.Tx]
	dispatcher *events.Dispatcher
	stop       context.CancelFunc
	beside     sync.WaitGroup
}

// Start starts the jobs. They run until Stop, whatever becomes of ctx, which
// bounds the start alone.
func Start(ctx context.Context, d Deps) (*Runner, error) {
	if d.Pool == nil {
		return nil, errors.New("jobs: no pool")
	}
	if d.Clock == nil {
		d.Clock = clock.System{}
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	d.Retention = d.Retention.withDefaults()
	runs, resets := &agentRunQueue{}, &resetQueue{}
	dispatcher, err := events.NewDispatcher(events.Config{
		Pool: d.Pool, Log: d.Log, Subscribers: append([]events.Subscriber{events.Notifications(), runs.subscriber(), resets.subscriber()}, d.Subscribers...),
	})
	if err != nil {
		return nil, err
	}
	list := schedules(d, dispatcher)
	bundle := river.NewWorkers()
	for _, s := range list {
		if err := s.add(bundle); err != nil {
			return nil, fmt.Errorf("jobs: %s: %w", s.args.Kind(), err)
		}
	}
	if err := river.AddWorkerSafely(bundle, &agentRunWorker{runs: d.AgentRuns}); err != nil {
		return nil, fmt.Errorf("jobs: %s: %w", agentRunArgs{}.Kind(), err)
	}
	for _, err := range []error{
		river.AddWorkerSafely(bundle, &resetLinkWorker{resets: d.PasswordResets}),
		river.AddWorkerSafely(bundle, &resetRequestWorker{resets: d.PasswordResets}),
	} {
		if err != nil {
			return nil, fmt.Errorf("jobs: password resets: %w", err)
		}
	}
	queues := map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}}
	if d.AgentRuns.Execute != nil {
		queues[agentQueue] = river.QueueConfig{MaxWorkers: agentWorkers}
	}
	client, err := river.NewClient(riverpgxv5.New(d.Pool.Raw()), &river.Config{
		ID:           clientID(),
		Schema:       riverschema.Name,
		Queues:       queues,
		Workers:      bundle,
		PeriodicJobs: periodic(list, d),
		Logger:       d.Log,
		JobTimeout:   jobTimeout, RescueStuckJobsAfter: rescueAfter, SoftStopTimeout: softStop,
		CompletedJobRetentionPeriod: 2 * time.Hour,
		// Reindexing is the owner's, and parapet_jobs owns nothing.
		ReindexerIndexNames: []string{},
	})
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	runs.client, resets.client = client, client
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		stop()
		return nil, fmt.Errorf("jobs: %w", err)
	}
	r := &Runner{client: client, dispatcher: dispatcher, stop: stop}
	r.beside.Go(func() { _ = dispatcher.Run(running) })
	r.beside.Go(func() { watchLeader(running, d.Pool, d.Log) })
	if d.DecisionLog != nil {
		r.beside.Go(func() { d.DecisionLog.Run(running) })
	}
	return r, nil
}

// clientID names this process among those that run the jobs.
func clientID() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%.40s-%d-%.8s", host, os.Getpid(), uid.Random())
}

// Stop lets jobs end that are under way, until ctx ends, and stops the dispatcher
// between two transactions. The decision log is written to its end.
func (r *Runner) Stop(ctx context.Context) error {
	r.stop()
	err := r.client.Stop(ctx)
	if err != nil {
		// Time is up: what still runs is cancelled, and rolls back.
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = errors.Join(err, r.client.StopAndCancel(last))
	}
	r.beside.Wait()
	if err != nil {
		return fmt.Errorf("jobs: stop: %w", err)
	}
	return nil
}

// Drain delivers what is due now, for whoever cannot wait for the dispatcher.
func (r *Runner) Drain(ctx context.Context) error {
	_, err := r.dispatcher.Drain(ctx)
	return err
}
