package tracker_test

import (
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// scene holds the ids of one record of each type, in one project. The requests of the
// denial test refer to them.
type scene struct {
	project, task, initiative, stage, gate, repo                                 op.UUID
	epic, draft, submitted, reviewed, revised, criterion, failedCriterion, field op.UUID
	issue, comment, timeEntry                                                    op.UUID
	// delegation is a delegation of the manager in the project to delegate.
	delegation, delegate        op.UUID
	awaitingTask, decision, run op.UUID
}

// createScene creates one record of each type with the classification.
func (w *world) createScene(name, classification string) scene {
	w.t.Helper()
	p := w.createProject(name, fields{"classification": classification})
	stage := w.createStage(p.ID, "Design").ID
	s := scene{
		project: p.ID, task: w.createTask(p, "Land").ID,
		initiative: w.createInitiative(name, fields{"classification": classification}).ID,
		stage:      stage, gate: w.createGateAfter(p.ID, stage, "Review").ID,
		repo: w.bindRepo(p.ID, "/src/"+name).ID,
	}
	w.addDeliverables(p, &s)
	w.addIssue(p, &s)
	delegate := w.addPerson(person{})
	s.delegate = delegate.id
	s.delegation = w.createDelegation(w.manager, delegate, []string{"tasks.read"}, fields{"scope": "PROJECT", "projectId": p.ID}).ID
	w.addDecision(p, &s)
	return s
}

// requests returns for each operation a request on the scene that a project manager of
// the tenant may make.
func requests(s scene) map[string]fields {
	all := map[string]fields{}
	for _, requestsOf := range []func(scene) map[string]fields{
		projectRequests, initiativeRequests, stageRequests, gateRequests, overviewRequests, repoRequests,
		deliverableRequests,
		issueRequests, delegationRequests,
		decisionRequests, runRequests,
	} {
		for name, in := range requestsOf(s) {
			all[name] = in
		}
	}
	return all
}

func projectRequests(s scene) map[string]fields {
	p, task := s.project, s.task
	return map[string]fields{
		"create-project": {"name": "New", "startDate": "2027-01-04"},
		"list-projects":  {},
		"find-project":   {"hint": string(p)},
		"get-project":    {"projectId": p},
		"update-project": {"projectId": p, "name": "Renamed"},
		"delete-project": {"projectId": p},
		"create-task":    {"projectId": p, "title": "x"},
		"list-tasks":     {"projectId": p},
		"search-tasks":   {},
		"get-task":       {"projectId": p, "task": task},
		"update-task":    {"projectId": p, "task": task, "title": "Renamed"},
		"delete-task":    {"projectId": p, "task": task},
		"import-items":   {"projectId": p, "items": []fields{{"id": "a", "title": "b"}}},

		"export-items":      {"projectId": p},
		"list-dependencies": {"projectId": p, "task": task},
		"add-dependency":    {"projectId": p, "task": task, "dependsOn": task},
		"remove-dependency": {"projectId": p, "task": task, "dependsOnId": task},

		"claim-next-ready": {"projectId": p},
		"keep-claim":       {"projectId": p, "task": task, "leaseId": p},
		"release-claim":    {"projectId": p, "task": task, "leaseId": p},
	}
}

// countRecords counts records that must not change when requests are denied.
func (w *world) countRecords() [4]int {
	return [4]int{
		w.count(`SELECT count(*) FROM projects.projects WHERE name <> 'Renamed'`), w.count(`SELECT count(*) FROM projects.tasks WHERE title <> 'Renamed'`),
		w.count(`SELECT count(*) FROM audit.entries`), w.count(`SELECT count(*) FROM events.outbox`),
	}
}

func TestOperations_DeniedWithoutPermission(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	readable, secret, missing := w.createScene("Apollo", "UNCLASSIFIED"), w.createScene("Secret", "SECRET"), sceneWithID(w.acme)
	withoutRole := w.addPerson(person{})
	otherProject := w.addPerson(person{roles: []string{"Project Manager"}, projects: []op.UUID{uidOf(w.createProject("Gemini"))}})
	otherTenant := w.addPerson(person{roles: []string{"Project Manager"}, tenant: w.globex, clearance: "SECRET"})
	uncleared := w.addPerson(person{roles: []string{"Project Manager"}})
	readOnly := w.addPerson(person{roles: []string{"Project Manager"}, caveats: []string{"read-only"}})
	unknownCaveat := w.addPerson(person{roles: []string{"Project Manager"}, caveats: []string{"moon-phase:full"}})
	before := w.countRecords()

	for name, o := range w.operations {
		if o.Access == op.Authenticated {
			continue // requires no permission
		}
		in := requests(readable)[name]
		if in == nil {
			t.Errorf("requests of the denial test: got none for %s, want one for each operation with a permission", name)
			continue
		}
		permission := o.Grant
		for _, who := range []*person{withoutRole, unknownCaveat} {
			if f := w.wantError(fault.CodeForbidden, who, name, in); f.Permission != permission {
				t.Errorf("%s: got permission %q, want %q", name, f.Permission, permission)
			}
		}
		if o.Effect.Changes() {
			w.wantError(fault.CodeForbidden, readOnly, name, in)
		}
		switch name {
		case "create-project", "create-initiative":
			w.wantError(fault.CodeForbidden, otherProject, name, in)
			continue
		case "list-projects":
			if got := do[op.Page[contract.ProjectSummary]](w, otherTenant, name, in); len(got.Items) != 0 {
				t.Errorf("user of another tenant: got %d projects, want 0", len(got.Items))
			}
			if got := do[op.Page[contract.ProjectSummary]](w, otherProject, name, in); len(got.Items) != 1 || got.Items[0].Name != "Gemini" {
				t.Errorf("manager of Gemini: got projects %+v, want Gemini", got.Items)
			}
			if got := do[op.Page[contract.ProjectSummary]](w, uncleared, name, in); len(got.Items) != 2 {
				t.Errorf("user without clearance: got %d projects, want 2", len(got.Items))
			}
			continue
		case "search-tasks":
			gemini := len(do[op.Page[contract.TaskSummary]](w, otherProject, name, in).Items)
			apollo := len(do[op.Page[contract.TaskSummary]](w, w.manager, "list-tasks", fields{"projectId": readable.project}).Items)
			for who, want := range map[*person]int{otherTenant: 0, otherProject: 0, uncleared: gemini + apollo, w.manager: gemini + 2*apollo} {
				if got := do[op.Page[contract.TaskSummary]](w, who, name, in); len(got.Items) != want {
					t.Errorf("roles %v: got %d tasks, want %d", who.roles, len(got.Items), want)
				}
			}
			continue
		case "list-delegations":
			for who, want := range map[*person]int{otherTenant: 0, otherProject: 0, uncleared: 0, w.manager: 2} {
				if got := do[op.Page[contract.Delegation]](w, who, name, in); len(got.Items) != want {
					t.Errorf("roles %v: got %d delegations, want %d", who.roles, len(got.Items), want)
				}
			}
			continue
		case "list-runs":
			for who, want := range map[*person]int{otherTenant: 0, otherProject: 0, uncleared: 1, w.manager: 2} {
				if got := do[op.Page[contract.AgentRunSummary]](w, who, name, in); len(got.Items) != want {
					t.Errorf("roles %v: got %d runs, want %d", who.roles, len(got.Items), want)
				}
			}
			continue
		case "list-initiatives":
			for who, want := range map[*person]int{otherTenant: 0, otherProject: 0, uncleared: 1, w.manager: 2} {
				if got := do[op.Page[contract.Initiative]](w, who, name, in); len(got.Items) != want {
					t.Errorf("roles %v: got %d initiatives, want %d", who.roles, len(got.Items), want)
				}
			}
			continue
		case "find-project", "initiative", "list-epic-children":
			w.wantError(fault.CodeNotFound, otherProject, name, in)
		default:
			if f := w.wantError(fault.CodeForbidden, otherProject, name, in); f.Permission != permission {
				t.Errorf("%s: got permission %q, want %q", name, f.Permission, permission)
			}
		}
		// Records of another tenant, records above the clearance and missing records
		// must return the same error.
		foreign := w.wantError(fault.CodeNotFound, otherTenant, name, in)
		aboveClearance := w.wantError(fault.CodeNotFound, uncleared, name, requests(secret)[name])
		absent := w.wantError(fault.CodeNotFound, w.manager, name, requests(missing)[name])
		if foreign.Message != absent.Message || aboveClearance.Message != absent.Message {
			t.Errorf("%s: got the error messages %q for another tenant, %q above the clearance and %q for a missing record, want the same for all", name, foreign.Message, aboveClearance.Message, absent.Message)
		}
	}
	if after := w.countRecords(); after != before {
		t.Errorf("counts after denied requests: got %v, want %v", after, before)
	}
}

// sceneWithID returns a scene that has the id in all its fields.
func sceneWithID(id op.UUID) scene {
	return scene{
		project: id, task: id, initiative: id, stage: id, gate: id, repo: id,
		epic: id, draft: id, submitted: id, reviewed: id, revised: id, criterion: id, failedCriterion: id, field: id,
		issue: id, comment: id, timeEntry: id, delegation: id, delegate: id,
		awaitingTask: id, decision: id, run: id,
	}
}

func uidOf(p *contract.Project) op.UUID { return p.ID }

func TestOwnPermission_AppliesOnlyToOwnRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	user := w.addPerson(person{roles: []string{"Own Reader"}})
	assigned, unassigned := w.createTask(p, "Assigned", fields{"assignee": user.id}), w.createTask(p, "Unassigned")
	do[contract.Task](w, user, "update-task", fields{"projectId": p.ID, "task": assigned.Key, "progress": 5})
	w.wantError(fault.CodeForbidden, user, "update-task", fields{"projectId": p.ID, "task": unassigned.Key, "progress": 5})
	w.wantError(fault.CodeForbidden, user, "update-project", fields{"projectId": p.ID, "status": "ON_HOLD"})
	do[contract.Project](w, w.manager, "update-project", fields{"projectId": p.ID, "ownerId": user.id})
	do[contract.Project](w, user, "update-project", fields{"projectId": p.ID, "status": "ON_HOLD"})
}

// Checks row-level security without the executor: the tracker's database role sees no
// rows of another tenant, and no rows if no tenant is set.
func TestRowLevelSecurity_SeparatesTenants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	task := w.createTask(p, "Land")
	do[contract.ImportItemsOut](w, w.manager, "import-items", fields{"projectId": p.ID, "items": []fields{{"id": "a", "title": "b", "dependencies": []fields{{"depends_on_id": "c", "type": "blocks"}}}}})
	pool := w.db.Pool(t, "parapet_tracker")
	for _, tenant := range []op.UUID{w.globex, ""} {
		tx, err := pool.Begin(t.Context(), string(tenant), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"projects", "statuses", "counters", "tasks", "import_items", "import_links", "deliverables", "criteria", "custom_fields", "custom_field_values"} {
			var n int
			if err := tx.QueryRow(t.Context(), `SELECT count(*) FROM projects.`+table).Scan(&n); err != nil || n != 0 {
				t.Errorf("tenant %q: got %d rows of %s (%v), want 0", tenant, n, table, err)
			}
		}
		tag, err := tx.Exec(t.Context(), `UPDATE projects.tasks SET title = 'x' WHERE id = $1`, task.ID)
		if err != nil || tag.RowsAffected() != 0 {
			t.Errorf("update of a task of another tenant, as tenant %q: got %v, %v; want no updated row", tenant, tag, err)
		}
		if _, err := tx.Exec(t.Context(), `INSERT INTO projects.counters (tenant_id, project_id) VALUES ($1, $2)`, w.acme, w.globex); err == nil {
			t.Errorf("insert of a row of another tenant, as tenant %q: got no error", tenant)
		}
		tx.Rollback()
	}
	tx, err := pool.Begin(t.Context(), string(w.acme), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	// The role has no UPDATE privilege on columns that never change.
	if _, err := tx.Exec(t.Context(), `UPDATE projects.tasks SET tenant_id = $1`, w.globex); err == nil {
		t.Error("update of tasks.tenant_id as parapet_tracker: got no error, want permission denied")
	}
}
