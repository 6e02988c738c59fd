package app

import (
	"context"
	"log/slog"
	"time"

	"parapet/internal/authz"
	"parapet/internal/decisionlog"
	"parapet/internal/postgres"
	"parapet/jobs"
)

// denialSink is a sink that passes on only denials.
type denialSink struct{ next authz.DecisionSink }

// Record implements authz.DecisionSink.
func (d denialSink) Record(r authz.DecisionRecord) {
	if !r.Allow {
		d.next.Record(r)
	}
}

// newDecisionSink returns the decision sink for the value of PT_DECISION_LOG.
func newDecisionSink(setting string, log *decisionlog.Log) authz.DecisionSink {
	switch setting {
	case "off":
		return nil
	case "denied":
		return denialSink{log}
	default:
		return log
	}
}

const readyCacheTime = time.Second

// runJobs runs the background jobs until ctx ends. Until the database is migrated their
// tables do not exist, so it waits until the process is ready.
func (a *App) runJobs(ctx context.Context) error {
	for logged := false; ; {
		err := a.checkReady(ctx)
		if err == nil {
			break
		}
		if !logged && ctx.Err() == nil {
			a.log.WarnContext(ctx, "not ready", slog.Any("error", err))
			logged = true
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(readyCacheTime):
		}
	}
	deps := jobs.Deps{
		Pool: a.pools.byRole[postgres.RoleJobs], DecisionLog: a.decisions, Log: a.log, Tracer: a.tracer,
		Checkpoint: jobs.CheckpointConfig{
			Key: a.cfg.CheckpointKey, Dir: a.cfg.CheckpointDir, Observe: func(result string) { a.checkpoints.WithLabelValues(result).Inc() },
		},
	}
	for _, m := range a.modules {
		deps.Subscribers = append(deps.Subscribers, m.Subscribers...)
		deps.Jobs = append(deps.Jobs, m.Jobs...)
		deps.Triggers = append(deps.Triggers, m.Triggers...)
		deps.Housekeepers = append(deps.Housekeepers, m.Retention...)
		deps.Maintenance = append(deps.Maintenance, m.Maintenance...)
	}
	runner, err := jobs.Start(ctx, deps)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	<-ctx.Done()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.cfg.Drain)
	defer cancel()
	return runner.Stop(stop)
}
