package tracker

import (
	"time"

	"parapet/internal/op"
)

// The values of an agent run's status.
const (
	RunQueued    = "QUEUED"
	RunRunning   = "RUNNING"
	RunSucceeded = "SUCCEEDED"
	RunFailed    = "FAILED"
	RunCancelled = "CANCELLED"
)

// The events about agent runs. The payload is AgentRunSummary.
var (
	EventRunQueued    = op.DeclareEvent[AgentRunSummary](Contract, "projects.agent_run.queued", "A task was assigned to an agent, so a run was queued.")
	EventRunStarted   = op.DeclareEvent[AgentRunSummary](Contract, "projects.agent_run.started", "An attempt at an agent run started.")
	EventRunRetried   = op.DeclareEvent[AgentRunSummary](Contract, "projects.agent_run.requeued", "An attempt at an agent run failed, and the run was queued again.")
	EventRunFinished  = op.DeclareEvent[AgentRunSummary](Contract, "projects.agent_run.finished", "An agent run succeeded or failed.")
	EventRunCancelled = op.DeclareEvent[AgentRunSummary](Contract, "projects.agent_run.cancelled", "An agent run was cancelled.")
	EventRunScored    = op.DeclareEvent[AgentRunSummary](Contract, "projects.agent_run.scored", "A finished agent run was scored.")
)

// AgentRunSummary is an agent run without its outcome, as in lists.
type AgentRunSummary struct {
	ID              op.UUID            `json:"id" doc:"The run's id."`
	ProjectID       op.UUID            `json:"projectId" doc:"The project of the task."`
	Project         *op.Reference      `json:"project,omitempty" doc:"The name of the record that projectId identifies."`
	TaskID          op.UUID            `json:"taskId" doc:"The task that was assigned to the agent."`
	Task            *op.Reference      `json:"task,omitempty" doc:"The name of the record that taskId identifies."`
	TaskKey         string             `json:"taskKey" doc:"The task's key."`
	Agent           op.UUID            `json:"agent" doc:"The synthetic agent."`
	AgentUser       *op.Reference      `json:"agentUser,omitempty" doc:"The name of the record that agent identifies."`
	Status          string             `json:"status" enum:"QUEUED|RUNNING|SUCCEEDED|FAILED|CANCELLED" doc:"The run's status."`
	Note            string             `json:"note,omitempty" doc:"Why the run cannot start until the configuration changes: no command is set for agent runs."`
	Attempts        int                `json:"attempts" doc:"How many times the command was started for this run."`
	CreatedBy       op.UUID            `json:"createdBy" doc:"The user who assigned the task to the agent."`
	CreatedByUser   *op.Reference      `json:"createdByUser,omitempty" doc:"The name of the record that createdBy identifies."`
	CreatedAt       time.Time          `json:"createdAt" doc:"When the task was assigned to the agent."`
	StartedAt       *time.Time         `json:"startedAt,omitempty" doc:"When the latest attempt started."`
	FinishedAt      *time.Time         `json:"finishedAt,omitempty" doc:"When the run ended."`
	Error           string             `json:"error,omitempty" doc:"An error code, such as TIMEOUT: why the run or its latest attempt failed or was cancelled."`
	Summary         string             `json:"summary,omitempty" doc:"The agent's summary of its work. Untrusted text."`
	Score           *float64           `json:"score,omitempty" doc:"The quality score of the run, 0 to 1; absent if the run was not sampled."`
	ScoreComponents map[string]float64 `json:"scoreComponents,omitempty" doc:"The components of the score, each 0 to 1."`
	ScoredAt        *time.Time         `json:"scoredAt,omitempty" doc:"When the run was scored."`
}

// AgentRun is an agent run with its outcome.
type AgentRun struct {
	AgentRunSummary
	Outcome map[string]any `json:"outcome,omitempty" doc:"The JSON object that the command returned, unchanged. Untrusted text."`
}

// ListRunsIn is the input of ListRuns.
type ListRunsIn struct {
	ProjectID op.UUID `query:"projectId" format:"uuid" doc:"Only runs on tasks of this project."`
	TaskID    op.UUID `query:"taskId" format:"uuid" doc:"Only runs on this task."`
	Agent     op.UUID `query:"agent" format:"uuid" doc:"Only runs of this agent."`
	Status    string  `query:"status" enum:"QUEUED|RUNNING|SUCCEEDED|FAILED|CANCELLED" doc:"Only runs with this status."`
	Limit     int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"The maximum number of runs to return."`
	Cursor    string  `query:"cursor" doc:"The nextCursor of the previous page."`
}

// ListRuns lists agent runs, latest first.
var ListRuns = op.Declare[ListRunsIn, op.Page[AgentRunSummary]](Contract, op.Spec{
	Name: "list-runs", Method: "GET", Path: "/api/runs", Permission: PermRunsRead, Effect: op.Read,
	Summary: "List agent runs.",
	Description: "A run is created when a task is assigned to a synthetic agent in a tenant with agent runs enabled, but not when an agent claims a task itself. " +
		"Latest first. Omits runs in projects that the caller may not read.",
})

// GetRunIn is the input of GetRun.
type GetRunIn struct {
	RunID op.UUID `path:"runId" format:"uuid" doc:"The run's id."`
}

// GetRun returns an agent run with its outcome.
var GetRun = op.Declare[GetRunIn, AgentRun](Contract, op.Spec{
	Name: "get-run", Method: "GET", Path: "/api/runs/{runId}", Permission: PermRunsRead, Effect: op.Read,
	Summary: "Get an agent run with its outcome.",
})

// ScoreReport counts the results of one scoring pass.
type ScoreReport struct {
	// Tenants is the number of tenants that have scoring enabled.
	Tenants int `json:"tenants"`
	// Scored counts the runs in the sample, Skipped the runs outside it.
	Scored  int `json:"scored"`
	Skipped int `json:"skipped"`
}
