package jobs

import (
	"time"

	"github.com/riverqueue/river"
)

// schedule is one line of the list of what runs when.
type schedule struct {
	// args is an empty job of the kind.
	args  river.JobArgs
	every time.Duration
	// add registers the kind's worker.
	add func(*river.Workers) error
	// when is nil for a job that always runs.
	when func(Deps) bool
}

// schedules lists the River workers of the product that run by the clock, and
// when. Each runs at the start of a leader too, unless it has run within its
// period. What runs when something has happened is in agent_run.go.
func schedules(d Deps, dispatcher drainer) []schedule {
	return []schedule{
		{
			args: sweepArgs{}, every: time.Minute,
			add: worker(&sweepWorker{dispatcher: dispatcher}),
		},
		{
			args: keyExpiryArgs{}, every: time.Hour,
			add: worker(&keyExpiryWorker{pool: d.Pool, clock: d.Clock, log: d.Log}),
		},
		{
			args: retentionArgs{}, every: time.Hour,
			add: worker(&retentionWorker{pool: d.Pool, clock: d.Clock, log: d.Log, keep: d.Retention, others: d.Housekeepers}),
		},
		{
			args: maintenanceArgs{}, every: time.Minute,
			add:  worker(&maintenanceWorker{clock: d.Clock, log: d.Log, maintenance: d.Maintenance}),
			when: func(d Deps) bool { return len(d.Maintenance) > 0 },
		},
		{
			args: scoreArgs{}, every: 5 * time.Minute,
			add:  worker(&scoreWorker{score: d.Score}),
			when: func(d Deps) bool { return d.Score != nil },
		},
		{
			args: checkpointArgs{}, every: time.Hour,
			add:  worker(&checkpointWorker{pool: d.Pool, clock: d.Clock, log: d.Log, cfg: d.Checkpoint}),
			when: func(d Deps) bool { return d.Checkpoint.Key != "" && d.Checkpoint.Dir != "" },
		},
	}
}

func worker[T river.JobArgs](w river.Worker[T]) func(*river.Workers) error {
	return func(all *river.Workers) error { return river.AddWorkerSafely(all, w) }
}

// periodic turns the list into River's: one job a kind and period, however many
// leaders come and go within it.
func periodic(list []schedule, d Deps) []*river.PeriodicJob {
	var jobs []*river.PeriodicJob
	for _, s := range list {
		if s.when != nil && !s.when(d) {
			continue
		}
		jobs = append(jobs, river.NewPeriodicJob(river.PeriodicInterval(s.every), func() (river.JobArgs, *river.InsertOpts) {
			return s.args, &river.InsertOpts{MaxAttempts: 3, UniqueOpts: river.UniqueOpts{ByPeriod: s.every}}
		}, &river.PeriodicJobOpts{ID: s.args.Kind(), RunOnStart: true}))
	}
	return jobs
}
