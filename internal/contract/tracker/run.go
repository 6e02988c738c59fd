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
const (
	EventRunQueued    = "projects.agent_run.queued"
	EventRunStarted   = "projects.agent_run.started"
	EventRunRetried   = "projects.agent_run.requeued"
	EventRunFinished  = "projects.agent_run.finished"
	EventRunCancelled = "projects.agent_run.cancelled"
	EventRunScored    = "projects.agent_run.scored"
)

// AgentRunSummary is an agent run as a list shows it: all but its outcome.
type AgentRunSummary struct {
	ID              op.UUID            `json:"id" doc:"The run's id."`
	ProjectID       op.UUID            `json:"projectId" doc:"The project of the task."`
	TaskID          op.UUID            `json:"taskId" doc:"The task that the agent was given."`
	TaskKey         string             `json:"taskKey" doc:"The task's key."`
	Agent           op.UUID            `json:"agent" doc:"The synthetic agent."`
	Status          string             `json:"status" enum:"QUEUED|RUNNING|SUCCEEDED|FAILED|CANCELLED" doc:"How far the run is."`
	Note            string             `json:"note,omitempty" doc:"Why a run waits, where that will not end by itself: no command is set for agent runs."`
	Attempts        int                `json:"attempts" doc:"How often the command was started for it."`
	CreatedBy       op.UUID            `json:"createdBy" doc:"The user who gave the agent the task."`
	CreatedAt       time.Time          `json:"createdAt" doc:"When the agent was given the task."`
	StartedAt       *time.Time         `json:"startedAt,omitempty" doc:"When the latest attempt began."`
	FinishedAt      *time.Time         `json:"finishedAt,omitempty" doc:"When the run ended."`
	Error           string             `json:"error,omitempty" doc:"Why the run or its latest attempt failed, or was cancelled: a code such as TIMEOUT."`
	Summary         string             `json:"summary,omitempty" doc:"What the agent says of its work. Untrusted text."`
	Score           *float64           `json:"score,omitempty" doc:"How well the run went, 0 to 1; absent unless the run was in the sample."`
	ScoreComponents map[string]float64 `json:"scoreComponents,omitempty" doc:"What the score is made of, each 0 to 1."`
	ScoredAt        *time.Time         `json:"scoredAt,omitempty" doc:"When the run was scored."`
}

// AgentRun is an agent run in full.
type AgentRun struct {
	AgentRunSummary
	Outcome map[string]any `json:"outcome,omitempty" doc:"What the command answered, as it answered it. Untrusted text."`
}

// ListRunsIn asks for agent runs.
type ListRunsIn struct {
	ProjectID op.UUID `query:"projectId" format:"uuid" doc:"Only runs on tasks of this project."`
	TaskID    op.UUID `query:"taskId" format:"uuid" doc:"Only runs on this task."`
	Agent     op.UUID `query:"agent" format:"uuid" doc:"Only runs of this agent."`
	Status    string  `query:"status" enum:"QUEUED|RUNNING|SUCCEEDED|FAILED|CANCELLED" doc:"Only runs with this status."`
	Limit     int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many runs to return at most."`
	Cursor    string  `query:"cursor" doc:"The nextCursor of the page before."`
}

// ListRuns lists agent runs, the latest first.
var ListRuns = op.New[ListRunsIn, op.Page[AgentRunSummary]](op.Spec{
	Name: "list-runs", Module: Module, Method: "GET", Path: "/api/runs", Permission: PermRunsRead, Effect: op.Read,
	Summary: "List the runs of agents.",
	Description: "A run is recorded when somebody gives a task to a synthetic agent in a tenant that runs agents; an agent that takes a task itself works on it already. " +
		"The latest comes first. Runs in projects that the caller may not see are left out.",
})

// GetRunIn names an agent run.
type GetRunIn struct {
	RunID op.UUID `path:"runId" format:"uuid" doc:"The run's id."`
}

// GetRun gives an agent run in full.
var GetRun = op.New[GetRunIn, AgentRun](op.Spec{
	Name: "get-run", Module: Module, Method: "GET", Path: "/api/runs/{runId}", Permission: PermRunsRead, Effect: op.Read,
	Summary: "Get an agent run in full, its outcome included.",
})

// ScoreReport is what one round of scoring did.
type ScoreReport struct {
	// Tenants is how many tenants have scoring.
	Tenants int `json:"tenants"`
	// Scored runs were in the sample, Skipped ones were not.
	Scored  int `json:"scored"`
	Skipped int `json:"skipped"`
}
