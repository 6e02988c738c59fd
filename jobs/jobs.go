package jobs

import (
	"time"

	"github.com/riverqueue/river"
)

// schedule is a periodic job.
type schedule struct {
	// args are empty arguments of the job's kind.
	args  river.JobArgs
	every time.Duration
	// add registers the kind's worker.
	add func(*river.Workers) error
	// when reports whether the job runs; nil means always.
	when func(Deps) bool
}

// schedules lists the periodic jobs. Each also runs when a leader starts, unless
// it has run within its period. Jobs that events trigger are in agent_run.go and
// password_reset.go.
func schedules(d Deps, dispatcher drainer) []schedule {
	return []schedule{
		{
			args: sweepArgs{}, every: time.Minute,
			add: registerWorker(&sweepWorker{dispatcher: dispatcher}),
		},
		{
			args: keyExpiryArgs{}, every: time.Hour,
			add: registerWorker(&keyExpiryWorker{pool: d.Pool, clock: d.Clock, log: d.Log}),
		},
		{
			args: retentionArgs{}, every: time.Hour,
			add: registerWorker(&retentionWorker{pool: d.Pool, clock: d.Clock, log: d.Log, keep: d.Retention, others: d.Housekeepers}),
		},
		{
			args: maintenanceArgs{}, every: time.Minute,
			add:  registerWorker(&maintenanceWorker{clock: d.Clock, log: d.Log, maintenance: d.Maintenance}),
			when: func(d Deps) bool { return len(d.Maintenance) > 0 },
		},
		{
			args: scoreArgs{}, every: 5 * time.Minute,
			add:  registerWorker(&scoreWorker{score: d.Score}),
			when: func(d Deps) bool { return d.Score != nil },
		},
		{
			args: checkpointArgs{}, every: time.Hour,
			add:  registerWorker(&checkpointWorker{pool: d.Pool, clock: d.Clock, log: d.Log, cfg: d.Checkpoint}),
			when: func(d Deps) bool { return d.Checkpoint.Key != "" && d.Checkpoint.Dir != "" },
		},
	}
}

func registerWorker[T river.JobArgs](w river.Worker[T]) func(*river.Workers) error {
	return func(all *river.Workers) error { return river.AddWorkerSafely(all, w) }
}

// periodicJobs converts the schedules to River's. A job is unique by kind and period, so a
// change of leader does not repeat it.
func periodicJobs(list []schedule, d Deps) []*river.PeriodicJob {
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
