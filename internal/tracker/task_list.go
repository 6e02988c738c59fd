package tracker

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// The tasks are a lateral subquery, because the planner then reads the project once. With
// a plain join, it reads the project again for each task to preserve the order.
const taskListSelect = `
SELECT p.prefix, page.*
FROM projects.projects p, LATERAL (
SELECT t.id, t.number, t.title, t.status, t.status_category, t.issue_type, t.priority, t.progress, t.assignee_id,
       t.due_date::text, t.epic_id, t.epic_project_id, t.parent_task_id, t.initiative_id, t.estimate_points, t.labels,
       t.created_by, t.created_at, t.updated_at, t.completed_at, `

// listTasks returns a page of a project's tasks in one round trip. One statement reads
// the project, applies the policy filters, scans the index of the list's order from
// the cursor and stops when the page is full. Before it lists the ready set, tasks
// with expired leases return to the set. If the page is empty, another query finds the
// reason.
func (s *Service) listTasks(ctx context.Context, c *executor.Call, in *contract.ListTasksIn, f authz.Filter) (*op.Page[contract.TaskSummary], error) {
	if err := requireSingleQueue(in); err != nil {
		return nil, err
	}
	if in.AwaitingDecision {
		return s.listAwaiting(ctx, c, in, f)
	}
	order := taskOrderFor(in)
	cursor, err := order.readCursor(c, in)
	if err != nil {
		return nil, err
	}
	page := &op.Page[contract.TaskSummary]{Items: []contract.TaskSummary{}}
	if !f.None() {
		if in.Ready {
			if err := s.returnExpiredLeasesBeforeRead(ctx, c, in.ProjectID); err != nil {
				return nil, err
			}
		}
		epics, err := c.Filter(ctx, contract.PermTasksRead, epicProjectColumns)
		if err != nil {
			return nil, err
		}
		if err := readTaskPage(ctx, c, taskListStatement(c, in, f, epics, order, cursor), order, in.Limit, page); err != nil {
			return nil, err
		}
	}
	for i := range page.Items {
		page.Items[i].ProjectID = in.ProjectID
	}
	if n := len(page.Items); n > in.Limit {
		page.Items = page.Items[:in.Limit]
		keys := append([]string{string(in.ProjectID)}, order.keys(&page.Items[in.Limit-1])...)
		page.NextCursor = op.NewCursor(order.name, c.Tenant, keys...)
	}
	return page, explainEmptyPage(ctx, c, in, page)
}

// requireSingleQueue rejects requests for more than one of the queues ready, review
// and awaitingDecision. Each has a different order.
func requireSingleQueue(in *contract.ListTasksIn) error {
	switch {
	case in.AwaitingDecision && in.Ready:
		return fault.Validation("awaitingDecision", "Set either ready or awaitingDecision, not both: a task that awaits a decision is not ready.")
	case in.AwaitingDecision && in.Review:
		return fault.Validation("awaitingDecision", "Set either review or awaitingDecision, not both.")
	case in.Ready && in.Review:
		return fault.Validation("review", "Set either ready or review, not both: a task in review is not ready.")
	}
	return nil
}

// explainEmptyPage returns an error for an empty page if the caller may not read tasks
// of the project, or if the project has no status with the requested name.
func explainEmptyPage(ctx context.Context, c *executor.Call, in *contract.ListTasksIn, page *op.Page[contract.TaskSummary]) error {
	if len(page.Items) > 0 {
		return nil
	}
	row, err := loadProject(ctx, c, loadProjectSQL, in.ProjectID)
	if err != nil {
		return err
	}
	if err := c.Decide(ctx, contract.PermTasksRead, row.newTaskResource(c)); err != nil {
		return err
	}
	if in.Status != "" {
		_, err = findStatus(row.statuses(), in.Status)
	}
	return err
}

func taskListStatement(c *executor.Call, in *contract.ListTasksIn, f, epics authz.Filter, order *taskOrder, cursor []string) *statement {
	st := &statement{}
	tenant, project := st.arg(c.Tenant), st.arg(in.ProjectID)
	st.add(taskListSelect).addEpicIsVisible(tenant, epics)
	st.add(`
FROM projects.tasks t
WHERE t.tenant_id = `, tenant, ` AND t.project_id = `, project, ` AND `).filter(f)
	switch {
	case in.Ready:
		addReadyFilter(st, tenant, st.arg(c.Actor.UserID))
	case in.Review:
		st.add(` AND t.status_category = 'REVIEW'`)
	}
	if (in.Ready || in.Review) && in.Priority != "" {
		// The index contains priority_rank, not priority.
		st.add(` AND t.priority_rank = `, st.arg(priorityRank(in.Priority)), `::smallint`)
	}
	if cursor != nil {
		order.addAfter(st, cursor)
	}
	st.addTaskFilters(c, in, tenant, project, epics)
	return st.add(` ORDER BY `, order.columns, ` LIMIT `, order.limitSQL(in.Limit+1), `) page
WHERE p.tenant_id = `, tenant, ` AND p.id = `, project)
}

// addEpicIsVisible adds the condition that the caller may see the epic of the task t.
func (s *statement) addEpicIsVisible(tenant string, epics authz.Filter) *statement {
	return s.add(`(t.epic_project_id IS NULL OR EXISTS (SELECT 1 FROM projects.projects ep WHERE ep.tenant_id = `, tenant,
		` AND ep.id = t.epic_project_id AND `).filter(epics).add(`))`)
}

// addTaskFilters adds the conditions of the request for the tasks t of a project p.
func (s *statement) addTaskFilters(c *executor.Call, in *contract.ListTasksIn, tenant, project string, epics authz.Filter) {
	for _, e := range []struct{ column, value string }{
		{"t.status", in.Status}, {"t.assignee_id", string(in.Assignee)}, {"t.issue_type", in.IssueType}, {"t.priority", in.Priority},
	} {
		if e.value != "" {
			s.add(` AND `, e.column, ` = `, s.arg(e.value))
		}
	}
	if in.EpicID != "" {
		// Listing the children of a hidden epic would reveal that it exists.
		s.add(` AND t.epic_id = `, s.arg(in.EpicID), ` AND `).addEpicIsVisible(tenant, epics)
	}
	if in.Search != "" {
		s.searchTasks(c.Tenant, tenant, project, in.Search)
	}
}

// readTaskPage scans by position, not by column name, because it is the most frequent
// query.
func readTaskPage(ctx context.Context, c *executor.Call, st *statement, order *taskOrder, limit int, page *op.Page[contract.TaskSummary]) error {
	rows, err := c.DB.Query(ctx, st.sql(), st.args...)
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

// listScanTargets returns the scan targets for the columns of taskListSelect, in
// order.
func (r *taskRow) listScanTargets() []any {
	return []any{
		&r.Prefix, &r.ID, &r.Number, &r.Title, &r.Status, &r.StatusCategory, &r.IssueType, &r.Priority, &r.Progress, &r.AssigneeID,
		&r.DueDate, &r.EpicID, &r.EpicProjectID, &r.ParentTaskID, &r.InitiativeID, &r.EstimatePoints, &r.Labels,
		&r.CreatedBy, &r.CreatedAt, &r.UpdatedAt, &r.CompletedAt,
	}
}
