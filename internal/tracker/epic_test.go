package tracker_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func TestListEpicChildren_CoversAllProjectsAndMasksUnreadable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	projects := []*contract.Project{
		w.createProject("Open", fields{"prefix": "OPN"}), w.createProject("Secret", fields{"prefix": "SEC", "classification": "SECRET"}), w.createProject("Third", fields{"prefix": "THI"}),
	}
	epic := w.createTask(projects[0], "Moon", fields{"issueType": "EPIC"})
	hidden := w.createTask(projects[1], "Hush", fields{"issueType": "EPIC"})
	plain := w.createTask(projects[0], "Plain")
	byID := map[op.UUID]*contract.Task{}
	for i := range 5 {
		for _, p := range projects {
			child := w.createTask(p, fmt.Sprintf("Child %d of %s", i, p.Name), fields{"epicId": epic.ID, "priority": "HIGH"})
			byID[child.ID] = child
		}
	}
	member := w.addPerson(person{roles: []string{"Member"}})
	all := func(who *person, limit int) (items []contract.EpicChild, cursors []string) {
		for cursor := ""; ; {
			page := do[op.Page[contract.EpicChild]](w, who, "list-epic-children", fields{"epicId": epic.ID, "limit": limit, "cursor": cursor})
			items = append(items, page.Items...)
			if cursor = page.NextCursor; cursor == "" {
				return items, cursors
			}
			if len(page.Items) != limit {
				t.Fatalf("size of a page before the last: got %d, want %d", len(page.Items), limit)
			}
			cursors = append(cursors, cursor)
		}
	}
	full, _ := all(w.manager, 200)
	if len(full) != 15 {
		t.Fatalf("children for the manager: got %d, want 15", len(full))
	}
	for i, item := range full {
		child := byID[item.ID]
		if child == nil || item.Key != child.Key || item.Title != child.Title || item.ProjectID != child.ProjectID || item.IsCrossProject != (child.ProjectID != epic.ProjectID) || item.Priority != "HIGH" || item.Status != "TODO" {
			t.Errorf("child of the epic: got %+v, want the created child %+v", item, child)
		}
		if i > 0 && full[i-1].ProjectID == item.ProjectID && byID[full[i-1].ID].CreatedAt.After(child.CreatedAt) {
			t.Errorf("children of the epic: got %s after %s, want them in order of creation", item.Key, full[i-1].Key)
		}
	}
	secrets := string(projects[1].ID) + " " + fmt.Sprint(projects[1].Prefix)
	for _, limit := range []int{1, 2, 4, 200} {
		items, cursors := all(member, limit)
		if len(items) != 15 {
			t.Fatalf("limit %d: got %d children, want 15", limit, len(items))
		}
		masked := 0
		seen := map[op.UUID]bool{}
		for i, item := range items {
			if seen[item.ID] {
				t.Errorf("children of the epic: got %s twice, want it once", item.ID)
			}
			seen[item.ID] = true
			if full[i].ProjectID != projects[1].ID {
				if item.ID != full[i].ID || item.Key != full[i].Key {
					t.Errorf("got %+v, want %+v", item, full[i])
				}
				continue
			}
			masked++
			if item != (contract.EpicChild{ID: item.ID, Key: "REDACTED", Title: "REDACTED", IsCrossProject: true}) || byID[item.ID] != nil {
				t.Errorf("child in a hidden project: got %+v, want it masked", item)
			}
		}
		if masked != 5 {
			t.Errorf("got %d masked children, want 5", masked)
		}
		for _, cursor := range cursors {
			text, _ := base64.RawURLEncoding.DecodeString(cursor)
			for id, child := range byID {
				if child.ProjectID == projects[1].ID && (strings.Contains(string(text), string(id)) || strings.Contains(string(text), strings.Fields(secrets)[0])) {
					t.Errorf("cursor of list-epic-children: got %s, want it without a hidden child or its project", text)
				}
			}
		}
	}
	// An unreadable epic, a task that is not an epic and a missing id return the same error.
	otherProject := w.addPerson(person{roles: []string{"Project Manager"}, projects: []op.UUID{projects[2].ID}})
	otherTenant := w.addPerson(person{roles: []string{"Project Manager"}, tenant: w.globex, clearance: "SECRET"})
	messages := map[string]bool{}
	for _, c := range []struct {
		who *person
		id  op.UUID
	}{{member, hidden.ID}, {otherProject, epic.ID}, {otherTenant, epic.ID}, {member, plain.ID}, {member, w.acme}} {
		messages[w.wantError(fault.CodeNotFound, c.who, "list-epic-children", fields{"epicId": c.id}).Message] = true
	}
	if len(messages) != 1 || !messages["There is no such epic."] {
		t.Errorf("got error messages %v, want only \"There is no such epic.\"", messages)
	}
	// A manager of only the epic's project sees the children of other projects masked.
	epicManager := w.addPerson(person{roles: []string{"Project Manager"}, projects: []op.UUID{projects[0].ID}})
	items, _ := all(epicManager, 3)
	masked := 0
	for _, item := range items {
		if item.Key == "REDACTED" {
			masked++
		}
	}
	if len(items) != 15 || masked != 10 {
		t.Errorf("got %d children, %d of them masked, want 15 and 10", len(items), masked)
	}
	for _, cursor := range []string{"x", op.NewCursor("list-epic-children", w.acme, string(hidden.ID), "", "0", "0"), op.NewCursor("list-epic-children", w.acme, string(epic.ID), "y", "0", "0"), op.NewCursor("list-epic-children", w.acme, string(epic.ID), "", "0", "-1")} {
		w.wantError(fault.CodeValidation, member, "list-epic-children", fields{"epicId": epic.ID, "cursor": cursor})
	}
}
