package tracker_test

import (
	"encoding/json"
	"strings"
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// The id of an initiative above the caller's clearance is in no response about its projects and
// epics, and in no audit entry or event that the caller may see. All of them contain the same
// opaque id instead.
func TestHiddenInitiative_IsRedactedEverywhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := w.createInitiative("Secret", fields{"classification": "SECRET"})
	p := w.createProject("Apollo", fields{"initiativeId": secret.ID, "prefix": "APO"})
	epic := w.createTask(p, "Epic", fields{"issueType": "EPIC", "initiativeId": secret.ID, "status": "IN_PROGRESS"})
	w.bindRepo(p.ID, "/src/apollo")
	uncleared := w.addPerson(person{roles: []string{"Project Manager"}})
	at, task := fields{"projectId": p.ID}, fields{"projectId": p.ID, "task": epic.Key}
	opaque := do[contract.Project](w, uncleared, "get-project", at).InitiativeID
	if opaque == "" || opaque == secret.ID {
		t.Fatalf("get-project: got initiative %q, want an opaque id", opaque)
	}
	for _, r := range []struct {
		name string
		in   fields
		// shows is set if the response contains the initiative.
		shows bool
	}{
		{"get-project", at, true}, {"list-projects", fields{}, true}, {"find-project", fields{"hint": "APO"}, true},
		{"find-project", fields{"hint": "/src/apollo/x"}, true}, {"get-project-overview", at, true}, {"workspace", fields{}, true},
		{"update-project", merge(fields{"name": "Apollo"}, at), true}, {"update-project", merge(fields{"name": "Apollo 11"}, at), true},
		{"get-task", task, true}, {"list-tasks", at, true}, {"update-task", merge(fields{"title": "Epic"}, task), true},
		{"update-task", merge(fields{"title": "Epos"}, task), true}, {"export-items", at, false},
	} {
		out, err := w.call(uncleared, r.name, r.in)
		if err != nil {
			t.Errorf("%s: got %v, want no error", r.name, err)
			continue
		}
		text, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), string(secret.ID)) {
			t.Errorf("%s %v: got the hidden initiative in %s, want it redacted", r.name, r.in, text)
		}
		if r.shows && !strings.Contains(string(text), string(opaque)) {
			t.Errorf("%s %v: got %s, want the opaque id in it", r.name, r.in, text)
		}
	}
	// Listing its projects gives the same result as for a missing initiative.
	for _, id := range []op.UUID{secret.ID, w.acme} {
		if got := do[op.Page[contract.ProjectSummary]](w, uncleared, "list-projects", fields{"initiativeId": id}); len(got.Items) != 0 {
			t.Errorf("projects of %s: got %+v, want none", id, got.Items)
		}
	}
	// A caller who may read the initiative gets its id.
	if got := do[contract.Task](w, w.manager, "get-task", task); got.InitiativeID != secret.ID {
		t.Errorf("get-task by the manager: got initiative %q, want %q", got.InitiativeID, secret.ID)
	}
	if got := do[op.Page[contract.ProjectSummary]](w, w.manager, "list-projects", fields{"initiativeId": secret.ID}); len(got.Items) != 1 || got.Items[0].InitiativeID != secret.ID {
		t.Errorf("list-projects by the manager: got %+v, want one with the initiative", got.Items)
	}

	do[contract.Task](w, w.manager, "update-task", merge(fields{"initiativeId": nil}, task))
	do[contract.Task](w, w.manager, "update-task", merge(fields{"initiativeId": secret.ID}, task))
	do[contract.Project](w, w.manager, "update-project", merge(fields{"initiativeId": nil}, at))
	do[contract.Project](w, w.manager, "update-project", merge(fields{"initiativeId": secret.ID}, at))
	do[op.None](w, w.manager, "delete-initiative", fields{"initiativeId": secret.ID})
	w.wantIDHidden(secret.ID, "initiative")
}

// Audit entries and events of a task do not contain the ids of its dependency and its epic in a
// hidden project.
func TestHiddenTask_IsRedactedInAuditAndEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	open, secret := w.createProject("Open"), w.createProject("Secret", fields{"classification": "SECRET"})
	hidden := w.createTask(secret, "Hidden")
	hiddenEpic := w.createTask(secret, "Epic", fields{"issueType": "EPIC"})
	waits := w.createTask(open, "Waits", fields{"epicId": hiddenEpic.ID})
	of := fields{"projectId": open.ID, "task": waits.Key}
	do[contract.Dependency](w, w.manager, "add-dependency", merge(fields{"dependsOn": hidden.ID}, of))
	do[op.None](w, w.manager, "remove-dependency", merge(fields{"dependsOnId": hidden.ID}, of))
	do[contract.Task](w, w.manager, "update-task", merge(fields{"title": "Still waits"}, of))
	for tier, want := range map[string]bool{"SECRET": true, "UNCLASSIFIED": true} {
		if n := w.count(`SELECT count(*) FROM events.outbox WHERE payload->>'classification' = $1`, tier); (n > 0) != want {
			t.Errorf("got %d events with classification %s, want at least one", n, tier)
		}
	}
	if n := w.count(`SELECT count(*) FROM events.outbox WHERE coalesce(payload->>'classification', '') <> 'SECRET' AND aggregate_id IN ($1, $2, $3)`,
		string(secret.ID), string(hidden.ID), string(hiddenEpic.ID)); n != 0 {
		t.Errorf("got %d events of SECRET records with another classification, want 0", n)
	}
	w.wantIDHidden(hidden.ID, "task")
	w.wantIDHidden(hiddenEpic.ID, "task")
	uncleared := w.addPerson(person{roles: []string{"Project Manager"}})
	if f := w.wantError(fault.CodeValidation, uncleared, "add-dependency", merge(fields{"dependsOn": hidden.ID}, of)); strings.Contains(f.Error(), hidden.Key) {
		t.Errorf("add-dependency on a hidden task: got %v, want an error without its key", f)
	}
}

// wantIDHidden checks that the id is not in audit entries and events of other records.
func (w *world) wantIDHidden(id op.UUID, noun string) {
	w.t.Helper()
	if n := w.count(`SELECT count(*) FROM audit.entries WHERE changes::text LIKE '%' || $1 || '%' AND resource_id <> $1 AND classification = 'UNCLASSIFIED'`, string(id)); n != 0 {
		w.t.Errorf("got %d audit entries of other records with the hidden %s, want 0", n, noun)
	}
	if n := w.count(`SELECT count(*) FROM events.outbox e WHERE e.payload::text LIKE '%' || $1 || '%' AND e.aggregate_id <> $1
		AND e.payload->'resource'->>'projectId' IS DISTINCT FROM (SELECT t.project_id::text FROM projects.tasks t WHERE t.id::text = $1)`, string(id)); n != 0 {
		w.t.Errorf("got %d events of other records with the hidden %s, want 0", n, noun)
	}
}
