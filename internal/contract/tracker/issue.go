package tracker

import (
	"time"

	"parapet/internal/op"
)

// The values of an issue's severity, worst first.
const (
	SeverityCritical = "CRITICAL"
	SeverityHigh     = "HIGH"
	SeverityMedium   = "MEDIUM"
	SeverityLow      = "LOW"
)

// The values of an issue's status.
const (
	IssueOpen       = "OPEN"
	IssueInProgress = "IN_PROGRESS"
	IssueClosed     = "CLOSED"
	IssueResolved   = "RESOLVED"
	IssueReopened   = "REOPENED"
)

// The values of an issue's resolution.
const (
	ResolutionFixed     = "FIXED"
	ResolutionWontFix   = "WONT_FIX"
	ResolutionDuplicate = "DUPLICATE"
	ResolutionDeferred  = "DEFERRED"
)

// The events of issues. The payload is the Issue.
const (
	EventIssueCreated      = "projects.issue.created"
	EventIssueUpdated      = "projects.issue.updated"
	EventIssueAssigned     = "projects.issue.assigned"
	EventIssueEscalated    = "projects.issue.escalated"
	EventIssueTransitioned = "projects.issue.transitioned"
	EventIssueResolved     = "projects.issue.resolved"
	EventIssuePromoted     = "projects.issue.promoted"
	EventIssueDeleted      = "projects.issue.deleted"
)

// IssueSummary is an issue as a list shows it: all but its text.
type IssueSummary struct {
	ID                   op.UUID    `json:"id" doc:"The issue's id."`
	Key                  string     `json:"key" doc:"The issue's key, unique in the tenant, such as ISS-17."`
	ProjectID            op.UUID    `json:"projectId" doc:"The project that the issue belongs to."`
	Title                string     `json:"title" doc:"The issue's title. Untrusted text."`
	Severity             string     `json:"severity" enum:"CRITICAL|HIGH|MEDIUM|LOW" doc:"How bad it is; the deadlines follow from it."`
	Status               string     `json:"status" enum:"OPEN|IN_PROGRESS|CLOSED|RESOLVED|REOPENED" doc:"Where the issue stands."`
	Resolution           string     `json:"resolution,omitempty" enum:"FIXED|WONT_FIX|DUPLICATE|DEFERRED" doc:"How it was resolved; absent while it is not."`
	Assignee             op.UUID    `json:"assignee,omitempty" doc:"The user who works on it; absent when nobody does."`
	DueDate              op.Date    `json:"dueDate,omitempty" doc:"The day by which it is due. It has nothing to do with the deadlines of the SLA."`
	FirstResponseDueAt   time.Time  `json:"firstResponseDueAt" doc:"The SLA's deadline for the first response, from the creation by severity: 1, 4, 8 or 24 hours."`
	FirstRespondedAt     *time.Time `json:"firstRespondedAt,omitempty" doc:"When somebody else than the creator first commented on it, moved, resolved or assigned it."`
	FirstResponseOverdue bool       `json:"firstResponseOverdue" doc:"Whether the first response came after its deadline, or did not come although it is past."`
	ResolutionDueAt      time.Time  `json:"resolutionDueAt" doc:"The SLA's deadline for the resolution, from the creation by severity: 8, 24, 72 or 168 hours."`
	ResolvedAt           *time.Time `json:"resolvedAt,omitempty" doc:"When it became resolved or closed; absent while it is open."`
	ResolutionOverdue    bool       `json:"resolutionOverdue" doc:"Whether it was resolved or closed after its deadline, or is open although it is past."`
	PromotedTaskID       op.UUID    `json:"promotedTaskId,omitempty" doc:"The task that the issue was promoted to, in the same project."`
	CreatedBy            op.UUID    `json:"createdBy" doc:"The user who created the issue."`
	CreatedAt            time.Time  `json:"createdAt" doc:"When the issue was created."`
	UpdatedAt            time.Time  `json:"updatedAt" doc:"When the issue last changed."`
}

// Issue is an issue in full.
type Issue struct {
	IssueSummary
	Description     string `json:"description" doc:"The issue's text, Markdown. Untrusted text."`
	PromotedTaskKey string `json:"promotedTaskKey,omitempty" doc:"The key of the task that the issue was promoted to."`
}

// IssueRef is an issue as the task that it was promoted to shows it.
type IssueRef struct {
	ID  op.UUID `json:"id" doc:"The issue's id."`
	Key string  `json:"key" doc:"The issue's key."`
}

// ListIssuesIn asks for issues.
type ListIssuesIn struct {
	ProjectID op.UUID `query:"projectId" format:"uuid" doc:"Only issues of this project."`
	Severity  string  `query:"severity" enum:"CRITICAL|HIGH|MEDIUM|LOW" doc:"Only issues of this severity."`
	Status    string  `query:"status" enum:"OPEN|IN_PROGRESS|CLOSED|RESOLVED|REOPENED" doc:"Only issues with this status."`
	Assignee  op.UUID `query:"assignee" format:"uuid" doc:"Only issues of this user."`
	Search    string  `query:"search" maxLength:"200" empty:"true" doc:"Words to look for: each begins a word of the title or the description, or stands anywhere in the title if it has three characters or more. OR between words, a minus before one and quotes around whole words mean what they do in a web search. An issue's key finds that issue."`
	Limit     int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many issues to return at most."`
	Cursor    string  `query:"cursor" doc:"The nextCursor of the page before."`
}

// ListIssues lists the issues that the caller may read, the newest first.
var ListIssues = op.New[ListIssuesIn, op.Page[IssueSummary]](op.Spec{
	Name: "list-issues", Module: Module, Method: "GET", Path: "/api/issues", Permission: PermIssuesRead, Effect: op.Read,
	Summary:     "List issues: unplanned work.",
	Description: "The newest comes first. Issues that the caller may not read are left out; the text of an issue is in get-issue.",
})

// CreateIssueIn describes an issue to be.
type CreateIssueIn struct {
	ProjectID   op.UUID `json:"projectId" required:"true" format:"uuid" doc:"The project's id."`
	Title       string  `json:"title" required:"true" maxLength:"500" doc:"The issue's title."`
	Description string  `json:"description" maxLength:"100000" doc:"The issue's text, Markdown."`
	Severity    string  `json:"severity" enum:"CRITICAL|HIGH|MEDIUM|LOW" default:"MEDIUM" doc:"How bad it is."`
	DueDate     op.Date `json:"dueDate" format:"date" doc:"The day by which it is due."`
}

// CreateIssue creates an issue.
var CreateIssue = op.New[CreateIssueIn, Issue](op.Spec{
	Name: "create-issue", Module: Module, Method: "POST", Path: "/api/issues", Permission: PermIssueCreate, Effect: op.Write, Status: 201,
	Summary:     "Create an issue: unplanned work.",
	Description: "It is OPEN and nobody's: assign-issue gives it to a user. Its key has the project's issue prefix.",
})

// GetIssueIn names an issue.
type GetIssueIn struct {
	Issue string `path:"issue" maxLength:"64" doc:"The issue's key or id."`
}

// GetIssue gives an issue in full.
var GetIssue = op.New[GetIssueIn, Issue](op.Spec{
	Name: "get-issue", Module: Module, Method: "GET", Path: "/api/issues/{issue}", Permission: PermIssuesRead, Effect: op.Read,
	Summary: "Get an issue in full.",
})

// UpdateIssueIn holds what is to change of an issue.
type UpdateIssueIn struct {
	Issue       string          `path:"issue" maxLength:"64" doc:"The issue's key or id."`
	Title       op.Opt[string]  `json:"title" minLength:"1" maxLength:"500" doc:"A new title."`
	Description op.Opt[string]  `json:"description" maxLength:"100000" doc:"A new text; null clears it."`
	DueDate     op.Opt[op.Date] `json:"dueDate" format:"date" doc:"The day by which it is due; null clears it."`
}

// UpdateIssue changes what an issue says.
var UpdateIssue = op.New[UpdateIssueIn, Issue](op.Spec{
	Name: "update-issue", Module: Module, Method: "PATCH", Path: "/api/issues/{issue}", Permission: PermIssueUpdate, Effect: op.Write,
	Summary:     "Change an issue's title, text or due date.",
	Description: "Only the fields that are given change. Severity, assignee and status have operations of their own: escalate-issue, assign-issue, transition-issue and resolve-issue.",
})

// DeleteIssueIn names an issue to delete.
type DeleteIssueIn struct {
	Issue string `path:"issue" maxLength:"64" doc:"The issue's key or id."`
}

// DeleteIssue deletes an issue.
var DeleteIssue = op.New[DeleteIssueIn, op.None](op.Spec{
	Name: "delete-issue", Module: Module, Method: "DELETE", Path: "/api/issues/{issue}", Permission: PermIssueDelete, Effect: op.Destroy, Status: 204,
	Summary:     "Delete an issue for good.",
	Description: "Its comments are deleted with it. Time that was recorded for it stays with the project, and so does the task that it was promoted to. Its key is not given again. " + CascadeRule,
})

// AssignIssueIn says whose an issue is to be.
type AssignIssueIn struct {
	Issue    string         `path:"issue" maxLength:"64" doc:"The issue's key or id."`
	Assignee op.Opt[string] `json:"assignee" format:"uuid" empty:"true" doc:"The user who is to work on it: an active member of the tenant with clearance for the project. It has to be there; an empty text or null unassigns."`
}

// AssignIssue gives an issue to a user or to nobody.
var AssignIssue = op.New[AssignIssueIn, Issue](op.Spec{
	Name: "assign-issue", Module: Module, Method: "POST", Path: "/api/issues/{issue}/assign", Permission: PermIssueAssign, Effect: op.Write,
	Summary: "Assign an issue to a user; an empty assignee unassigns.",
})

// EscalateIssueIn says how bad an issue is after all.
type EscalateIssueIn struct {
	Issue    string `path:"issue" maxLength:"64" doc:"The issue's key or id."`
	Severity string `json:"severity" required:"true" enum:"CRITICAL|HIGH|MEDIUM|LOW" doc:"The new severity, higher or lower."`
}

// EscalateIssue changes an issue's severity.
var EscalateIssue = op.New[EscalateIssueIn, Issue](op.Spec{
	Name: "escalate-issue", Module: Module, Method: "POST", Path: "/api/issues/{issue}/escalate", Permission: PermIssueEscalate, Effect: op.Write,
	Summary:     "Change an issue's severity.",
	Description: "Both deadlines of the SLA are computed anew, from the issue's creation.",
})

// TransitionIssueIn says where an issue is to stand.
type TransitionIssueIn struct {
	Issue string `path:"issue" maxLength:"64" doc:"The issue's key or id."`
	To    string `json:"to" required:"true" enum:"OPEN|IN_PROGRESS|CLOSED|REOPENED" doc:"The new status. To resolve an issue use resolve-issue, which asks how."`
}

// TransitionIssue moves an issue.
var TransitionIssue = op.New[TransitionIssueIn, Issue](op.Spec{
	Name: "transition-issue", Module: Module, Method: "POST", Path: "/api/issues/{issue}/transition", Permission: PermIssueUpdate, Effect: op.Write,
	Summary:     "Move an issue to another status.",
	Description: "Any status can become OPEN, IN_PROGRESS, CLOSED or REOPENED. A closed issue keeps its resolution; one that is worked on again has none.",
})

// ResolveIssueIn says how an issue was resolved.
type ResolveIssueIn struct {
	Issue      string `path:"issue" maxLength:"64" doc:"The issue's key or id."`
	Resolution string `json:"resolution" required:"true" enum:"FIXED|WONT_FIX|DUPLICATE|DEFERRED" doc:"How it was resolved."`
}

// ResolveIssue resolves an issue.
var ResolveIssue = op.New[ResolveIssueIn, Issue](op.Spec{
	Name: "resolve-issue", Module: Module, Method: "POST", Path: "/api/issues/{issue}/resolve", Permission: PermIssueUpdate, Effect: op.Write,
	Summary:     "Resolve an issue.",
	Description: "From any status; an issue that is resolved already gets the new resolution.",
})

// PromoteIssueIn names an issue to promote.
type PromoteIssueIn struct {
	Issue string `path:"issue" maxLength:"64" doc:"The issue's key or id."`
}

// PromoteIssue makes a task of an issue.
var PromoteIssue = op.New[PromoteIssueIn, Task](op.Spec{
	Name: "promote-issue", Module: Module, Method: "POST", Path: "/api/issues/{issue}/promote", Permission: PermIssueUpdate, Effect: op.Write,
	Summary: "Promote an issue to a task of its project.",
	Description: "The task is a BUG with the issue's title, text, due date and assignee (if it can still be given work) and a priority after the severity. " +
		"The issue stays as it is, and both name the other. An issue that was promoted already answers with the same task. It needs task.create too; the duplicate guard is not asked.",
})
