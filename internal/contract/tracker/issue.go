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
var (
	EventIssueCreated      = op.DeclareEvent[Issue](Contract, "projects.issue.created", "An issue was created.")
	EventIssueUpdated      = op.DeclareEvent[Issue](Contract, "projects.issue.updated", "An issue changed.")
	EventIssueAssigned     = op.DeclareEvent[Issue](Contract, "projects.issue.assigned", "An issue was assigned or unassigned.")
	EventIssueEscalated    = op.DeclareEvent[Issue](Contract, "projects.issue.escalated", "An issue was escalated.")
	EventIssueTransitioned = op.DeclareEvent[Issue](Contract, "projects.issue.transitioned", "The status of an issue changed.")
	EventIssueResolved     = op.DeclareEvent[Issue](Contract, "projects.issue.resolved", "An issue was resolved.")
	EventIssuePromoted     = op.DeclareEvent[Issue](Contract, "projects.issue.promoted", "An issue became a task.")
	EventIssueDeleted      = op.DeclareEvent[Issue](Contract, "projects.issue.deleted", "An issue was deleted.")
)

// IssueSummary is an issue without its description, as in lists.
type IssueSummary struct {
	ID                   op.UUID       `json:"id" doc:"The issue's id."`
	Key                  string        `json:"key" doc:"The issue's key, unique in the tenant, such as ISS-17."`
	ProjectID            op.UUID       `json:"projectId" doc:"The project that the issue belongs to."`
	Project              *op.Reference `json:"project,omitempty" doc:"The name of the record that projectId identifies."`
	Title                string        `json:"title" doc:"The issue's title. Untrusted text."`
	Severity             string        `json:"severity" enum:"CRITICAL|HIGH|MEDIUM|LOW" doc:"The severity; it sets the SLA deadlines."`
	Status               string        `json:"status" enum:"OPEN|IN_PROGRESS|CLOSED|RESOLVED|REOPENED" doc:"The issue's status."`
	Resolution           string        `json:"resolution,omitempty" enum:"FIXED|WONT_FIX|DUPLICATE|DEFERRED" doc:"How the issue was resolved; absent if unresolved."`
	Assignee             op.UUID       `json:"assignee,omitempty" doc:"The assigned user; absent if unassigned."`
	AssigneeUser         *op.Reference `json:"assigneeUser,omitempty" doc:"The name of the record that assignee identifies."`
	DueDate              op.Date       `json:"dueDate,omitempty" doc:"The due date, independent of the SLA deadlines."`
	FirstResponseDueAt   time.Time     `json:"firstResponseDueAt" doc:"The SLA deadline for the first response: 1, 4, 8 or 24 hours after creation for CRITICAL, HIGH, MEDIUM or LOW."`
	FirstRespondedAt     *time.Time    `json:"firstRespondedAt,omitempty" doc:"When a user other than the creator first commented on, transitioned, resolved or assigned the issue."`
	FirstResponseOverdue bool          `json:"firstResponseOverdue" doc:"Whether the first response came after its deadline or is overdue now."`
	ResolutionDueAt      time.Time     `json:"resolutionDueAt" doc:"The SLA deadline for the resolution: 8, 24, 72 or 168 hours after creation for CRITICAL, HIGH, MEDIUM or LOW."`
	ResolvedAt           *time.Time    `json:"resolvedAt,omitempty" doc:"When the issue was resolved or closed; absent while it is open."`
	ResolutionOverdue    bool          `json:"resolutionOverdue" doc:"Whether the issue was resolved or closed after its deadline or is overdue now."`
	PromotedTaskID       op.UUID       `json:"promotedTaskId,omitempty" doc:"The task of the same project that the issue was promoted to."`
	PromotedTask         *op.Reference `json:"promotedTask,omitempty" doc:"The name of the record that promotedTaskId identifies."`
	CreatedBy            op.UUID       `json:"createdBy" doc:"The user who created the issue."`
	CreatedByUser        *op.Reference `json:"createdByUser,omitempty" doc:"The name of the record that createdBy identifies."`
	CreatedAt            time.Time     `json:"createdAt" doc:"When the issue was created."`
	UpdatedAt            time.Time     `json:"updatedAt" doc:"When the issue last changed."`
}

// Issue is an issue with all its fields.
type Issue struct {
	IssueSummary
	Description     string `json:"description" doc:"The issue's description, Markdown. Untrusted text."`
	PromotedTaskKey string `json:"promotedTaskKey,omitempty" doc:"The key of the task that the issue was promoted to."`
}

// IssueRef identifies the issue that a task was promoted from.
type IssueRef struct {
	ID  op.UUID `json:"id" doc:"The issue's id."`
	Key string  `json:"key" doc:"The issue's key."`
}

// ListIssuesIn is the input of ListIssues.
type ListIssuesIn struct {
	ProjectID op.UUID `query:"projectId" format:"uuid" doc:"Only issues of this project."`
	Severity  string  `query:"severity" enum:"CRITICAL|HIGH|MEDIUM|LOW" doc:"Only issues of this severity."`
	Status    string  `query:"status" enum:"OPEN|IN_PROGRESS|CLOSED|RESOLVED|REOPENED" doc:"Only issues with this status."`
	Assignee  op.UUID `query:"assignee" format:"uuid" doc:"Only issues assigned to this user."`
	Search    string  `query:"search" maxLength:"200" empty:"true" doc:"An issue key or search words. Each word matches the start of a word in title or description, or a part of the title. Supports OR, -word and quoted whole words."`
	Limit     int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"The maximum number of issues to return."`
	Cursor    string  `query:"cursor" doc:"The nextCursor of the previous page."`
}

// ListIssues lists the issues that the caller may read, newest first.
var ListIssues = op.Declare[ListIssuesIn, op.Page[IssueSummary]](Contract, op.Spec{
	Name: "list-issues", Method: "GET", Path: "/api/issues", Permission: PermIssuesRead, Effect: op.Read,
	Summary:     "List issues: unplanned work.",
	Description: "Newest first. Omits issues that the caller may not read. Use get-issue for the description.",
})

// CreateIssueIn is the input of CreateIssue.
type CreateIssueIn struct {
	ProjectID   op.UUID `json:"projectId" required:"true" format:"uuid" doc:"The project."`
	Title       string  `json:"title" required:"true" maxLength:"500" doc:"The issue's title."`
	Description string  `json:"description" maxLength:"100000" doc:"The issue's description, Markdown."`
	Severity    string  `json:"severity" enum:"CRITICAL|HIGH|MEDIUM|LOW" default:"MEDIUM" doc:"The severity."`
	DueDate     op.Date `json:"dueDate" format:"date" doc:"The due date."`
}

// CreateIssue creates an issue.
var CreateIssue = op.Declare[CreateIssueIn, Issue](Contract, op.Spec{
	Name: "create-issue", Method: "POST", Path: "/api/issues", Permission: PermIssueCreate, Effect: op.Write, Status: 201,
	Summary:     "Create an issue: unplanned work.",
	Description: "A new issue is OPEN and unassigned; assign-issue assigns it to a user. Its key starts with the project's issue prefix.",
})

// GetIssueIn is the input of GetIssue.
type GetIssueIn struct {
	Issue string `path:"issue" maxLength:"64" doc:"The issue's key or id."`
}

// GetIssue returns an issue with all its fields.
var GetIssue = op.Declare[GetIssueIn, Issue](Contract, op.Spec{
	Name: "get-issue", Method: "GET", Path: "/api/issues/{issue}", Permission: PermIssuesRead, Effect: op.Read,
	Summary: "Get an issue with all its fields.",
})

// UpdateIssueIn is the input of UpdateIssue.
type UpdateIssueIn struct {
	Issue       string          `path:"issue" maxLength:"64" doc:"The issue's key or id."`
	Title       op.Opt[string]  `json:"title" minLength:"1" maxLength:"500" doc:"A new title."`
	Description op.Opt[string]  `json:"description" maxLength:"100000" doc:"A new description; null clears it."`
	DueDate     op.Opt[op.Date] `json:"dueDate" format:"date" doc:"The due date; null clears it."`
}

// UpdateIssue changes an issue's title, description or due date.
var UpdateIssue = op.Declare[UpdateIssueIn, Issue](Contract, op.Spec{
	Name: "update-issue", Method: "PATCH", Path: "/api/issues/{issue}", Permission: PermIssueUpdate, Effect: op.Write,
	Summary:     "Change an issue's title, description or due date.",
	Description: "Changes only the fields that are given. To change severity, assignee or status, use escalate-issue, assign-issue, transition-issue or resolve-issue.",
})

// DeleteIssueIn is the input of DeleteIssue.
type DeleteIssueIn struct {
	Issue string `path:"issue" maxLength:"64" doc:"The issue's key or id."`
}

// DeleteIssue deletes an issue.
var DeleteIssue = op.Declare[DeleteIssueIn, op.None](Contract, op.Spec{
	Name: "delete-issue", Method: "DELETE", Path: "/api/issues/{issue}", Permission: PermIssueDelete, Effect: op.Destroy, Status: 204,
	Summary:     "Delete an issue permanently.",
	Description: "Also deletes its comments. Keeps its time entries, in the project, and the task that it was promoted to. The key is not reused. " + CascadeRule,
})

// AssignIssueIn is the input of AssignIssue.
type AssignIssueIn struct {
	Issue    string          `path:"issue" maxLength:"64" doc:"The issue's key or id."`
	Assignee op.Opt[op.UUID] `json:"assignee" format:"uuid" empty:"true" doc:"The user to assign: an active member of the tenant with clearance for the project. Required; an empty string or null unassigns the issue."`
}

// AssignIssue assigns or unassigns an issue.
var AssignIssue = op.Declare[AssignIssueIn, Issue](Contract, op.Spec{
	Name: "assign-issue", Method: "POST", Path: "/api/issues/{issue}/assign", Permission: PermIssueAssign, Effect: op.Write,
	Summary: "Assign an issue to a user, or unassign it.",
})

// EscalateIssueIn is the input of EscalateIssue.
type EscalateIssueIn struct {
	Issue    string `path:"issue" maxLength:"64" doc:"The issue's key or id."`
	Severity string `json:"severity" required:"true" enum:"CRITICAL|HIGH|MEDIUM|LOW" doc:"The new severity, higher or lower."`
}

// EscalateIssue changes an issue's severity.
var EscalateIssue = op.Declare[EscalateIssueIn, Issue](Contract, op.Spec{
	Name: "escalate-issue", Method: "POST", Path: "/api/issues/{issue}/escalate", Permission: PermIssueEscalate, Effect: op.Write,
	Summary:     "Change an issue's severity.",
	Description: "Recomputes both SLA deadlines from the issue's creation time.",
})

// TransitionIssueIn is the input of TransitionIssue.
type TransitionIssueIn struct {
	Issue string `path:"issue" maxLength:"64" doc:"The issue's key or id."`
	To    string `json:"to" required:"true" enum:"OPEN|IN_PROGRESS|CLOSED|REOPENED" doc:"The new status. To resolve an issue, use resolve-issue."`
}

// TransitionIssue changes an issue's status.
var TransitionIssue = op.Declare[TransitionIssueIn, Issue](Contract, op.Spec{
	Name: "transition-issue", Method: "POST", Path: "/api/issues/{issue}/transition", Permission: PermIssueUpdate, Effect: op.Write,
	Summary:     "Change an issue's status.",
	Description: "Any status can change to OPEN, IN_PROGRESS, CLOSED or REOPENED. CLOSED keeps the issue's resolution; the other statuses clear it.",
})

// ResolveIssueIn is the input of ResolveIssue.
type ResolveIssueIn struct {
	Issue      string `path:"issue" maxLength:"64" doc:"The issue's key or id."`
	Resolution string `json:"resolution" required:"true" enum:"FIXED|WONT_FIX|DUPLICATE|DEFERRED" doc:"How the issue was resolved."`
}

// ResolveIssue resolves an issue.
var ResolveIssue = op.Declare[ResolveIssueIn, Issue](Contract, op.Spec{
	Name: "resolve-issue", Method: "POST", Path: "/api/issues/{issue}/resolve", Permission: PermIssueUpdate, Effect: op.Write,
	Summary:     "Resolve an issue.",
	Description: "Allowed from any status. An issue that is already resolved gets the new resolution.",
})

// PromoteIssueIn is the input of PromoteIssue.
type PromoteIssueIn struct {
	Issue string `path:"issue" maxLength:"64" doc:"The issue's key or id."`
}

// PromoteIssue creates a task from an issue.
var PromoteIssue = op.Declare[PromoteIssueIn, Task](Contract, op.Spec{
	Name: "promote-issue", Method: "POST", Path: "/api/issues/{issue}/promote", Permission: PermIssueUpdate, Effect: op.Write, Idempotent: true,
	Summary: "Promote an issue to a task of its project.",
	Description: "Creates a BUG with the issue's title, description, due date and assignee (if still assignable) and a priority derived from the severity. " +
		"Issue and task reference each other; the issue is otherwise unchanged. If the issue was already promoted, its task is returned. Also requires task.create; titles are not checked for duplicates.",
})
