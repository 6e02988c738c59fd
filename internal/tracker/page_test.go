package tracker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// readAllPages reads all pages of a list and checks that every page except the last is full.
func readAllPages[Item any](t rapid.TB, w *world, who *person, name string, in fields, limit int) []Item {
	t.Helper()
	var all []Item
	cursor := ""
	for pages := 0; ; pages++ {
		if pages > 1000 {
			t.Fatalf("%s %v: got more than 1000 pages, want the list to end", name, in)
		}
		request := merge(fields{"limit": limit}, in)
		if cursor != "" {
			request["cursor"] = cursor
		}
		out, err := w.call(who, name, request)
		if err != nil {
			t.Fatalf("%s %v: got %v, want no error", name, request, err)
		}
		page := out.(*op.Page[Item])
		all = append(all, page.Items...)
		if page.NextCursor == "" {
			return all
		}
		if len(page.Items) != limit {
			t.Fatalf("%s %v: got a page of %d items before the last page, want %d", name, request, len(page.Items), limit)
		}
		cursor = page.NextCursor
	}
}

// For random filters, the pages together contain every matching task once, in order.
func TestListTasks_PagesContainEachTaskOnceInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	people := []*person{w.addPerson(person{roles: []string{"Member"}}), w.addPerson(person{roles: []string{"Member"}})}
	var epics []op.UUID
	var tasks []*contract.Task
	for i := range 90 {
		more := fields{
			"status": []string{"TODO", "IN_PROGRESS", "DONE", "BACKLOG"}[i*7%4], "priority": []string{"LOW", "HIGH", "MEDIUM"}[i*5%3],
		}
		switch {
		case i%15 == 0:
			more["issueType"] = "EPIC"
		case i%4 == 1:
			more["epicId"] = epics[i%len(epics)]
		}
		if i%3 == 0 {
			more["assignee"] = people[i%2].id
		}
		task := w.createTask(p, []string{"Alpha", "beta", "100%"}[i%3]+fmt.Sprint(" ", i), more)
		if task.IssueType == "EPIC" {
			epics = append(epics, task.ID)
		}
		tasks = append(tasks, task)
	}
	slices.Reverse(tasks)
	rapid.Check(t, func(t *rapid.T) {
		in := fields{"projectId": p.ID}
		maybe := func(name string, values ...string) string {
			if !rapid.Bool().Draw(t, name+"?") {
				return ""
			}
			v := rapid.SampledFrom(values).Draw(t, name)
			in[name] = v
			return v
		}
		status := maybe("status", "TODO", "IN_PROGRESS", "DONE", "BACKLOG", "CANCELLED")
		priority := maybe("priority", "LOW", "HIGH", "MEDIUM", "URGENT")
		assignee := maybe("assignee", string(people[0].id), string(people[1].id))
		epic := maybe("epicId", string(epics[0]), string(epics[1]))
		search := maybe("search", "alpha", "BETA", "lph", "eta", "et", "%", "1", "10", "beta 2", "-1 alpha", "alpha OR beta", "nothing")
		var want []contract.TaskSummary
		for _, task := range tasks {
			if (status == "" || task.Status == status) && (priority == "" || task.Priority == priority) &&
				(assignee == "" || string(task.Assignee) == assignee) && (epic == "" || string(task.EpicID) == epic) &&
				(search == "" || matchesSearch(task.Title, search)) {
				want = append(want, task.TaskSummary)
			}
		}
		limit := rapid.SampledFrom([]int{1, 2, 7, 30, 200}).Draw(t, "limit")
		got := readAllPages[contract.TaskSummary](t, w, people[0], "list-tasks", in, limit)
		if keys(got) != keys(want) {
			t.Fatalf("%v, limit %d: got %s, want %s", in, limit, keys(got), keys(want))
		}
	})
}

// A status that the project does not have is an error in every list; a status without tasks is
// an empty list. Callers who may not read the tasks do not learn the statuses.
func TestListTasks_UnknownStatusIsValidationError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	w.createTask(p, "Land")
	otherTenantUser := w.addPerson(person{roles: []string{"Project Manager"}, tenant: w.globex})
	withoutPermission := w.addPerson(person{roles: []string{"PLATFORM_ADMIN"}})
	for _, queue := range []string{"", "ready", "review", "awaitingDecision"} {
		in := fields{"projectId": p.ID, "status": "Landed"}
		if queue != "" {
			in[queue] = true
		}
		f := w.wantError(fault.CodeValidation, w.manager, "list-tasks", in)
		if f.Field != "status" || !strings.Contains(f.Message, "Its statuses are: BACKLOG, TODO, IN_PROGRESS, IN_REVIEW, DONE, CANCELLED.") {
			t.Errorf("queue %q: got field %s, message %q; want status and the list of statuses", queue, f.Field, f.Message)
		}
		w.wantError(fault.CodeNotFound, otherTenantUser, "list-tasks", in)
		w.wantError(fault.CodeForbidden, withoutPermission, "list-tasks", in)
	}
	if page := do[op.Page[contract.TaskSummary]](w, w.manager, "list-tasks", fields{"projectId": p.ID, "status": "DONE"}); len(page.Items) != 0 {
		t.Errorf("list-tasks with the status DONE: got %v, want no tasks", page.Items)
	}
}

// matchesSearch is a simple reference implementation for the searches of the test
// above.
func matchesSearch(title, search string) bool {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return r == ' ' || r == '%' })
	hasPrefix := func(part string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, part) })
	}
	contains := func(part string) bool { return strings.Contains(strings.ToLower(title), part) }
	switch search {
	case "%":
		return contains("%")
	case "beta 2":
		return contains("beta") && hasPrefix("2")
	case "-1 alpha":
		return contains("alpha") && !slices.Contains(words, "1")
	case "alpha OR beta":
		return contains("alpha") || contains("beta")
	case "et", "1", "10":
		return hasPrefix(search)
	default:
		return contains(strings.ToLower(search))
	}
}

// For each reader, the list contains exactly the projects that a single read returns.
func TestListProjects_AgreesWithGetProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tiers := []string{"UNCLASSIFIED", "INTERNAL", "RESTRICTED", "CONFIDENTIAL", "SECRET"}
	var projects []*contract.Project
	for i := range 15 {
		more := fields{"classification": tiers[i%5], "organisationId": []op.UUID{w.orgA, w.orgB}[i%2]}
		p := w.createProject(fmt.Sprintf("%c project %d", "abABz"[i*3%5], i), more)
		projects = append(projects, p)
		w.createTask(p, "One")
	}
	slices.SortFunc(projects, func(a, b *contract.Project) int {
		if c := strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)); c != 0 {
			return c
		}
		return strings.Compare(string(a.ID), string(b.ID))
	})
	readers := []*person{w.manager, w.addPerson(person{tenant: w.globex, roles: []string{"Admin"}, clearance: "SECRET"}), w.addPerson(person{})}
	for i, tier := range tiers {
		readers = append(readers,
			w.addPerson(person{roles: []string{"Member"}, clearance: tier}),
			w.addPerson(person{roles: []string{"Guest Customer"}, clearance: tier, projects: []op.UUID{projects[i].ID, projects[2*i+5].ID}}),
			w.addPerson(person{roles: []string{"Member"}, clearance: tier, caveats: []string{"project:" + string(projects[3*i].ID)}}))
	}
	for _, who := range readers {
		var want []string
		for _, p := range projects {
			_, err := w.call(who, "get-project", fields{"projectId": p.ID})
			if err == nil {
				want = append(want, p.Prefix)
			}
			if _, listed := w.call(who, "list-tasks", fields{"projectId": p.ID}); (err == nil) != (listed == nil) {
				t.Errorf("%v, %s: got %v from get-project and %v from list-tasks, want both allowed or both denied", who.roles, p.Name, err, listed)
			}
		}
		if len(who.roles) == 0 {
			if _, err := w.call(who, "list-projects", fields{}); !fault.HasCode(err, fault.CodeForbidden) {
				t.Errorf("list-projects without a role: got %v, want FORBIDDEN", err)
			}
			continue
		}
		for _, limit := range []int{1, 3, 200} {
			var got []string
			for _, p := range readAllPages[contract.ProjectSummary](t, w, who, "list-projects", fields{}, limit) {
				got = append(got, p.Prefix)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%v, limit %d: list-projects returned %v, get-project allows %v", who.roles, limit, got, want)
			}
		}
	}
}
