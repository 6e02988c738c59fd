package tracker

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/delegation"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// dependent describes records that a deletion also deletes or changes. The caller
// needs the same permission as for deleting or changing such a record directly, so
// that deleting a parent does not bypass the permissions on its children.
type dependent struct {
	// table is the table of these records in the schema projects.
	table string
	// noun names such a record in the error message.
	noun       string
	permission string
	columns    *authz.Columns
	// rows is the FROM and WHERE clause that selects the records. $1 is the tenant,
	// $2 the ids (uuid[]) of the records to delete. It uses the aliases of columns.
	rows string
}

// FROM clauses for dependent.rows, with the aliases of the filter columns.
const (
	fromTasks        = `projects.tasks t JOIN projects.projects p ON p.tenant_id = $1 AND p.id = t.project_id WHERE t.tenant_id = $1 AND `
	fromIssues       = `projects.issues i JOIN projects.projects p ON p.tenant_id = $1 AND p.id = i.project_id WHERE i.tenant_id = $1 AND `
	fromDeliverables = `projects.deliverables d JOIN projects.projects p ON p.tenant_id = $1 AND p.id = d.project_id WHERE d.tenant_id = $1 AND `
	fromCriteria     = `projects.criteria k JOIN projects.projects p ON p.tenant_id = $1 AND p.id = k.project_id
LEFT JOIN projects.deliverables d ON d.tenant_id = $1 AND d.id = k.deliverable_id
LEFT JOIN projects.tasks t ON t.tenant_id = $1 AND t.id = k.task_id WHERE k.tenant_id = $1 AND `
	fromComments    = `projects.comments m JOIN projects.projects p ON p.tenant_id = $1 AND p.id = m.project_id WHERE m.tenant_id = $1 AND `
	fromTimeEntries = `projects.time_entries e JOIN projects.projects p ON p.tenant_id = $1 AND p.id = e.project_id WHERE e.tenant_id = $1 AND `
	fromDelegations = `projects.delegations d
LEFT JOIN projects.projects p ON p.tenant_id = $1 AND p.id = d.project_id
LEFT JOIN projects.initiatives i ON i.tenant_id = $1 AND i.id = d.initiative_id WHERE d.tenant_id = $1 AND `
	// Deleting a task changes the tasks that depend on it: it no longer blocks them.
	fromDependencies = `projects.dependencies y
JOIN projects.tasks b ON b.tenant_id = $1 AND b.id = y.depends_on_id
JOIN projects.tasks t ON t.tenant_id = $1 AND t.id = y.task_id
JOIN projects.projects p ON p.tenant_id = $1 AND p.id = t.project_id WHERE y.tenant_id = $1 AND `
)

// fromTableInProject selects the records of a table whose permissions are checked on
// their project: stages, gates, custom fields and repository paths.
func fromTableInProject(table string) string {
	return `projects.` + table + ` x JOIN projects.projects p ON p.tenant_id = $1 AND p.id = x.project_id
WHERE x.tenant_id = $1 AND x.project_id = ANY($2::uuid[])`
}

// dependentsOf lists the records that are deleted or changed together with records
// of the table. Records without operations of their own are not listed: they are
// part of their parent. A test compares the list with the foreign keys.
func dependentsOf(table string) []dependent {
	switch table {
	case "projects":
		return []dependent{
			{"tasks", "task", contract.PermTaskDelete, taskColumns, fromTasks + `t.project_id = ANY($2::uuid[])`},
			{"tasks", "task of an epic", contract.PermTaskUpdate, taskColumns, fromTasks + whereColumnDeleted("t.epic_project_id")},
			{"dependencies", "task that waits", contract.PermTaskUpdate, taskColumns, fromDependencies + `b.project_id = ANY($2::uuid[]) AND t.project_id <> ALL($2::uuid[])`},
			{"issues", "issue", contract.PermIssueDelete, issueColumns, fromIssues + `i.project_id = ANY($2::uuid[])`},
			{"stages", "stage", contract.PermStageDelete, projectColumns, fromTableInProject("stages")},
			{"gates", "gate", contract.PermGateDelete, projectColumns, fromTableInProject("gates")},
			{"deliverables", "deliverable", contract.PermDeliverableDelete, deliverableColumns, fromDeliverables + `d.project_id = ANY($2::uuid[])`},
			{"criteria", "criterion", contract.PermDeliverableUpdate, criterionColumns, fromCriteria + `k.project_id = ANY($2::uuid[])`},
			{"comments", "comment", contract.PermCommentDelete, commentColumns, fromComments + `m.task_id IN (SELECT o.id FROM projects.tasks o WHERE o.tenant_id = $1 AND o.project_id = ANY($2::uuid[]))`},
			{"comments", "comment", contract.PermCommentDelete, commentColumns, fromComments + `m.issue_id IN (SELECT o.id FROM projects.issues o WHERE o.tenant_id = $1 AND o.project_id = ANY($2::uuid[]))`},
			{"time_entries", "time entry", contract.PermTimeEntryDelete, timeEntryColumns, fromTimeEntries + `e.project_id = ANY($2::uuid[])`},
			{"custom_fields", "custom field", contract.PermProjectUpdate, projectColumns, fromTableInProject("custom_fields")},
			{"repo_paths", "repository path", contract.PermProjectUpdate, projectColumns, fromTableInProject("repo_paths")},
			{"delegations", "delegation", contract.PermDelegationRevoke, delegation.Type.Columns(), fromDelegations + whereColumnDeleted("d.project_id")},
		}
	case "tasks":
		return []dependent{
			{"tasks", "sub-task", contract.PermTaskDelete, taskColumns, fromTasks + whereProjectColumnDeleted("tasks", "t", "parent_task_id")},
			{"tasks", "task of the epic", contract.PermTaskUpdate, taskColumns, fromTasks + whereColumnDeleted("t.epic_id")},
			{"dependencies", "task that waits", contract.PermTaskUpdate, taskColumns, fromDependencies + `y.depends_on_id = ANY($2::uuid[]) AND y.task_id <> ALL($2::uuid[])`},
			{"comments", "comment", contract.PermCommentDelete, commentColumns, fromComments + whereColumnDeleted("m.task_id")},
			{"criteria", "criterion", contract.PermDeliverableUpdate, criterionColumns, fromCriteria + whereProjectColumnDeleted("tasks", "k", "task_id")},
			{"deliverables", "deliverable", contract.PermDeliverableUpdate, deliverableColumns, fromDeliverables + whereProjectColumnDeleted("tasks", "d", "task_id")},
			{"issues", "promoted issue", contract.PermIssueUpdate, issueColumns, fromIssues + whereProjectColumnDeleted("tasks", "i", "promoted_task_id")},
			{"time_entries", "time entry", contract.PermTimeEntryUpdate, timeEntryColumns, fromTimeEntries + whereColumnDeleted("e.task_id")},
		}
	case "issues":
		return []dependent{
			{"comments", "comment", contract.PermCommentDelete, commentColumns, fromComments + whereColumnDeleted("m.issue_id")},
			{"time_entries", "time entry", contract.PermTimeEntryUpdate, timeEntryColumns, fromTimeEntries + whereColumnDeleted("e.issue_id")},
		}
	case "stages":
		return []dependent{
			{"gates", "gate", contract.PermGateDelete, projectColumns, `projects.gates x JOIN projects.projects p ON p.tenant_id = $1 AND p.id = x.project_id
WHERE x.tenant_id = $1 AND ` + whereProjectColumnDeleted("stages", "x", "stage_id")},
		}
	case "deliverables":
		return []dependent{
			{"criteria", "criterion", contract.PermDeliverableUpdate, criterionColumns, fromCriteria + whereProjectColumnDeleted("deliverables", "k", "deliverable_id")},
		}
	case "custom_fields":
		return []dependent{
			{"custom_field_values", "task with a value", contract.PermTaskUpdate, taskColumns, `projects.custom_field_values v
JOIN projects.tasks t ON t.tenant_id = $1 AND t.id = v.task_id
JOIN projects.projects p ON p.tenant_id = $1 AND p.id = t.project_id
WHERE v.tenant_id = $1 AND ` + whereProjectColumnDeleted("custom_fields", "v", "field_id")},
		}
	case "initiatives":
		return []dependent{
			{"projects", "project", contract.PermProjectUpdate, projectColumns, `projects.projects p WHERE p.tenant_id = $1 AND ` + whereColumnDeleted("p.initiative_id")},
			{"tasks", "epic", contract.PermTaskUpdate, taskColumns, fromTasks + whereColumnDeleted("t.initiative_id")},
			{"delegations", "delegation", contract.PermDelegationRevoke, delegation.Type.Columns(), fromDelegations + whereColumnDeleted("d.initiative_id")},
		}
	default:
		return nil
	}
}

// whereColumnDeleted selects the rows whose nullable column refers to a deleted
// record. IS NOT NULL lets the planner use a partial index with that condition.
func whereColumnDeleted(column string) string {
	return column + ` = ANY($2::uuid[]) AND ` + column + ` IS NOT NULL`
}

// whereProjectColumnDeleted selects the rows whose column refers to a deleted record
// of the table. It uses the indexes whose second column is the project.
func whereProjectColumnDeleted(table, alias, column string) string {
	return `(` + alias + `.project_id, ` + alias + `.` + column + `) IN (SELECT o.project_id, o.id FROM projects.` + table +
		` o WHERE o.tenant_id = $1 AND o.id = ANY($2::uuid[]))`
}

// deniedCascade counts the records of a type that the caller may not delete or
// change.
type deniedCascade struct {
	Type       string `json:"type"`
	Permission string `json:"permission"`
	Count      int    `json:"count"`
}

// authorizeCascade returns a CONFLICT error if deleting the records would delete or
// change other records without the caller's permission. The request must have
// locked the records to delete, so that no dependent records are added
// concurrently. One statement per type counts the rows that the policy filter
// rejects. The error contains only counts, because the caller may not be allowed to
// see the records.
func authorizeCascade(ctx context.Context, c *executor.Call, table string, ids ...op.UUID) error {
	dependents := dependentsOf(table)
	counts := make([]int, len(dependents))
	batch := &pgx.Batch{}
	for i, d := range dependents {
		f, err := c.Filter(ctx, d.permission, d.columns)
		if err != nil {
			return err
		}
		st := &postgres.Statement{}
		st.Arg(c.Tenant)
		st.Arg(ids)
		st.Add(`SELECT count(*) FROM `, d.rows, ` AND `).Filter(f).Add(` IS NOT TRUE`)
		batch.Queue(st.SQL(), st.Args()...).QueryRow(func(r pgx.Row) error { return r.Scan(&counts[i]) })
	}
	if err := c.Tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	var all []deniedCascade
	total := 0
	for i, d := range dependents {
		if counts[i] == 0 {
			continue
		}
		total += counts[i]
		if last := len(all) - 1; last >= 0 && all[last].Type == d.noun {
			all[last].Count += counts[i]
			continue
		}
		all = append(all, deniedCascade{d.noun, d.permission, counts[i]})
	}
	if total == 0 {
		return nil
	}
	parts := make([]string, len(all))
	for i, d := range all {
		parts[i] = fmt.Sprintf("%s: %d (%s)", d.Type, d.Count, d.Permission)
	}
	return fault.Conflict(fmt.Sprintf("The deletion would also delete or change %d records for which you lack the permission. By type, with the missing permission: %s. "+
		"Ask a user with these permissions to delete it.", total, strings.Join(parts, ", "))).
		WithReason("CASCADE_DENIED").WithDetails(map[string]any{"count": total, "denied": all})
}
