package jobs

import (
	"time"

	"github.com/riverqueue/river"
)

// schedule is a kind of job, which runs periodically if it is enabled.
type schedule struct {
	// args are empty arguments of the job's kind.
	args   river.JobArgs
	period time.Duration
	// addWorker registers the worker of the kind.
	addWorker func(*river.Workers) error
	// isEnabled reports whether the job runs. If it is nil, the job always runs.
	isEnabled func(Deps) bool
}

// schedules lists the built-in jobs and those of the modules. A periodic job also runs when a leader starts, unless
// it has run within its period.
func schedules(d Deps, dispatcher drainer) []schedule {
	list := []schedule{
		{
			args: sweepArgs{}, period: time.Minute,
			addWorker: registerWorker(&sweepWorker{dispatcher: dispatcher}),
		},
		{
			args: keyExpiryArgs{}, period: time.Hour,
			addWorker: registerWorker(&keyExpiryWorker{pool: d.Pool, clock: d.Clock, log: d.Log}),
		},
		{
			args: retentionArgs{}, period: time.Hour,
			addWorker: registerWorker(&retentionWorker{pool: d.Pool, clock: d.Clock, log: d.Log, retention: d.Retention, housekeepers: d.Housekeepers}),
		},
		{
			args: maintenanceArgs{}, period: time.Minute,
			addWorker: registerWorker(&maintenanceWorker{clock: d.Clock, log: d.Log, maintenance: d.Maintenance}),
			isEnabled: func(d Deps) bool { return len(d.Maintenance) > 0 },
		},
		{
			args: checkpointArgs{}, period: time.Hour,
			addWorker: registerWorker(&checkpointWorker{pool: d.Pool, clock: d.Clock, log: d.Log, cfg: d.Checkpoint}),
			isEnabled: func(d Deps) bool { return d.Checkpoint.Key != "" && d.Checkpoint.Dir != "" },
		},
	}
	for _, j := range d.Jobs {
		list = append(list, schedule{
			args: j.empty, period: j.settings.Every, addWorker: j.addWorker,
			isEnabled: func(Deps) bool { return j.settings.Every > 0 },
		})
	}
	return list
}

func registerWorker[T river.JobArgs](w river.Worker[T]) func(*river.Workers) error {
	return func(all *river.Workers) error { return river.AddWorkerSafely(all, w) }
}

// periodicJobs converts the schedules to River's. A job is unique by kind and period, so a
// change of leader does not repeat it.
func periodicJobs(list []schedule, d Deps) []*river.PeriodicJob {
	var jobs []*river.PeriodicJob
	for _, s := range list {
		if s.isEnabled != nil && !s.isEnabled(d) {
			continue
		}
		jobs = append(jobs, river.NewPeriodicJob(river.PeriodicInterval(s.period), func() (river.JobArgs, *river.InsertOpts) {
			return s.args, &river.InsertOpts{MaxAttempts: 3, UniqueOpts: river.UniqueOpts{ByPeriod: s.period}}
		}, &river.PeriodicJobOpts{ID: s.args.Kind(), RunOnStart: true}))
	}
	return jobs
}
