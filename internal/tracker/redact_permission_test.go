package tracker_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	contract "parapet/internal/contract/tracker"
)

// Without the permission to read tasks, issues or initiatives, every response contains an opaque
// id instead of the id of such a related record, and REDACTED instead of its key.
func TestReferences_AreRedactedWithoutTheReadPermission(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	moon := w.createInitiative("Moon")
	p := w.createProject("Apollo", fields{"initiativeId": moon.ID})
	issue := w.createIssueIn(p, "Leak")
	promoted := do[contract.Task](w, w.manager, "promote-issue", fields{"issue": issue.Key})
	agent := w.addAgent()
	epic := w.createTask(p, "Epic", fields{"issueType": "EPIC", "initiativeId": moon.ID, "status": "IN_PROGRESS"})
	task := w.createTask(p, "Land", fields{"assignee": agent.id})
	deliverable := w.createDeliverableIn(p, fields{"taskId": task.ID})
	criterion := do[contract.Criterion](w, w.manager, "create-criterion", fields{"projectId": p.ID, "taskId": task.ID, "text": "It works."})
	do[contract.Comment](w, w.manager, "create-comment", fields{"taskId": task.ID, "body": "Hm."})
	do[contract.Comment](w, w.manager, "create-comment", fields{"issueId": issue.ID, "body": "Hm."})
	do[contract.TimeEntry](w, w.manager, "create-time-entry", fields{"taskId": task.ID, "minutes": 5, "date": "2026-01-05"})
	spent := do[contract.TimeEntry](w, w.manager, "create-time-entry", fields{"issueId": issue.ID, "minutes": 5, "date": "2026-01-05"})
	run := w.listRuns(fields{"taskId": task.ID})[0]
	delegation := w.createDelegation(w.manager, w.addPerson(person{}), []string{"tasks.read"}, fields{"scope": "INITIATIVE", "initiativeId": moon.ID})
	w.bindRepo(p.ID, "/src/apollo")
	at := func(more fields) fields { return merge(fields{"projectId": p.ID}, more) }
	taskRef, issueRef, initiativeRef := []string{string(task.ID), task.Key}, []string{string(issue.ID), issue.Key}, []string{string(moon.ID)}
	promotedRef := []string{string(promoted.ID), promoted.Key}
	for i, r := range []struct {
		// grants are the caller's permissions; lacks is the one needed to see the reference.
		grants, lacks, name string
		in                  fields
		ids                 []string
	}{
		{"projects.read", "initiatives.read", "get-project", at(nil), initiativeRef},
		{"projects.read", "initiatives.read", "list-projects", fields{}, initiativeRef},
		{"projects.read", "initiatives.read", "find-project", fields{"hint": "/src/apollo"}, initiativeRef},
		{"projects.read tasks.read", "initiatives.read", "workspace", fields{}, initiativeRef},
		{"projects.read stages.read tasks.read", "initiatives.read", "get-project-overview", at(nil), initiativeRef},
		{"projects.read project.update", "initiatives.read", "update-project", at(fields{"description": "For the Moon."}), initiativeRef},
		{"tasks.read", "initiatives.read", "get-task", at(fields{"task": epic.Key}), initiativeRef},
		{"tasks.read", "initiatives.read", "list-tasks", at(nil), initiativeRef},
		{"tasks.read task.update", "initiatives.read", "update-task", at(fields{"task": epic.Key, "description": "x"}), initiativeRef},
		{"delegations.read", "initiatives.read", "get-delegation", fields{"delegationId": delegation.ID}, initiativeRef},
		{"delegations.read", "initiatives.read", "list-delegations", fields{}, initiativeRef},

		{"tasks.read", "issues.read", "get-task", at(fields{"task": promoted.Key}), issueRef},
		{"tasks.read task.update", "issues.read", "update-task", at(fields{"task": promoted.Key, "description": "x"}), issueRef},
		{"tasks.read issue.update task.create", "issues.read", "promote-issue", fields{"issue": issue.Key}, issueRef},
		{"comments.read", "issues.read", "list-comments", fields{"issueId": issue.ID}, issueRef},
		{"comments.read comment.create", "issues.read", "create-comment", fields{"issueId": issue.ID, "body": "x"}, issueRef},
		{"time_entries.read", "issues.read", "list-time-entries", fields{"projectId": p.ID}, issueRef},
		{"time_entries.read time_entry.update", "issues.read", "update-time-entry", fields{"timeEntryId": spent.ID, "minutes": 6}, issueRef},

		{"issues.read", "tasks.read", "get-issue", fields{"issue": issue.Key}, promotedRef},
		{"issues.read", "tasks.read", "list-issues", fields{}, promotedRef},
		{"issues.read issue.update", "tasks.read", "update-issue", fields{"issue": issue.Key, "description": "x"}, promotedRef},
		{"issues.read issue.escalate", "tasks.read", "escalate-issue", fields{"issue": issue.Key, "severity": "HIGH"}, promotedRef},
		{"deliverables.read", "tasks.read", "get-deliverable", at(fields{"deliverableId": deliverable.ID}), taskRef},
		{"deliverables.read", "tasks.read", "list-deliverables", at(nil), taskRef},
		{"deliverables.read deliverable.update", "tasks.read", "update-deliverable", at(fields{"deliverableId": deliverable.ID, "description": "x"}), taskRef},
		{"deliverables.read", "tasks.read", "list-criteria", at(nil), taskRef},
		{"deliverables.read deliverable.update", "tasks.read", "update-criterion", at(fields{"criterionId": criterion.ID, "met": true}), taskRef},
		{"comments.read", "tasks.read", "list-comments", fields{"taskId": task.ID}, taskRef},
		{"time_entries.read", "tasks.read", "list-time-entries", fields{}, taskRef},
		{"runs.read", "tasks.read", "list-runs", fields{}, taskRef},
		{"runs.read", "tasks.read", "get-run", fields{"runId": run.ID}, taskRef},
	} {
		role := "Reference " + string(rune('A'+i))
		w.addRole(role, strings.Fields(r.grants)...)
		w.addRole(role+"+", append(strings.Fields(r.grants), r.lacks)...)
		show := func(role string) string {
			out, err := w.call(w.addPerson(person{roles: []string{role}}), r.name, r.in)
			if err != nil {
				t.Fatalf("%s with the role %s: got %v, want no error", r.name, role, err)
			}
			text, err := json.Marshal(out)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		without, with := show(role), show(role+"+")
		for _, id := range r.ids {
			if strings.Contains(without, `"`+id+`"`) {
				t.Errorf("%s with %s, without %s: got the id %s in %.400s, want it redacted", r.name, r.grants, r.lacks, id, without)
			}
		}
		if !strings.Contains(with, `"`+r.ids[0]+`"`) {
			t.Errorf("%s with %s: got %.400s, want the id %s in it", r.name, r.lacks, with, r.ids[0])
		}
		// Redacted fields are still present.
		if r.name != "workspace" && len(missingFields(with, without)) > 0 {
			t.Errorf("%s without %s: got a response without the fields %v, want them redacted", r.name, r.lacks, missingFields(with, without))
		}
	}
	// Only the response is redacted, not the event.
	for _, event := range []string{contract.EventCriterionUpdated.Name, contract.EventDeliverableUpdated.Name} {
		if n := w.count(`SELECT count(*) FROM events.outbox WHERE type = $1 AND payload->'resource'->>'taskId' = $2`, event, string(task.ID)); n == 0 {
			t.Errorf("events %s with the task: got none, want some", event)
		}
	}
}

// missingFields returns the JSON field names in text of that are not in text in.
func missingFields(of, in string) []string {
	names := func(text string) map[string]bool {
		found := map[string]bool{}
		for part := range strings.SplitSeq(text, `":`) {
			if i := strings.LastIndex(part, `"`); i >= 0 {
				found[part[i+1:]] = true
			}
		}
		return found
	}
	present := names(in)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(names(of))), func(n string) bool { return present[n] })
}

// Lists every response field that identifies a related task, issue or initiative, with the
// reason why it reveals nothing hidden. New fields must be added here.
func TestReferences_EveryFieldIsListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const (
		redacted = "redacted by redactReferences or where it is read"
		inTasks  = "a task of the same project, which every reader of the record may read"
		byCaller = "given in the request"
	)
	known := map[string]string{
		"ProjectSummary.InitiativeID": redacted, "TaskSummary.InitiativeID": redacted, "TaskSummary.EpicID": redacted, "IssueRef.ID": redacted,
		"IssueSummary.PromotedTaskID": redacted, "DeliverableSummary.TaskID": redacted, "Criterion.TaskID": redacted,
		"Comment.TaskID": redacted, "Comment.IssueID": redacted, "TimeEntry.TaskID": redacted, "TimeEntry.IssueID": redacted,
		"AgentRunSummary.TaskID": redacted, "Delegation.InitiativeID": redacted, "EpicRef.ID": redacted, "TaskRef.ID": redacted,
		"TaskSummary.ParentTaskID": inTasks, "Criterion.DeliverableID": inTasks,
		"DecisionRequest.TaskID": byCaller, "ImportResult.TaskID": byCaller,
	}
	found := map[string]bool{}
	var walk func(reflect.Type)
	walk = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(of.Elem())
		case reflect.Struct:
			for i := range of.NumField() {
				f := of.Field(i)
				name := of.Name() + "." + f.Name
				isRef := f.Name == "ID" && strings.HasSuffix(of.Name(), "Ref") ||
					f.Name != "ID" && (strings.HasSuffix(f.Name, "TaskID") || slices.Contains([]string{"IssueID", "InitiativeID", "EpicID", "DeliverableID"}, f.Name))
				if isRef {
					found[name] = true
				}
				walk(f.Type)
			}
		}
	}
	for _, o := range w.operations {
		walk(o.Out)
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if known[name] == "" {
			t.Errorf("fields that refer to records: got %s, which is not listed; redact it, or list it with the reason why it needs no redaction", name)
		}
	}
	for name := range known {
		if !found[name] {
			t.Errorf("listed fields: got %s, which no response contains; remove it", name)
		}
	}
}
