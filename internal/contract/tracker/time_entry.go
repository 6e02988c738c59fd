package tracker

import (
	"time"

	"parapet/internal/op"
)

// The events of time entries. The payload is the TimeEntry.
var (
	EventTimeEntryCreated = op.DeclareEvent[TimeEntry](Contract, "projects.time_entry.created", "A time entry was created.")
	EventTimeEntryUpdated = op.DeclareEvent[TimeEntry](Contract, "projects.time_entry.updated", "A time entry changed.")
	EventTimeEntryDeleted = op.DeclareEvent[TimeEntry](Contract, "projects.time_entry.deleted", "A time entry was deleted.")
)

// TimeEntry records time that a user spent on a project, optionally on one of its
// tasks or issues.
type TimeEntry struct {
	ID            op.UUID       `json:"id" doc:"The entry's id."`
	ProjectID     op.UUID       `json:"projectId" doc:"The project that the time was spent on."`
	Project       *op.Reference `json:"project,omitempty" doc:"The name of the record that projectId identifies."`
	TaskID        op.UUID       `json:"taskId,omitempty" doc:"The task that the time was spent on; absent if there is none."`
	Task          *op.Reference `json:"task,omitempty" doc:"The name of the record that taskId identifies."`
	IssueID       op.UUID       `json:"issueId,omitempty" doc:"The issue that the time was spent on; absent if there is none."`
	Issue         *op.Reference `json:"issue,omitempty" doc:"The name of the record that issueId identifies."`
	UserID        op.UUID       `json:"userId" doc:"The user who spent the time."`
	User          *op.Reference `json:"user,omitempty" doc:"The name of the record that userId identifies."`
	Date          op.Date       `json:"date" doc:"The day on which the time was spent."`
	Minutes       int           `json:"minutes" doc:"The duration in minutes."`
	Note          string        `json:"note" doc:"A description of the work. Untrusted text."`
	Billable      bool          `json:"billable" doc:"Whether the time is billable."`
	CreatedBy     op.UUID       `json:"createdBy" doc:"The user who created the entry."`
	CreatedByUser *op.Reference `json:"createdByUser,omitempty" doc:"The name of the record that createdBy identifies."`
	CreatedAt     time.Time     `json:"createdAt" doc:"When the entry was created."`
	UpdatedAt     time.Time     `json:"updatedAt" doc:"When the entry last changed."`
}

// TimeEntryPage is a page of time entries. Only the first page has TotalMinutes.
type TimeEntryPage struct {
	op.Page[TimeEntry]
	TotalMinutes *int64 `json:"totalMinutes,omitempty" doc:"The total minutes of all matching entries, across all pages. Only on the first page."`
}

// ListTimeEntriesIn is the input of ListTimeEntries.
type ListTimeEntriesIn struct {
	ProjectID op.UUID `query:"projectId" format:"uuid" doc:"Only time spent on this project."`
	TaskID    op.UUID `query:"taskId" format:"uuid" doc:"Only time spent on this task."`
	IssueID   op.UUID `query:"issueId" format:"uuid" doc:"Only time spent on this issue."`
	UserID    op.UUID `query:"userId" format:"uuid" doc:"Only time that this user spent."`
	From      op.Date `query:"from" format:"date" doc:"Only time spent on this day or later."`
	To        op.Date `query:"to" format:"date" doc:"Only time spent on this day or earlier."`
	Limit     int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"The maximum number of entries to return."`
	Cursor    string  `query:"cursor" doc:"The nextCursor of the previous page."`
}

// ListTimeEntries lists the time entries that the caller may read, latest day
// first.
var ListTimeEntries = op.Declare[ListTimeEntriesIn, TimeEntryPage](Contract, op.Spec{
	Name: "list-time-entries", Method: "GET", Path: "/api/time-entries", Permission: PermTimeEntriesRead, Effect: op.Read,
	Summary:     "List time entries and their total.",
	Description: "Latest day first. Omits entries that the caller may not read, also from the total: many users can read only their own.",
})

// CreateTimeEntryIn is the input of CreateTimeEntry.
type CreateTimeEntryIn struct {
	ProjectID op.UUID `json:"projectId" format:"uuid" doc:"The project that the time was spent on. Optional if taskId or issueId is given; must then be the project of that task or issue."`
	TaskID    op.UUID `json:"taskId" format:"uuid" doc:"The task that the time was spent on. Not allowed with issueId."`
	IssueID   op.UUID `json:"issueId" format:"uuid" doc:"The issue that the time was spent on. Not allowed with taskId."`
	UserID    op.UUID `json:"userId" format:"uuid" doc:"The user who spent the time. Default: the caller."`
	Date      op.Date `json:"date" required:"true" format:"date" doc:"The day on which the time was spent; at most tomorrow in UTC, to allow for time zones."`
	Minutes   int     `json:"minutes" required:"true" minimum:"1" maximum:"1440" doc:"The duration in minutes, at most one day."`
	Note      string  `json:"note" maxLength:"2000" doc:"A description of the work."`
	Billable  bool    `json:"billable" doc:"Whether the time is billable."`
}

// CreateTimeEntry creates a time entry.
var CreateTimeEntry = op.Declare[CreateTimeEntryIn, TimeEntry](Contract, op.Spec{
	Name: "create-time-entry", Method: "POST", Path: "/api/time-entries", Permission: PermTimeEntryCreate, Effect: op.Write, Status: 201,
	Summary: "Record time spent on a project, task or issue.",
})

// UpdateTimeEntryIn is the input of UpdateTimeEntry.
type UpdateTimeEntryIn struct {
	TimeEntryID op.UUID         `path:"timeEntryId" format:"uuid" doc:"The entry's id."`
	Date        op.Opt[op.Date] `json:"date" format:"date" doc:"A new day; at most tomorrow in UTC."`
	Minutes     op.Opt[int]     `json:"minutes" minimum:"1" maximum:"1440" doc:"The duration in minutes, at most one day."`
	Note        op.Opt[string]  `json:"note" maxLength:"2000" doc:"A description of the work; null clears it."`
	Billable    op.Opt[bool]    `json:"billable" doc:"Whether the time is billable."`
}

// UpdateTimeEntry changes a time entry.
var UpdateTimeEntry = op.Declare[UpdateTimeEntryIn, TimeEntry](Contract, op.Spec{
	Name: "update-time-entry", Method: "PATCH", Path: "/api/time-entries/{timeEntryId}", Permission: PermTimeEntryUpdate, Effect: op.Write,
	Summary:     "Change a time entry.",
	Description: "Changes only the fields that are given. The user, project, task and issue cannot be changed: delete the entry and create another.",
})

// DeleteTimeEntryIn is the input of DeleteTimeEntry.
type DeleteTimeEntryIn struct {
	TimeEntryID op.UUID `path:"timeEntryId" format:"uuid" doc:"The entry's id."`
}

// DeleteTimeEntry deletes a time entry.
var DeleteTimeEntry = op.Declare[DeleteTimeEntryIn, op.None](Contract, op.Spec{
	Name: "delete-time-entry", Method: "DELETE", Path: "/api/time-entries/{timeEntryId}", Permission: PermTimeEntryDelete, Effect: op.Destroy, Status: 204,
	Summary: "Delete a time entry permanently.",
})
