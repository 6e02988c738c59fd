package tracker

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// taskListSelect starts the list of a project's tasks. The tasks are a lateral subquery,
// because the planner then reads the project once. With a plain join, it reads the project
// again for each task to preserve the order.
const taskListSelect = `
SELECT p.prefix, page.*
FROM projects.projects p, LATERAL (
SELECT ` + taskListColumns

// taskListColumns are the columns that listScanTargets scans after the prefix.
const taskListColumns = `t.id, t.project_id, t.number, t.title, t.status, t.status_category, t.issue_type, t.priority, t.progress, t.assignee_id,
       t.due_date::text, t.epic_id, t.epic_project_id, t.parent_task_id, t.initiative_id, t.estimate_points, t.labels,
       t.created_by, t.created_at, t.updated_at, t.completed_at, `

// listTasks returns a page of a project's tasks in one round trip. If the page is empty,
// another query finds the reason.
func (s *Service) listTasks(ctx context.Context, c *executor.Call, in *contract.ListTasksIn, f authz.Filter) (*op.Page[contract.TaskSummary], error) {
	q := &taskQuery{
		operation: contract.ListTasks.Operation, project: in.ProjectID, status: in.Status, search: in.Search, assignee: in.Assignee, epic: in.EpicID,
		issueType: in.IssueType, priority: in.Priority, label: in.Label, dueAfter: in.DueAfter, dueBefore: in.DueBefore,
		ready: in.Ready, review: in.Review, awaitingDecision: in.AwaitingDecision, sort: in.Sort, limit: in.Limit, cursor: in.Cursor,
	}
	page, err := s.readTasks(ctx, c, q, f)
	if err != nil || len(page.Items) > 0 {
		return page, err
	}
	status, err := explainEmptyPage(ctx, c, in.ProjectID, in.Status)
	if err != nil || status == in.Status {
		return page, err
	}
	// The name of the status has another case. The statement compares it exactly, because
	// only that comparison uses the index.
	q.status = status
	return s.readTasks(ctx, c, q, f)
}

// searchAllTasks returns a page of the tasks of all projects, or of one, that match the
// request and the policy filter, in one round trip. If a page of one project is empty,
// another query finds the reason.
func (s *Service) searchAllTasks(ctx context.Context, c *executor.Call, in *contract.SearchTasksIn, f authz.Filter) (*op.Page[contract.TaskSummary], error) {
	page, err := s.readTasks(ctx, c, &taskQuery{
		operation: contract.SearchTasks.Operation, project: in.ProjectID, search: in.Search, assignee: in.Assignee, creator: in.CreatedBy,
		issueType: in.IssueType, priority: in.Priority, label: in.Label, category: in.StatusCategory, dueAfter: in.DueAfter, dueBefore: in.DueBefore,
		open: in.Open, ready: in.Ready, review: in.Review, awaitingDecision: in.AwaitingDecision, sort: in.Sort, limit: in.Limit, cursor: in.Cursor,
	}, f)
	if err != nil || len(page.Items) > 0 || in.ProjectID == "" {
		return page, err
	}
	_, err = explainEmptyPage(ctx, c, in.ProjectID, "")
	return page, err
}

// readTasks returns a page of the tasks that match the query and the policy filter. One
// statement scans the index of the order from the cursor and stops when the page is full.
// Before it reads the ready set, tasks with expired leases return to the set.
func (s *Service) readTasks(ctx context.Context, c *executor.Call, q *taskQuery, f authz.Filter) (*op.Page[contract.TaskSummary], error) {
	if err := q.validate(); err != nil {
		return nil, err
	}
	if q.awaitingDecision {
		return readAwaitingTasks(ctx, c, q, f)
	}
	order := q.order()
	cursor, err := order.readCursor(c, q)
	if err != nil {
		return nil, err
	}
	page := &op.Page[contract.TaskSummary]{Items: []contract.TaskSummary{}}
	if !f.None() {
		if q.ready {
			if err := s.returnExpiredLeasesBeforeRead(ctx, c, q.project); err != nil {
				return nil, err
			}
		}
		epics, err := c.Filter(ctx, contract.PermTasksRead, epicProjectColumns)
		if err != nil {
			return nil, err
		}
		if err := readTaskPage(ctx, c, q.statement(c, f, epics, order, cursor), order, q.limit, page); err != nil {
			return nil, err
		}
	}
	if n := len(page.Items); n > q.limit {
		page.Items = page.Items[:q.limit]
		keys := append([]string{string(q.project)}, order.keys(&page.Items[q.limit-1])...)
		page.NextCursor = op.NewCursor(order.name, c.Tenant, keys...)
	}
	return page, nil
}

// explainEmptyPage returns an error for an empty page if the caller may not read tasks
// of the project, or if the project has no status with the wanted name. Otherwise it
// returns the name of the wanted status as the project has it; "" if none is wanted.
func explainEmptyPage(ctx context.Context, c *executor.Call, project op.UUID, wanted string) (string, error) {
	row, err := loadProject(ctx, c, loadProjectSQL, project)
	if err != nil {
		return "", err
	}
	if err := c.Decide(ctx, contract.PermTasksRead, row.newTaskResource(c)); err != nil || wanted == "" {
		return "", err
	}
	status, err := findStatus(row.statuses(), wanted)
	return status.Name, err
}

// readTaskPage scans by position, not by column name, because it is the most frequent
// query.
func readTaskPage(ctx context.Context, c *executor.Call, st *postgres.Statement, order *taskOrder, limit int, page *op.Page[contract.TaskSummary]) error {
	rows, err := c.DB.Query(ctx, st.SQL(), st.Args()...)
	if err != nil {
		return err
	}
	page.Items = make([]contract.TaskSummary, 0, limit+1)
	var r taskRow
	var isEpicVisible bool
	_, err = pgx.ForEachRow(rows, append(r.listScanTargets(), &isEpicVisible), func() error {
		item := r.toSummary()
		if !isEpicVisible {
			item.EpicID = opaqueID(c.Tenant, item.EpicID)
		}
		page.Items = append(page.Items, item)
		return nil
	})
	if !slices.IsSortedFunc(page.Items, order.compare) {
		// The lateral subquery selects the right rows, but SQL does not guarantee their order.
		slices.SortFunc(page.Items, order.compare)
	}
	page.Items = page.Items[:min(len(page.Items), limit+1)]
	if err != nil {
		return err
	}
	return redactInitiatives(ctx, c, initiativeRefs(page.Items)...)
}

// initiativeRefs returns the initiatives that the tasks name.
func initiativeRefs(tasks []contract.TaskSummary) []*op.UUID {
	var refs []*op.UUID
	for i := range tasks {
		if id := &tasks[i].InitiativeID; *id != "" {
			refs = append(refs, id)
		}
	}
	return refs
}

// listScanTargets returns the scan targets for the prefix and the columns of
// taskListColumns, in order.
func (r *taskRow) listScanTargets() []any {
	return []any{
		&r.Prefix, &r.ID, &r.ProjectID, &r.Number, &r.Title, &r.Status, &r.StatusCategory, &r.IssueType, &r.Priority, &r.Progress, &r.AssigneeID,
		&r.DueDate, &r.EpicID, &r.EpicProjectID, &r.ParentTaskID, &r.InitiativeID, &r.EstimatePoints, &r.Labels,
		&r.CreatedBy, &r.CreatedAt, &r.UpdatedAt, &r.CompletedAt,
	}
}
