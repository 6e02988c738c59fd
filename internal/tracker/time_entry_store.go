package tracker

import (
	"context"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// timeEntryType maps policy attributes to the columns of the aliases e (time entry)
// and p (its project). The owner is the user who spent the time, not the one who
// recorded it.
var timeEntryType = authz.NewRecordType("time entry", authz.Attributes[timeEntryRow]{
	Tenant:         authz.TenantColumn[timeEntryRow]("e.tenant_id"),
	ID:             authz.NewAttribute("e.id", func(r *timeEntryRow) string { return string(r.ID) }),
	Project:        authz.NewAttribute("e.project_id", func(r *timeEntryRow) string { return string(r.ProjectID) }),
	Organisation:   authz.NewAttribute("p.organisation_id", func(r *timeEntryRow) string { return idText(r.OrganisationID) }),
	Owner:          authz.NewAttribute("e.user_id", func(r *timeEntryRow) string { return string(r.UserID) }),
	Classification: authz.NewAttribute("p.classification", func(r *timeEntryRow) string { return r.Classification }),
})

var timeEntryColumns = timeEntryType.Columns()

func timeEntryConstraints() postgres.Constraints {
	return postgres.Constraints{
		"time_entries_of_project": fault.NotFound("project"),
		"time_entries_on_task":    fault.NotFound("task"),
		"time_entries_on_issue":   fault.NotFound("issue"),
	}
}

// timeEntryRow is a time entry with the policy attributes of its project.
type timeEntryRow struct {
	ID             op.UUID
	ProjectID      op.UUID
	TaskID         *op.UUID
	IssueID        *op.UUID
	UserID         op.UUID
	SpentOn        op.Date
	Minutes        int
	Note           string
	Billable       bool
	CreatedBy      op.UUID
	CreatedAt      time.Time
	UpdatedAt      time.Time
	OrganisationID *op.UUID
	Classification string
}

const timeEntrySelect = `
SELECT e.id, e.project_id, e.task_id, e.issue_id, e.user_id, e.spent_on::text AS spent_on, e.minutes, e.note, e.billable,
       e.created_by, e.created_at, e.updated_at, p.organisation_id, p.classification`

// The project is locked before the time entry; see loadProjectKeyShareSQL. The project of a
// time entry never changes.
const (
	lockProjectOfTimeEntrySQL = `
SELECT 1 FROM projects.projects p
WHERE p.tenant_id = @tenant AND p.id = (SELECT e.project_id FROM projects.time_entries e WHERE e.tenant_id = @tenant AND e.id = @id)
FOR KEY SHARE`
	lockTimeEntrySQL = timeEntrySelect + `
FROM projects.time_entries e
JOIN projects.projects p ON p.tenant_id = @tenant AND p.id = e.project_id
WHERE e.tenant_id = @tenant AND e.id = @id
FOR UPDATE OF e`
)

// loadTimeEntry reads a time entry and locks its project and the entry for a change.
func loadTimeEntry(ctx context.Context, c *executor.Call, id op.UUID) (timeEntryRow, error) {
	args := postgres.Args{"tenant": c.Tenant, "id": id}
	row, err := lockAndRead[timeEntryRow](ctx, c, query{lockProjectOfTimeEntrySQL, args}, query{lockTimeEntrySQL, args})
	if postgres.IsNoRows(err) {
		return row, fault.NotFound("time entry")
	}
	return row, err
}

// resource converts the time entry to policy input.
func (r *timeEntryRow) resource(tenant op.UUID) authz.Resource {
	return timeEntryType.Resource(string(tenant), r)
}

func (r *timeEntryRow) toTimeEntry() *contract.TimeEntry {
	return &contract.TimeEntry{
		ID: r.ID, ProjectID: r.ProjectID, TaskID: postgres.ValueOrZero(r.TaskID), IssueID: postgres.ValueOrZero(r.IssueID), UserID: r.UserID, Date: r.SpentOn,
		Minutes: r.Minutes, Note: r.Note, Billable: r.Billable, CreatedBy: r.CreatedBy,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

const insertTimeEntrySQL = `
INSERT INTO projects.time_entries (tenant_id, id, project_id, task_id, issue_id, user_id, spent_on, minutes, note, billable,
                                   created_by, created_at, updated_at)
VALUES (@tenant, @id, @project, @task, @issue, @user, @day, @minutes, @note, @billable, @creator, @now, @now)`

func insertTimeEntryRow(ctx context.Context, c *executor.Call, r *timeEntryRow) error {
	_, err := c.DB.Exec(ctx, insertTimeEntrySQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "project": r.ProjectID, "task": r.TaskID, "issue": r.IssueID, "user": r.UserID,
		"day": r.SpentOn, "minutes": r.Minutes, "note": r.Note, "billable": r.Billable, "creator": r.CreatedBy, "now": c.Now,
	})
	return postgres.MapError(err, timeEntryConstraints())
}

const updateTimeEntrySQL = `
UPDATE projects.time_entries e SET spent_on = @day, minutes = @minutes, note = @note, billable = @billable, updated_at = @now
WHERE e.tenant_id = @tenant AND e.id = @id`

func updateTimeEntryRow(ctx context.Context, c *executor.Call, r *timeEntryRow) error {
	_, err := c.DB.Exec(ctx, updateTimeEntrySQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "day": r.SpentOn, "minutes": r.Minutes, "note": r.Note, "billable": r.Billable, "now": c.Now,
	})
	return postgres.MapError(err, timeEntryConstraints())
}

const deleteTimeEntrySQL = `DELETE FROM projects.time_entries e WHERE e.tenant_id = @tenant AND e.id = @id`

// recordTimeEntry adds the audit entry and the event of a change. Only the event
// contains the note.
func recordTimeEntry(c *executor.Call, r *timeEntryRow, action string, event *op.EventType, changed []string) {
	changes := map[string]any{
		"projectId": r.ProjectID, "userId": r.UserID, "minutes": r.Minutes, "date": r.SpentOn, "billable": r.Billable,
	}
	if r.TaskID != nil {
		changes["taskId"] = r.TaskID
	}
	if r.IssueID != nil {
		changes["issueId"] = r.IssueID
	}
	if changed != nil {
		changes["fields"] = changed
	}
	c.Record(executor.Change{
		Action: action, Type: "time_entry", ID: r.ID, Classification: r.Classification,
		Fields: changed, Details: changes,
		Event: event, Payload: r.toTimeEntry(),
	})
}
