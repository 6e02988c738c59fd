package tracker

import (
	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// taskQuery selects tasks of one project, or of all projects if project is empty. Empty
// fields select everything.
type taskQuery struct {
	operation *op.Operation

	project, assignee, notAssignee, creator, epic        op.UUID
	status, search, issueType, priority, label, category string
	dueAfter, dueBefore                                  op.Date
	open, unassigned, ready, review, awaitingDecision    bool
	// also is another policy filter that the tasks must match; nil means none.
	also *authz.Filter

	sort   string
	limit  int
	cursor string
}

// validate rejects a query for more than one of the queues ready, review and
// awaitingDecision, because each has an order of its own.
func (q *taskQuery) validate() error {
	switch {
	case q.awaitingDecision && q.ready:
		return fault.Validation("awaitingDecision", "Set either ready or awaitingDecision, not both: a task that awaits a decision is not ready.")
	case q.awaitingDecision && q.review:
		return fault.Validation("awaitingDecision", "Set either review or awaitingDecision, not both.")
	case q.ready && q.review:
		return fault.Validation("review", "Set either ready or review, not both: a task in review is not ready.")
	case q.sort != "" && (q.ready || q.review || q.awaitingDecision):
		return fault.Validation("sort", "Omit sort: ready, review and awaitingDecision have an order of their own.")
	}
	return nil
}

// statement returns the statement for a page of the query in the given order.
func (q *taskQuery) statement(c *executor.Call, f, epics authz.Filter, order *taskOrder, cursor []string) *postgres.Statement {
	st := &postgres.Statement{}
	if order.byCategory {
		st.Add(`
SELECT page.* FROM unnest(`, st.Arg(q.categories()), `::text[]) c(category), LATERAL (`)
	}
	b := q.begin(st, c, epics, ``)
	st.Add(`
FROM projects.tasks t`)
	b.addConditions(f)
	if order.byCategory {
		st.Add(` AND t.status_category = c.category`)
		b.addDueOrder()
	}
	if (q.ready || q.review || order.byCategory) && q.priority != "" {
		// The index contains priority_rank, not priority.
		st.Add(` AND t.priority_rank = `, st.Arg(priorityRank(q.priority)), `::smallint`)
	}
	if cursor != nil {
		order.addAfter(st, cursor)
	}
	b.addFilters(c)
	b.end(order.columns(), order.limitSQL(q.limit+1))
	if order.byCategory {
		st.Add(`) page`)
	}
	return st
}

// categories returns the status categories of the tasks that the query selects.
func (q *taskQuery) categories() []string {
	switch {
	case q.category != "":
		return []string{q.category}
	case q.open:
		return []string{contract.CategoryTodo, contract.CategoryInProgress, contract.CategoryReview}
	default:
		return statusCategories()
	}
}

// addDueOrder adds the conditions on the due date for the column due_order, which the
// indexes contain. Without them, a scan in this order would not start or end at these dates.
func (b *taskStatement) addDueOrder() {
	if b.q.dueAfter != "" {
		b.Add(` AND t.due_order >= `, b.Arg(string(b.q.dueAfter)), `::text::date`)
	}
	if b.q.dueBefore != "" {
		b.Add(` AND t.due_order <= `, b.Arg(string(b.q.dueBefore)), `::text::date`)
	}
}

// taskStatement builds the statement of a task query. tenant and project are the
// placeholders of their values; project is empty for a query in all projects.
type taskStatement struct {
	*postgres.Statement
	q               *taskQuery
	epics           authz.Filter
	tenant, project string
}

// begin starts the statement with its columns: the prefix, taskListColumns, whether the
// caller may see the epic, and the extra columns.
func (q *taskQuery) begin(st *postgres.Statement, c *executor.Call, epics authz.Filter, extra string) *taskStatement {
	b := &taskStatement{Statement: st, q: q, epics: epics, tenant: st.Arg(c.Tenant)}
	if q.project != "" {
		b.project = st.Arg(q.project)
		st.Add(taskListSelect)
	} else {
		st.Add(`
SELECT p.prefix, `, taskListColumns)
	}
	addEpicIsVisible(st, b.tenant, epics).Add(extra)
	return b
}

// addConditions adds the project p of each task t, if the query has no project, and the
// WHERE clause with the tenant, the project and the policy filter.
func (b *taskStatement) addConditions(f authz.Filter) {
	if b.project == "" {
		b.Add(projectJoin("t", b.tenant))
	}
	b.Add(`
WHERE t.tenant_id = `, b.tenant)
	if b.project != "" {
		b.Add(` AND t.project_id = `, b.project)
	} else {
		// True for every task. The indexes for all projects have this condition.
		b.Add(` AND t.number > 0`)
	}
	b.Add(` AND `).Filter(f)
}

// addFilters adds the conditions of the query.
func (b *taskStatement) addFilters(c *executor.Call) {
	q := b.q
	switch {
	case q.ready:
		addReadyFilter(b.Statement, b.tenant, b.Arg(c.Actor.UserID))
	case q.review:
		b.Add(` AND t.status_category = 'REVIEW'`)
	}
	if q.open {
		b.Add(` AND t.status_category IN ('TODO', 'IN_PROGRESS', 'REVIEW')`)
	}
	for _, e := range []struct{ column, value string }{
		{"t.status =", q.status}, {"t.status_category =", q.category}, {"t.assignee_id =", string(q.assignee)}, {"t.created_by =", string(q.creator)},
		{"t.issue_type =", q.issueType}, {"t.priority =", q.priority}, {"t.due_date >=", string(q.dueAfter)}, {"t.due_date <=", string(q.dueBefore)},
	} {
		if e.value != "" {
			b.Add(` AND `, e.column, ` `, b.Arg(e.value))
		}
	}
	if q.unassigned {
		b.Add(` AND t.assignee_id IS NULL`)
	}
	if q.notAssignee != "" {
		b.Add(` AND t.assignee_id IS DISTINCT FROM `, b.Arg(q.notAssignee))
	}
	if q.also != nil {
		b.Add(` AND `).Filter(*q.also)
	}
	if q.label != "" {
		b.Add(` AND EXISTS (SELECT 1 FROM unnest(t.labels) l WHERE lower(l) = lower(`, b.Arg(q.label), `::text))`)
	}
	if q.epic != "" {
		// Listing the children of a hidden epic would reveal that it exists.
		addEpicIsVisible(b.Add(` AND t.epic_id = `, b.Arg(q.epic), ` AND `), b.tenant, b.epics)
	}
	if q.search != "" {
		addTaskSearch(b.Statement, c.Tenant, b.tenant, b.project, q.search)
	}
}

// end adds the order and the limit.
func (b *taskStatement) end(columns, limit string) {
	b.Add(` ORDER BY `, columns, ` LIMIT `, limit)
	if b.project != "" {
		b.Add(`) page
WHERE p.tenant_id = `, b.tenant, ` AND p.id = `, b.project)
	}
}

// addEpicIsVisible adds the condition that the caller may see the epic of the task t.
func addEpicIsVisible(st *postgres.Statement, tenant string, epics authz.Filter) *postgres.Statement {
	return st.Add(`(t.epic_project_id IS NULL OR EXISTS (SELECT 1 FROM projects.projects ep WHERE ep.tenant_id = `, tenant,
		` AND ep.id = t.epic_project_id AND `).Filter(epics).Add(`))`)
}

// order returns the order of the query: by urgency for the queues ready and review,
// otherwise the requested one. Without a request, list-tasks orders by number and
// search-tasks by the last change.
func (q *taskQuery) order() *taskOrder {
	name := q.operation.Name
	switch {
	case q.ready:
		return orderByUrgency(name+" ready", true)
	case q.review:
		return orderByUrgency(name+" review", true)
	}
	// A search reads the tasks that it finds, and the tasks of a project are few enough to sort.
	byCategory := q.project == "" && q.search == ""
	switch q.sort {
	case contract.SortPriority:
		o := orderByUrgency(name+" priority", false)
		o.byCategory = byCategory
		return o
	case contract.SortDue:
		o := orderByDue(name + " due")
		o.byCategory = byCategory
		return o
	case contract.SortUpdated:
		return orderByUpdate(name + " updated")
	}
	if name == contract.ListTasks.Name {
		return orderByNumber()
	}
	return orderByUpdate(name + " updated")
}
