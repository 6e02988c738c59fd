package tracker_test

import (
	"fmt"
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// An update that changes nothing returns the record, so it requires the read permission. The
// update permission alone is not enough.
func TestUnchangedUpdate_RequiresReadPermission(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	type request struct {
		name   string
		grants []string
		read   string
		make   func(p *contract.Project, who *person) fields
	}
	all := []request{
		{"update-project", []string{"project.update"}, "projects.read", func(p *contract.Project, _ *person) fields { return fields{"projectId": p.ID, "name": p.Name} }},
		{"update-initiative", []string{"initiative.update"}, "initiatives.read", func(p *contract.Project, _ *person) fields {
			return fields{"initiativeId": w.createInitiative("Moon").ID, "name": "Moon"}
		}},
		{"update-task", []string{"task.update"}, "tasks.read", func(p *contract.Project, _ *person) fields {
			return fields{"projectId": p.ID, "task": w.createTask(p, "Land").Key, "title": "Land"}
		}},
		{"set-custom-field-values", []string{"task.update"}, "tasks.read", func(p *contract.Project, _ *person) fields {
			return fields{"projectId": p.ID, "task": w.createTask(p, "Land").Key, "values": []fields{{"field": w.createFieldIn(p).ID, "value": ""}}}
		}},
		{"update-issue", []string{"issue.update"}, "issues.read", func(p *contract.Project, _ *person) fields {
			return fields{"issue": w.createIssueIn(p, "Leak").Key, "title": "Leak"}
		}},
		{"escalate-issue", []string{"issue.escalate"}, "issues.read", func(p *contract.Project, _ *person) fields {
			return fields{"issue": w.createIssueIn(p, "Leak").Key, "severity": "LOW"}
		}},
		{"promote-issue", []string{"issue.update", "task.create"}, "tasks.read", func(p *contract.Project, _ *person) fields {
			issue := fields{"issue": w.createIssueIn(p, "Leak").Key}
			do[contract.Task](w, w.manager, "promote-issue", issue)
			return issue
		}},
		{"update-stage", []string{"stage.update"}, "stages.read", func(p *contract.Project, _ *person) fields {
			return fields{"projectId": p.ID, "stageId": w.createStage(p.ID, "Design").ID, "name": "Design"}
		}},
		{"update-gate", []string{"gate.update"}, "stages.read", func(p *contract.Project, _ *person) fields {
			return fields{"projectId": p.ID, "gateId": w.createGateAfter(p.ID, w.createStage(p.ID, "Design").ID, "Review").ID, "name": "Review"}
		}},
		{"update-deliverable", []string{"deliverable.update"}, "deliverables.read", func(p *contract.Project, _ *person) fields {
			return fields{"projectId": p.ID, "deliverableId": w.createDeliverableIn(p).ID, "title": "Report"}
		}},
		{"update-criterion", []string{"deliverable.update"}, "deliverables.read", func(p *contract.Project, _ *person) fields {
			return fields{"projectId": p.ID, "criterionId": w.createDeliverableIn(p, fields{"criteria": []string{"It works."}}).Criteria[0].ID, "text": "It works."}
		}},
		{"update-custom-field", []string{"project.update"}, "projects.read", func(p *contract.Project, _ *person) fields {
			return fields{"projectId": p.ID, "fieldId": w.createFieldIn(p).ID, "name": "Team"}
		}},
		{"bind-repo", []string{"project.update"}, "projects.read", func(p *contract.Project, _ *person) fields {
			w.bindRepo(p.ID, "/src/"+p.Prefix)
			return fields{"projectId": p.ID, "path": "/src/" + p.Prefix}
		}},
		{"update-comment", []string{"comment.create", "comment.update.own"}, "comments.read", func(p *contract.Project, who *person) fields {
			comment := do[contract.Comment](w, who, "create-comment", fields{"taskId": w.createTask(p, "Land").ID, "body": "Hm."})
			return fields{"commentId": comment.ID, "body": "Hm."}
		}},
		{"update-time-entry", []string{"time_entry.update"}, "time_entries.read", func(p *contract.Project, _ *person) fields {
			entry := do[contract.TimeEntry](w, w.manager, "create-time-entry", fields{"projectId": p.ID, "minutes": 5, "date": "2026-01-05"})
			return fields{"timeEntryId": entry.ID, "minutes": 5}
		}},
		{"revoke-delegation", []string{"delegation.revoke"}, "delegations.read", func(p *contract.Project, _ *person) fields {
			d := w.createDelegation(w.manager, w.addPerson(person{}), []string{"tasks.read"}, fields{"scope": "PROJECT", "projectId": p.ID})
			do[contract.Delegation](w, w.manager, "revoke-delegation", fields{"delegationId": d.ID})
			return fields{"delegationId": d.ID}
		}},
	}
	for i, r := range all {
		w.addRole(fmt.Sprintf("Writer %d", i), r.grants...)
		w.addRole(fmt.Sprintf("Reader %d", i), r.read)
	}
	for i, r := range all {
		t.Run(r.name, func(t *testing.T) {
			p := w.createProject(fmt.Sprintf("Apollo %d", i))
			writer := w.addPerson(person{roles: []string{fmt.Sprintf("Writer %d", i)}, clearance: "SECRET"})
			in := r.make(p, writer)
			entries := w.count(`SELECT count(*) FROM audit.entries`)
			if f := w.wantError(fault.CodeForbidden, writer, r.name, in); f.Permission != r.read {
				t.Errorf("got permission %q, want %q", f.Permission, r.read)
			}
			writer.roles = append(writer.roles, fmt.Sprintf("Reader %d", i))
			if _, err := w.call(writer, r.name, in); err != nil {
				t.Errorf("%s without a change, with %s: got %v, want no error", r.name, r.read, err)
			}
			if now := w.count(`SELECT count(*) FROM audit.entries`); now != entries {
				t.Errorf("got %d audit entries for an unchanged update, want 0", now-entries)
			}
		})
	}
}

func TestProjectOverview_OmitsStagesWithoutStagesRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addRole("No stages", "projects.read", "tasks.read")
	p, secret := w.createProject("Apollo"), w.createProject("Secret", fields{"classification": "SECRET"})
	w.createStage(p.ID, "Design")
	w.createTask(p, "Land")
	who := w.addPerson(person{roles: []string{"No stages"}})
	got := do[contract.ProjectOverview](w, who, "get-project-overview", fields{"projectId": p.ID})
	if !got.StagesOmitted || len(got.Stages) != 0 || got.Reduced || got.Project == nil || got.Stats == nil || got.Stats.Tasks == nil || got.Stats.Tasks.Total != 1 {
		t.Errorf("overview without stages.read: got %+v, want it complete without the stages", got)
	}
	hidden := w.wantError(fault.CodeNotFound, who, "get-project-overview", fields{"projectId": secret.ID})
	absent := w.wantError(fault.CodeNotFound, who, "get-project-overview", fields{"projectId": w.acme})
	if hidden.Message != absent.Message {
		t.Errorf("hidden and missing project: got the messages %q and %q, want the same", hidden.Message, absent.Message)
	}
	// A caller who may see neither part gets the same error for every project id.
	withoutPermission := w.addPerson(person{roles: []string{"Initiative Reader"}})
	for _, id := range []op.UUID{p.ID, secret.ID, w.acme} {
		if f := w.wantError(fault.CodeForbidden, withoutPermission, "get-project-overview", fields{"projectId": id}); f.Permission != "stages.read" {
			t.Errorf("get-project-overview: got the missing permission %q, want stages.read", f.Permission)
		}
	}
}
