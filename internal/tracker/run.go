package tracker

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
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

// AgentCommand carries out what agents are given: it takes the task as JSON and
// gives the outcome as JSON, or one of the errors of agentcmd.
type AgentCommand interface {
	// run is the run's id, of which only one attempt is under way at a time.
	Run(ctx context.Context, run string, input []byte) ([]byte, error)
	// Timeout is the time that Run takes at most.
	Timeout() time.Duration
}

const (
	// runAttempts is how often the command is started for one run at most.
	runAttempts = 3
	// runRetryDelay is the wait before the next attempt, times the attempts so far.
	runRetryDelay = 30 * time.Second
	// runMargin is how much longer than its command an attempt has the run for
	// itself: the time to begin and to write down the end.
	runMargin = 30 * time.Second
)

// Why a run, or an attempt, failed or was cancelled.
const (
	runExit       = "EXIT"
	runStart      = "START"
	runTimeout    = "TIMEOUT"
	runOutput     = "OUTPUT"
	runLost       = "PROCESS_LOST"
	runReported   = "REPORTED"
	runReassigned = "REASSIGNED"
	runOver       = "TASK_OVER"
	runNoAgent    = "AGENT_NOT_ACTIVE"
	runUncleared  = "AGENT_NOT_CLEARED"
)

// noCommandMessage is what a run that waits says where this process can't carry it out.
const noCommandMessage = "No command is set for agent runs (PT_AGENT_COMMAND): the run waits until a process has one."

// assigned records a run when a task has been given to a synthetic agent, with
// the change itself. Whoever takes a task for itself works on it already, and
// work that is over is not begun. who is nil where the task changed no hands.
func assigned(ctx context.Context, c *executor.Call, task *taskRow, who *authz.Candidate) error {
	if who == nil || who.Kind != authz.KindAgent || op.UUID(who.ID) == c.Actor.UserID || isOver(task.StatusCategory) {
		return nil
	}
	id := uid.New()
	tag, err := c.DB.Exec(ctx, insertRunSQL, postgres.Args{
		"tenant": c.Tenant, "id": id, "project": task.ProjectID, "task": task.ID, "agent": who.ID, "by": c.Actor.UserID, "now": c.Now,
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

// ExecuteRun makes one attempt at a run, unless it is over or under way. A wait
// that is not zero asks to be called again after it. Two calls at once, in
// whatever processes, never start the command twice: an attempt has the run for
// itself until its command must have ended.
func (s *Service) ExecuteRun(ctx context.Context, tenant, id op.UUID) (time.Duration, error) {
	if s.agent == nil {
		return 0, errors.New("tracker: no command for agent runs")
	}
	run, input, again, err := s.takeRun(ctx, tenant, id)
	if err != nil || input == nil {
		return again, ignoreNotFound(err)
	}
	output, failure := s.agent.Run(ctx, string(id), input)
	if failure != nil {
		s.log.WarnContext(ctx, "agent run: the command gave no answer", slog.String("run", string(id)), slog.Any("error", failure))
	}
	// What became of it is written down also when the process is about to stop.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), runMargin/2)
	defer cancel()
	again, err = s.concludeRun(end, tenant, run, output, failure)
	if fault.HasCode(err, fault.CodeValidation) {
		// JSON, but none that can be kept: a NUL in it, say.
		again, err = s.concludeRun(end, tenant, run, nil, fmt.Errorf("%w: %w", agentcmd.ErrOutput, err))
	}
	return again, ignoreNotFound(err)
}

// ignoreNotFound makes nothing of a run that is not there: it went with its task.
func ignoreNotFound(err error) error {
	if fault.HasCode(err, fault.CodeNotFound) {
		return nil
	}
	return err
}

// takeRun begins an attempt, if there is one to make now, and gives what its
// command reads.
func (s *Service) takeRun(ctx context.Context, tenant, id op.UUID) (run runRow, input []byte, again time.Duration, err error) {
	err = s.executor.RunAsSystem(ctx, tenant, func(ctx context.Context, c *executor.Call) error {
		var err error
		input, again = nil, 0
		if run, err = loadRun(ctx, c, lockRunSQL, id); err != nil {
			return err
		}
		switch {
		case run.Status == contract.RunRunning && run.HeldUntil.After(c.Now):
			again = max(run.HeldUntil.Sub(c.Now), time.Second)
			return nil
		case run.Status == contract.RunRunning && run.Attempts >= runAttempts:
			return run.end(ctx, c, contract.RunFailed, runLost)
		case run.Status != contract.RunQueued && run.Status != contract.RunRunning:
			return nil
		}
		input, err = s.beginAsSystem(ctx, c, &run)
		return err
	})
	return run, input, again, err
}

// concludeRun writes down how the attempt ended. One that took longer than it had
// has lost the run to another.
func (s *Service) concludeRun(ctx context.Context, tenant op.UUID, run runRow, output []byte, failure error) (again time.Duration, err error) {
	err = s.executor.RunAsSystem(ctx, tenant, func(ctx context.Context, c *executor.Call) error {
		again = 0
		now, err := loadRun(ctx, c, lockRunSQL, run.ID)
		if err != nil || now.Status != contract.RunRunning || now.Attempts != run.Attempts {
			return err
		}
		again, err = now.conclude(ctx, c, output, failure)
		return err
	})
	return again, err
}

// runInput is what the command reads.
type runInput struct {
	RunID    op.UUID        `json:"runId"`
	TenantID op.UUID        `json:"tenantId"`
	Agent    op.UUID        `json:"agent"`
	Attempt  int            `json:"attempt"`
	Task     *contract.Task `json:"task"`
	Lessons  runLessons     `json:"lessons"`
}

// runLessons are what the wiki has to say on the task: nothing, while nobody asks
// it.
type runLessons struct {
	Found   bool     `json:"found"`
	Lessons []string `json:"lessons"`
}

// beginAsSystem starts an attempt and gives what its command reads; nil when there is no
// more to do, because the task is over or somebody else's, or the policies no longer
// let the agent have it: it may have lost its clearance since the assignment.
func (s *Service) beginAsSystem(ctx context.Context, c *executor.Call, run *runRow) ([]byte, error) {
	rows, err := loadTasks(ctx, c, []op.UUID{run.TaskID})
	if err != nil {
		return nil, err
	}
	task := rows[run.TaskID]
	switch {
	case task == nil:
		return nil, fault.NotFound("task")
	case value(task.AssigneeID) != run.AgentID:
		return nil, run.end(ctx, c, contract.RunCancelled, runReassigned)
	case isOver(task.StatusCategory):
		return nil, run.end(ctx, c, contract.RunCancelled, runOver)
	}
	agent, err := s.loadCandidate(ctx, c, string(run.AgentID))
	if err != nil {
		return nil, err
	}
	v, err := c.Evaluate(ctx, authz.StartRun{Agent: agent, Resource: task.resource(c.Tenant)})
	switch {
	case err != nil:
		return nil, fault.Unavailable(err)
	case !v.Allow:
		return nil, run.end(ctx, c, contract.RunCancelled, runDenialReason(v))
	}
	held := c.Now.Add(s.agent.Timeout() + runMargin)
	run.Status, run.HeldUntil, run.StartedAt, run.Error = contract.RunRunning, &held, &c.Now, nil
	run.Attempts++
	if err := updateRunRow(ctx, c, run); err != nil {
		return nil, err
	}
	recordRun(c, run, "started", contract.EventRunStarted)
	return json.Marshal(runInput{
		RunID: run.ID, TenantID: c.Tenant, Agent: run.AgentID, Attempt: run.Attempts, Task: task.published(c.Tenant), Lessons: runLessons{Lessons: []string{}},
	})
}

// runDenialReason is the code of a run that the policies did not let start.
func runDenialReason(v authz.Verdict) string {
	if len(v.Reasons) == 0 {
		return runNoAgent
	}
	switch reason := v.Reasons[0]; reason {
	case "not_an_agent", "agent_not_active":
		return runNoAgent
	case "clearance":
		return runUncleared
	default:
		return strings.ToUpper(reason)
	}
}

// conclude writes down how an attempt ended. A command that gave no answer is
// asked again, a few times; one that was called off has not been asked.
func (r *runRow) conclude(ctx context.Context, c *executor.Call, output []byte, failure error) (again time.Duration, err error) {
	if failure == nil {
		failure = r.read(output)
	}
	switch {
	case failure == nil:
		return 0, r.end(ctx, c, r.Status, value(r.Error))
	case errors.Is(failure, context.Canceled), errors.Is(failure, agentcmd.ErrOverlap):
		r.Status, r.HeldUntil = contract.RunQueued, nil
		r.Attempts--
		return time.Second, updateRunRow(ctx, c, r)
	}
	code := runCode(failure)
	if r.Attempts >= runAttempts {
		return 0, r.end(ctx, c, contract.RunFailed, code)
	}
	r.Status, r.HeldUntil, r.Error = contract.RunQueued, nil, &code
	if err := updateRunRow(ctx, c, r); err != nil {
		return 0, err
	}
	recordRun(c, r, "queued", contract.EventRunRetried)
	return runRetryDelay * time.Duration(r.Attempts), nil
}

// runCode is the code of what kept a command from an answer.
func runCode(failure error) string {
	for _, known := range []struct {
		err  error
		code string
	}{{agentcmd.ErrTimeout, runTimeout}, {agentcmd.ErrOutput, runOutput}, {agentcmd.ErrStart, runStart}} {
		if errors.Is(failure, known.err) {
			return known.code
		}
	}
	return runExit
}

// end writes down that the run is over.
func (r *runRow) end(ctx context.Context, c *executor.Call, status, code string) error {
	r.Status, r.HeldUntil, r.FinishedAt, r.Error = status, nil, &c.Now, optional(code)
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

// maxRunSummary is the length in characters of the longest summary that is kept.
const maxRunSummary = 2000

// read takes what the command answered: one JSON object. Its member status,
// SUCCEEDED unless told, says how the work went, and summary tells of it.
func (r *runRow) read(output []byte) error {
	wrong := func(err error) error { return fmt.Errorf("%w: it is no outcome: %w", agentcmd.ErrOutput, err) }
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(output, &whole); err != nil {
		return wrong(err)
	}
	outcome := struct {
		Status  string `json:"status"`
		Summary string `json:"summary"`
	}{Status: contract.RunSucceeded}
	if err := json.Unmarshal(output, &outcome); err != nil {
		return wrong(err)
	}
	if whole == nil || (outcome.Status != contract.RunSucceeded && outcome.Status != contract.RunFailed) {
		return wrong(errors.New("it must be an object, and its status SUCCEEDED or FAILED"))
	}
	r.Status, r.Outcome, r.Error = outcome.Status, output, nil
	if outcome.Status == contract.RunFailed {
		r.Error = optional(runReported)
	}
	summary := []rune(strings.TrimSpace(outcome.Summary))
	r.Summary = optional(string(summary[:min(len(summary), maxRunSummary)]))
	return nil
}
