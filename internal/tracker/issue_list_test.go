package tracker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func TestListIssues_FiltersSearchesAndPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other := w.createProject("Apollo"), w.createProject("Gemini", fields{"issuePrefix": "GEM"})
	member := w.addPerson(person{roles: []string{"Member"}})
	w.createIssue(p, "Leak in the tank", fields{"severity": "CRITICAL"})
	w.createIssue(p, "100% load", fields{"description": "Hay with a needle in it"})
	w.createIssue(other, "Smoke", fields{"severity": "LOW"})
	w.createIssue(p, "Noise")
	do[contract.Issue](w, w.manager, "assign-issue", fields{"issue": "ISS-2", "assignee": member.id})
	do[contract.Issue](w, w.manager, "resolve-issue", fields{"issue": "ISS-3", "resolution": "FIXED"})
	for _, c := range []struct {
		in   fields
		want string
	}{
		{fields{}, "ISS-3 GEM-1 ISS-2 ISS-1"},
		{fields{"projectId": p.ID}, "ISS-3 ISS-2 ISS-1"},
		{fields{"severity": "CRITICAL"}, "ISS-1"},
		{fields{"severity": "MEDIUM", "projectId": other.ID}, ""},
		{fields{"status": "RESOLVED"}, "ISS-3"},
		{fields{"status": "OPEN", "projectId": p.ID}, "ISS-2 ISS-1"},
		{fields{"assignee": member.id}, "ISS-2"},
		{fields{"search": "NEEDLE"}, "ISS-2"},
		{fields{"search": "leak in"}, "ISS-1"},
		{fields{"search": "tank lea"}, "ISS-1"},
		{fields{"search": "needle tank"}, ""},
		{fields{"search": "needle OR tank"}, "ISS-2 ISS-1"},
		{fields{"search": "o"}, ""},
		{fields{"search": "sm"}, "GEM-1"},
		{fields{"search": "moke"}, "GEM-1"},
		{fields{"search": "smoke", "projectId": p.ID}, ""},
		{fields{"search": "smoke", "projectId": other.ID}, "GEM-1"},
		{fields{"search": "%"}, "ISS-2"},
		{fields{"search": "gem-1"}, "GEM-1"},
		{fields{"search": "nothing"}, ""},
		{fields{"search": "needle", "severity": "LOW"}, ""},
	} {
		if got := issueKeys(do[op.Page[contract.IssueSummary]](w, member, "list-issues", c.in)); got != c.want {
			t.Errorf("%v: got %q, want %q", c.in, got, c.want)
		}
	}
	// Searches return only readable issues.
	secret := w.createIssue(w.createProject("Secret", fields{"classification": "SECRET"}), "Smoke signals")
	otherTenantUser := w.addPerson(person{roles: []string{"Admin"}, tenant: w.globex, clearance: "SECRET"})
	for who, want := range map[*person]string{w.manager: secret.Key + " GEM-1", member: "GEM-1", otherTenantUser: ""} {
		if got := issueKeys(do[op.Page[contract.IssueSummary]](w, who, "list-issues", fields{"search": "smoke"})); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	do[contract.Issue](w, w.manager, "update-issue", fields{"issue": "GEM-1", "title": "Fire"})
	for search, want := range map[string]string{"smoke": "", "fire": "GEM-1"} {
		if got := issueKeys(do[op.Page[contract.IssueSummary]](w, member, "list-issues", fields{"search": search})); got != want {
			t.Errorf("search %s: got %q, want %q", search, got, want)
		}
	}
	// Pages are full, ordered and without duplicates, also for issues with equal timestamps.
	w.setTime(time.Date(2027, 3, 1, 9, 0, 0, 0, time.UTC))
	for i := range 7 {
		w.createIssue(p, fmt.Sprint("Same ", i))
	}
	all := issueKeys(do[op.Page[contract.IssueSummary]](w, member, "list-issues", fields{}))
	for _, limit := range []int{1, 3, 4, 11} {
		var got []string
		cursor := ""
		for {
			in := fields{"limit": limit}
			if cursor != "" {
				in["cursor"] = cursor
			}
			page := do[op.Page[contract.IssueSummary]](w, member, "list-issues", in)
			got = append(got, strings.Fields(issueKeys(page))...)
			if cursor = page.NextCursor; cursor == "" {
				break
			}
			if len(page.Items) != limit {
				t.Errorf("got a page of %d items before the last page, want %d", len(page.Items), limit)
			}
		}
		if strings.Join(got, " ") != all {
			t.Errorf("limit %d: got %v, want %s", limit, got, all)
		}
	}
	// A cursor of another list or another tenant is rejected.
	page := do[op.Page[contract.IssueSummary]](w, member, "list-issues", fields{"limit": 1})
	w.wantError(fault.CodeValidation, otherTenantUser, "list-issues", fields{"cursor": page.NextCursor})
	w.wantError(fault.CodeValidation, member, "list-projects", fields{"cursor": page.NextCursor})
	if got := do[op.Page[contract.IssueSummary]](w, otherTenantUser, "list-issues", fields{}); len(got.Items) != 0 {
		t.Errorf("caller of another tenant: got %s, want nothing", issueKeys(got))
	}
}

func TestListIssues_AgreesWithGetIssue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tiers := []string{"UNCLASSIFIED", "INTERNAL", "RESTRICTED", "CONFIDENTIAL", "SECRET"}
	var projects []*contract.Project
	var names []string
	for i, tier := range tiers {
		p := w.createProject("P"+tier, fields{"classification": tier, "organisationId": []op.UUID{w.orgA, w.orgB}[i%2]})
		projects, names = append(projects, p), append(names, w.createIssue(p, tier).Key)
	}
	slices.Reverse(names)
	readers := []*person{w.manager, w.addPerson(person{roles: []string{"Admin"}, tenant: w.globex, clearance: "SECRET"}),
		w.addPerson(person{roles: []string{"Member"}, projects: []op.UUID{projects[0].ID, projects[1].ID}, clearance: "SECRET"}),
		w.addPerson(person{roles: []string{"Member"}, clearance: "SECRET", caveats: []string{"project:" + string(projects[2].ID)}})}
	for _, tier := range tiers {
		readers = append(readers, w.addPerson(person{roles: []string{"Auditor"}, clearance: tier}))
	}
	for i, who := range readers {
		var want []string
		for _, name := range names {
			if _, err := w.call(who, "get-issue", fields{"issue": name}); err == nil {
				want = append(want, name)
			}
		}
		if got := issueKeys(do[op.Page[contract.IssueSummary]](w, who, "list-issues", fields{})); got != strings.Join(want, " ") {
			t.Errorf("reader %d: list-issues returned %q, get-issue allows %q", i, got, want)
		}
	}
	if got := len(strings.Fields(issueKeys(do[op.Page[contract.IssueSummary]](w, readers[2], "list-issues", fields{})))); got != 2 {
		t.Errorf("member of two projects: got %d issues, want 2", got)
	}
	guest := w.addPerson(person{roles: []string{"Guest Customer"}})
	if f := w.wantError(fault.CodeForbidden, guest, "list-issues", fields{}); f.Permission != "issues.read" {
		t.Errorf("list-issues: got the missing permission %q, want issues.read", f.Permission)
	}
}
