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

// taskOrder is an order of a project's tasks that an index walks: its text in
// SQL, its cursor, and how two rows of a page compare.
type taskOrder struct {
	// name tells one order's cursors from another's.
	name string
	by   string
	// size is how many keys a cursor has besides the project.
	size  int
	keys  func(t *contract.TaskSummary) []string
	check func(keys []string) error
	from  func(st *statement, keys []string)
	// most is the bound of a page in SQL.
	most    func(n int) string
	compare func(a, b contract.TaskSummary) int
}

// orderFor is the order of what is asked for: the queues begin with what is most
// pressing, the plain list with the newest key.
func orderFor(in *contract.ListTasksIn) *taskOrder {
	switch {
	case in.Ready:
		return orderByUrgency(contract.ListTasks.Name + " ready")
	case in.Review:
		return orderByUrgency(contract.ListTasks.Name + " review")
	default:
		return orderByNumber()
	}
}

// read gives the keys behind which the page begins; nil is the start.
func (o *taskOrder) read(c *executor.Call, in *contract.ListTasksIn) ([]string, error) {
	keys, err := op.ReadCursor(in.Cursor, o.name, c.Tenant, o.size+1)
	if err != nil || keys == nil {
		return nil, err
	}
	if keys[0] != string(in.ProjectID) || o.check(keys[1:]) != nil {
		return nil, op.WrongCursor()
	}
	return keys[1:], nil
}

// orderByNumber is the order of the plain list, the highest number first: the index
// of numbers, backwards.
func orderByNumber() *taskOrder {
	number := func(t *contract.TaskSummary) int64 {
		ref, _ := parseTaskKey(t.Key)
		return ref.number
	}
	return &taskOrder{
		name: contract.ListTasks.Name, by: `t.number DESC`, size: 1, most: strconv.Itoa,
		keys: func(t *contract.TaskSummary) []string { return []string{strconv.FormatInt(number(t), 10)} },
		check: func(keys []string) error {
			n, err := strconv.ParseInt(keys[0], 10, 64)
			if err == nil && n < 1 {
				err = strconv.ErrRange
			}
			return err
		},
		from: func(st *statement, keys []string) {
			n, _ := strconv.ParseInt(keys[0], 10, 64)
			st.add(` AND t.number < `, st.arg(n))
		},
		compare: func(a, b contract.TaskSummary) int { return cmp.Compare(number(&b), number(&a)) },
	}
}

// urgencyColumns is the order of the ready set and of the review queue: priority, due
// date (none last), age, and the id where all that is the same. The index
// tasks_by_pressure has it.
const urgencyColumns = `t.priority_rank, t.due_order, t.created_at, t.id`

// infinity is the due date of what has none.
const infinity = "infinity"

func orderByUrgency(name string) *taskOrder {
	keys := func(t *contract.TaskSummary) []string {
		return []string{
			strconv.Itoa(priorityRank(t.Priority)), cmp.Or(string(t.DueDate), infinity), op.CursorTime(t.CreatedAt), string(t.ID),
		}
	}
	return &taskOrder{
		name: name, by: urgencyColumns, size: 4, keys: keys,
		// The planner must not count: it takes the conditions of the ready set for
		// rarer than they are, expects less than a page, and would read and sort all
		// that there is to do. Of a bound that it does not know it expects to need a
		// tenth, and walks the index.
		most: func(n int) string { return `(SELECT ` + strconv.Itoa(n) + `)` },
		check: func(keys []string) error {
			_, err := strconv.ParseInt(keys[0], 10, 16)
			if err == nil && keys[1] != infinity {
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
		from: func(st *statement, keys []string) {
			rank, _ := strconv.ParseInt(keys[0], 10, 16)
			st.add(` AND (`, urgencyColumns, `) > (`, st.arg(rank), `::smallint, `, st.arg(keys[1]), `::text::date, `,
				st.arg(keys[2]), `::text::timestamptz, `, st.arg(keys[3]), `::uuid)`)
		},
		compare: func(a, b contract.TaskSummary) int {
			return cmp.Or(
				cmp.Compare(priorityRank(a.Priority), priorityRank(b.Priority)),
				// "infinity" sorts behind every digit.
				strings.Compare(cmp.Or(string(a.DueDate), infinity), cmp.Or(string(b.DueDate), infinity)),
				a.CreatedAt.Compare(b.CreatedAt),
				strings.Compare(string(a.ID), string(b.ID)))
		},
	}
}

// priorityRank is the place of a priority among all, 0 the most pressing: what
// the column priority_rank holds.
func priorityRank(priority string) int {
	return slices.Index([]string{contract.PriorityUrgent, contract.PriorityHigh, contract.PriorityMedium, contract.PriorityLow}, priority)
}

// ready adds the condition of the ready set to a statement over the alias t, for
// the user who: to do, no epic, nobody else's, waiting for no task and for no
// decision. OFFSET 0 keeps the planner from turning the two questions into joins,
// for which it would read the whole project before the first row. The subquery on
// the status does the same for the tasks that a task waits for.
func ready(st *statement, tenant, who string) {
	st.add(` AND t.status_category = 'TODO' AND t.issue_type <> 'EPIC' AND (t.assignee_id IS NULL OR t.assignee_id = `, who, `)
  AND NOT EXISTS (SELECT 1 FROM projects.dependencies d
                  WHERE d.tenant_id = `, tenant, ` AND d.task_id = t.id
                    AND (SELECT b.status_category FROM projects.tasks b WHERE b.tenant_id = `, tenant, ` AND b.id = d.depends_on_id)
                        NOT IN ('DONE', 'CANCELLED') OFFSET 0)
  AND NOT EXISTS (SELECT 1 FROM projects.decision_requests q
                  WHERE q.tenant_id = `, tenant, ` AND q.task_id = t.id AND q.status = 'open' OFFSET 0)`)
}
