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
)

// taskOrder is an order of a project's tasks that an index supports, with its cursor
// and its comparison in Go.
type taskOrder struct {
	// name is part of the cursor, so that a cursor of another list is rejected.
	name    string
	columns string
	// keyCount is the number of cursor keys without the project.
	keyCount     int
	keys         func(t *contract.TaskSummary) []string
	validateKeys func(keys []string) error
	addAfter     func(st *statement, keys []string)
	// limitSQL returns the SQL expression after LIMIT.
	limitSQL func(n int) string
	compare  func(a, b contract.TaskSummary) int
}

// taskOrderFor returns the order of a list: by urgency for the queues ready and review,
// otherwise by task number with the highest first.
func taskOrderFor(in *contract.ListTasksIn) *taskOrder {
	switch {
	case in.Ready:
		return orderByUrgency(contract.ListTasks.Name + " ready")
	case in.Review:
		return orderByUrgency(contract.ListTasks.Name + " review")
	default:
		return orderByNumber()
	}
}

// readCursor returns the keys of the last task of the previous page, or nil for an
// empty cursor.
func (o *taskOrder) readCursor(c *executor.Call, in *contract.ListTasksIn) ([]string, error) {
	keys, err := op.ReadCursor(in.Cursor, o.name, c.Tenant, o.keyCount+1)
	if err != nil || keys == nil {
		return nil, err
	}
	if keys[0] != string(in.ProjectID) || o.validateKeys(keys[1:]) != nil {
		return nil, op.WrongCursor()
	}
	return keys[1:], nil
}

// orderByNumber orders by task number, highest first. The index is scanned backwards.
func orderByNumber() *taskOrder {
	number := func(t *contract.TaskSummary) int64 {
		ref, _ := parseTaskKey(t.Key)
		return ref.number
	}
	return &taskOrder{
		name: contract.ListTasks.Name, columns: `t.number DESC`, keyCount: 1, limitSQL: strconv.Itoa,
		keys: func(t *contract.TaskSummary) []string { return []string{strconv.FormatInt(number(t), 10)} },
		validateKeys: func(keys []string) error {
			n, err := strconv.ParseInt(keys[0], 10, 64)
			if err == nil && n < 1 {
				err = strconv.ErrRange
			}
			return err
		},
		addAfter: func(st *statement, keys []string) {
			n, _ := strconv.ParseInt(keys[0], 10, 64)
			st.add(` AND t.number < `, st.arg(n))
		},
		compare: func(a, b contract.TaskSummary) int { return cmp.Compare(number(&b), number(&a)) },
	}
}

// urgencyColumns is the order of the ready set and the review queue: priority, due
// date (tasks without one last), creation time, id. The index tasks_by_pressure has
// these columns.
const urgencyColumns = `t.priority_rank, t.due_order, t.created_at, t.id`

// noDueDate is the value of the column due_order for tasks without a due date.
const noDueDate = "infinity"

func orderByUrgency(name string) *taskOrder {
	keys := func(t *contract.TaskSummary) []string {
		return []string{
			strconv.Itoa(priorityRank(t.Priority)), cmp.Or(string(t.DueDate), noDueDate), op.CursorTime(t.CreatedAt), string(t.ID),
		}
	}
	return &taskOrder{
		name: name, columns: urgencyColumns, keyCount: 4, keys: keys,
		// A subquery hides the limit from the planner. The planner underestimates how many
		// tasks are ready. With a known limit, it would read and sort all of them; with an
		// unknown limit, it expects to need a tenth of the rows and scans the index in order.
		limitSQL: func(n int) string { return `(SELECT ` + strconv.Itoa(n) + `)` },
		validateKeys: func(keys []string) error {
			_, err := strconv.ParseInt(keys[0], 10, 16)
			if err == nil && keys[1] != noDueDate {
				_, err = time.Parse(time.DateOnly, keys[1])
			}
			if err == nil {
				_, err = op.ParseCursorTime(keys[2])
			}
			if err == nil {
				_, err = op.ParseUUID(keys[3])
			}
			return err
		},
		addAfter: func(st *statement, keys []string) {
			rank, _ := strconv.ParseInt(keys[0], 10, 16)
			st.add(` AND (`, urgencyColumns, `) > (`, st.arg(rank), `::smallint, `, st.arg(keys[1]), `::text::date, `,
				st.arg(keys[2]), `::text::timestamptz, `, st.arg(keys[3]), `::uuid)`)
		},
		compare: func(a, b contract.TaskSummary) int {
			return cmp.Or(
				cmp.Compare(priorityRank(a.Priority), priorityRank(b.Priority)),
				// "infinity" sorts after every digit.
				strings.Compare(cmp.Or(string(a.DueDate), noDueDate), cmp.Or(string(b.DueDate), noDueDate)),
				a.CreatedAt.Compare(b.CreatedAt),
				strings.Compare(string(a.ID), string(b.ID)))
		},
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
func addReadyFilter(st *statement, tenant, user string) {
	st.add(` AND t.status_category = 'TODO' AND t.issue_type <> 'EPIC' AND (t.assignee_id IS NULL OR t.assignee_id = `, user, `)
  AND NOT EXISTS (SELECT 1 FROM projects.dependencies d
                  WHERE d.tenant_id = `, tenant, ` AND d.task_id = t.id
                    AND (SELECT b.status_category FROM projects.tasks b WHERE b.tenant_id = `, tenant, ` AND b.id = d.depends_on_id)
                        NOT IN ('DONE', 'CANCELLED') OFFSET 0)
  AND NOT EXISTS (SELECT 1 FROM projects.decision_requests q
                  WHERE q.tenant_id = `, tenant, ` AND q.task_id = t.id AND q.status = 'open' OFFSET 0)`)
}
