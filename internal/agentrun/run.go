package agentrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"parapet/internal/agentcmd"
	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/lessons"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

const (
	// runAttempts is the maximum number of attempts for a run.
	runAttempts = 3
	// runRetryDelay, multiplied by the attempts so far, is the delay before the next attempt.
	runRetryDelay = 30 * time.Second
	// attemptMargin is added to the command's timeout to get the time for which an attempt
	// holds the run. It covers starting the command and storing its result.
	attemptMargin = 30 * time.Second
)

// Error codes of failed and cancelled runs and attempts.
const (
	runExit            = "EXIT"
	runStart           = "START"
	runTimeout         = "TIMEOUT"
	runOutput          = "OUTPUT"
	runProcessLost     = "PROCESS_LOST"
	runReported        = "REPORTED"
	runReassigned      = "REASSIGNED"
	runTaskOver        = "TASK_OVER"
	runAgentNotActive  = "AGENT_NOT_ACTIVE"
	runAgentNotCleared = "AGENT_NOT_CLEARED"
)

// noCommandMessage is the note of queued runs if this process has no agent command.
const noCommandMessage = "No agent command is configured (PT_AGENT_COMMAND). The run stays queued until a process has one."

// QueueOnAssignment queues a run in the same transaction when a task is assigned to
// an agent. It does nothing if the agent assigned the task to itself or the task is in
// a final status. assignee is nil if the assignee did not change.
func QueueOnAssignment(ctx context.Context, c *executor.Call, task *Task, assignee *authz.Candidate) error {
	if assignee == nil || assignee.Kind != authz.KindAgent || op.UUID(assignee.ID) == c.Actor.UserID || task.IsFinal {
		return nil
	}
	id := uid.New()
	tag, err := c.DB.Exec(ctx, insertRunSQL, postgres.Args{
		"tenant": c.Tenant, "id": id, "project": task.ProjectID, "task": task.ID, "agent": assignee.ID, "by": c.Actor.UserID, "now": c.Now,
	})
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	row, err := loadRun(ctx, c, runByIDSQL, id)
	if err != nil {
		return err
	}
	recordRun(c, &row, "queued", contract.EventRunQueued)
	return nil
}

// Execute makes one attempt at a run, unless the run is finished or another attempt
// is in progress. If it returns a non-zero duration, call it again after that time.
// Concurrent calls, in any process, never start the command twice: an attempt holds
// the run until its command has timed out.
func (s *Service) Execute(ctx context.Context, tenant, id op.UUID) (time.Duration, error) {
	if s.Command == nil {
		return 0, errors.New("agentrun: no command for agent runs")
	}
	run, input, retryAfter, err := s.prepareAttempt(ctx, tenant, id)
	if err != nil || input == nil {
		return retryAfter, ignoreNotFound(err)
	}
	// Not in the transaction of the attempt, because it waits for another server.
	input.Lessons = s.FindLessons(ctx, tenant, input.Task)
	text, err := json.Marshal(input)
	if err != nil {
		return 0, err
	}
	output, failure := s.Command.Run(ctx, string(id), text)
	if failure != nil {
		s.Log.WarnContext(ctx, "agent run: command failed", slog.String("run", string(id)), slog.Any("error", failure))
	}
	// Store the result even if the process is shutting down.
	resultCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptMargin/2)
	defer cancel()
	retryAfter, err = s.saveAttemptResult(resultCtx, tenant, run, output, failure)
	if fault.HasCode(err, fault.CodeValidation) {
		// The output is JSON that PostgreSQL cannot store, for example with a NUL character.
		retryAfter, err = s.saveAttemptResult(resultCtx, tenant, run, nil, fmt.Errorf("%w: %w", agentcmd.ErrOutput, err))
	}
	return retryAfter, ignoreNotFound(err)
}

// ignoreNotFound returns nil if the run no longer exists, because its task was
// deleted.
func ignoreNotFound(err error) error {
	if fault.HasCode(err, fault.CodeNotFound) {
		return nil
	}
	return err
}

// prepareAttempt starts an attempt if one is due and returns the input of its command;
// a nil input means that there is nothing to execute.
func (s *Service) prepareAttempt(ctx context.Context, tenant, id op.UUID) (run Row, input *runInput, retryAfter time.Duration, err error) {
	err = s.Executor.RunAsSystem(ctx, tenant, func(ctx context.Context, c *executor.Call) error {
		var err error
		input, retryAfter = nil, 0
		if run, err = loadRun(ctx, c, lockRunSQL, id); err != nil {
			return err
		}
		switch {
		case run.Status == contract.RunRunning && run.HeldUntil.After(c.Now):
			retryAfter = max(run.HeldUntil.Sub(c.Now), time.Second)
			return nil
		case run.Status == contract.RunRunning && run.Attempts >= runAttempts:
			return run.finish(ctx, c, contract.RunFailed, runProcessLost)
		case run.Status != contract.RunQueued && run.Status != contract.RunRunning:
			return nil
		}
		input, err = s.startAttempt(ctx, c, &run)
		return err
	})
	return run, input, retryAfter, err
}

// saveAttemptResult stores the result of the attempt. It does nothing if the attempt
// exceeded its time and another attempt has started.
func (s *Service) saveAttemptResult(ctx context.Context, tenant op.UUID, run Row, output []byte, failure error) (retryAfter time.Duration, err error) {
	err = s.Executor.RunAsSystem(ctx, tenant, func(ctx context.Context, c *executor.Call) error {
		retryAfter = 0
		current, err := loadRun(ctx, c, lockRunSQL, run.ID)
		if err != nil || current.Status != contract.RunRunning || current.Attempts != run.Attempts {
			return err
		}
		retryAfter, err = current.applyAttemptResult(ctx, c, output, failure)
		return err
	})
	return retryAfter, err
}

// runInput is the JSON input of the agent command.
type runInput struct {
	RunID    op.UUID        `json:"runId"`
	TenantID op.UUID        `json:"tenantId"`
	Agent    op.UUID        `json:"agent"`
	Attempt  int            `json:"attempt"`
	Task     *contract.Task `json:"task"`
	// Lessons are the lessons of the wiki for the task.
	Lessons lessons.Lessons `json:"lessons"`
}

// startAttempt starts an attempt and returns the input of its command. It cancels the
// run and returns nil if the task is in a final status or has another assignee, or if
// the policies no longer allow the agent to work on it, for example after a loss of
// clearance.
func (s *Service) startAttempt(ctx context.Context, c *executor.Call, run *Row) (*runInput, error) {
	task, err := s.LoadTask(ctx, c, run.TaskID)
	switch {
	case err != nil:
		return nil, err
	case task.AssigneeID != run.AgentID:
		return nil, run.finish(ctx, c, contract.RunCancelled, runReassigned)
	case task.IsFinal:
		return nil, run.finish(ctx, c, contract.RunCancelled, runTaskOver)
	}
	agent, err := s.LoadCandidate(ctx, c, string(run.AgentID))
	if err != nil {
		return nil, err
	}
	v, err := c.Evaluate(ctx, authz.StartRun{Agent: agent, Resource: task.Resource})
	switch {
	case err != nil:
		return nil, fault.Unavailable(err)
	case !v.Allow:
		return nil, run.finish(ctx, c, contract.RunCancelled, runDenialReason(v))
	}
	held := c.Now.Add(s.Command.Timeout() + attemptMargin)
	run.Status, run.HeldUntil, run.StartedAt, run.Error = contract.RunRunning, &held, &c.Now, nil
	run.Attempts++
	if err := updateRunRow(ctx, c, run); err != nil {
		return nil, err
	}
	recordRun(c, run, "started", contract.EventRunStarted)
	return &runInput{RunID: run.ID, TenantID: c.Tenant, Agent: run.AgentID, Attempt: run.Attempts, Task: task.Public}, nil
}

// runDenialReason returns the error code of a run that the policies did not allow to
// start.
func runDenialReason(v authz.Verdict) string {
	if len(v.Reasons) == 0 {
		return runAgentNotActive
	}
	switch reason := v.Reasons[0]; reason {
	case "not_an_agent", "agent_not_active":
		return runAgentNotActive
	case "clearance":
		return runAgentNotCleared
	default:
		return strings.ToUpper(reason)
	}
}

// applyAttemptResult stores the result of an attempt. A failed attempt is retried up
// to runAttempts times. A cancelled attempt does not count.
func (r *Row) applyAttemptResult(ctx context.Context, c *executor.Call, output []byte, failure error) (retryAfter time.Duration, err error) {
	if failure == nil {
		failure = r.parseOutcome(output)
	}
	switch {
	case failure == nil:
		return 0, r.finish(ctx, c, r.Status, postgres.ValueOrZero(r.Error))
	case errors.Is(failure, context.Canceled), errors.Is(failure, agentcmd.ErrOverlap):
		r.Status, r.HeldUntil = contract.RunQueued, nil
		r.Attempts--
		return time.Second, updateRunRow(ctx, c, r)
	}
	code := failureCode(failure)
	if r.Attempts >= runAttempts {
		return 0, r.finish(ctx, c, contract.RunFailed, code)
	}
	r.Status, r.HeldUntil, r.Error = contract.RunQueued, nil, &code
	if err := updateRunRow(ctx, c, r); err != nil {
		return 0, err
	}
	recordRun(c, r, "queued", contract.EventRunRetried)
	return runRetryDelay * time.Duration(r.Attempts), nil
}

// failureCode returns the error code for a failure of the agent command.
func failureCode(failure error) string {
	for _, e := range []struct {
		err  error
		code string
	}{{agentcmd.ErrTimeout, runTimeout}, {agentcmd.ErrOutput, runOutput}, {agentcmd.ErrStart, runStart}} {
		if errors.Is(failure, e.err) {
			return e.code
		}
	}
	return runExit
}

// finish stores that the run is finished or cancelled.
func (r *Row) finish(ctx context.Context, c *executor.Call, status, code string) error {
	r.Status, r.HeldUntil, r.FinishedAt, r.Error = status, nil, &c.Now, postgres.NullIfZero(code)
	if err := updateRunRow(ctx, c, r); err != nil {
		return err
	}
	verb, event := "finished", contract.EventRunFinished
	if status == contract.RunCancelled {
		verb, event = "cancelled", contract.EventRunCancelled
	}
	recordRun(c, r, verb, event)
	return nil
}

// maxRunSummary is the maximum length of a stored summary, in characters.
const maxRunSummary = 2000

// parseOutcome reads the command's output, one JSON object: status is SUCCEEDED (the
// default) or FAILED, and summary is optional text.
func (r *Row) parseOutcome(output []byte) error {
	invalid := func(err error) error { return fmt.Errorf("%w: invalid outcome: %w", agentcmd.ErrOutput, err) }
	var object map[string]json.RawMessage
	if err := json.Unmarshal(output, &object); err != nil {
		return invalid(err)
	}
	outcome := struct {
		Status  string `json:"status"`
		Summary string `json:"summary"`
	}{Status: contract.RunSucceeded}
	if err := json.Unmarshal(output, &outcome); err != nil {
		return invalid(err)
	}
	if object == nil || (outcome.Status != contract.RunSucceeded && outcome.Status != contract.RunFailed) {
		return invalid(errors.New("the output must be a JSON object with status SUCCEEDED or FAILED"))
	}
	r.Status, r.Outcome, r.Error = outcome.Status, output, nil
	if outcome.Status == contract.RunFailed {
		r.Error = postgres.NullIfZero(runReported)
	}
	summary := []rune(strings.TrimSpace(outcome.Summary))
	r.Summary = postgres.NullIfZero(string(summary[:min(len(summary), maxRunSummary)]))
	return nil
}
