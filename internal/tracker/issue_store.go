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

// issueType maps policy attributes to the columns of the aliases i (issue) and p (its
// project).
var issueType = authz.NewRecordType("issue", authz.Attributes[issueRow]{
	Tenant:         authz.TenantColumn[issueRow]("i.tenant_id"),
	ID:             authz.NewAttribute("i.id", func(r *issueRow) string { return string(r.ID) }),
	Project:        authz.NewAttribute("i.project_id", func(r *issueRow) string { return string(r.ProjectID) }),
	Organisation:   authz.NewAttribute("p.organisation_id", func(r *issueRow) string { return idText(r.OrganisationID) }),
	Creator:        authz.NewAttribute("i.created_by", func(r *issueRow) string { return string(r.CreatedBy) }),
	Owner:          authz.NewAttribute("i.assignee_id", func(r *issueRow) string { return idText(r.AssigneeID) }),
	Classification: authz.NewAttribute("p.classification", func(r *issueRow) string { return r.Classification }),
})

var issueColumns = issueType.Columns()

func issueConstraints() postgres.Constraints {
	return postgres.Constraints{
		"issues_of_project":    fault.NotFound("project"),
		"issues_promoted_task": fault.Conflict("The task was deleted concurrently. Try again."),
	}
}

// issueSummaryRow holds the columns of an issue that a list returns.
type issueSummaryRow struct {
	ID                 op.UUID
	ProjectID          op.UUID
	Prefix             string
	Number             int64
	Title              string
	Severity           string
	Status             string
	Resolution         *string
	AssigneeID         *op.UUID
	DueDate            *op.Date
	FirstResponseDueAt time.Time
	ResolutionDueAt    time.Time
	FirstRespondedAt   *time.Time
	ResolvedAt         *time.Time
	PromotedTaskID     *op.UUID
	CreatedBy          op.UUID
	CreatedAt          time.Time
	UpdatedAt          time.Time
}

// issueRow is an issue with all of its columns, and the needed columns of its project
// and of the task that it was promoted to.
type issueRow struct {
	issueSummaryRow
	Description    string
	OrganisationID *op.UUID
	Classification string
	TaskPrefix     string
	TaskNumber     *int64
}

const issueSummarySelect = `
SELECT i.id, i.project_id, i.prefix, i.number, i.title, i.severity, i.status, i.resolution, i.assignee_id,
       i.due_date::text AS due_date, i.first_response_due_at, i.resolution_due_at, i.first_responded_at, i.resolved_at,
       i.promoted_task_id, i.created_by, i.created_at, i.updated_at`

const issueSelect = issueSummarySelect + `,
       i.description, p.organisation_id, p.classification, p.prefix AS task_prefix, t.number AS task_number
FROM projects.issues i
JOIN projects.projects p ON p.tenant_id = @tenant AND p.id = i.project_id
LEFT JOIN projects.tasks t ON t.tenant_id = @tenant AND t.project_id = i.project_id AND t.id = i.promoted_task_id
WHERE i.tenant_id = @tenant`

const (
	issueByIDSQL    = issueSelect + ` AND i.id = @id`
	issueByKeySQL   = issueSelect + ` AND i.prefix = @prefix AND i.number = @number`
	lockIssueClause = ` FOR UPDATE OF i`
	// The project is locked before the issue, as for tasks; see loadProjectKeyShareSQL.
	// The project of an issue never changes.
	lockProjectOfIssueSQL = `
SELECT 1 FROM projects.projects p
WHERE p.tenant_id = @tenant AND p.id = (SELECT i.project_id FROM projects.issues i WHERE i.tenant_id = @tenant AND i.id = @id)
FOR KEY SHARE`
	lockProjectOfIssueKeySQL = `
SELECT 1 FROM projects.projects p
WHERE p.tenant_id = @tenant AND p.id = (SELECT i.project_id FROM projects.issues i
                                        WHERE i.tenant_id = @tenant AND i.prefix = @prefix AND i.number = @number)
FOR KEY SHARE`
)

// loadIssue reads an issue by key or id. If lock is set, it locks the project and the
// issue for a change.
func loadIssue(ctx context.Context, c *executor.Call, name string, lock bool) (issueRow, error) {
	ref, err := parseIssueRef(name)
	if err != nil {
		return issueRow{}, err
	}
	sql, lockSQL, args := issueByIDSQL, lockProjectOfIssueSQL, postgres.Args{"tenant": c.Tenant}
	if ref.id != "" {
		args["id"] = ref.id
	} else {
		sql, lockSQL = issueByKeySQL, lockProjectOfIssueKeySQL
		args["prefix"], args["number"] = ref.prefix, ref.number
	}
	var row issueRow
	if lock {
		row, err = lockAndRead[issueRow](ctx, c, query{lockSQL, args}, query{sql + lockIssueClause, args})
	} else {
		row, err = postgres.One[issueRow](ctx, c.DB, sql, args)
	}
	if postgres.IsNoRows(err) {
		return row, fault.NotFound("issue")
	}
	return row, err
}

// resource converts the issue to policy input.
func (r *issueRow) resource(tenant op.UUID) authz.Resource {
	return issueType.Resource(string(tenant), r)
}

func (r *issueSummaryRow) key() string { return taskKey(r.Prefix, r.Number) }

// toSummary returns the API object of a list. now is used to compute the overdue
// flags.
func (r *issueSummaryRow) toSummary(now time.Time) contract.IssueSummary {
	s := contract.IssueSummary{
		ID: r.ID, Key: r.key(), ProjectID: r.ProjectID, Title: r.Title, Severity: r.Severity, Status: r.Status,
		Resolution: postgres.ValueOrZero(r.Resolution), Assignee: postgres.ValueOrZero(r.AssigneeID), DueDate: postgres.ValueOrZero(r.DueDate),
		FirstResponseDueAt: r.FirstResponseDueAt, FirstRespondedAt: r.FirstRespondedAt,
		ResolutionDueAt: r.ResolutionDueAt, ResolvedAt: r.ResolvedAt, PromotedTaskID: postgres.ValueOrZero(r.PromotedTaskID),
		CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
	resolvedAt := now
	if r.ResolvedAt != nil {
		resolvedAt = *r.ResolvedAt
	}
	// An issue that its creator resolved needs no response after the resolution.
	respondedAt := resolvedAt
	if r.FirstRespondedAt != nil {
		respondedAt = *r.FirstRespondedAt
	}
	s.ResolutionOverdue = resolvedAt.After(r.ResolutionDueAt)
	s.FirstResponseOverdue = respondedAt.After(r.FirstResponseDueAt)
	return s
}

// toIssue returns the API object. now is used to compute the overdue flags.
func (r *issueRow) toIssue(now time.Time) *contract.Issue {
	i := &contract.Issue{IssueSummary: r.toSummary(now), Description: r.Description}
	if r.TaskNumber != nil {
		i.PromotedTaskKey = taskKey(r.TaskPrefix, *r.TaskNumber)
	}
	return i
}

// Increments the counter of the prefix and inserts the issue with that number. The
// counter's row stays locked until the commit. If the creation fails, the number is
// used again.
const insertIssueSQL = `
WITH taken AS (
    INSERT INTO projects.issue_counters AS n (tenant_id, prefix, last_number) VALUES (@tenant, @prefix, 1)
    ON CONFLICT (tenant_id, prefix) DO UPDATE SET last_number = n.last_number + 1
    RETURNING n.last_number
)
INSERT INTO projects.issues (tenant_id, id, project_id, prefix, number, title, description, severity, status, due_date,
                             first_response_due_at, resolution_due_at, created_by, created_at, updated_at)
SELECT @tenant, @id, @project, @prefix, taken.last_number, @title, @description, @severity, @status, @due::date,
       @respond::timestamptz, @resolve::timestamptz, @creator, @now, @now
FROM taken
RETURNING number`

// insertIssueRow inserts the issue with the next number of its prefix and sets
// r.Number.
func insertIssueRow(ctx context.Context, c *executor.Call, r *issueRow) error {
	err := c.DB.QueryRow(ctx, insertIssueSQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "project": r.ProjectID, "prefix": r.Prefix, "title": r.Title, "description": r.Description,
		"severity": r.Severity, "status": r.Status, "due": r.DueDate, "respond": r.FirstResponseDueAt, "resolve": r.ResolutionDueAt,
		"creator": r.CreatedBy, "now": c.Now,
	}).Scan(&r.Number)
	return postgres.MapError(err, issueConstraints())
}

const updateIssueSQL = `
UPDATE projects.issues i
SET title = @title, description = @description, severity = @severity, status = @status, resolution = @resolution,
    assignee_id = @assignee, due_date = @due, first_response_due_at = @respond, resolution_due_at = @resolve,
    first_responded_at = @responded, resolved_at = @resolved, promoted_task_id = @task, updated_at = @now
WHERE i.tenant_id = @tenant AND i.id = @id`

func updateIssueRow(ctx context.Context, c *executor.Call, r *issueRow) error {
	_, err := c.DB.Exec(ctx, updateIssueSQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "title": r.Title, "description": r.Description, "severity": r.Severity, "status": r.Status,
		"resolution": r.Resolution, "assignee": r.AssigneeID, "due": r.DueDate, "respond": r.FirstResponseDueAt,
		"resolve": r.ResolutionDueAt, "responded": r.FirstRespondedAt, "resolved": r.ResolvedAt, "task": r.PromotedTaskID, "now": c.Now,
	})
	return postgres.MapError(err, issueConstraints())
}

const deleteIssueSQL = `DELETE FROM projects.issues i WHERE i.tenant_id = @tenant AND i.id = @id`

// recordIssue adds the audit entry and the event of a change. The audit entry contains
// codes and ids, but no user-generated text.
func recordIssue(c *executor.Call, r *issueRow, action string, event *op.EventType, changed []string, more map[string]any) {
	changes := map[string]any{"key": r.key(), "projectId": r.ProjectID}
	if changed != nil {
		changes["fields"] = changed
	}
	for name, v := range more {
		changes[name] = v
	}
	c.Record(executor.Change{
		Action: action, Type: "issue", ID: r.ID, Classification: r.Classification,
		Fields: changed, Details: changes,
		Event: event, Payload: r.toIssue(c.Now),
	})
}
