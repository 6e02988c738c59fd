package tracker_test

import (
	"fmt"
	"sync"
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/events"
	"parapet/internal/events/eventtest"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// dispatchEvents dispatches all pending events to the subscribers.
func (w *world) dispatchEvents() {
	w.t.Helper()
	d, err := events.NewDispatcher(events.Config{Pool: w.db.Pool(w.t, postgres.RoleJobs), Subscribers: w.service.Subscribers()})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := d.Drain(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	if n := w.count(`SELECT count(*) FROM events.deliveries`); n != 0 {
		w.t.Fatalf("got %d undelivered events, want 0", n)
	}
}

func (w *world) wantProgress(i op.UUID, progress, events int) {
	w.t.Helper()
	w.dispatchEvents()
	if got := do[contract.InitiativeDetail](w, w.manager, "get-initiative", fields{"initiativeId": i}); got.Progress != progress {
		w.t.Errorf("progress of %s: got %d, want %d", got.Name, got.Progress, progress)
	}
	w.wantAuditAndEvents(events, "initiative.progress_updated", contract.EventInitiativeProgressUpdated, i)
	w.wantAuditAndEvents(events, "initiative.progress_updated", contract.EventProgrammeProgressUpdated, i)
}

func TestInitiativeProgress_FollowsTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	moon, mars := w.createInitiative("Moon"), w.createInitiative("Mars")
	a, b := w.createProject("A", fields{"initiativeId": moon.ID}), w.createProject("B", fields{"initiativeId": moon.ID})
	other := w.createProject("Other")
	w.wantProgress(moon.ID, 0, 0)
	one, two := w.createTask(a, "One"), w.createTask(a, "Two")
	three := w.createTask(b, "Three")
	w.createTask(other, "Four", fields{"status": "DONE"})
	// Only tasks of the initiative's projects count, not epics tagged with the initiative.
	w.createTask(other, "Epic", fields{"issueType": "EPIC", "initiativeId": moon.ID, "status": "DONE"})
	w.wantProgress(moon.ID, 0, 0)
	do[contract.Task](w, w.manager, "update-task", fields{"projectId": a.ID, "task": one.Key, "status": "DONE"})
	w.wantProgress(moon.ID, 33, 1)
	// Changes that do not affect the progress emit no event.
	do[contract.Task](w, w.manager, "update-task", fields{"projectId": a.ID, "task": two.Key, "title": "Second", "status": "IN_PROGRESS"})
	w.wantProgress(moon.ID, 33, 1)
	do[contract.Task](w, w.manager, "update-task", fields{"projectId": b.ID, "task": three.Key, "status": "CANCELLED"})
	w.wantProgress(moon.ID, 50, 2)
	do[op.None](w, w.manager, "delete-task", fields{"projectId": a.ID, "task": two.Key})
	w.wantProgress(moon.ID, 100, 3)
	// Changing the category of a status changes the progress.
	do[contract.Project](w, w.manager, "update-project", fields{"projectId": b.ID, "renameStatuses": []fields{{"from": "CANCELLED", "to": "PARKED"}},
		"customStatuses": []fields{{"name": "TODO", "category": "TODO"}, {"name": "PARKED", "category": "TODO"}, {"name": "DONE", "category": "DONE"}}})
	w.wantProgress(moon.ID, 50, 4)
	// Moving a project to another initiative changes the progress of both.
	do[contract.Project](w, w.manager, "update-project", fields{"projectId": a.ID, "initiativeId": mars.ID})
	w.wantProgress(moon.ID, 0, 5)
	w.wantProgress(mars.ID, 100, 1)
	do[op.None](w, w.manager, "delete-project", fields{"projectId": a.ID})
	w.wantProgress(mars.ID, 0, 2)
	if n := w.count(`SELECT count(*) FROM events.outbox e WHERE e.type = $1 AND e.payload->'changed' = '["progress"]'
		AND e.payload->'resource'->>'id' = e.aggregate_id AND (e.payload->'resource'->>'progress')::int = 33`, contract.EventInitiativeProgressUpdated.Name); n != 1 {
		t.Errorf("events with the initiative and its new progress: got %d, want 1", n)
	}
	// Progress events have the correlation id of the request that caused them.
	if n := w.count(`SELECT count(*) FROM events.outbox e WHERE e.type = $1 AND NOT EXISTS (SELECT 1 FROM events.outbox c WHERE c.type NOT LIKE '%progress_updated' AND c.correlation_id = e.correlation_id)`, contract.EventProgrammeProgressUpdated.Name); n != 0 {
		t.Errorf("got %d progress events with another correlation id, want 0", n)
	}
	eventtest.Require(t, w.owner, "projects.initiative.progress_updated", "projects.programme.progress_updated")
}

// Events of a deleted initiative must not fail either.
func TestInitiativeProgress_RedeliveredEventsChangeNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	moon, deleted := w.createInitiative("Moon"), w.createInitiative("Deleted")
	p := w.createProject("A", fields{"initiativeId": moon.ID})
	w.createTask(p, "One", fields{"status": "DONE"})
	w.createProject("B", fields{"initiativeId": deleted.ID})
	do[op.None](w, w.manager, "delete-initiative", fields{"initiativeId": deleted.ID})
	w.wantProgress(moon.ID, 100, 1)
	w.exec(`DELETE FROM events.processed`)
	w.exec(`UPDATE events.outbox SET dispatched_at = NULL`)
	w.wantProgress(moon.ID, 100, 1)
}

func TestInitiativeProgress_CorrectAfterConcurrentUpdates(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, 16)
	moon := w.createInitiative("Moon")
	projects := []*contract.Project{w.createProject("A", fields{"initiativeId": moon.ID}), w.createProject("B", fields{"initiativeId": moon.ID})}
	tasks := make([]*contract.Task, 20)
	for i := range tasks {
		tasks[i] = w.createTask(projects[i%2], fmt.Sprintf("%c%c%c%c", 'a'+i, 'c'+i, 'f'+i, 'a'+i))
	}
	var all sync.WaitGroup
	for i, task := range tasks[:13] {
		all.Go(func() {
			if _, err := w.call(w.manager, "update-task", fields{"projectId": task.ProjectID, "task": task.Key, "status": "DONE"}); err != nil {
				t.Error(err)
			}
			if i%4 == 0 {
				w.dispatchEvents()
			}
		})
	}
	all.Wait()
	w.dispatchEvents()
	if got := do[contract.InitiativeDetail](w, w.manager, "get-initiative", fields{"initiativeId": moon.ID}); got.Progress != 65 {
		t.Errorf("progress: got %d, want 65", got.Progress)
	}
}
