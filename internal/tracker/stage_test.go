package tracker_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func (w *world) createStage(p op.UUID, name string, more ...fields) *contract.Stage {
	w.t.Helper()
	return do[contract.Stage](w, w.manager, "create-stage", merge(fields{"projectId": p, "name": name}, more...))
}

func stageRequests(s scene) map[string]fields {
	p, stage := s.project, s.stage
	return map[string]fields{
		"list-stages":    {"projectId": p},
		"create-stage":   {"projectId": p, "name": "New"},
		"update-stage":   {"projectId": p, "stageId": stage, "name": "Renamed"},
		"start-stage":    {"projectId": p, "stageId": stage},
		"complete-stage": {"projectId": p, "stageId": stage},
		"delete-stage":   {"projectId": p, "stageId": stage},
	}
}

// stageNames returns the names of a project's stages in order and checks their positions.
func (w *world) stageNames(p op.UUID) []string {
	w.t.Helper()
	var names []string
	for i, s := range do[contract.Pipeline](w, w.manager, "list-stages", fields{"projectId": p}).Stages {
		names = append(names, s.Name)
		if s.Position != i+1 {
			w.t.Errorf("position of %s: got %d, want %d", s.Name, s.Position, i+1)
		}
	}
	return names
}

func TestStages_PositionsStayConsecutive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo").ID
	if got := do[contract.Pipeline](w, w.manager, "list-stages", fields{"projectId": p}); got.Stages == nil || len(got.Stages) != 0 || got.ProjectID != p {
		t.Errorf("list-stages of a new project: got %+v, want an empty list", got)
	}
	design := w.createStage(p, " Design ", fields{"startDate": "2027-01-04", "endDate": "2027-02-01", "description": "Draw."})
	if design.Name != "Design" || design.Position != 1 || design.Status != "planned" || design.StartDate != "2027-01-04" || design.EndDate != "2027-02-01" ||
		design.Description != "Draw." || design.Gate != nil || design.StartedAt != nil || design.CreatedBy != w.manager.id {
		t.Errorf("created stage: got %+v, want Design at position 1, planned, with the dates and the description", design)
	}
	w.wantAuditAndEvents(1, "stage.created", contract.EventStageCreated, design.ID)
	launch := w.createStage(p, "Launch")
	build := w.createStage(p, "Build", fields{"position": 2})
	w.createStage(p, "Plan", fields{"position": 1})
	if got := w.stageNames(p); !slices.Equal(got, []string{"Plan", "Design", "Build", "Launch"}) {
		t.Errorf("stages after inserts: got %v, want Plan, Design, Build, Launch", got)
	}
	do[contract.Stage](w, w.manager, "update-stage", fields{"projectId": p, "stageId": launch.ID, "position": 1})
	if got := w.stageNames(p); !slices.Equal(got, []string{"Launch", "Plan", "Design", "Build"}) {
		t.Errorf("stages after a move to the front: got %v, want Launch, Plan, Design, Build", got)
	}
	do[contract.Stage](w, w.manager, "update-stage", fields{"projectId": p, "stageId": launch.ID, "position": 3, "name": "Lift off", "endDate": "2027-05-01"})
	if got := w.stageNames(p); !slices.Equal(got, []string{"Plan", "Design", "Lift off", "Build"}) {
		t.Errorf("stages after a move to position 3: got %v, want Plan, Design, Lift off, Build", got)
	}
	w.wantAuditAndEvents(2, "stage.updated", contract.EventStageUpdated, launch.ID)
	do[contract.Stage](w, w.manager, "update-stage", fields{"projectId": p, "stageId": launch.ID, "name": "Lift off"})
	w.wantAuditAndEvents(2, "stage.updated", contract.EventStageUpdated, launch.ID)
	do[op.None](w, w.manager, "delete-stage", fields{"projectId": p, "stageId": design.ID})
	w.wantAuditAndEvents(1, "stage.deleted", contract.EventStageDeleted, design.ID)
	if got := w.stageNames(p); !slices.Equal(got, []string{"Plan", "Lift off", "Build"}) {
		t.Errorf("stages after a deletion: got %v, want Plan, Lift off, Build", got)
	}
	w.wantError(fault.CodeNotFound, w.manager, "delete-stage", fields{"projectId": p, "stageId": design.ID})
	// A stage of another project is not found.
	other := w.createProject("Gemini").ID
	for _, name := range []string{"update-stage", "start-stage", "complete-stage", "delete-stage"} {
		w.wantError(fault.CodeNotFound, w.manager, name, fields{"projectId": other, "stageId": build.ID})
	}
	for field, in := range map[string]fields{
		"name": {"name": " "}, "position": {"position": 5}, "endDate": {"startDate": "2027-02-01", "endDate": "2027-01-01"}, "status": {"status": "completed"},
	} {
		if f := w.wantError(fault.CodeValidation, w.manager, "create-stage", merge(fields{"projectId": p, "name": "x"}, in)); f.Field != field {
			t.Errorf("%v: got an error for field %q, want %q", in, f.Field, field)
		}
	}
	for field, in := range map[string]fields{
		"name": {"name": nil}, "position": {"position": 4}, "endDate": {"startDate": "2027-02-01", "endDate": "2027-01-01"}, "status": {"status": "completed"},
	} {
		if f := w.wantError(fault.CodeValidation, w.manager, "update-stage", merge(fields{"projectId": p, "stageId": build.ID}, in)); f.Field != field {
			t.Errorf("%v: got an error for field %q, want %q", in, f.Field, field)
		}
	}
	w.wantError(fault.CodeValidation, w.manager, "update-stage", fields{"projectId": p, "stageId": build.ID, "position": nil})
}

func TestStage_StartsAndCompletes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo").ID
	s := w.createStage(p, "Design")
	in := fields{"projectId": p, "stageId": s.ID}
	f := w.wantError(fault.CodeConflict, w.manager, "complete-stage", in)
	if f.Details["status"] != "planned" {
		t.Errorf("complete-stage of a planned stage: got the details %v, want the status planned", f.Details)
	}
	got := do[contract.Stage](w, w.manager, "start-stage", in)
	if got.Status != "in-progress" || got.StartedAt == nil || got.CompletedAt != nil {
		t.Errorf("started stage: got %+v, want in-progress with a start time", got)
	}
	w.wantError(fault.CodeConflict, w.manager, "start-stage", in)
	got = do[contract.Stage](w, w.manager, "complete-stage", in)
	if got.Status != "completed" || got.StartedAt == nil || got.CompletedAt == nil {
		t.Errorf("completed stage: got %+v, want completed with both times", got)
	}
	w.wantError(fault.CodeConflict, w.manager, "start-stage", in)
	w.wantError(fault.CodeConflict, w.manager, "complete-stage", in)
	w.wantAuditAndEvents(2, "stage.progressed", contract.EventStageProgressed, s.ID)
	// A completed stage can still be updated.
	do[contract.Stage](w, w.manager, "update-stage", merge(fields{"name": "Drawn"}, in))
	if again := do[contract.Pipeline](w, w.manager, "list-stages", fields{"projectId": p}).Stages[0]; again.Status != "completed" || again.Name != "Drawn" {
		t.Errorf("updated completed stage: got %+v, want completed, with the name Drawn", again)
	}
}

func TestCreateStage_RejectsMoreThanMaxStages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo").ID
	w.exec(`INSERT INTO projects.stages (tenant_id, id, project_id, position, name, status, created_by, created_at, updated_at)
		SELECT $1, gen_random_uuid(), $2, n, 'Stage ' || n, 'planned', $1, now(), now() FROM generate_series(1, $3::int) n`, w.acme, p, contract.MaxStages)
	w.wantError(fault.CodeConflict, w.manager, "create-stage", fields{"projectId": p, "name": "x"})
}

func TestStages_ConcurrentChangesKeepPositionsConsecutive(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, 16)
	p := w.createProject("Apollo").ID
	first := w.createStage(p, "First")
	var all sync.WaitGroup
	errs := make(chan error, 100)
	for i := range 20 {
		all.Go(func() {
			_, err := w.call(w.manager, "create-stage", fields{"projectId": p, "name": fmt.Sprint("Stage ", i), "position": i % 2})
			errs <- err
		})
		all.Go(func() {
			_, err := w.call(w.manager, "update-stage", fields{"projectId": p, "stageId": first.ID, "position": 1, "name": fmt.Sprint("First ", i)})
			errs <- err
		})
		all.Go(func() {
			_, err := w.call(w.manager, "create-task", fields{"projectId": p, "title": fmt.Sprint("Task ", i), "allowDuplicate": true})
			errs <- err
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil && !fault.HasCode(err, fault.CodeValidation) {
			t.Errorf("concurrent change: got %v, want no error or VALIDATION", err)
		}
	}
	if got := w.stageNames(p); len(got) != 21 {
		t.Errorf("got %d stages, want 21: %v", len(got), got)
	}
}

func TestDeleteProject_DeletesStagesAndGates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	s := w.createStage(p.ID, "Design")
	g := w.createGateAfter(p.ID, s.ID, "Review")
	do[contract.GateReviewOutcome](w, w.manager, "review-gate", fields{"projectId": p.ID, "gateId": g.ID, "vote": "HOLD"})
	do[op.None](w, w.manager, "delete-project", fields{"projectId": p.ID})
	for _, table := range []string{"stages", "gates", "gate_reviews"} {
		if n := w.count(`SELECT count(*) FROM projects.` + table); n != 0 {
			t.Errorf("%d rows of projects.%s left, want 0", n, table)
		}
	}
}
