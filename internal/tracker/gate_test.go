package tracker_test

import (
	"sync"
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func (w *world) createGateAfter(p, stage op.UUID, name string, more ...fields) *contract.Gate {
	w.t.Helper()
	return do[contract.Gate](w, w.manager, "create-gate", merge(fields{"projectId": p, "stageId": stage, "name": name}, more...))
}

func gateRequests(s scene) map[string]fields {
	p, gate := s.project, s.gate
	return map[string]fields{
		"create-gate": {"projectId": p, "stageId": s.stage, "name": "New"},
		"update-gate": {"projectId": p, "gateId": gate, "name": "Renamed"},
		"delete-gate": {"projectId": p, "gateId": gate},
		"review-gate": {"projectId": p, "gateId": gate, "vote": "PASS"},
	}
}

// createPipeline creates three stages with gates after the first two.
func (w *world) createPipeline(p op.UUID) (stages [3]*contract.Stage, gates [2]*contract.Gate) {
	w.t.Helper()
	for i, name := range []string{"Design", "Build", "Launch"} {
		stages[i] = w.createStage(p, name)
	}
	for i := range gates {
		gates[i] = w.createGateAfter(p, stages[i].ID, "Review of "+stages[i].Name, fields{"criteria": []string{"drawn", "costed"}})
	}
	return stages, gates
}

// stageAndGateStatuses returns the statuses of the project's stages and gates, in order.
func (w *world) stageAndGateStatuses(p op.UUID) string {
	w.t.Helper()
	text := ""
	for _, s := range do[contract.Pipeline](w, w.manager, "list-stages", fields{"projectId": p}).Stages {
		text += s.Status + " "
		if s.Gate != nil {
			text += s.Gate.Status + " "
		}
	}
	return text
}

func TestGate_CreateUpdateDelete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo").ID
	stages, gates := w.createPipeline(p)
	g := gates[0]
	if g.Name != "Review of Design" || g.StageID != stages[0].ID || g.Status != "PENDING" || len(g.Criteria) != 2 || g.Reviews == nil || g.DecidedAt != nil {
		t.Errorf("created gate: got %+v, want it pending after Design with two criteria and no votes", g)
	}
	w.wantAuditAndEvents(1, "gate.created", contract.EventGateCreated, g.ID)
	w.wantError(fault.CodeConflict, w.manager, "create-gate", fields{"projectId": p, "stageId": stages[0].ID, "name": "Second"})
	other := w.createProject("Gemini").ID
	for field, in := range map[string]fields{
		"name": {"name": " "}, "stageId": {"stageId": w.acme}, "criteria.0": {"criteria": []string{" "}}, "criteria.1": {"criteria": []string{"a", "a "}},
		"status": {"status": "PASSED"},
	} {
		if f := w.wantError(fault.CodeValidation, w.manager, "create-gate", merge(fields{"projectId": p, "stageId": stages[2].ID, "name": "x"}, in)); f.Field != field {
			t.Errorf("%v: got field %q, want %q", in, f.Field, field)
		}
	}
	if f := w.wantError(fault.CodeValidation, w.manager, "create-gate", fields{"projectId": other, "stageId": stages[2].ID, "name": "x"}); f.Field != "stageId" {
		t.Errorf("got field %q, want stageId", f.Field)
	}
	got := do[contract.Gate](w, w.manager, "update-gate", fields{"projectId": p, "gateId": g.ID, "name": "Sign-off", "criteria": nil})
	if got.Name != "Sign-off" || got.Criteria == nil || len(got.Criteria) != 0 {
		t.Errorf("updated gate: got %+v, want the name Sign-off and no criteria", got)
	}
	w.wantAuditAndEvents(1, "gate.updated", contract.EventGateUpdated, g.ID)
	do[contract.Gate](w, w.manager, "update-gate", fields{"projectId": p, "gateId": g.ID, "name": "Sign-off"})
	w.wantAuditAndEvents(1, "gate.updated", contract.EventGateUpdated, g.ID)
	w.wantError(fault.CodeValidation, w.manager, "update-gate", fields{"projectId": p, "gateId": g.ID, "name": nil})
	w.wantError(fault.CodeValidation, w.manager, "update-gate", fields{"projectId": p, "gateId": g.ID, "stageId": stages[1].ID})
	for _, name := range []string{"update-gate", "delete-gate"} {
		w.wantError(fault.CodeNotFound, w.manager, name, fields{"projectId": other, "gateId": g.ID})
	}
	w.wantError(fault.CodeNotFound, w.manager, "review-gate", fields{"projectId": other, "gateId": g.ID, "vote": "PASS"})
	do[op.None](w, w.manager, "delete-gate", fields{"projectId": p, "gateId": g.ID})
	w.wantAuditAndEvents(1, "gate.deleted", contract.EventGateDeleted, g.ID)
	w.wantError(fault.CodeNotFound, w.manager, "delete-gate", fields{"projectId": p, "gateId": g.ID})
	// Deleting a stage deletes its gate and records that.
	do[op.None](w, w.manager, "delete-stage", fields{"projectId": p, "stageId": stages[1].ID})
	w.wantAuditAndEvents(1, "gate.deleted", contract.EventGateDeleted, gates[1].ID)
}

func TestReviewGate_PassStartsNextStage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo").ID
	stages, gates := w.createPipeline(p)
	do[contract.Stage](w, w.manager, "start-stage", fields{"projectId": p, "stageId": stages[0].ID})
	// A stage cannot start until the gate before it has passed.
	f := w.wantError(fault.CodeConflict, w.manager, "start-stage", fields{"projectId": p, "stageId": stages[1].ID})
	if f.Details["gateId"] != gates[0].ID || f.Details["gateStatus"] != "PENDING" {
		t.Errorf("start-stage before the gate has passed: got the details %v, want the gate with the status PENDING", f.Details)
	}
	reviewer := w.addPerson(person{roles: []string{"Reviewer"}})
	out := do[contract.GateReviewOutcome](w, reviewer, "review-gate", fields{
		"projectId": p, "gateId": gates[0].ID, "vote": "PASS", "reason": " Good. ",
		"criteria": []fields{{"criterion": "costed", "met": true}, {"criterion": "drawn", "met": false}},
	})
	if out.Gate.Status != "PASSED" || out.Gate.DecidedAt == nil || out.Progressed == nil || out.Progressed.ID != stages[1].ID || out.Progressed.Status != "in-progress" {
		t.Errorf("review-gate PASS: got %+v, want the gate passed and the next stage in progress", out)
	}
	if r := out.Gate.Reviews; len(r) != 1 || r[0].Reviewer != reviewer.id || r[0].Vote != "PASS" || r[0].Reason != "Good." || len(r[0].Criteria) != 2 || !r[0].Criteria[0].Met {
		t.Errorf("votes after PASS: got %+v, want one by the reviewer with the trimmed reason and two criteria", r)
	}
	w.wantAuditAndEvents(1, "gate.reviewed", contract.EventGateReviewed, gates[0].ID)
	w.wantAuditAndEvents(1, "stage.progressed", contract.EventStageProgressed, stages[1].ID)
	w.wantAuditAndEvents(1, "stage.progressed", contract.EventStageProgressed, stages[0].ID)
	if got := w.stageAndGateStatuses(p); got != "in-progress PASSED in-progress PENDING planned " {
		t.Errorf("stages and gates after PASS: got %s, want in-progress PASSED in-progress PENDING planned", got)
	}
	// A second PASS does not change a stage that is already in progress.
	out = do[contract.GateReviewOutcome](w, w.manager, "review-gate", fields{"projectId": p, "gateId": gates[0].ID, "vote": "PASS"})
	if out.Progressed != nil || len(out.Gate.Reviews) != 2 {
		t.Errorf("second PASS: got %+v, want two votes and no further stage started", out)
	}
	w.wantAuditAndEvents(1, "stage.progressed", contract.EventStageProgressed, stages[1].ID)
	// A gate after the last stage starts no stage.
	last := w.createGateAfter(p, stages[2].ID, "Landing")
	if out := do[contract.GateReviewOutcome](w, reviewer, "review-gate", fields{"projectId": p, "gateId": last.ID, "vote": "PASS"}); out.Progressed != nil || out.Gate.Status != "PASSED" {
		t.Errorf("PASS of a gate after the last stage: got %+v, want it passed and no stage started", out)
	}
}

func TestReviewGate_FailAndHoldLeaveStages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo").ID
	stages, gates := w.createPipeline(p)
	for vote, status := range map[string]string{"FAIL": "FAILED", "HOLD": "HELD"} {
		out := do[contract.GateReviewOutcome](w, w.manager, "review-gate", fields{"projectId": p, "gateId": gates[0].ID, "vote": vote})
		if out.Gate.Status != status || out.Progressed != nil {
			t.Errorf("vote %s: got %+v, want the status %s and no stage started", vote, out, status)
		}
		w.wantError(fault.CodeConflict, w.manager, "start-stage", fields{"projectId": p, "stageId": stages[1].ID})
	}
	if n := w.count(`SELECT count(*) FROM projects.stages WHERE status <> 'planned'`); n != 0 {
		t.Errorf("got %d stages with a changed status, want 0", n)
	}
	// A later vote does not stop a stage that a PASS started.
	do[contract.GateReviewOutcome](w, w.manager, "review-gate", fields{"projectId": p, "gateId": gates[0].ID, "vote": "PASS"})
	do[contract.GateReviewOutcome](w, w.manager, "review-gate", fields{"projectId": p, "gateId": gates[0].ID, "vote": "FAIL"})
	if got := w.stageAndGateStatuses(p); got != "planned FAILED in-progress PENDING planned " {
		t.Errorf("stages and gates after PASS and FAIL: got %s, want planned FAILED in-progress PENDING planned", got)
	}
}

func TestReviewGate_LaterVoteReplacesEarlierVote(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo").ID
	_, gates := w.createPipeline(p)
	reviewer, second := w.addPerson(person{roles: []string{"Reviewer"}}), w.addPerson(person{roles: []string{"Reviewer"}})
	vote := func(who *person, vote string) *contract.GateReviewOutcome {
		return do[contract.GateReviewOutcome](w, who, "review-gate", fields{"projectId": p, "gateId": gates[0].ID, "vote": vote})
	}
	first := vote(reviewer, "FAIL").Gate.Reviews[0]
	vote(second, "HOLD")
	out := vote(reviewer, "PASS")
	if r := out.Gate.Reviews; len(r) != 2 || r[0].Reviewer != second.id || r[0].Vote != "HOLD" || r[1].Reviewer != reviewer.id || r[1].Vote != "PASS" || r[1].ID != first.ID {
		t.Errorf("votes after a second vote of the reviewer: got %+v, want HOLD and the replaced vote PASS with the same id", r)
	}
	if listed := do[contract.Pipeline](w, w.manager, "list-stages", fields{"projectId": p}).Stages[0].Gate; len(listed.Reviews) != 2 || listed.Reviews[1].ID != first.ID || listed.Status != "PASSED" {
		t.Errorf("gate in list-stages: got %+v, want it passed with both votes", listed)
	}
	// The audit log contains all three votes and the replaced one.
	w.wantAuditAndEvents(3, "gate.reviewed", contract.EventGateReviewed, gates[0].ID)
	if n := w.count(`SELECT count(*) FROM audit.entries WHERE action = 'gate.reviewed' AND changes->>'vote' = 'PASS' AND changes->>'replaced' = 'FAIL'`); n != 1 {
		t.Errorf("audit entries with the replaced vote: got %d, want 1", n)
	}
	if n := w.count(`SELECT count(*) FROM audit.entries WHERE changes::text LIKE '%drawn%'`); n != 0 {
		t.Errorf("audit entries with user-generated text: got %d, want 0", n)
	}
}

func TestReviewGate_WaiveRequiresPermissionAndReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo").ID
	stages, gates := w.createPipeline(p)
	in := fields{"projectId": p, "gateId": gates[0].ID, "vote": "WAIVE", "reason": "Known good."}
	reviewer := w.addPerson(person{roles: []string{"Reviewer"}})
	if f := w.wantError(fault.CodeForbidden, reviewer, "review-gate", in); f.Permission != contract.PermGatesWaive {
		t.Errorf("got permission %q, want %q", f.Permission, contract.PermGatesWaive)
	}
	for _, reason := range []any{nil, "  "} {
		if f := w.wantError(fault.CodeValidation, w.manager, "review-gate", merge(fields{}, in, fields{"reason": reason})); f.Field != "reason" {
			t.Errorf("got field %q, want reason", f.Field)
		}
	}
	out := do[contract.GateReviewOutcome](w, w.manager, "review-gate", in)
	if out.Gate.Status != "PASSED" || out.Gate.Reviews[0].Vote != "WAIVE" || out.Progressed == nil || out.Progressed.ID != stages[1].ID {
		t.Errorf("review-gate WAIVE: got %+v, want the gate passed and the next stage started", out)
	}
	for field, more := range map[string]fields{
		"vote": {"vote": "MAYBE"}, "criteria.0.criterion": {"criteria": []fields{{"criterion": "sung", "met": true}}},
		"criteria.1.criterion": {"criteria": []fields{{"criterion": "drawn", "met": true}, {"criterion": "drawn", "met": false}}},
	} {
		if f := w.wantError(fault.CodeValidation, w.manager, "review-gate", merge(fields{}, in, more)); f.Field != field {
			t.Errorf("%v: got field %q, want %q", more, f.Field, field)
		}
	}
}

// Concurrent PASS votes start the next stage exactly once.
func TestReviewGate_ConcurrentPassesStartNextStageOnce(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, 16)
	p := w.createProject("Apollo").ID
	stages, gates := w.createPipeline(p)
	var all sync.WaitGroup
	started := make(chan bool, 16)
	reviewers := make([]*person, 16)
	for i := range reviewers {
		reviewers[i] = w.addPerson(person{roles: []string{"Reviewer"}})
	}
	for _, reviewer := range reviewers {
		all.Go(func() {
			out, err := w.call(reviewer, "review-gate", fields{"projectId": p, "gateId": gates[0].ID, "vote": "PASS"})
			if err != nil {
				t.Error(err)
				return
			}
			started <- out.(*contract.GateReviewOutcome).Progressed != nil
		})
	}
	all.Wait()
	close(started)
	starts := 0
	for s := range started {
		if s {
			starts++
		}
	}
	if starts != 1 {
		t.Errorf("got %d starts of the next stage, want 1", starts)
	}
	w.wantAuditAndEvents(1, "stage.progressed", contract.EventStageProgressed, stages[1].ID)
	w.wantAuditAndEvents(16, "gate.reviewed", contract.EventGateReviewed, gates[0].ID)
}
