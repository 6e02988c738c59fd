package tracker_test

import (
	"fmt"
	"slices"
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/tracker"
)

// partOfRecord lists the tables whose rows a cascade deletes without their own policy
// decision, with the reason. No operation deletes such a row directly.
var partOfRecord = map[string]string{
	"statuses":          "a project's statuses are a field of the project",
	"counters":          "the last task number of a project",
	"import_items":      "which task an item of another tracker became",
	"import_links":      "the links of an import item",
	"claims":            "a task's lease ends with the task",
	"decision_requests": "a question about the task; nobody deletes one by itself",
	"agent_runs":        "an attempt at the task; nobody deletes one by itself",
	"search_terms":      "the task's index",
	"issue_terms":       "the issue's index",
	"gate_reviews":      "the votes of a gate",
}

// partOfAuthorizedRecord lists pairs of deleted and dependent tables whose rows are part
// of a record that the same cascade authorizes.
var partOfAuthorizedRecord = map[[2]string]string{
	{"projects", "custom_field_values"}: "values of the project's tasks",
	{"tasks", "custom_field_values"}:    "values of the deleted task",
}

const foreignKeysSQL = `
SELECT target.relname AS parent, source.relname AS child, k.conname AS name, k.confdeltype::text AS action
FROM pg_constraint k
JOIN pg_class source ON source.oid = k.conrelid JOIN pg_class target ON target.oid = k.confrelid
JOIN pg_namespace n ON n.oid = source.relnamespace
WHERE k.contype = 'f' AND n.nspname = $1
ORDER BY 1, 2, 3`

type foreignKey struct{ Parent, Child, Name, Action string }

func (w *world) foreignKeys(schema string) []foreignKey {
	w.t.Helper()
	keys, err := postgres.Collect[foreignKey](w.t.Context(), w.owner, foreignKeysSQL, schema)
	if err != nil || len(keys) == 0 {
		w.t.Fatalf("foreign keys of the schema %s: got %d, %v; want some", schema, len(keys), err)
	}
	return keys
}

// Each table that a deletion reaches through foreign keys must be authorized by the
// cascade or be part of an authorized record.
func TestDependentsOf_CoversEveryForeignKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	keys := w.foreignKeys("projects")
	used := map[string]bool{}
	for _, root := range []string{"projects", "tasks", "issues", "stages", "gates", "deliverables", "criteria", "custom_fields", "comments", "time_entries", "repo_paths", "initiatives", "delegations"} {
		authorized := tracker.Cascade(root)
		reached := map[string]bool{}
		for next := []string{root}; len(next) > 0; next = next[1:] {
			for _, k := range keys {
				if k.Parent != next[0] {
					continue
				}
				switch {
				case authorized[k.Child] != nil:
				case partOfRecord[k.Child] != "":
					used[k.Child] = true
				case partOfAuthorizedRecord[[2]string{root, k.Child}] != "":
				case k.Child == root && root == "projects":
				default:
					t.Errorf("deletion from %s: got a change of %s by %s (%s), want it authorized in dependentsOf", root, k.Child, k.Name, k.Action)
				}
				// Follow only ON DELETE CASCADE: changed rows are kept, and so are the
				// rows that refer to them.
				if k.Action == "c" && !reached[k.Child] {
					reached[k.Child] = true
					next = append(next, k.Child)
				}
			}
		}
		for table := range authorized {
			if !reached[table] && !slices.ContainsFunc(keys, func(k foreignKey) bool { return k.Parent == root && k.Child == table }) {
				t.Errorf("dependentsOf(%s): got %s, want only tables that the deletion changes", root, table)
			}
		}
	}
	for table := range partOfRecord {
		if !used[table] {
			t.Errorf("partOfRecord: got %s, want only tables that a deletion changes", table)
		}
	}
}

// TestForeignKeys_OutsideTrackerDoNotCascade: users, memberships and tenants
// are never deleted. A role is deleted with its grants, which are part of it.
func TestForeignKeys_OutsideTrackerDoNotCascade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, schema := range []string{"identity", "audit", "events"} {
		keys, err := postgres.Collect[foreignKey](t.Context(), w.owner, foreignKeysSQL, schema)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			if k.Action != "a" && (k.Parent != "roles" || k.Child != "role_grants") {
				t.Errorf("%s.%s: got a deletion that cascades from %s (%s), want none outside the tracker", schema, k.Child, k.Parent, k.Name)
			}
		}
	}
}

// cascadeCase is a deletion that reaches a record of another type.
type cascadeCase struct {
	name string
	// request is the operation that deletes a record of the table.
	table, request string
	// child is the table of the dependent record, permission the one it requires.
	child, permission string
	// create adds the record to delete, as the user who will delete it, and the
	// dependent record, as the manager. It returns the input of the delete operation.
	create func(w *world, p *contract.Project, who *person) fields
}

func (w *world) createTaskAs(who *person, p *contract.Project, title string, more ...fields) *contract.Task {
	w.t.Helper()
	return do[contract.Task](w, who, "create-task", merge(fields{"projectId": p.ID, "title": title, "allowDuplicate": true}, more...))
}

func (w *world) createTimeEntry(in fields) {
	w.t.Helper()
	do[contract.TimeEntry](w, w.manager, "create-time-entry", merge(fields{"minutes": 5, "date": "2026-01-05"}, in))
}

func (w *world) addDependencyIn(p *contract.Project, task *contract.Task, on op.UUID) {
	w.t.Helper()
	do[contract.Dependency](w, w.manager, "add-dependency", fields{"projectId": p.ID, "task": task.Key, "dependsOn": on})
}

func (w *world) createIssueIn(p *contract.Project, title string) *contract.Issue {
	w.t.Helper()
	return do[contract.Issue](w, w.manager, "create-issue", fields{"projectId": p.ID, "title": title, "severity": "LOW"})
}

func (w *world) createDeliverableIn(p *contract.Project, more ...fields) *contract.Deliverable {
	w.t.Helper()
	return do[contract.Deliverable](w, w.manager, "create-deliverable", merge(fields{"projectId": p.ID, "title": "Report"}, more...))
}

func (w *world) createFieldIn(p *contract.Project) *contract.CustomField {
	w.t.Helper()
	return do[contract.CustomField](w, w.manager, "create-custom-field", fields{"projectId": p.ID, "name": "Team", "type": "TEXT"})
}

func cascadeCases() []cascadeCase {
	project := func(child, permission string, with func(w *world, p *contract.Project)) cascadeCase {
		return cascadeCase{table: "projects", request: "delete-project", child: child, permission: permission,
			create: func(w *world, p *contract.Project, _ *person) fields {
				with(w, p)
				return fields{"projectId": p.ID}
			}}
	}
	task := func(child, permission string, with func(w *world, p *contract.Project, task *contract.Task)) cascadeCase {
		return cascadeCase{table: "tasks", request: "delete-task", child: child, permission: permission,
			create: func(w *world, p *contract.Project, who *person) fields {
				t := w.createTaskAs(who, p, "Land")
				with(w, p, t)
				return fields{"projectId": p.ID, "task": t.Key}
			}}
	}
	otherProject := func(w *world) *contract.Project { return w.createProject("Other") }
	epic := fields{"issueType": "EPIC"}
	all := []cascadeCase{
		project("tasks", "task.delete", func(w *world, p *contract.Project) { w.createTask(p, "Land") }),
		project("tasks", "task.update", func(w *world, p *contract.Project) {
			w.createTask(otherProject(w), "Land", fields{"epicId": w.createTask(p, "Epic", epic).ID})
		}),
		project("dependencies", "task.update", func(w *world, p *contract.Project) {
			other := otherProject(w)
			w.addDependencyIn(other, w.createTask(other, "Land"), w.createTask(p, "Start").ID)
		}),
		project("issues", "issue.delete", func(w *world, p *contract.Project) { w.createIssueIn(p, "Leak") }),
		project("stages", "stage.delete", func(w *world, p *contract.Project) { w.createStage(p.ID, "Design") }),
		project("gates", "gate.delete", func(w *world, p *contract.Project) {
			w.createGateAfter(p.ID, w.createStage(p.ID, "Design").ID, "Review")
		}),
		project("deliverables", "deliverable.delete", func(w *world, p *contract.Project) { w.createDeliverableIn(p) }),
		project("criteria", "deliverable.update", func(w *world, p *contract.Project) {
			w.createDeliverableIn(p, fields{"criteria": []string{"It works."}})
		}),
		project("comments", "comment.delete", func(w *world, p *contract.Project) {
			do[contract.Comment](w, w.manager, "create-comment", fields{"taskId": w.createTask(p, "Land").ID, "body": "Hm."})
		}),
		project("comments", "comment.delete", func(w *world, p *contract.Project) {
			do[contract.Comment](w, w.manager, "create-comment", fields{"issueId": w.createIssueIn(p, "Leak").ID, "body": "Hm."})
		}),
		project("time_entries", "time_entry.delete", func(w *world, p *contract.Project) { w.createTimeEntry(fields{"projectId": p.ID}) }),
		project("custom_fields", "project.update", func(w *world, p *contract.Project) { w.createFieldIn(p) }),
		project("repo_paths", "project.update", func(w *world, p *contract.Project) { w.bindRepo(p.ID, "/src/"+p.Prefix) }),
		project("delegations", "delegation.revoke", func(w *world, p *contract.Project) {
			w.createDelegation(w.manager, w.addPerson(person{}), []string{"tasks.read"}, fields{"scope": "PROJECT", "projectId": p.ID})
		}),
		task("tasks", "task.delete", func(w *world, p *contract.Project, t *contract.Task) {
			w.createTask(p, "Sub-task", fields{"parentTaskId": t.ID})
		}),
		{table: "tasks", request: "delete-task", child: "tasks", permission: "task.update", create: func(w *world, p *contract.Project, who *person) fields {
			e := w.createTaskAs(who, p, "Epic", epic)
			w.createTask(p, "Land", fields{"epicId": e.ID})
			return fields{"projectId": p.ID, "task": e.Key}
		}},
		task("dependencies", "task.update", func(w *world, p *contract.Project, t *contract.Task) {
			w.addDependencyIn(p, w.createTask(p, "Next"), t.ID)
		}),
		task("comments", "comment.delete", func(w *world, _ *contract.Project, t *contract.Task) {
			do[contract.Comment](w, w.manager, "create-comment", fields{"taskId": t.ID, "body": "Hm."})
		}),
		task("criteria", "deliverable.update", func(w *world, p *contract.Project, t *contract.Task) {
			do[contract.Criterion](w, w.manager, "create-criterion", fields{"projectId": p.ID, "taskId": t.ID, "text": "It works."})
		}),
		task("deliverables", "deliverable.update", func(w *world, p *contract.Project, t *contract.Task) {
			w.createDeliverableIn(p, fields{"taskId": t.ID})
		}),
		{table: "tasks", request: "delete-task", child: "issues", permission: "issue.update", create: func(w *world, p *contract.Project, _ *person) fields {
			made := do[contract.Task](w, w.manager, "promote-issue", fields{"issue": w.createIssueIn(p, "Leak").Key})
			return fields{"projectId": p.ID, "task": made.Key}
		}},
		task("time_entries", "time_entry.update", func(w *world, _ *contract.Project, t *contract.Task) { w.createTimeEntry(fields{"taskId": t.ID}) }),
		{table: "issues", request: "delete-issue", child: "comments", permission: "comment.delete", create: func(w *world, p *contract.Project, _ *person) fields {
			i := w.createIssueIn(p, "Leak")
			do[contract.Comment](w, w.manager, "create-comment", fields{"issueId": i.ID, "body": "Hm."})
			return fields{"issue": i.Key}
		}},
		{table: "issues", request: "delete-issue", child: "time_entries", permission: "time_entry.update", create: func(w *world, p *contract.Project, _ *person) fields {
			i := w.createIssueIn(p, "Leak")
			w.createTimeEntry(fields{"issueId": i.ID})
			return fields{"issue": i.Key}
		}},
		{table: "stages", request: "delete-stage", child: "gates", permission: "gate.delete", create: func(w *world, p *contract.Project, _ *person) fields {
			s := w.createStage(p.ID, "Design").ID
			w.createGateAfter(p.ID, s, "Review")
			return fields{"projectId": p.ID, "stageId": s}
		}},
		{table: "deliverables", request: "delete-deliverable", child: "criteria", permission: "deliverable.update", create: func(w *world, p *contract.Project, _ *person) fields {
			return fields{"projectId": p.ID, "deliverableId": w.createDeliverableIn(p, fields{"criteria": []string{"It works."}}).ID}
		}},
		{table: "custom_fields", request: "delete-custom-field", child: "custom_field_values", permission: "task.update", create: func(w *world, p *contract.Project, _ *person) fields {
			f := w.createFieldIn(p)
			do[contract.Task](w, w.manager, "set-custom-field-values", fields{"projectId": p.ID, "task": w.createTask(p, "Land").Key,
				"values": []fields{{"field": f.ID, "value": "Red"}}})
			return fields{"projectId": p.ID, "fieldId": f.ID}
		}},
		{table: "initiatives", request: "delete-initiative", child: "projects", permission: "project.update", create: func(w *world, p *contract.Project, _ *person) fields {
			i := w.createInitiative("Moon")
			do[contract.Project](w, w.manager, "update-project", fields{"projectId": p.ID, "initiativeId": i.ID})
			return fields{"initiativeId": i.ID}
		}},
		{table: "initiatives", request: "delete-initiative", child: "tasks", permission: "task.update", create: func(w *world, p *contract.Project, _ *person) fields {
			i := w.createInitiative("Moon")
			w.createTask(p, "Epic", epic, fields{"initiativeId": i.ID})
			return fields{"initiativeId": i.ID}
		}},
		{table: "initiatives", request: "delete-initiative", child: "delegations", permission: "delegation.revoke", create: func(w *world, _ *contract.Project, _ *person) fields {
			i := w.createInitiative("Moon")
			w.createDelegation(w.manager, w.addPerson(person{}), []string{"tasks.read"}, fields{"scope": "INITIATIVE", "initiativeId": i.ID})
			return fields{"initiativeId": i.ID}
		}},
	}
	for i := range all {
		all[i].name = fmt.Sprintf("%s of %s by %s %d", all[i].child, all[i].table, all[i].permission, i)
	}
	return all
}

// A deletion with a dependent record fails without the permission for that record, with
// a count but no ids, and succeeds with it.
func TestDelete_RequiresPermissionForDependentRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen := map[[3]string]bool{}
	cases := cascadeCases()
	// Each role has all permissions of the tracker except one. It keeps the .own form
	// of that permission if the deleted record itself requires it.
	all := []string{}
	for _, p := range w.engine.Catalogue().Permissions {
		if p.Module == contract.Module {
			all = append(all, p.Name)
		}
	}
	for i, c := range cases {
		left := slices.DeleteFunc(slices.Clone(all), func(name string) bool {
			return name == c.permission || name == c.permission+".own" && c.child != c.table
		})
		w.addRole(fmt.Sprintf("Without %d", i), left...)
	}
	w.addRole("All", all...)
	for i, c := range cases {
		seen[[3]string{c.table, c.child, c.permission}] = true
		t.Run(c.name, func(t *testing.T) {
			who := w.addPerson(person{roles: []string{fmt.Sprintf("Without %d", i)}, clearance: "SECRET"})
			can := w.addPerson(person{roles: []string{"All"}, clearance: "SECRET"})
			in := c.create(w, w.createProject(fmt.Sprintf("Apollo %d", i)), who)
			before := w.countRecords()
			_, err := w.call(who, c.request, in)
			f := fault.From(err)
			if !fault.HasCode(err, fault.CodeConflict) || f.Reason != "CASCADE_DENIED" || f.Details["count"] != 1 {
				t.Fatalf("without %s: got %v, %v, want CONFLICT with count 1", c.permission, err, f)
			}
			if after := w.countRecords(); after != before {
				t.Errorf("counts after the rejected deletion: got %v, want %v", after, before)
			}
			if _, err := w.call(can, c.request, in); err != nil {
				t.Errorf("deletion with all permissions: got %v, want no error", err)
			}
		})
	}
	for _, root := range []string{"projects", "tasks", "issues", "stages", "deliverables", "custom_fields", "initiatives"} {
		for child, permissions := range tracker.Cascade(root) {
			for _, permission := range permissions {
				if !seen[[3]string{root, child, permission}] {
					t.Errorf("test cases: got none for a deletion from %s with a dependent record of %s, want one that requires %s", root, child, permission)
				}
			}
		}
	}
}

func TestDelete_CascadeErrorCountsHiddenRecordsWithoutNamingThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	open, secret := w.createProject("Open"), w.createProject("Secret", fields{"classification": "SECRET"})
	epic := w.createTask(open, "Epic", fields{"issueType": "EPIC"})
	for range 3 {
		w.createTask(secret, "Hidden", fields{"epicId": epic.ID})
	}
	uncleared := w.addPerson(person{roles: []string{"Project Manager"}})
	f := w.wantError(fault.CodeConflict, uncleared, "delete-task", fields{"projectId": open.ID, "task": epic.Key})
	if f.Details["count"] != 3 || len(f.Details) != 2 {
		t.Errorf("details: got %v, want count 3 and one other member", f.Details)
	}
	do[op.None](w, w.manager, "delete-task", fields{"projectId": open.ID, "task": epic.Key})
}
