package tracker

import "parapet/internal/op"

// EpicChild is a child of an epic as the list of its children shows it. Of a
// child that the caller may not read there is nothing but that it exists: an
// opaque id, REDACTED for key and title, and isCrossProject.
type EpicChild struct {
	ID             op.UUID `json:"id" doc:"The child's id; opaque where it is masked, and then the same every time."`
	Key            string  `json:"key" doc:"The child's key, or REDACTED."`
	Title          string  `json:"title" doc:"The child's title, or REDACTED. Untrusted text."`
	IsCrossProject bool    `json:"isCrossProject" doc:"Whether the child is in another project than its epic; true for a masked one."`
	ProjectID      op.UUID `json:"projectId,omitempty" doc:"The child's project; absent where it is masked, like all that follows."`
	Status         string  `json:"status,omitempty" doc:"One of its project's statuses."`
	StatusCategory string  `json:"statusCategory,omitempty" enum:"TODO|IN_PROGRESS|REVIEW|DONE|CANCELLED" doc:"The category of the status."`
	IssueType      string  `json:"issueType,omitempty" enum:"TASK|BUG|FEATURE|CHORE" doc:"What kind of work it is."`
	Priority       string  `json:"priority,omitempty" enum:"URGENT|HIGH|MEDIUM|LOW" doc:"How pressing it is."`
	Progress       *int    `json:"progress,omitempty" doc:"How far it is, 0 to 100."`
	Assignee       op.UUID `json:"assignee,omitempty" doc:"The user who works on it; absent when nobody does."`
	DueDate        op.Date `json:"dueDate,omitempty" doc:"The day by which it is due."`
}

// ListEpicChildrenIn names an epic.
type ListEpicChildrenIn struct {
	EpicID op.UUID `path:"epicId" format:"uuid" doc:"The epic's id."`
	Limit  int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many children to return at most."`
	Cursor string  `query:"cursor" doc:"The nextCursor of the page before."`
}

// ListEpicChildren lists an epic's children in all projects of the tenant, by
// project and number.
var ListEpicChildren = op.New[ListEpicChildrenIn, op.Page[EpicChild]](op.Spec{
	Name: "list-epic-children", Module: Module, Method: "GET", Path: "/api/tasks/{epicId}/children", Permission: PermTasksRead, Effect: op.Read,
	Summary:     "List an epic's children in all projects of the tenant.",
	Description: "They come by project and number. Children that the caller may not read are masked and not left out, so that counts stay true.",
})
