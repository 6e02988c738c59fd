package tracker

import "parapet/internal/op"

// EpicChild is a task of an epic. A task that the caller may not read has only an
// opaque id, REDACTED as key and title, and IsCrossProject.
type EpicChild struct {
	ID             op.UUID       `json:"id" doc:"The child's id; if masked, an opaque id that is stable across requests."`
	Key            string        `json:"key" doc:"The child's key, or REDACTED if masked."`
	Title          string        `json:"title" doc:"The child's title, or REDACTED if masked. Untrusted text."`
	IsCrossProject bool          `json:"isCrossProject" doc:"Whether the child is in another project than its epic; true if masked."`
	ProjectID      op.UUID       `json:"projectId,omitempty" doc:"The child's project; absent if masked, as are all following fields."`
	Project        *op.Reference `json:"project,omitempty" doc:"The name of the record that projectId identifies."`
	Status         string        `json:"status,omitempty" doc:"One of its project's statuses."`
	StatusCategory string        `json:"statusCategory,omitempty" enum:"TODO|IN_PROGRESS|REVIEW|DONE|CANCELLED" doc:"The category of the status."`
	IssueType      string        `json:"issueType,omitempty" enum:"TASK|BUG|FEATURE|CHORE" doc:"The kind of work."`
	Priority       string        `json:"priority,omitempty" enum:"URGENT|HIGH|MEDIUM|LOW" doc:"The priority."`
	Progress       *int          `json:"progress,omitempty" doc:"Progress in percent, 0 to 100."`
	Assignee       op.UUID       `json:"assignee,omitempty" doc:"The assigned user; absent if unassigned."`
	AssigneeUser   *op.Reference `json:"assigneeUser,omitempty" doc:"The name of the record that assignee identifies."`
	DueDate        op.Date       `json:"dueDate,omitempty" doc:"The due date."`
}

// ListEpicChildrenIn is the input of ListEpicChildren.
type ListEpicChildrenIn struct {
	EpicID op.UUID `path:"epicId" format:"uuid" doc:"The epic."`
	Limit  int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"The maximum number of children to return."`
	Cursor string  `query:"cursor" doc:"The nextCursor of the previous page."`
}

// ListEpicChildren lists an epic's children in all projects of the tenant,
// ordered by project and task number.
var ListEpicChildren = op.Declare[ListEpicChildrenIn, op.Page[EpicChild]](Contract, op.Spec{
	Name: "list-epic-children", Method: "GET", Path: "/api/tasks/{epicId}/children", Permission: PermTasksRead, Effect: op.Read,
	Summary:     "List an epic's children in all projects of the tenant.",
	Description: "Ordered by project and task number. Children that the caller may not read are masked, not omitted, so that counts are complete.",
})
