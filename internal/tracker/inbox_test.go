package tracker_test

import (
	"fmt"
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/op"
)

// inboxText returns the keys of an inbox by section, and + after a section that has more;
// "-" is an absent section.
func inboxText(in *contract.Inbox) string {
	more := map[bool]string{true: "+"}
	tasks := func(s *contract.InboxTasks) string {
		if s == nil {
			return "-"
		}
		return "[" + keys(s.Items) + "]" + more[s.HasMore]
	}
	decisions := "-"
	if in.Decisions != nil {
		var asked []contract.TaskSummary
		for _, d := range in.Decisions.Items {
			asked = append(asked, contract.TaskSummary{Key: d.TaskKey})
		}
		decisions = "[" + keys(asked) + "]" + more[in.Decisions.HasMore]
	}
	return fmt.Sprintf("decisions %s reviews %s assigned %s ready %s", decisions, tasks(in.Reviews), tasks(in.Assigned), tasks(in.Ready))
}

func TestInbox_ContainsWhatWaitsForTheCaller(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	member, other := w.addPerson(person{roles: []string{"Member"}}), w.addPerson(person{roles: []string{"Member"}})
	apollo, gemini := w.createProject("Apollo", fields{"prefix": "AP"}), w.createProject("Gemini", fields{"prefix": "GE"})
	secret := w.createProject("Secret", fields{"prefix": "SE", "classification": "SECRET"})
	for _, p := range []*contract.Project{apollo, gemini, secret} {
		w.createTask(p, "Free")                                               // 1: ready
		w.createTask(p, "Urgent", fields{"priority": "URGENT"})               // 2: ready, first
		w.createTask(p, "Check", fields{"status": "IN_REVIEW"})               // 3: review
		w.createTask(p, "Finished", fields{"status": "DONE"})                 // 4: nowhere
		w.createTask(p, "Big", fields{"issueType": "EPIC"})                   // 5: nowhere
		asked := w.createTask(p, "Asked", fields{"assignee": w.manager.id})   // 6: decision
		w.createTask(p, "Checked by me", fields{"assignee": w.manager.id})    // 7: in review, assigned
		w.createTask(p, "Of somebody else", fields{"assignee": w.manager.id}) // 8: assigned
		do[contract.Task](w, w.manager, "update-task", fields{"projectId": p.ID, "task": asked.Key, "status": "IN_PROGRESS"})
		do[contract.Task](w, w.manager, "update-task", fields{"projectId": p.ID, "task": p.Prefix + "-7", "status": "IN_REVIEW"})
		do[contract.DecisionRequest](w, w.manager, "mark-awaiting-decision", fields{"projectId": p.ID, "task": asked.Key, "question": "Which?", "options": []string{"x", "y"}})
	}
	for _, key := range []string{"AP-1", "GE-4"} {
		p := map[byte]*contract.Project{'A': apollo, 'G': gemini}[key[0]]
		do[contract.Task](w, w.manager, "update-task", fields{"projectId": p.ID, "task": key, "assignee": member.id})
	}
	for _, c := range []struct {
		name string
		who  *person
		in   fields
		want string
	}{
		{"member", member, fields{}, "decisions [AP-6 GE-6] reviews [AP-3 AP-7 GE-3 GE-7] assigned [AP-1] ready [AP-2 GE-2 GE-1]"},
		{"another member", other, fields{}, "decisions [AP-6 GE-6] reviews [AP-3 AP-7 GE-3 GE-7] assigned [] ready [AP-2 GE-2 GE-1]"},
		{"limit", member, fields{"limit": 2}, "decisions [AP-6 GE-6] reviews [AP-3 AP-7]+ assigned [AP-1] ready [AP-2 GE-2]+"},
		{"limit of 1", member, fields{"limit": 1}, "decisions [AP-6]+ reviews [AP-3]+ assigned [AP-1] ready [AP-2]+"},
		{"manager with clearance", w.manager, fields{}, "decisions [AP-6 GE-6 SE-6] reviews [AP-3 GE-3 SE-3] assigned [AP-6 AP-7 AP-8 GE-6 GE-7 GE-8 SE-6 SE-7 SE-8] ready [AP-2 GE-2 SE-2 GE-1 SE-1]"},
		{"member of one project", w.addPerson(person{roles: []string{"Member"}, projects: []op.UUID{gemini.ID}}), fields{}, "decisions [GE-6] reviews [GE-3 GE-7] assigned [] ready [GE-2 GE-1]"},
		{"agent", w.addPerson(person{roles: []string{"Agent"}, kind: "AGENT"}), fields{}, "decisions - reviews [] assigned [] ready [AP-2 GE-2 GE-1]"},
		{"auditor", w.addPerson(person{roles: []string{"Auditor"}}), fields{}, "decisions - reviews - assigned [] ready -"},
		{"without a role", w.addPerson(person{}), fields{}, "decisions - reviews - assigned - ready -"},
		{"another tenant", w.addPerson(person{roles: []string{"Member"}, tenant: w.globex}), fields{}, "decisions [] reviews [] assigned [] ready []"},
	} {
		got := do[contract.Inbox](w, c.who, "inbox", c.in)
		if text := inboxText(got); text != c.want {
			t.Errorf("%s: got %s, want %s", c.name, text, c.want)
		}
		if got.Decisions != nil {
			for _, d := range got.Decisions.Items {
				if d.Question != "Which?" || len(d.Options) != 2 || d.Status != "open" || d.TaskID == "" || d.RaisedBy != w.manager.id {
					t.Errorf("%s: got the decision request %+v, want the open question with its options", c.name, d)
				}
			}
		}
	}
}
