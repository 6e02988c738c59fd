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

// denialLog is a sink that keeps refusals alone.
type denialLog struct{ next authz.DecisionSink }

// Record passes a refusal on.
func (d denialLog) Record(r authz.DecisionRecord) {
	if !r.Allow {
		d.next.Record(r)
	}
}

// sinkFor is the decision log as PT_DECISION_LOG wants it.
func sinkFor(setting string, log *decisionlog.Log) authz.DecisionSink {
	switch setting {
	case "off":
		return nil
	case "denied":
		return denialLog{log}
	default:
		return log
	}
}

const readyCacheTime = time.Second

// runJobs runs the background jobs until ctx ends. A database that is not
// migrated yet has no tables for them: they wait until it is.
func (a *App) runJobs(ctx context.Context) error {
	for told := false; ; {
		err := a.ready(ctx)
		if err == nil {
			break
		}
		if !told && ctx.Err() == nil {
			a.log.WarnContext(ctx, "not ready", slog.Any("error", err))
			told = true
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(readyCacheTime):
		}
	}
	var chores []jobs.Housekeeper
	var subscribers []events.Subscriber
	if a.tracker != nil {
		subscribers = append(subscribers, a.tracker.Subscribers()...)
		chores = append(chores, jobs.Housekeeper{Name: "lapsed leases", Run: a.tracker.ReturnExpiredLeases})
	}
	runs, score := a.agentRuns()
	runner, err := jobs.Start(ctx, jobs.Deps{
		AgentRuns: runs, Score: score,
		Pool: a.pools.byRole[postgres.RoleJobs], DecisionLog: a.decisions, Log: a.log, Subscribers: subscribers,
		PasswordResets: jobs.PasswordResets{Send: a.identity.SendReset, Start: a.identity.StartResets},
		Housekeepers: []jobs.Housekeeper{
			{Name: "sessions", Run: a.identity.PruneSessions}, {Name: "password resets", Run: a.identity.PruneResets},
		},
		Maintenance: chores,
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

// agentCommand is the command that carries out what agents are given; nil where
// none is set.
func (a *App) agentCommand(ctx context.Context) tracker.AgentCommand {
	if len(a.cfg.AgentCommand) == 0 {
		if len(a.cfg.AgentTenants) > 0 {
			a.log.InfoContext(ctx, "agent runs are recorded and wait: no PT_AGENT_COMMAND is set")
		}
		return nil
	}
	return agentcmd.New(a.cfg.AgentCommand, a.cfg.AgentTimeout, a.cfg.AgentEnv).Supervised(a.cfg.Program)
}

// agentRuns are the jobs of agents, as far as this process does them.
func (a *App) agentRuns() (runs jobs.AgentRuns, score func(context.Context) error) {
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
