package tracker_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// createDeliverable creates a deliverable with two criteria and the given status.
func (w *world) createDeliverable(p *contract.Project, status string, more ...fields) *contract.Deliverable {
	w.t.Helper()
	d := do[contract.Deliverable](w, w.manager, "create-deliverable", merge(fields{"projectId": p.ID, "title": "Flight plan", "criteria": []string{"Complete", "Signed"}}, more...))
	at := fields{"projectId": p.ID, "deliverableId": d.ID}
	for _, step := range map[string][]string{
		"DRAFT": nil, "SUBMITTED": {"submit-deliverable"}, "UNDER_REVIEW": {"submit-deliverable", "start-deliverable-review"},
		"REVISED":  {"submit-deliverable", "start-deliverable-review", "revise-deliverable"},
		"ACCEPTED": {"submit-deliverable", "start-deliverable-review", "accept-deliverable"},
		"REJECTED": {"submit-deliverable", "start-deliverable-review", "reject-deliverable"},
	}[status] {
		in := merge(fields{}, at)
		if step == "reject-deliverable" {
			in["failedCriteria"] = []op.UUID{d.Criteria[1].ID}
		}
		d = do[contract.Deliverable](w, w.manager, step, in)
	}
	if d.Status != status {
		w.t.Fatalf("deliverable status: got %s, want %s", d.Status, status)
	}
	return d
}

func (w *world) addDeliverables(p *contract.Project, s *scene) {
	w.t.Helper()
	draft, review := w.createDeliverable(p, "DRAFT"), w.createDeliverable(p, "UNDER_REVIEW")
	s.draft, s.submitted, s.revised = draft.ID, w.createDeliverable(p, "SUBMITTED").ID, w.createDeliverable(p, "REVISED").ID
	s.reviewed, s.failedCriterion, s.criterion = review.ID, review.Criteria[0].ID, draft.Criteria[0].ID
	s.field = do[contract.CustomField](w, w.manager, "create-custom-field", fields{"projectId": p.ID, "name": "Rocket", "type": "TEXT"}).ID
	s.epic = w.createTask(p, "Moon", fields{"issueType": "EPIC"}).ID
}

func deliverableRequests(s scene) map[string]fields {
	withID := func(id op.UUID, more ...fields) fields {
		return merge(fields{"projectId": s.project, "deliverableId": id}, more...)
	}
	return map[string]fields{
		"list-epic-children": {"epicId": s.epic},
		"list-deliverables":  {"projectId": s.project},
		"create-deliverable": {"projectId": s.project, "title": "x"},
		"get-deliverable":    withID(s.draft), "update-deliverable": withID(s.draft, fields{"title": "Renamed"}),
		"submit-deliverable": withID(s.revised), "start-deliverable-review": withID(s.submitted),
		"accept-deliverable": withID(s.reviewed), "revise-deliverable": withID(s.reviewed),
		"reject-deliverable": withID(s.reviewed, fields{"failedCriteria": []op.UUID{s.failedCriterion}}),
		"delete-deliverable": withID(s.draft),
		"list-criteria":      {"projectId": s.project},
		"create-criterion":   {"projectId": s.project, "deliverableId": s.draft, "text": "x"},
		"update-criterion":   {"projectId": s.project, "criterionId": s.criterion, "met": true},
		"delete-criterion":   {"projectId": s.project, "criterionId": s.criterion},
		"list-custom-fields": {"projectId": s.project}, "create-custom-field": {"projectId": s.project, "name": "x", "type": "TEXT"},
		"update-custom-field":     {"projectId": s.project, "fieldId": s.field, "name": "x"},
		"delete-custom-field":     {"projectId": s.project, "fieldId": s.field},
		"set-custom-field-values": {"projectId": s.project, "task": s.task, "values": []fields{{"field": s.field, "value": "x"}}},
	}
}

func TestDeliverable_ReviewWorkflow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	task := w.createTask(p, "Plan")
	reviewer := w.addPerson(person{roles: []string{"Reviewer"}})
	member := w.addPerson(person{roles: []string{"Member"}})
	d := do[contract.Deliverable](w, member, "create-deliverable", fields{"projectId": p.ID, "title": " Flight plan ", "description": "All of it.", "taskId": task.ID, "dueDate": "2027-03-01", "criteria": []string{" Complete ", "Signed"}})
	if d.Title != "Flight plan" || d.Status != "DRAFT" || d.Owner != member.id || d.TaskID != task.ID || len(d.Criteria) != 2 || d.Criteria[0].Text != "Complete" {
		t.Fatalf("created deliverable: got %+v, want a draft of the member with the trimmed title and two criteria", d)
	}
	w.wantAuditAndEvents(1, "deliverable.created", contract.EventDeliverableCreated, d.ID)
	at := fields{"projectId": p.ID, "deliverableId": d.ID}
	if got := do[contract.Deliverable](w, reviewer, "get-deliverable", at); got.Description != "All of it." || len(got.Criteria) != 2 {
		t.Errorf("get-deliverable: got %+v, want the description and two criteria", got)
	}
	w.wantError(fault.CodeForbidden, reviewer, "submit-deliverable", at)
	submitted := do[contract.Deliverable](w, member, "submit-deliverable", at)
	if submitted.Status != "SUBMITTED" || submitted.SubmittedBy != member.id || submitted.SubmittedAt == nil {
		t.Errorf("submitted deliverable: got %+v, want SUBMITTED by the member", submitted.DeliverableSummary)
	}
	w.wantError(fault.CodeForbidden, member, "start-deliverable-review", at)
	do[contract.Deliverable](w, reviewer, "start-deliverable-review", at)
	returned := do[contract.Deliverable](w, reviewer, "revise-deliverable", merge(fields{"reason": "Add the landing."}, at))
	if returned.Status != "REVISED" || returned.ReviewReason != "Add the landing." || returned.ReviewedBy != reviewer.id {
		t.Errorf("returned deliverable: got %+v, want REVISED by the reviewer with the reason", returned)
	}
	do[contract.Deliverable](w, member, "update-deliverable", merge(fields{"title": "Flight plan 2", "taskId": nil, "dueDate": nil}, at))
	do[contract.Criterion](w, member, "update-criterion", fields{"projectId": p.ID, "criterionId": d.Criteria[1].ID, "met": true})
	do[contract.Deliverable](w, member, "submit-deliverable", at)
	do[contract.Deliverable](w, reviewer, "start-deliverable-review", at)
	rejected := do[contract.Deliverable](w, reviewer, "reject-deliverable", merge(fields{"failedCriteria": []op.UUID{d.Criteria[1].ID, d.Criteria[1].ID}, "reason": "No signature."}, at))
	if rejected.Status != "REJECTED" || rejected.TaskID != "" || rejected.DueDate != "" || rejected.Criteria[0].Failed || !rejected.Criteria[1].Failed || rejected.Criteria[1].Met || rejected.Criteria[1].MetBy != "" {
		t.Errorf("rejected deliverable: got %+v, want REJECTED with only the second criterion failed, without task and due date", rejected)
	}
	w.wantAuditAndEvents(6, "deliverable.status_changed", contract.EventDeliverableStatusChanged, d.ID)
	w.wantAuditAndEvents(1, "deliverable.updated", contract.EventDeliverableUpdated, d.ID)
	if n := w.count(`SELECT count(*) FROM audit.entries WHERE resource_id = $1 AND (changes::text LIKE '%signature%' OR changes::text LIKE '%Flight%')`, string(d.ID)); n != 0 {
		t.Errorf("audit entries with user-generated text: got %d, want 0", n)
	}
	if n := w.count(`SELECT count(*) FROM audit.entries WHERE resource_id = $1 AND changes->'failedCriteria'->>0 = $2`, string(d.ID), string(d.Criteria[1].ID)); n != 1 {
		t.Errorf("audit entries with the failed criterion: got %d, want 1", n)
	}
	// A rejected deliverable and its criteria cannot be changed.
	w.wantError(fault.CodeConflict, member, "update-deliverable", merge(fields{"title": "x"}, at))
	w.wantError(fault.CodeConflict, member, "update-criterion", fields{"projectId": p.ID, "criterionId": d.Criteria[1].ID, "met": true})
	w.wantError(fault.CodeConflict, w.manager, "delete-criterion", fields{"projectId": p.ID, "criterionId": d.Criteria[1].ID})
	w.wantError(fault.CodeConflict, member, "create-criterion", fields{"projectId": p.ID, "deliverableId": d.ID, "text": "x"})
	do[op.None](w, w.manager, "delete-deliverable", at)
	w.wantAuditAndEvents(1, "deliverable.deleted", contract.EventDeliverableDeleted, d.ID)
	w.wantError(fault.CodeNotFound, w.manager, "get-deliverable", at)
	if n := w.count(`SELECT count(*) FROM projects.criteria WHERE project_id = $1`, p.ID); n != 0 {
		t.Errorf("after deleting the deliverable: got %d criteria, want 0", n)
	}
}

// Tries every transition from every status. A transition that is not allowed is a
// CONFLICT that lists the allowed ones.
func TestDeliverable_AllowsOnlyListedTransitions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	allowed := map[string][]string{
		"DRAFT": {"SUBMITTED"}, "SUBMITTED": {"UNDER_REVIEW"}, "UNDER_REVIEW": {"ACCEPTED", "REJECTED", "REVISED"},
		"REVISED": {"SUBMITTED"}, "ACCEPTED": {}, "REJECTED": {},
	}
	for from, next := range allowed {
		for name, to := range map[string]string{
			"submit-deliverable": "SUBMITTED", "start-deliverable-review": "UNDER_REVIEW", "accept-deliverable": "ACCEPTED",
			"reject-deliverable": "REJECTED", "revise-deliverable": "REVISED",
		} {
			d := w.createDeliverable(p, from)
			in := fields{"projectId": p.ID, "deliverableId": d.ID}
			if to == "REJECTED" {
				in["failedCriteria"] = []op.UUID{d.Criteria[0].ID}
			}
			if slices.Contains(next, to) {
				if got := do[contract.Deliverable](w, w.manager, name, in); got.Status != to {
					t.Errorf("%s from %s: got status %s, want %s", name, from, got.Status, to)
				}
				continue
			}
			f := w.wantError(fault.CodeConflict, w.manager, name, in)
			if got, _ := f.Details["allowed"].([]string); !slices.Equal(got, next) || (len(next) > 0 && !strings.Contains(f.Message, strings.Join(next, ", "))) {
				t.Errorf("%s from %s: got message %q and allowed statuses %v, want %v", name, from, f.Message, got, next)
			}
		}
	}
}

func TestDeliverable_ConcurrentReviewsDecideOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	for range 5 {
		d := w.createDeliverable(p, "UNDER_REVIEW")
		var wait sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wait.Go(func() {
				_, errs[i] = w.call(w.manager, []string{"accept-deliverable", "revise-deliverable"}[i%2], fields{"projectId": p.ID, "deliverableId": d.ID})
			})
		}
		wait.Wait()
		succeeded := 0
		for _, err := range errs {
			if err == nil {
				succeeded++
			} else if !fault.HasCode(err, fault.CodeConflict) {
				t.Errorf("got %v, want CONFLICT", err)
			}
		}
		if succeeded != 1 {
			t.Errorf("got %d successful reviews, want 1", succeeded)
		}
	}
}

func TestDeliverable_ValidationErrorNamesField(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other := w.createProject("Apollo"), w.createProject("Gemini")
	unassignable := w.addPerson(person{roles: []string{"Guest Customer"}})
	foreign := w.createTask(other, "Other")
	d, otherDeliverable := w.createDeliverable(p, "UNDER_REVIEW"), w.createDeliverable(p, "DRAFT")
	for _, c := range []struct {
		name, field string
		in          fields
	}{
		{"create-deliverable", "title", fields{"title": " "}},
		{"create-deliverable", "criteria.1", fields{"title": "x", "criteria": []string{"a", " "}}},
		{"create-deliverable", "criteria.0", fields{"title": "x", "criteria": []string{strings.Repeat("x", 2001)}}},
		{"create-deliverable", "owner", fields{"title": "x", "owner": unassignable.id}},
		{"create-deliverable", "taskId", fields{"title": "x", "taskId": foreign.ID}},
		{"create-deliverable", "taskId", fields{"title": "x", "taskId": w.globex}},
		{"create-deliverable", "status", fields{"title": "x", "status": "ACCEPTED"}},
		{"update-deliverable", "title", fields{"title": nil}},
		{"update-deliverable", "title", fields{"title": "  "}},
		{"update-deliverable", "owner", fields{"owner": unassignable.id}},
		{"update-deliverable", "taskId", fields{"taskId": foreign.ID}},
		{"reject-deliverable", "failedCriteria", fields{}},
		{"reject-deliverable", "failedCriteria", fields{"failedCriteria": []op.UUID{}}},
		{"reject-deliverable", "failedCriteria", fields{"failedCriteria": []op.UUID{otherDeliverable.Criteria[0].ID}}},
		{"reject-deliverable", "failedCriteria", fields{"failedCriteria": []op.UUID{d.Criteria[0].ID, w.acme}}},
		{"list-deliverables", "cursor", fields{"cursor": "x"}},
		{"list-deliverables", "status", fields{"status": "LOST"}},
	} {
		in := merge(fields{"projectId": p.ID}, c.in)
		if !strings.HasPrefix(c.name, "create") && !strings.HasPrefix(c.name, "list") {
			in["deliverableId"] = d.ID
		}
		if f := w.wantError(fault.CodeValidation, w.manager, c.name, in); f.Field != c.field {
			t.Errorf("%s %v: got field %q, want %q", c.name, c.in, f.Field, c.field)
		}
	}
	got := do[contract.Deliverable](w, w.manager, "get-deliverable", fields{"projectId": p.ID, "deliverableId": d.ID})
	if got.Status != "UNDER_REVIEW" || got.Criteria[0].Failed {
		t.Errorf("after an invalid rejection: got %+v, want it unchanged", got)
	}
	w.wantError(fault.CodeNotFound, w.manager, "get-deliverable", fields{"projectId": other.ID, "deliverableId": d.ID})
}

func TestListDeliverables_NewestFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	task := w.createTask(p, "Plan")
	var want []op.UUID
	for i := range 7 {
		more := fields{}
		if i%2 == 0 {
			more["taskId"] = task.ID
		}
		want = append([]op.UUID{w.createDeliverable(p, []string{"DRAFT", "SUBMITTED"}[i/5], more).ID}, want...)
	}
	list := func(in fields) (ids []op.UUID) {
		for cursor := ""; ; {
			page := do[op.Page[contract.DeliverableSummary]](w, w.manager, "list-deliverables", merge(fields{"projectId": p.ID, "limit": 3, "cursor": cursor}, in))
			for _, item := range page.Items {
				ids = append(ids, item.ID)
			}
			if cursor = page.NextCursor; cursor == "" {
				return ids
			}
		}
	}
	if got := list(fields{}); !slices.Equal(got, want) {
		t.Errorf("deliverables: got %v, want %v", got, want)
	}
	if got := list(fields{"status": "SUBMITTED"}); !slices.Equal(got, want[:2]) {
		t.Errorf("status SUBMITTED: got %v, want %v", got, want[:2])
	}
	if got := list(fields{"taskId": task.ID}); len(got) != 4 {
		t.Errorf("deliverables of the task: got %v, want 4", got)
	}
	// Deleting a task keeps its deliverables.
	do[op.None](w, w.manager, "delete-task", fields{"projectId": p.ID, "task": task.Key})
	if got := list(fields{}); !slices.Equal(got, want) {
		t.Errorf("after deleting the task: got %v, want %v", got, want)
	}
	do[op.None](w, w.manager, "delete-project", fields{"projectId": p.ID})
	if n := w.count(`SELECT (SELECT count(*) FROM projects.deliverables WHERE project_id = $1) + (SELECT count(*) FROM projects.criteria WHERE project_id = $1)`, p.ID); n != 0 {
		t.Errorf("got %d rows after deleting the project, want 0", n)
	}
}

func TestCriterion_OfDeliverableAndTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other := w.createProject("Apollo"), w.createProject("Gemini")
	member := w.addPerson(person{roles: []string{"Member"}})
	assigned, unassigned := w.createTask(p, "Assigned", fields{"assignee": member.id}), w.createTask(p, "Unassigned")
	d := w.createDeliverable(p, "DRAFT")
	k := do[contract.Criterion](w, member, "create-criterion", fields{"projectId": p.ID, "taskId": assigned.ID, "text": " Lands softly "})
	if k.Text != "Lands softly" || k.TaskID != assigned.ID || k.Met {
		t.Errorf("created criterion: got %+v, want the trimmed text and the task, not met", k)
	}
	w.wantAuditAndEvents(1, "criterion.created", contract.EventCriterionCreated, k.ID)
	// With .own permissions, a user can only add criteria to their own tasks and
	// deliverables.
	w.wantError(fault.CodeForbidden, member, "create-criterion", fields{"projectId": p.ID, "taskId": unassigned.ID, "text": "x"})
	w.wantError(fault.CodeForbidden, member, "create-criterion", fields{"projectId": p.ID, "deliverableId": d.ID, "text": "x"})
	for _, c := range []struct {
		field string
		in    fields
	}{
		{"deliverableId", fields{"text": "x"}},
		{"deliverableId", fields{"text": "x", "taskId": assigned.ID, "deliverableId": d.ID}},
		{"text", fields{"text": " ", "taskId": assigned.ID}},
	} {
		if f := w.wantError(fault.CodeValidation, w.manager, "create-criterion", merge(fields{"projectId": p.ID}, c.in)); f.Field != c.field {
			t.Errorf("%v: got field %q, want %q", c.in, f.Field, c.field)
		}
	}
	at := fields{"projectId": p.ID, "criterionId": k.ID}
	w.wantError(fault.CodeNotFound, w.manager, "update-criterion", fields{"projectId": other.ID, "criterionId": k.ID, "met": true})
	met := do[contract.Criterion](w, member, "update-criterion", merge(fields{"met": true}, at))
	if !met.Met || met.MetBy != member.id || met.MetAt == nil {
		t.Errorf("criterion marked as met: got %+v, want it met by the member", met)
	}
	do[contract.Criterion](w, w.manager, "update-criterion", merge(fields{"met": true}, at))
	w.wantAuditAndEvents(1, "criterion.updated", contract.EventCriterionUpdated, k.ID)
	unmet := do[contract.Criterion](w, w.manager, "update-criterion", merge(fields{"met": false, "text": "Lands"}, at))
	if unmet.Met || unmet.MetBy != "" || unmet.MetAt != nil || unmet.Text != "Lands" {
		t.Errorf("criterion marked as not met: got %+v, want it not met, with the text Lands", unmet)
	}
	for _, field := range []string{"text", "met"} {
		if f := w.wantError(fault.CodeValidation, w.manager, "update-criterion", merge(fields{field: nil}, at)); f.Field != field {
			t.Errorf("null %s: got an error for field %q, want %q", field, f.Field, field)
		}
	}
	for _, c := range []struct {
		in   fields
		want int
	}{{fields{}, 3}, {fields{"taskId": assigned.ID}, 1}, {fields{"deliverableId": d.ID}, 2}, {fields{"deliverableId": w.acme}, 0}} {
		if got := do[op.Page[contract.Criterion]](w, member, "list-criteria", merge(fields{"projectId": p.ID}, c.in)); len(got.Items) != c.want {
			t.Errorf("%v: got %d criteria, want %d", c.in, len(got.Items), c.want)
		}
	}
	page := do[op.Page[contract.Criterion]](w, member, "list-criteria", fields{"projectId": p.ID, "limit": 2})
	rest := do[op.Page[contract.Criterion]](w, member, "list-criteria", fields{"projectId": p.ID, "limit": 2, "cursor": page.NextCursor})
	if len(page.Items) != 2 || len(rest.Items) != 1 || rest.NextCursor != "" || rest.Items[0].ID != k.ID {
		t.Errorf("page sizes: got %d and %d, want 2 and 1", len(page.Items), len(rest.Items))
	}
	do[op.None](w, member, "delete-criterion", at)
	w.wantAuditAndEvents(1, "criterion.deleted", contract.EventCriterionDeleted, k.ID)
	w.wantError(fault.CodeNotFound, member, "delete-criterion", at)
	for range 98 {
		do[contract.Criterion](w, w.manager, "create-criterion", fields{"projectId": p.ID, "deliverableId": d.ID, "text": "more"})
	}
	w.wantError(fault.CodeConflict, w.manager, "create-criterion", fields{"projectId": p.ID, "deliverableId": d.ID, "text": "one too many"})
}
