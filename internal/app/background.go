package app

import (
	"context"
	"log/slog"
	"time"

	"parapet/internal/agentcmd"
	"parapet/internal/authz"
	"parapet/internal/decisionlog"
	"parapet/internal/events"
	"parapet/internal/postgres"
	"parapet/internal/tracker"
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
	var maintenance []jobs.Housekeeper
	var subscribers []events.Subscriber
	if a.tracker != nil {
		subscribers = append(subscribers, a.tracker.Subscribers()...)
		maintenance = append(maintenance, jobs.Housekeeper{Name: "expired leases", Run: a.tracker.ReturnExpiredLeases})
	}
	runs, score := a.newAgentJobs()
	runner, err := jobs.Start(ctx, jobs.Deps{
		AgentRuns: runs, Score: score,
		Pool: a.pools.byRole[postgres.RoleJobs], DecisionLog: a.decisions, Log: a.log, Subscribers: subscribers, Tracer: a.tracer,
		PasswordResets: jobs.PasswordResets{Send: a.identity.SendReset, Start: a.identity.StartResets},
		Housekeepers: []jobs.Housekeeper{
			{Name: "sessions", Run: a.identity.PruneSessions}, {Name: "password resets", Run: a.identity.PruneResets},
		},
		Maintenance: maintenance,
		Checkpoint: jobs.CheckpointConfig{
			Key: a.cfg.CheckpointKey, Dir: a.cfg.CheckpointDir, Observe: func(result string) { a.checkpoints.WithLabelValues(result).Inc() },
		},
	})
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

// newAgentCommand returns the command that executes agent runs, or nil if none is configured.
func (a *App) newAgentCommand(ctx context.Context) tracker.AgentCommand {
	if len(a.cfg.AgentCommand) == 0 {
		if len(a.cfg.AgentTenants) > 0 {
			a.log.InfoContext(ctx, "agent runs stay queued because PT_AGENT_COMMAND is not set")
		}
		return nil
	}
	return agentcmd.New(a.cfg.AgentCommand, a.cfg.AgentTimeout, a.cfg.AgentEnv).WithSupervisor(a.cfg.Program)
}

// newAgentJobs returns the agent jobs that this process is configured to work.
func (a *App) newAgentJobs() (runs jobs.AgentRuns, score func(context.Context) error) {
	if a.tracker == nil {
		return runs, nil
	}
	if len(a.cfg.AgentCommand) > 0 {
		runs = jobs.AgentRuns{Execute: a.tracker.ExecuteRun, Timeout: a.cfg.AgentTimeout}
	}
	if len(a.cfg.ScoringTenants) > 0 {
		score = func(ctx context.Context) error {
			_, err := a.tracker.ScoreRuns(ctx)
			return err
		}
	}
	return runs, score
}
