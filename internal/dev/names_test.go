package dev

import (
	"strings"
	"testing"

	"parapet/internal/contract/identity"
	"parapet/internal/op"
)

// named is a record with the references that the tests look at.
type named struct {
	ID, Key, Assignee                              string
	Project, AssigneeUser, CreatedByUser, EpicTask *op.Reference
}

// TestServer_AcceptsNames sends names in place of ids to a real server, and looks for the
// names of the records next to the ids in its responses.
func TestServer_AcceptsNames(t *testing.T) {
	t.Parallel()
	s := &stage{Dev: startDev(t), t: t}
	manager := s.loginAs("project-manager@acme.example")
	admin := s.loginAs("admin@acme.example")
	s.want(201, "", "POST", "/api/projects", manager, body{"name": "Granite Quay", "prefix": "GRAN", "startDate": "2027-01-01"})
	s.want(201, "", "POST", "/api/projects", manager, body{"name": "Granite Pier", "prefix": "PIER", "startDate": "2027-01-01"})
	s.want(201, "", "POST", "/api/projects", manager, body{"name": "Hidden Vault", "prefix": "VAULT", "startDate": "2027-01-01", "classification": "CONFIDENTIAL"})
	tasks := "/api/projects/gran/tasks"

	t.Run("inputs name records", func(t *testing.T) {
		s := &stage{Dev: s.Dev, t: t}
		epic := decode[named](t, s.want(201, "", "POST", "/api/projects/Granite%20Quay/tasks", manager, body{"title": "Harbour wall", "issueType": "EPIC"}))
		for _, who := range []string{"me", "ME", "Project-Manager@acme.example"} {
			made := decode[named](t, s.want(201, "", "POST", tasks, manager, body{"title": "Task of " + who, "assignee": who, "epicId": strings.ToLower(epic.Key), "allowDuplicate": true}))
			if made.AssigneeUser == nil || made.AssigneeUser.Email != "project-manager@acme.example" || made.EpicTask == nil || made.EpicTask.ID != op.UUID(epic.ID) {
				t.Errorf("assignee %q and epic %s: got %+v and %+v", who, epic.Key, made.AssigneeUser, made.EpicTask)
			}
		}
		s.want(200, "Task of me", "GET", "/api/tasks/"+epic.Key+"/children", manager, nil)
		s.want(200, `"items":[]`, "GET", tasks+"?assignee=reviewer", manager, nil)
		s.want(200, "Task of me", "GET", tasks+"?assignee=me&epicId="+epic.Key, manager, nil)
		s.want(201, `"userId":`, "POST", "/api/roles/reviewer/assignments", admin, body{"userId": "member@acme.example", "scope": "project", "scopeId": "GRAN"})
		s.want(200, "Acme Works", "GET", "/api/organisations/acme%20works", admin, nil)
		s.want(200, `"slug":"acme"`, "GET", "/api/tenants/acme", admin, nil)
		s.want(200, "multi-llm-review", "GET", "/api/users/multi-llm-review", admin, nil)
	})
	t.Run("a part of a name finds a project, but never changes one", func(t *testing.T) {
		s := &stage{Dev: s.Dev, t: t}
		s.want(200, "Granite Quay", "GET", "/api/projects/quay", manager, nil)
		s.want(409, `"candidates":[`, "GET", "/api/projects/granite", manager, nil)
		s.want(404, "NOT_FOUND", "PATCH", "/api/projects/quay", manager, body{"description": "x"})
		s.want(404, "NOT_FOUND", "DELETE", "/api/projects/quay", admin, nil)
		s.want(201, "", "POST", "/api/projects", manager, body{"name": "GRAN", "prefix": "OTHER", "startDate": "2027-01-01"})
		s.want(409, `"candidates":[`, "GET", "/api/projects/GRAN", manager, nil)
		s.want(200, "", "PATCH", "/api/projects/OTHER", manager, body{"name": "Other"})
	})
	t.Run("names of hidden records are unknown", func(t *testing.T) {
		s := &stage{Dev: s.Dev, t: t}
		member := s.loginAs("member@acme.example")
		hidden, missing := s.do("GET", "/api/projects/VAULT", member, nil), s.do("GET", "/api/projects/NOSUCH", member, nil)
		if hidden.Code != 404 || hidden.Error.Message != missing.Error.Message {
			t.Errorf("hidden project: got %d %q, want the 404 of a missing one, %q", hidden.Code, hidden.Error.Message, missing.Error.Message)
		}
		s.want(400, `"field":"assignee"`, "POST", tasks, manager, body{"title": "T", "assignee": "member@globex.example"})
		s.want(404, "NOT_FOUND", "GET", "/api/projects/GRAN", s.loginAs("project-manager@globex.example"), nil)
		// Guests may not read the directory.
		guest := s.loginAs("guest@acme.example")
		s.want(400, `"field":"assignee"`, "GET", tasks+"?assignee=admin@acme.example", guest, nil)
	})
	t.Run("an address that users set themselves does not identify them", func(t *testing.T) {
		s := &stage{Dev: s.Dev, t: t}
		session, password := s.loginAs("reviewer@acme.example"), decode[struct{ Password string }](t, answer{Body: s.credentials(t, "reviewer@acme.example")}).Password
		takeAddress := func(email string) {
			t.Helper()
			s.want(204, "", "PUT", "/api/auth/email", session, body{"email": email, "currentPassword": password})
		}
		reviewer := s.user("acme", "reviewer@acme.example")
		// The address of somebody who is not a member yet.
		takeAddress("alice@acme.example")
		s.want(400, `"field":"assignee"`, "POST", tasks, manager, body{"title": "For Alice", "assignee": "alice@acme.example"})
		s.want(400, `"field":"userId"`, "POST", "/api/roles/reviewer/assignments", admin, body{"userId": "alice@acme.example", "scope": "project", "scopeId": "GRAN"})
		s.want(404, "NOT_FOUND", "GET", "/api/users/alice@acme.example", admin, nil)
		made := decode[named](t, s.want(201, "", "POST", tasks, manager, body{"title": "For the reviewer", "assignee": reviewer}))
		if made.AssigneeUser == nil || made.AssigneeUser.Email != "" {
			t.Errorf("reference: got %+v, want no unverified address", made.AssigneeUser)
		}
		// The address of a member whose home is another tenant.
		visitor := decode[named](t, s.want(200, "", "GET", "/api/users/project-manager@northwind.example", admin, nil))
		takeAddress("project-manager@northwind.example")
		made = decode[named](t, s.want(201, "", "POST", tasks, manager, body{"title": "For the visitor", "assignee": "project-manager@northwind.example"}))
		if made.Assignee != visitor.ID {
			t.Errorf("assignee: got %s %+v, want the user with the verified address", made.Assignee, made.AssigneeUser)
		}
		// An administrator vouches for both.
		s.want(200, `"emailVerified":true`, "PATCH", "/api/users/"+string(reviewer), admin, body{"email": "project-manager@northwind.example"})
		s.want(409, `"candidates":[`, "POST", tasks, manager, body{"title": "Ambiguous", "assignee": "project-manager@northwind.example"})
	})
	t.Run("an address takes precedence over a display name", func(t *testing.T) {
		s := &stage{Dev: s.Dev, t: t}
		s.want(400, `"field":"assignee"`, "POST", tasks, manager, body{"title": "T", "assignee": "nobody@acme.example"})
		s.want(200, "", "PATCH", "/api/users/auditor@acme.example", admin, body{"displayName": "member@acme.example"})
		made := decode[named](t, s.want(201, "", "POST", tasks, manager, body{"title": "For the member", "assignee": "member@acme.example"}))
		if made.Assignee != string(s.user("acme", "member@acme.example")) {
			t.Errorf("assignee: got %s %+v, want the user with the address", made.Assignee, made.AssigneeUser)
		}
		s.want(200, "", "PATCH", "/api/users/auditor@acme.example", admin, body{"displayName": "Member"})
		s.want(409, `"candidates":[`, "POST", tasks, manager, body{"title": "Ambiguous", "assignee": "member"})
	})
	t.Run("invalid names are rejected", func(t *testing.T) {
		s := &stage{Dev: s.Dev, t: t}
		for _, name := range []any{"", " ", strings.Repeat("x", 255), "a\nb", 7, []string{"me"}, true} {
			s.want(400, `"field":"assignee"`, "POST", tasks, manager, body{"title": "T", "assignee": name})
		}
		s.want(400, `"field":"targetUserId"`, "POST", "/api/auth/api-keys/service", admin, body{"label": "CI", "targetUserId": "multi-llm-review"})
	})
	t.Run("outputs name records within what the caller may read", func(t *testing.T) {
		s := &stage{Dev: s.Dev, t: t}
		made := decode[named](t, s.want(201, "", "POST", tasks, manager, body{"title": "Named", "assignee": "me"}))
		for who, want := range map[string]string{"member@acme.example": "Project manager", "guest@acme.example": op.Redacted} {
			got := decode[named](t, s.want(200, "", "GET", tasks+"/"+made.Key, s.loginAs(who), nil))
			if got.AssigneeUser == nil || got.AssigneeUser.Name != want || got.CreatedByUser.Name != want || got.Project == nil || got.Project.Key != "GRAN" {
				t.Errorf("as %s: got %+v in %+v, want %s", who, got.AssigneeUser, got.Project, want)
			}
		}
		page := decode[struct{ Items []named }](t, s.want(200, "", "GET", tasks+"?search=Named", manager, nil))
		if len(page.Items) != 1 || page.Items[0].AssigneeUser == nil || page.Items[0].AssigneeUser.Email != "project-manager@acme.example" {
			t.Errorf("list: got %+v, want the assignee with the address", page.Items)
		}
	})
	t.Run("audit entries and events name their records", func(t *testing.T) {
		s := &stage{Dev: s.Dev, t: t}
		task := decode[named](t, s.want(201, "", "POST", tasks, manager, body{"title": "Audited"}))
		key := s.want(201, "", "POST", "/api/auth/api-keys", manager, body{"label": "Audited"}).field(t, "id")
		s.want(201, "", "POST", "/api/roles", admin, body{"name": "Bookkeeper", "permissions": []string{"audit.read.tenant", "audit.read.classified"}})
		clerk := s.want(201, "", "POST", "/api/users", admin, body{"email": "clerk@acme.example", "displayName": "Clerk", "roles": []string{"Bookkeeper"}, "password": "a long enough secret"}).field(t, "id")
		bookkeeper := s.want(200, "", "POST", "/api/auth/login", "", body{"email": "clerk@acme.example", "password": "a long enough secret"}).field(t, "token")
		redacted := func(id string) *op.Reference { return &op.Reference{ID: op.UUID(id), Name: op.Redacted} }
		for _, c := range []struct {
			name, token, id string
			want            *op.Reference
		}{
			{"task for an administrator", admin, task.ID, &op.Reference{ID: op.UUID(task.ID), Key: task.Key, Name: "Audited"}},
			{"task for a caller who may not read it", bookkeeper, task.ID, redacted(task.ID)},
			{"user for an administrator", admin, clerk, &op.Reference{ID: op.UUID(clerk), Name: "Clerk", Email: "clerk@acme.example"}},
			{"user for a caller who may not read it", bookkeeper, string(s.user("acme", "reviewer@acme.example")), redacted(string(s.user("acme", "reviewer@acme.example")))},
			{"key, which has no name", admin, key, nil},
		} {
			page := decode[op.Page[identity.AuditEntry]](t, s.want(200, "", "GET", "/api/audit/entries?resourceId="+c.id, c.token, nil))
			if len(page.Items) == 0 {
				t.Errorf("%s: got no audit entry", c.name)
			}
			for _, e := range page.Items {
				if (e.Resource == nil) != (c.want == nil) || e.Resource != nil && *e.Resource != *c.want {
					t.Errorf("%s: got the reference %+v in the entry %s, want %+v", c.name, e.Resource, e.Action, c.want)
				}
			}
		}
		events := decode[op.Page[identity.EventRecord]](t, s.want(200, "", "GET", "/api/events?aggregateId="+task.ID, admin, nil)).Items
		if len(events) != 1 || events[0].Aggregate == nil || events[0].Aggregate.Key != task.Key {
			t.Errorf("event: got %+v, want one with the key %s", events, task.Key)
		}
	})
	t.Run("permissions name their projects", func(t *testing.T) {
		s := &stage{Dev: s.Dev, t: t}
		s.want(201, "", "POST", "/api/roles", admin, body{"name": "Stoker", "permissions": []string{"task.update"}})
		s.want(201, "", "POST", "/api/roles", admin, body{"name": "Trainee", "permissions": []string{}})
		s.want(201, "", "POST", "/api/users", admin, body{"email": "stoker@acme.example", "displayName": "Stoker", "roles": []string{"Trainee"}, "password": "a long enough secret"})
		for _, who := range []string{"member@acme.example", "stoker@acme.example"} {
			s.want(201, "", "POST", "/api/roles/Stoker/assignments", admin, body{"userId": who, "scope": "project", "scopeId": "PIER"})
		}
		pier := s.want(200, "", "GET", "/api/projects/PIER", manager, nil).field(t, "id")
		stoker := s.want(200, "", "POST", "/api/auth/login", "", body{"email": "stoker@acme.example", "password": "a long enough secret"}).field(t, "token")
		s.want(200, `"projectRecords":[{"id":"`+pier+`","name":"REDACTED"}]`, "GET", "/api/auth/permissions", stoker, nil)
		s.want(200, `{"id":"`+pier+`","key":"PIER","name":"Granite Pier"}`, "GET", "/api/auth/permissions", s.loginAs("member@acme.example"), nil)
	})
	t.Run("names stay within the scope of the credential", func(t *testing.T) {
		namesStayInScope(&stage{Dev: s.Dev, t: t})
	})
}
