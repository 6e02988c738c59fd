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
	"parapet/internal/telemetry"
	"parapet/internal/uid"
)

// Deps are the dependencies and settings of the jobs.
type Deps struct {
	// Pool is a pool of parapet_jobs. River listens on one of its connections, each
	// subscriber uses one, and jobs use a few. It should have 8 to 16 connections.
	Pool *postgres.Pool
	// Subscribers are the modules' subscribers.
	Subscribers []events.Subscriber
	// Jobs are the modules' jobs.
	Jobs []Job
	// Triggers insert the modules' jobs for events.
	Triggers []Trigger
	// DecisionLog, if set, writes its records while the jobs run.
	DecisionLog *decisionlog.Log
	// Housekeepers are the modules' own retention. They run hourly.
	Housekeepers []Housekeeper
	// Maintenance is the modules' own maintenance. It runs every minute.
	Maintenance []Housekeeper
	Retention   Retention
	Checkpoint  CheckpointConfig
	// Tracer traces jobs and deliveries of events; nil if tracing is off.
	Tracer *telemetry.Tracer
	Clock  clock.Clock
	Log    *slog.Logger
}

// Limits of a job. Every 30 s, River looks for running jobs that started more than
// rescueAfter ago, and runs them again. A job whose process died is therefore rescued
// within two minutes.
const (
	jobTimeout      = 60 * time.Second
	rescueAfter     = 80 * time.Second
	softStopTimeout = 10 * time.Second
	maxWorkers      = 8
)

// Runner runs the jobs of one process.
type Runner struct {
	client     *river.Client[pgx.Tx]
	dispatcher *events.Dispatcher
	stop       context.CancelFunc
	background sync.WaitGroup
}

// Start starts the jobs. They run until Stop; ctx limits only the start.
func Start(ctx context.Context, d Deps) (*Runner, error) {
	if d.Pool == nil {
		return nil, errors.New("jobs: Deps.Pool is required")
	}
	if d.Clock == nil {
		d.Clock = clock.System{}
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	d.Retention = d.Retention.withDefaults()
	jobs := &inserter{queues: map[string]string{}}
	subscribers := append([]events.Subscriber{events.Notifications()}, d.Subscribers...)
	for _, t := range d.Triggers {
		subscribers = append(subscribers, jobs.subscriber(t))
	}
	dispatcher, err := events.NewDispatcher(events.Config{Pool: d.Pool, Log: d.Log, Tracer: d.Tracer, Subscribers: subscribers})
	if err != nil {
		return nil, err
	}
	list := schedules(d, dispatcher)
	bundle := river.NewWorkers()
	for _, s := range list {
		if err := s.addWorker(bundle); err != nil {
			return nil, fmt.Errorf("jobs: %s: %w", s.args.Kind(), err)
		}
	}
	queues := map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: maxWorkers}}
	for _, j := range d.Jobs {
		if j.settings.Queue == "" {
			continue
		}
		jobs.queues[j.kind] = j.settings.Queue
		if j.settings.Workers > 0 {
			queues[j.settings.Queue] = river.QueueConfig{MaxWorkers: j.settings.Workers}
		}
	}
	client, err := river.NewClient(riverpgxv5.New(d.Pool.Raw()), &river.Config{
		ID:           clientID(),
		Schema:       riverschema.Name,
		Queues:       queues,
		Workers:      bundle,
		Middleware:   middleware(d.Tracer),
		PeriodicJobs: periodicJobs(list, d),
		// River logs its counts of jobs every few seconds.
		Logger:     slog.New(telemetry.InfoAsDebug(d.Log.Handler())),
		JobTimeout: jobTimeout, RescueStuckJobsAfter: rescueAfter, SoftStopTimeout: softStopTimeout,
		CompletedJobRetentionPeriod: 2 * time.Hour,
		// parapet_jobs owns no index, so it cannot reindex.
		ReindexerIndexNames: []string{},
	})
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	jobs.client = client
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		stop()
		return nil, fmt.Errorf("jobs: %w", err)
	}
	r := &Runner{client: client, dispatcher: dispatcher, stop: stop}
	r.background.Go(func() { _ = dispatcher.Run(running) })
	r.background.Go(func() { watchLeader(running, d.Pool, d.Log) })
	if d.DecisionLog != nil {
		r.background.Go(func() { d.DecisionLog.Run(running) })
	}
	return r, nil
}

// clientID returns a name for this process among those that run jobs.
func clientID() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%.40s-%d-%.8s", host, os.Getpid(), uid.Random())
}

// Stop waits for running jobs until ctx ends, and stops the dispatcher between two
// transactions. The decision log writes its remaining records.
func (r *Runner) Stop(ctx context.Context) error {
	r.stop()
	err := r.client.Stop(ctx)
	if err != nil {
		// The deadline has passed: cancel the running jobs, which roll back.
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = errors.Join(err, r.client.StopAndCancel(last))
	}
	r.background.Wait()
	if err != nil {
		return fmt.Errorf("jobs: stop: %w", err)
	}
	return nil
}

// Drain delivers the due events, for callers that cannot wait for the dispatcher.
func (r *Runner) Drain(ctx context.Context) error {
	_, err := r.dispatcher.Drain(ctx)
	return err
}
