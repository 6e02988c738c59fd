package tracker

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// taskOrder is an order of tasks by several keys, ascending or descending in all of them.
// The last key is unique, or unique in a project.
type taskOrder struct {
	// name is part of the cursor, so that a cursor of another list or order is rejected.
	name       string
	sortKeys   []sortKey
	descending bool
	// hideLimit hides the limit from the planner with a subquery. The planner underestimates
	// how many tasks are ready. With a known limit, it would read and sort all of them; with
	// an unknown limit, it expects to need a tenth of the rows and scans the index in order.
	hideLimit bool
	// byCategory reports whether the statement reads one page of each status category, because
	// the indexes of the order start with the category. Go merges the pages.
	byCategory bool
}

// sortKey is a column that orders tasks, with its text in a cursor and its comparison in Go.
type sortKey struct {
	// column is the SQL of the column, and typ its type.
	column, typ string
	text        func(t *contract.TaskSummary) string
	validate    func(text string) error
	compare     func(a, b *contract.TaskSummary) int
}

// readCursor returns the keys of the last task of the previous page, or nil for an
// empty cursor.
func (o *taskOrder) readCursor(c *executor.Call, q *taskQuery) ([]string, error) {
	keys, err := op.ReadCursor(q.cursor, o.name, c.Tenant, len(o.sortKeys)+1)
	if err != nil || keys == nil {
		return nil, err
	}
	if keys[0] != string(q.project) {
		return nil, op.WrongCursor()
	}
	for i, k := range o.sortKeys {
		if err := k.validate(keys[i+1]); err != nil {
			return nil, op.WrongCursor().WithCause(err)
		}
	}
	return keys[1:], nil
}

// keys returns the cursor keys of a task.
func (o *taskOrder) keys(t *contract.TaskSummary) []string {
	keys := make([]string, len(o.sortKeys))
	for i, k := range o.sortKeys {
		keys[i] = k.text(t)
	}
	return keys
}

// columns returns the SQL after ORDER BY.
func (o *taskOrder) columns() string {
	direction := ""
	if o.descending {
		direction = " DESC"
	}
	columns := make([]string, len(o.sortKeys))
	for i, k := range o.sortKeys {
		columns[i] = k.column + direction
	}
	return strings.Join(columns, ", ")
}

// addAfter adds the condition that the task comes after the one with these cursor keys.
func (o *taskOrder) addAfter(st *postgres.Statement, keys []string) {
	columns, values := make([]string, len(keys)), make([]string, len(keys))
	for i, k := range o.sortKeys {
		// The argument is text, so that pgx sends it as it is in the cursor.
		columns[i], values[i] = k.column, st.Arg(keys[i])+`::text::`+k.typ
	}
	comparison := `) > (`
	if o.descending {
		comparison = `) < (`
	}
	st.Add(` AND (`, strings.Join(columns, ", "), comparison, strings.Join(values, ", "), `)`)
}

// limitSQL returns the SQL after LIMIT.
func (o *taskOrder) limitSQL(n int) string {
	if o.hideLimit {
		return `(SELECT ` + strconv.Itoa(n) + `)`
	}
	return strconv.Itoa(n)
}

// compare compares two tasks of a page.
func (o *taskOrder) compare(a, b contract.TaskSummary) int {
	for _, k := range o.sortKeys {
		if n := k.compare(&a, &b); n != 0 {
			if o.descending {
				return -n
			}
			return n
		}
	}
	return 0
}

// orderByNumber orders the tasks of a project by number, highest first.
func orderByNumber() *taskOrder {
	return &taskOrder{name: contract.ListTasks.Name, sortKeys: []sortKey{numberKey()}, descending: true}
}

// urgencyColumns is the order of the ready set and the review queue: priority, due
// date (tasks without one last), creation time, id. The index tasks_by_pressure has
// these columns.
const urgencyColumns = `t.priority_rank, t.due_order, t.created_at, t.id`

// orderByUrgency orders by the columns of urgencyColumns.
func orderByUrgency(name string, hideLimit bool) *taskOrder {
	return &taskOrder{name: name, sortKeys: []sortKey{priorityKey(), dueKey(), creationKey(), idKey()}, hideLimit: hideLimit}
}

// orderByDue orders by due date, earliest first and tasks without one last, then by
// urgency.
func orderByDue(name string) *taskOrder {
	return &taskOrder{name: name, sortKeys: []sortKey{dueKey(), priorityKey(), creationKey(), idKey()}}
}

// orderByUpdate orders by the time of the last change, latest first.
func orderByUpdate(name string) *taskOrder {
	updated := timeKey("t.updated_at", func(t *contract.TaskSummary) time.Time { return t.UpdatedAt })
	return &taskOrder{name: name, sortKeys: []sortKey{updated, idKey()}, descending: true}
}

func numberKey() sortKey {
	number := func(t *contract.TaskSummary) int64 {
		ref, _ := parseTaskKey(t.Key)
		return ref.number
	}
	return sortKey{
		column: "t.number", typ: "bigint",
		text: func(t *contract.TaskSummary) string { return strconv.FormatInt(number(t), 10) },
		validate: func(text string) error {
			n, err := strconv.ParseInt(text, 10, 64)
			if err == nil && n < 1 {
				err = strconv.ErrRange
			}
			return err
		},
		compare: func(a, b *contract.TaskSummary) int { return cmp.Compare(number(a), number(b)) },
	}
}

func priorityKey() sortKey {
	return sortKey{
		column: "t.priority_rank", typ: "smallint",
		text: func(t *contract.TaskSummary) string { return strconv.Itoa(priorityRank(t.Priority)) },
		validate: func(text string) error {
			_, err := strconv.ParseInt(text, 10, 16)
			return err
		},
		compare: func(a, b *contract.TaskSummary) int {
			return cmp.Compare(priorityRank(a.Priority), priorityRank(b.Priority))
		},
	}
}

// noDueDate is the value of the column due_order for tasks without a due date.
const noDueDate = "infinity"

func dueKey() sortKey {
	due := func(t *contract.TaskSummary) string { return cmp.Or(string(t.DueDate), noDueDate) }
	return sortKey{
		column: "t.due_order", typ: "date", text: due,
		validate: func(text string) error {
			if text == noDueDate {
				return nil
			}
			_, err := time.Parse(time.DateOnly, text)
			return err
		},
		// "infinity" sorts after every digit.
		compare: func(a, b *contract.TaskSummary) int { return strings.Compare(due(a), due(b)) },
	}
}

func creationKey() sortKey {
	return timeKey("t.created_at", func(t *contract.TaskSummary) time.Time { return t.CreatedAt })
}

func timeKey(column string, at func(t *contract.TaskSummary) time.Time) sortKey {
	return sortKey{
		column: column, typ: "timestamptz",
		text: func(t *contract.TaskSummary) string { return op.CursorTime(at(t)) },
		validate: func(text string) error {
			_, err := op.ParseCursorTime(text)
			return err
		},
		compare: func(a, b *contract.TaskSummary) int { return at(a).Compare(at(b)) },
	}
}

func idKey() sortKey {
	return sortKey{
		column: "t.id", typ: "uuid",
		text: func(t *contract.TaskSummary) string { return string(t.ID) },
		validate: func(text string) error {
			_, err := op.ParseUUID(text)
			return err
		},
		compare: func(a, b *contract.TaskSummary) int { return strings.Compare(string(a.ID), string(b.ID)) },
	}
}

// priorityRank returns the value of the column priority_rank, 0 for the highest
// priority.
func priorityRank(priority string) int {
	return slices.Index([]string{contract.PriorityUrgent, contract.PriorityHigh, contract.PriorityMedium, contract.PriorityLow}, priority)
}

// addReadyFilter adds the conditions of the ready set for the tasks t and this user: a
// status of the category TODO, not an epic, not assigned to another user, no unfinished
// dependency and no open decision request. OFFSET 0 prevents the planner from turning the
// subqueries into joins, for which it would read the whole project before it returns the
// first row. The subquery for the status of the other task has the same purpose.
func addReadyFilter(st *postgres.Statement, tenant, user string) {
	st.Add(` AND t.status_category = 'TODO' AND t.issue_type <> 'EPIC' AND (t.assignee_id IS NULL OR t.assignee_id = `, user, `)
  AND NOT EXISTS (SELECT 1 FROM projects.dependencies d
                  WHERE d.tenant_id = `, tenant, ` AND d.task_id = t.id
                    AND (SELECT b.status_category FROM projects.tasks b WHERE b.tenant_id = `, tenant, ` AND b.id = d.depends_on_id)
                        NOT IN ('DONE', 'CANCELLED') OFFSET 0)
  AND NOT EXISTS (SELECT 1 FROM projects.decision_requests q
                  WHERE q.tenant_id = `, tenant, ` AND q.task_id = t.id AND q.status = 'open' OFFSET 0)`)
}
