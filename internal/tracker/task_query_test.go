package tracker_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// taskQueryWorld is a world with tasks of many kinds in three projects, of which the reader
// may read two.
type taskQueryWorld struct {
	*world
	reader   *person
	projects []*contract.Project
	// tasks are the tasks that the reader may read.
	tasks []contract.TaskSummary
}

func newTaskQueryWorld(t *testing.T) *taskQueryWorld {
	t.Helper()
	w := &taskQueryWorld{world: newWorld(t)}
	w.reader = w.addPerson(person{roles: []string{"Member"}})
	hidden := w.createProject("Secret", fields{"classification": "SECRET"})
	w.projects = []*contract.Project{w.createProject("Apollo", fields{"prefix": "APO"}), w.createProject("Gemini", fields{"prefix": "GEM"})}
	pick := func(values []string, i int) string { return values[i%len(values)] }
	start := time.Date(2027, 1, 1, 9, 0, 0, 0, time.UTC)
	for i := range 60 {
		w.setTime(start.Add(time.Duration(i/2) * time.Hour)) // two tasks have the same time
		more := fields{
			"status": pick([]string{"TODO", "IN_PROGRESS", "DONE", "IN_REVIEW", "CANCELLED"}, i*7), "issueType": pick([]string{"TASK", "BUG"}, i*3),
			"priority": pick([]string{"LOW", "URGENT", "MEDIUM", "HIGH"}, i*5), "labels": []string{pick([]string{"Red", "green", "Blue"}, i*11), "all"},
		}
		if i%4 != 0 {
			more["dueDate"] = fmt.Sprintf("2027-02-%02d", 1+i*13%9)
		}
		project := append(slices.Clone(w.projects), hidden)[i%5%3]
		if i%3 == 0 && project != hidden {
			more["assignee"] = w.reader.id
		}
		task := w.createTask(project, pick([]string{"Alpha", "beta"}, i)+fmt.Sprint(" ", i), more)
		if i%6 == 1 {
			w.setTime(start.Add(time.Duration(100-i) * time.Hour))
			task = do[contract.Task](w.world, w.manager, "update-task", fields{"projectId": project.ID, "task": task.Key, "progress": i})
		}
		if project != hidden {
			w.tasks = append(w.tasks, task.TaskSummary)
		}
	}
	// From here on nothing changes.
	w.setTime(start.Add(1000 * time.Hour))
	return w
}

// order returns the comparison of an order of tasks.
func (w *taskQueryWorld) order(sort string) func(a, b contract.TaskSummary) int {
	due := func(t contract.TaskSummary) string { return cmp.Or(string(t.DueDate), "none") }
	priority := func(t contract.TaskSummary) int {
		return slices.Index([]string{"URGENT", "HIGH", "MEDIUM", "LOW"}, t.Priority)
	}
	byAge := func(a, b contract.TaskSummary) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	}
	byDue := func(a, b contract.TaskSummary) int { return cmp.Compare(due(a), due(b)) }
	byPriority := func(a, b contract.TaskSummary) int { return cmp.Compare(priority(a), priority(b)) }
	return map[string]func(a, b contract.TaskSummary) int{
		"priority": func(a, b contract.TaskSummary) int { return cmp.Or(byPriority(a, b), byDue(a, b), byAge(a, b)) },
		"due":      func(a, b contract.TaskSummary) int { return cmp.Or(byDue(a, b), byPriority(a, b), byAge(a, b)) },
		"updated": func(a, b contract.TaskSummary) int {
			return -cmp.Or(a.UpdatedAt.Compare(b.UpdatedAt), cmp.Compare(a.ID, b.ID))
		},
		"key": func(a, b contract.TaskSummary) int {
			return -cmp.Or(cmp.Compare(len(a.Key), len(b.Key)), strings.Compare(a.Key, b.Key))
		},
	}[sort]
}

// For random filters and orders, the pages of list-tasks and search-tasks together contain
// every matching task that the caller may read once, in order.
func TestTaskQuery_FiltersSortsAndPages(t *testing.T) {
	t.Parallel()
	w := newTaskQueryWorld(t)
	rapid.Check(t, func(t *rapid.T) {
		in := fields{}
		maybe := func(name string, values ...string) string {
			// Most filters are absent, so that most lists are not empty.
			if rapid.IntRange(0, 5).Draw(t, name+"?") != 5 {
				return ""
			}
			v := rapid.SampledFrom(values).Draw(t, name)
			in[name] = v
			return v
		}
		priority := maybe("priority", "LOW", "URGENT")
		label := maybe("label", "red", "GREEN", "all", "re")
		issueType := maybe("issueType", "TASK", "BUG")
		assignee := maybe("assignee", string(w.reader.id), string(w.manager.id))
		dueAfter, dueBefore := maybe("dueAfter", "2027-02-03", "2027-02-05"), maybe("dueBefore", "2027-02-05", "2027-02-08")
		search := maybe("search", "alpha", "et", "APO-3")
		name, sort := "search-tasks", "updated"
		var isWanted func(contract.TaskSummary) bool
		if rapid.Bool().Draw(t, "list-tasks") {
			project := rapid.SampledFrom(w.projects).Draw(t, "project")
			in["projectId"] = project.ID
			isWanted = func(task contract.TaskSummary) bool { return task.ProjectID == project.ID }
			name, sort = "list-tasks", cmp.Or(maybe("sort", "key", "priority", "due", "updated"), "key")
		} else {
			sort = cmp.Or(maybe("sort", "priority", "due", "updated"), sort)
			project := maybe("projectId", string(w.projects[0].ID), string(w.projects[1].ID))
			category, creator := maybe("statusCategory", "TODO", "DONE"), maybe("createdBy", string(w.reader.id), string(w.manager.id))
			open := maybe("open", "true") != ""
			isWanted = func(task contract.TaskSummary) bool {
				return (project == "" || string(task.ProjectID) == project) && (category == "" || task.StatusCategory == category) && (creator == "" || string(task.CreatedBy) == creator) &&
					(!open || task.CompletedAt == nil)
			}
		}
		var want []contract.TaskSummary
		for _, task := range w.tasks {
			hasLabel := slices.ContainsFunc(task.Labels, func(l string) bool { return strings.EqualFold(l, label) })
			if isWanted(task) && (priority == "" || task.Priority == priority) && (label == "" || hasLabel) &&
				(issueType == "" || task.IssueType == issueType) && (assignee == "" || string(task.Assignee) == assignee) &&
				(dueAfter == "" || task.DueDate != "" && string(task.DueDate) >= dueAfter) && (dueBefore == "" || task.DueDate != "" && string(task.DueDate) <= dueBefore) &&
				(search == "" || task.Key == search || matchesSearch(task.Title, search)) {
				want = append(want, task)
			}
		}
		slices.SortFunc(want, w.order(sort))
		limit := rapid.SampledFrom([]int{1, 3, 7, 200}).Draw(t, "limit")
		got := readAllPages[contract.TaskSummary](t, w.world, w.reader, name, in, limit)
		if keys(got) != keys(want) {
			t.Fatalf("%s %v, limit %d: got %s, want %s", name, in, limit, keys(got), keys(want))
		}
	})
}

func TestSearchTasks_OfProjectThatCallerMayNotReadIsNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	member := w.addPerson(person{roles: []string{"Member"}})
	hidden := w.createProject("Secret", fields{"classification": "SECRET"})
	w.createTask(hidden, "Alpha")
	for _, id := range []op.UUID{hidden.ID, w.acme} {
		w.wantError(fault.CodeNotFound, member, "search-tasks", fields{"projectId": id, "search": "alpha"})
	}
	empty := w.createProject("Apollo")
	if page := do[op.Page[contract.TaskSummary]](w, member, "search-tasks", fields{"projectId": empty.ID}); len(page.Items) != 0 {
		t.Errorf("tasks of an empty project: got %s, want none", keys(page.Items))
	}
}

func TestSearchTasks_QueuesContainTasksOfAllProjects(t *testing.T) {
	t.Parallel()
	w := newTaskQueryWorld(t)
	var awaiting []contract.TaskSummary
	for i, p := range w.projects {
		for n := range 2 {
			w.setTime(time.Date(2027, 6, 1, 9, 10*i+n, 0, 0, time.UTC))
			task := w.createTask(p, "Question", fields{"status": "IN_PROGRESS", "assignee": w.reader.id})
			do[contract.DecisionRequest](w.world, w.reader, "mark-awaiting-decision", fields{"projectId": p.ID, "task": task.Key, "question": "Which?"})
			awaiting = append(awaiting, task.TaskSummary)
		}
	}
	byUrgency := func(isWanted func(t *contract.TaskSummary) bool) []contract.TaskSummary {
		var queue []contract.TaskSummary
		for _, t := range w.tasks {
			if isWanted(&t) {
				queue = append(queue, t)
			}
		}
		slices.SortFunc(queue, w.order("priority"))
		return queue
	}
	for queue, want := range map[string][]contract.TaskSummary{
		"ready": byUrgency(func(t *contract.TaskSummary) bool {
			return t.StatusCategory == "TODO" && (t.Assignee == "" || t.Assignee == w.reader.id)
		}),
		"review":           byUrgency(func(t *contract.TaskSummary) bool { return t.StatusCategory == "REVIEW" }),
		"awaitingDecision": awaiting,
	} {
		for _, limit := range []int{1, 3, 200} {
			got := readAllPages[contract.TaskSummary](t, w.world, w.reader, "search-tasks", fields{queue: true}, limit)
			if len(want) < 4 || keys(got) != keys(want) {
				t.Errorf("%s, limit %d: got %s, want %s", queue, limit, keys(got), keys(want))
			}
		}
		if queue == "awaitingDecision" {
			continue
		}
		for _, in := range []fields{{queue: true, "sort": "due"}, {queue: true, "awaitingDecision": true}} {
			w.wantError(fault.CodeValidation, w.reader, "search-tasks", in)
		}
	}
}

func TestTaskQuery_RejectsCursorOfAnotherOrder(t *testing.T) {
	t.Parallel()
	w := newTaskQueryWorld(t)
	list := func(sort string) fields { return fields{"projectId": w.projects[0].ID, "limit": 1, "sort": sort} }
	search := func(sort string) fields { return fields{"limit": 1, "sort": sort} }
	type request struct {
		name string
		in   fields
	}
	requests := []request{{"search-tasks", fields{"limit": 1, "ready": true}}, {"search-tasks", fields{"limit": 1, "review": true}}}
	for _, sort := range []string{"key", "priority", "due", "updated"} {
		requests = append(requests, request{"list-tasks", list(sort)})
		if sort != "key" {
			requests = append(requests, request{"search-tasks", search(sort)})
		}
	}
	for i, from := range requests {
		cursor := do[op.Page[contract.TaskSummary]](w.world, w.reader, from.name, from.in).NextCursor
		for j, to := range requests {
			in := merge(fields{"cursor": cursor}, to.in)
			if _, err := w.call(w.reader, to.name, in); i == j && err != nil {
				t.Errorf("%s %v: got %v for its own cursor, want no error", to.name, in, err)
			} else if i != j && fault.From(err).Field != "cursor" {
				t.Errorf("%s %v: got %v for the cursor of %s %v, want an error of the field cursor", to.name, in, err, from.name, from.in)
			}
		}
	}
}
