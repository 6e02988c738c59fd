package tracker

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// dependent is a type of record that a deletion removes, or changes, together
// with the record that the request names. The caller needs the permission that
// the operation on such a record alone would need: nobody deletes through a
// parent what it may not delete, nor changes what it may not change.
type dependent struct {
	// table is the one of the schema projects that holds the records.
	table string
	// noun names one record in the answer.
	noun       string
	permission string
	columns    *authz.Columns
	// rows is a FROM clause and a condition that select the records. $1 is the
	// tenant, $2 the ids (uuid[]) of the records that the request deletes. Its
	// aliases are those of columns.
	rows string
}

// The FROM clauses give rows the aliases of the filter columns.
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
	// The task that waits for a deleted one is changed: it is not blocked any more.
	fromDependencies = `projects.dependencies y
JOIN projects.tasks b ON b.tenant_id = $1 AND b.id = y.depends_on_id
JOIN projects.tasks t ON t.tenant_id = $1 AND t.id = y.task_id
JOIN projects.projects p ON p.tenant_id = $1 AND p.id = t.project_id WHERE y.tenant_id = $1 AND `
)

// inProject selects the records of a type that are the project's to the policies:
// stages, gates, custom fields, repository paths.
func inProject(table string) string {
	return `projects.` + table + ` x JOIN projects.projects p ON p.tenant_id = $1 AND p.id = x.project_id
WHERE x.tenant_id = $1 AND x.project_id = ANY($2::uuid[])`
}

// dependentsOf lists what goes, or changes, with the records of a table. What is
// not listed has no operation of its own and is part of its record: see the test
// that compares this with the foreign keys.
func dependentsOf(table string) []dependent {
	switch table {
	case "projects":
		return []dependent{
			{"tasks", "task", contract.PermTaskDelete, taskColumns, fromTasks + `t.project_id = ANY($2::uuid[])`},
			{"tasks", "task of an epic", contract.PermTaskUpdate, taskColumns, fromTasks + isDeleted("t.epic_project_id")},
			{"dependencies", "task that waits", contract.PermTaskUpdate, taskColumns, fromDependencies + `b.project_id = ANY($2::uuid[]) AND t.project_id <> ALL($2::uuid[])`},
			{"issues", "issue", contract.PermIssueDelete, issueColumns, fromIssues + `i.project_id = ANY($2::uuid[])`},
			{"stages", "stage", contract.PermStageDelete, projectColumns, inProject("stages")},
			{"gates", "gate", contract.PermGateDelete, projectColumns, inProject("gates")},
			{"deliverables", "deliverable", contract.PermDeliverableDelete, deliverableColumns, fromDeliverables + `d.project_id = ANY($2::uuid[])`},
			{"criteria", "criterion", contract.PermDeliverableUpdate, criterionColumns, fromCriteria + `k.project_id = ANY($2::uuid[])`},
			{"comments", "comment", contract.PermCommentDelete, commentColumns, fromComments + `m.task_id IN (SELECT o.id FROM projects.tasks o WHERE o.tenant_id = $1 AND o.project_id = ANY($2::uuid[]))`},
			{"comments", "comment", contract.PermCommentDelete, commentColumns, fromComments + `m.issue_id IN (SELECT o.id FROM projects.issues o WHERE o.tenant_id = $1 AND o.project_id = ANY($2::uuid[]))`},
			{"time_entries", "time entry", contract.PermTimeEntryDelete, timeEntryColumns, fromTimeEntries + `e.project_id = ANY($2::uuid[])`},
			{"custom_fields", "custom field", contract.PermProjectUpdate, projectColumns, inProject("custom_fields")},
			{"repo_paths", "repository path", contract.PermProjectUpdate, projectColumns, inProject("repo_paths")},
			{"delegations", "delegation", contract.PermDelegationRevoke, delegationColumns, fromDelegations + isDeleted("d.project_id")},
		}
	case "tasks":
		return []dependent{
			{"tasks", "sub-task", contract.PermTaskDelete, taskColumns, fromTasks + deletedComment("tasks", "t", "parent_task_id")},
			{"tasks", "task of the epic", contract.PermTaskUpdate, taskColumns, fromTasks + isDeleted("t.epic_id")},
			{"dependencies", "task that waits", contract.PermTaskUpdate, taskColumns, fromDependencies + `y.depends_on_id = ANY($2::uuid[]) AND y.task_id <> ALL($2::uuid[])`},
			{"comments", "comment", contract.PermCommentDelete, commentColumns, fromComments + isDeleted("m.task_id")},
			{"criteria", "criterion", contract.PermDeliverableUpdate, criterionColumns, fromCriteria + deletedComment("tasks", "k", "task_id")},
			{"deliverables", "deliverable", contract.PermDeliverableUpdate, deliverableColumns, fromDeliverables + deletedComment("tasks", "d", "task_id")},
			{"issues", "promoted issue", contract.PermIssueUpdate, issueColumns, fromIssues + deletedComment("tasks", "i", "promoted_task_id")},
			{"time_entries", "time entry", contract.PermTimeEntryUpdate, timeEntryColumns, fromTimeEntries + isDeleted("e.task_id")},
		}
	case "issues":
		return []dependent{
			{"comments", "comment", contract.PermCommentDelete, commentColumns, fromComments + isDeleted("m.issue_id")},
			{"time_entries", "time entry", contract.PermTimeEntryUpdate, timeEntryColumns, fromTimeEntries + isDeleted("e.issue_id")},
		}
	case "stages":
		return []dependent{
			{"gates", "gate", contract.PermGateDelete, projectColumns, `projects.gates x JOIN projects.projects p ON p.tenant_id = $1 AND p.id = x.project_id
WHERE x.tenant_id = $1 AND ` + deletedComment("stages", "x", "stage_id")},
		}
	case "deliverables":
		return []dependent{
			{"criteria", "criterion", contract.PermDeliverableUpdate, criterionColumns, fromCriteria + deletedComment("deliverables", "k", "deliverable_id")},
		}
	case "custom_fields":
		return []dependent{
			{"custom_field_values", "task with a value", contract.PermTaskUpdate, taskColumns, `projects.custom_field_values v
JOIN projects.tasks t ON t.tenant_id = $1 AND t.id = v.task_id
JOIN projects.projects p ON p.tenant_id = $1 AND p.id = t.project_id
WHERE v.tenant_id = $1 AND ` + deletedComment("custom_fields", "v", "field_id")},
		}
	case "initiatives":
		return []dependent{
			{"projects", "project", contract.PermProjectUpdate, projectColumns, `projects.projects p WHERE p.tenant_id = $1 AND ` + isDeleted("p.initiative_id")},
			{"tasks", "epic", contract.PermTaskUpdate, taskColumns, fromTasks + isDeleted("t.initiative_id")},
			{"delegations", "delegation", contract.PermDelegationRevoke, delegationColumns, fromDelegations + isDeleted("d.initiative_id")},
		}
	default:
		return nil
	}
}

// isDeleted selects the rows whose optional column names a deleted record. The
// planner uses a partial index (WHERE column IS NOT NULL) only where the
// statement says the same.
func isDeleted(column string) string {
	return column + ` = ANY($2::uuid[]) AND ` + column + ` IS NOT NULL`
}

// deletedComment selects the rows that refer to a deleted record of a table, along
// the indexes whose second column is the project.
func deletedComment(table, alias, column string) string {
	return `(` + alias + `.project_id, ` + alias + `.` + column + `) IN (SELECT o.project_id, o.id FROM projects.` + table +
		` o WHERE o.tenant_id = $1 AND o.id = ANY($2::uuid[]))`
}

// deniedCascade is how many records of a type the caller may not remove or change.
type deniedCascade struct {
	Type       string `json:"type"`
	Permission string `json:"permission"`
	Count      int    `json:"count"`
}

// authorizeCascade rejects a deletion that would remove or change records that
// the caller may not. table holds the records to delete, which the request has
// locked, so that nothing is added to them meanwhile. One statement per type
// counts the rows that the policies' filter does not pass. The answer has counts
// alone: it names no record, because some may be hidden from the caller.
func authorizeCascade(ctx context.Context, c *executor.Call, table string, ids ...op.UUID) error {
	dependents := dependentsOf(table)
	counts := make([]int, len(dependents))
	batch := &pgx.Batch{}
	for i, d := range dependents {
		f, err := c.Filter(ctx, d.permission, d.columns)
		if err != nil {
			return err
		}
		st := &statement{}
		st.arg(c.Tenant)
		st.arg(ids)
		st.add(`SELECT count(*) FROM `, d.rows, ` AND `).filter(f).add(` IS NOT TRUE`)
		batch.Queue(st.sql(), st.args...).QueryRow(func(r pgx.Row) error { return r.Scan(&counts[i]) })
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
	words := make([]string, len(all))
	for i, d := range all {
		words[i] = fmt.Sprintf("%s: %d (%s)", d.Type, d.Count, d.Permission)
	}
	return fault.Conflict(fmt.Sprintf("The deletion would also remove or change %d records for which you lack the permission. By type, with the missing permission: %s. "+
		"Ask somebody who holds the permissions.", total, strings.Join(words, ", "))).
		WithReason("CASCADE_DENIED").WithDetails(map[string]any{"count": total, "denied": all})
}
