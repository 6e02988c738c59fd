package tracker_test

import (
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// scene is what the denial test's requests are about: one of everything, in one
// project where it lies in one. Each noun has a field and its requests in a
// function beside its own tests.
type scene struct {
	project, task, initiative, stage, gate, repo                         op.UUID
	epic, draft, submitted, reviewed, revised, criterion, failing, field op.UUID
	issue, comment, timeEntry                                            op.UUID
	// delegation is the manager's, in the project; delegate is who received it.
	delegation, delegate  op.UUID
	asking, decision, run op.UUID
}

// scene makes one of everything in the tier.
func (w *world) scene(name, tier string) scene {
	w.t.Helper()
	p := w.project(name, fields{"classification": tier})
	stage := w.stage(p.ID, "Design").ID
	s := scene{
		project: p.ID, task: w.task(p, "Land").ID,
		initiative: w.initiative(name, fields{"classification": tier}).ID,
		stage:      stage, gate: w.gateAfter(p.ID, stage, "Review").ID,
		repo: w.bind(p.ID, "/src/"+name).ID,
	}
	w.addDeliverables(p, &s)
	w.addIssue(p, &s)
	delegate := w.person(person{})
	s.delegate = delegate.id
	s.delegation = w.lend(w.manager, delegate, []string{"tasks.read"}, fields{"scope": "PROJECT", "projectId": p.ID}).ID
	w.addDecision(p, &s)
	return s
}

// requests gives, for every operation, a request on the scene that a project
// manager of the tenant could make.
func requests(s scene) map[string]fields {
	all := map[string]fields{}
	for _, of := range []func(scene) map[string]fields{
		projectRequests, initiativeRequests, stageRequests, gateRequests, overviewRequests, repoRequests,
		deliverableRequests,
		issueRequests, delegationRequests,
		decisionRequests, runRequests,
	} {
		for name, in := range of(s) {
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

// snapshot is what must stay as it is when everything was refused.
func (w *world) snapshot() [4]int {
	return [4]int{
		w.count(`SELECT count(*) FROM projects.projects WHERE name <> 'Renamed'`), w.count(`SELECT count(*) FROM projects.tasks WHERE title <> 'Renamed'`),
		w.count(`SELECT count(*) FROM audit.entries`), w.count(`SELECT count(*) FROM events.outbox`),
	}
}

func TestEveryOperationIsDenied(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	here, secret, nowhere := w.scene("Apollo", "UNCLASSIFIED"), w.scene("Secret", "SECRET"), sceneOf(w.acme)
	nobody := w.person(person{})
	elsewhere := w.person(person{roles: []string{"Project Manager"}, projects: []op.UUID{uidOf(w.project("Elsewhere"))}})
	stranger := w.person(person{roles: []string{"Project Manager"}, tenant: w.globex, clearance: "SECRET"})
	uncleared := w.person(person{roles: []string{"Project Manager"}})
	readOnly := w.person(person{roles: []string{"Project Manager"}, caveats: []string{"read-only"}})
	odd := w.person(person{roles: []string{"Project Manager"}, caveats: []string{"moon-phase:full"}})
	before := w.snapshot()

	for name, o := range w.operations {
		if o.Access == op.Authenticated {
			continue // it needs no permission of its own
		}
		in := requests(here)[name]
		if in == nil {
			t.Errorf("%s has no denial test", name)
			continue
		}
		permission := o.Grant
		for _, who := range []*person{nobody, odd} {
			if f := w.refused(fault.CodeForbidden, who, name, in); f.Permission != permission {
				t.Errorf("%s: the refusal names %q, want %q", name, f.Permission, permission)
			}
		}
		if o.Effect.Changes() {
			w.refused(fault.CodeForbidden, readOnly, name, in)
		}
		switch name {
		case "create-project", "create-initiative":
			w.refused(fault.CodeForbidden, elsewhere, name, in)
			continue
		case "list-projects":
			if got := do[op.Page[contract.ProjectSummary]](w, stranger, name, in); len(got.Items) != 0 {
				t.Errorf("a stranger lists %d projects", len(got.Items))
			}
			if got := do[op.Page[contract.ProjectSummary]](w, elsewhere, name, in); len(got.Items) != 1 || got.Items[0].Name != "Elsewhere" {
				t.Errorf("one project's manager lists %+v", got.Items)
			}
			if got := do[op.Page[contract.ProjectSummary]](w, uncleared, name, in); len(got.Items) != 2 {
				t.Errorf("without clearance %d projects show, want 2", len(got.Items))
			}
			continue
		case "list-delegations":
			for who, want := range map[*person]int{stranger: 0, elsewhere: 0, uncleared: 0, w.manager: 2} {
				if got := do[op.Page[contract.Delegation]](w, who, name, in); len(got.Items) != want {
					t.Errorf("%v of %d delegations show, want %d", who.roles, len(got.Items), want)
				}
			}
			continue
		case "list-runs":
			for who, want := range map[*person]int{stranger: 0, elsewhere: 0, uncleared: 1, w.manager: 2} {
				if got := do[op.Page[contract.AgentRunSummary]](w, who, name, in); len(got.Items) != want {
					t.Errorf("%v of %d runs show, want %d", who.roles, len(got.Items), want)
				}
			}
			continue
		case "list-initiatives":
			for who, want := range map[*person]int{stranger: 0, elsewhere: 0, uncleared: 1, w.manager: 2} {
				if got := do[op.Page[contract.Initiative]](w, who, name, in); len(got.Items) != want {
					t.Errorf("%v of %d initiatives show, want %d", who.roles, len(got.Items), want)
				}
			}
			continue
		case "find-project", "initiative", "list-epic-children":
			w.refused(fault.CodeNotFound, elsewhere, name, in)
		default:
			if f := w.refused(fault.CodeForbidden, elsewhere, name, in); f.Permission != permission {
				t.Errorf("%s: the refusal names %q, want %q", name, f.Permission, permission)
			}
		}
		// What is another tenant's, above the clearance, or not there at all is
		// one and the same.
		foreign := w.refused(fault.CodeNotFound, stranger, name, in)
		above := w.refused(fault.CodeNotFound, uncleared, name, requests(secret)[name])
		absent := w.refused(fault.CodeNotFound, w.manager, name, requests(nowhere)[name])
		if foreign.Message != absent.Message || above.Message != absent.Message {
			t.Errorf("%s: the answers differ: %q, %q, %q", name, foreign.Message, above.Message, absent.Message)
		}
	}
	if after := w.snapshot(); after != before {
		t.Errorf("refused requests left something: %v, before %v", after, before)
	}
}

// sceneOf has the same id wherever one belongs.
func sceneOf(id op.UUID) scene {
	return scene{
		project: id, task: id, initiative: id, stage: id, gate: id, repo: id,
		epic: id, draft: id, submitted: id, reviewed: id, revised: id, criterion: id, failing: id, field: id,
		issue: id, comment: id, timeEntry: id, delegation: id, delegate: id,
		asking: id, decision: id, run: id,
	}
}

func uidOf(p *contract.Project) op.UUID { return p.ID }

func TestOwnPermissionsReachWhatIsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("Apollo")
	own := w.person(person{roles: []string{"Own Reader"}})
	mine, theirs := w.task(p, "Mine", fields{"assignee": own.id}), w.task(p, "Theirs")
	do[contract.Task](w, own, "update-task", fields{"projectId": p.ID, "task": mine.Key, "progress": 5})
	w.refused(fault.CodeForbidden, own, "update-task", fields{"projectId": p.ID, "task": theirs.Key, "progress": 5})
	w.refused(fault.CodeForbidden, own, "update-project", fields{"projectId": p.ID, "status": "ON_HOLD"})
	do[contract.Project](w, w.manager, "update-project", fields{"projectId": p.ID, "ownerId": own.id})
	do[contract.Project](w, own, "update-project", fields{"projectId": p.ID, "status": "ON_HOLD"})
}

// Row-level security holds alone: the tracker's role sees no other tenant's rows
// whatever it asks for, and no row without a tenant.
func TestTheDatabaseKeepsTenantsApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("Apollo")
	task := w.task(p, "Land")
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
				t.Errorf("tenant %q sees %d rows of %s (%v)", tenant, n, table, err)
			}
		}
		tag, err := tx.Exec(t.Context(), `UPDATE projects.tasks SET title = 'x' WHERE id = $1`, task.ID)
		if err != nil || tag.RowsAffected() != 0 {
			t.Errorf("tenant %q changes a foreign task: %v %v", tenant, tag, err)
		}
		if _, err := tx.Exec(t.Context(), `INSERT INTO projects.counters (tenant_id, project_id) VALUES ($1, $2)`, w.acme, w.globex); err == nil {
			t.Errorf("tenant %q writes into another", tenant)
		}
		tx.Rollback()
	}
	tx, err := pool.Begin(t.Context(), string(w.acme), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	// What never changes has no privilege to change.
	if _, err := tx.Exec(t.Context(), `UPDATE projects.tasks SET tenant_id = $1`, w.globex); err == nil {
		t.Error("the tracker may give a task to another tenant")
	}
}
