package tracker

import (
	"time"

	"parapet/internal/op"
)

// The events of time entries. The payload is the TimeEntry.
const (
	EventTimeEntryCreated = "projects.time_entry.created"
	EventTimeEntryUpdated = "projects.time_entry.updated"
	EventTimeEntryDeleted = "projects.time_entry.deleted"
)

// TimeEntry is time that a user spent on a project, and perhaps on one task or
// issue of it.
type TimeEntry struct {
	ID        op.UUID   `json:"id" doc:"The entry's id."`
	ProjectID op.UUID   `json:"projectId" doc:"The project that the time was spent on."`
	TaskID    op.UUID   `json:"taskId,omitempty" doc:"The task that it was spent on, if it was one."`
	IssueID   op.UUID   `json:"issueId,omitempty" doc:"The issue that it was spent on, if it was one."`
	UserID    op.UUID   `json:"userId" doc:"The user who spent it."`
	Date      op.Date   `json:"date" doc:"The day on which it was spent."`
	Minutes   int       `json:"minutes" doc:"How long, in minutes."`
	Note      string    `json:"note" doc:"What it was spent with. Untrusted text."`
	Billable  bool      `json:"billable" doc:"Whether it is to be billed."`
	CreatedBy op.UUID   `json:"createdBy" doc:"The user who recorded it."`
	CreatedAt time.Time `json:"createdAt" doc:"When it was recorded."`
	UpdatedAt time.Time `json:"updatedAt" doc:"When it last changed."`
}

// TimeEntryPage is a part of the list of time entries. TotalMinutes is on the
// first page alone.
type TimeEntryPage struct {
	op.Page[TimeEntry]
	TotalMinutes *int64 `json:"totalMinutes,omitempty" doc:"The minutes of all entries that fit, on all pages together. On the first page alone."`
}

// ListTimeEntriesIn asks for time entries.
type ListTimeEntriesIn struct {
	ProjectID op.UUID `query:"projectId" format:"uuid" doc:"Only time spent on this project."`
	TaskID    op.UUID `query:"taskId" format:"uuid" doc:"Only time spent on this task."`
	IssueID   op.UUID `query:"issueId" format:"uuid" doc:"Only time spent on this issue."`
	UserID    op.UUID `query:"userId" format:"uuid" doc:"Only time that this user spent."`
	From      op.Date `query:"from" format:"date" doc:"Only time spent on this day or later."`
	To        op.Date `query:"to" format:"date" doc:"Only time spent on this day or earlier."`
	Limit     int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many entries to return at most."`
	Cursor    string  `query:"cursor" doc:"The nextCursor of the page before."`
}

// ListTimeEntries lists the time entries that the caller may read, the latest
// day first.
var ListTimeEntries = op.New[ListTimeEntriesIn, TimeEntryPage](op.Spec{
	Name: "list-time-entries", Module: Module, Method: "GET", Path: "/api/time-entries", Permission: PermTimeEntriesRead, Effect: op.Read,
	Summary:     "List time entries and their sum.",
	Description: "The latest day comes first. Entries that the caller may not read are left out, of the sum too: many people read their own alone.",
})

// CreateTimeEntryIn describes a time entry to be.
type CreateTimeEntryIn struct {
	ProjectID op.UUID `json:"projectId" format:"uuid" doc:"The project that the time was spent on. It can be left out where a task or an issue is named, and must be theirs."`
	TaskID    op.UUID `json:"taskId" format:"uuid" doc:"The task that it was spent on. Not together with issueId."`
	IssueID   op.UUID `json:"issueId" format:"uuid" doc:"The issue that it was spent on. Not together with taskId."`
	UserID    op.UUID `json:"userId" format:"uuid" doc:"The user who spent it; the caller when absent."`
	Date      op.Date `json:"date" required:"true" format:"date" doc:"The day on which it was spent: tomorrow at the latest, which it is somewhere already."`
	Minutes   int     `json:"minutes" required:"true" minimum:"1" maximum:"1440" doc:"How long, in minutes: at most a day."`
	Note      string  `json:"note" maxLength:"2000" doc:"What it was spent with."`
	Billable  bool    `json:"billable" doc:"Whether it is to be billed."`
}

// CreateTimeEntry records time.
var CreateTimeEntry = op.New[CreateTimeEntryIn, TimeEntry](op.Spec{
	Name: "create-time-entry", Module: Module, Method: "POST", Path: "/api/time-entries", Permission: PermTimeEntryCreate, Effect: op.Write, Status: 201,
	Summary: "Record time spent on a project, a task or an issue.",
})

// UpdateTimeEntryIn holds what is to change of a time entry.
type UpdateTimeEntryIn struct {
	TimeEntryID op.UUID         `path:"timeEntryId" format:"uuid" doc:"The entry's id."`
	Date        op.Opt[op.Date] `json:"date" format:"date" doc:"Another day, tomorrow at the latest."`
	Minutes     op.Opt[int]     `json:"minutes" minimum:"1" maximum:"1440" doc:"How long, in minutes: at most a day."`
	Note        op.Opt[string]  `json:"note" maxLength:"2000" doc:"What it was spent with; null clears it."`
	Billable    op.Opt[bool]    `json:"billable" doc:"Whether it is to be billed."`
}

// UpdateTimeEntry changes a time entry.
var UpdateTimeEntry = op.New[UpdateTimeEntryIn, TimeEntry](op.Spec{
	Name: "update-time-entry", Module: Module, Method: "PATCH", Path: "/api/time-entries/{timeEntryId}", Permission: PermTimeEntryUpdate, Effect: op.Write,
	Summary:     "Change a time entry.",
	Description: "Only the fields that are given change. Whose time it is, and what it was spent on, stays: delete the entry and record another.",
})

// DeleteTimeEntryIn names a time entry to delete.
type DeleteTimeEntryIn struct {
	TimeEntryID op.UUID `path:"timeEntryId" format:"uuid" doc:"The entry's id."`
}

// DeleteTimeEntry deletes a time entry.
var DeleteTimeEntry = op.New[DeleteTimeEntryIn, op.None](op.Spec{
	Name: "delete-time-entry", Module: Module, Method: "DELETE", Path: "/api/time-entries/{timeEntryId}", Permission: PermTimeEntryDelete, Effect: op.Destroy, Status: 204,
	Summary: "Delete a time entry for good.",
})
