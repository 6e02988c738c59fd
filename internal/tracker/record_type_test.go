package tracker_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"parapet/internal/op"
)

// For drawn subjects, a list shows the records that the operation on one record
// shows, of every type that has both.
func TestListAndGetAgree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reads := []string{"projects.read", "tasks.read", "initiatives.read", "issues.read", "deliverables.read", "runs.read", "delegations.read", "delegations.read.own"}
	for _, permission := range reads {
		w.role(permission, permission)
	}
	var projects []op.UUID
	found := map[string][]op.UUID{}
	for i, tier := range []string{"UNCLASSIFIED", "CONFIDENTIAL", "SECRET"} {
		s := w.scene(fmt.Sprintf("P%d", i), tier)
		projects = append(projects, s.project)
		found["project"] = append(found["project"], s.project)
		found["initiative"] = append(found["initiative"], s.initiative)
		found["issue"] = append(found["issue"], s.issue)
		found["delegation"] = append(found["delegation"], s.delegation)
		found["run"] = append(found["run"], s.run)

	}
	inProject := func(list string) func(*person) []op.UUID {
		return func(who *person) []op.UUID {
			var ids []op.UUID
			for _, p := range projects {
				ids = append(ids, w.listed(who, list, fields{"projectId": p})...)
			}
			return ids
		}
	}
	anywhere := func(list string) func(*person) []op.UUID {
		return func(who *person) []op.UUID { return w.listed(who, list, fields{}) }
	}
	types := []struct {
		name string
		list func(*person) []op.UUID
		get  func(op.UUID) (string, fields)
	}{
		{"project", anywhere("list-projects"), func(id op.UUID) (string, fields) { return "get-project", fields{"projectId": id} }},
		{"initiative", anywhere("list-initiatives"), func(id op.UUID) (string, fields) { return "get-initiative", fields{"initiativeId": id} }},
		{"issue", anywhere("list-issues"), func(id op.UUID) (string, fields) { return "get-issue", fields{"issue": id} }},
		{"delegation", anywhere("list-delegations"), func(id op.UUID) (string, fields) { return "get-delegation", fields{"delegationId": id} }},
		{"run", anywhere("list-runs"), func(id op.UUID) (string, fields) { return "get-run", fields{"runId": id} }},
		{"task", inProject("list-tasks"), func(id op.UUID) (string, fields) {
			return "get-task", fields{"projectId": w.projectOf("tasks", id), "task": id}
		}},
		{"deliverable", inProject("list-deliverables"), func(id op.UUID) (string, fields) {
			return "get-deliverable", fields{"projectId": w.projectOf("deliverables", id), "deliverableId": id}
		}},
	}
	found["task"], found["deliverable"] = inProject("list-tasks")(w.manager), inProject("list-deliverables")(w.manager)
	rnd := rand.New(rand.NewPCG(1, 2))
	shown, hidden := map[string]int{}, map[string]int{}
	for range 24 {
		p := person{clearance: []string{"UNCLASSIFIED", "CONFIDENTIAL", "SECRET"}[rnd.IntN(3)]}
		for _, permission := range reads {
			if rnd.IntN(4) > 0 {
				p.roles = append(p.roles, permission)
			}
		}
		if rnd.IntN(2) == 0 {
			p.projects = []op.UUID{projects[rnd.IntN(3)]}
		}
		who := w.person(p)
		for _, of := range types {
			list := of.list(who)
			for _, id := range found[of.name] {
				name, in := of.get(id)
				can := w.may(who, name, in)
				if can != slices.Contains(list, id) {
					t.Errorf("%s %s: get %t, list %t, for %v in %v with %s", of.name, id, can, !can, p.roles, p.projects, p.clearance)
				}
				if can {
					shown[of.name]++
				} else {
					hidden[of.name]++
				}
			}
		}
	}
	for _, of := range types {
		if shown[of.name] == 0 || hidden[of.name] == 0 {
			t.Errorf("%s: %d shown, %d hidden: the subjects tell nothing", of.name, shown[of.name], hidden[of.name])
		}
	}

}

// listed gives the ids of a list, none where the caller may not ask.
func (w *world) listed(who *person, name string, in fields) []op.UUID {
	w.t.Helper()
	in["limit"] = 200
	if !w.may(who, name, in) {
		return nil
	}
	out, err := w.try(who, name, in)
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := json.Marshal(out)
	if err != nil {
		w.t.Fatal(err)
	}
	var page op.Page[struct {
		ID op.UUID `json:"id"`
	}]
	if err := json.Unmarshal(text, &page); err != nil {
		w.t.Fatal(err)
	}
	ids := make([]op.UUID, len(page.Items))
	for i, item := range page.Items {
		ids[i] = item.ID
	}
	return ids
}

func (w *world) projectOf(table string, id op.UUID) op.UUID {
	w.t.Helper()
	var project op.UUID
	if err := w.owner.QueryRow(w.t.Context(), `SELECT project_id FROM projects.`+table+` WHERE id = $1`, id).Scan(&project); err != nil {
		w.t.Fatal(err)
	}
	return project
}
