package dev

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestExplainDecision_AgreesWithOperation compares the explanation, for the caller and for
// another user, with the status of the real request.
func TestExplainDecision_AgreesWithOperation(t *testing.T) {
	t.Parallel()
	s := &stage{Dev: startDev(t), t: t}
	admin, auditor := s.loginAs("admin@acme.example"), s.loginAs("auditor@acme.example")
	type record struct{ key, project, issue string }
	var records []record
	for prefix, classification := range map[string]string{"QUAY": "UNCLASSIFIED", "VAULT": "CONFIDENTIAL", "DEEP": "SECRET"} {
		s.want(201, "", "POST", "/api/projects", admin, body{"name": prefix + " project", "prefix": prefix, "issuePrefix": prefix + "I", "startDate": "2027-01-01", "classification": classification})
		s.want(201, "", "POST", "/api/projects/"+prefix+"/tasks", admin, body{"title": "Task"})
		s.want(201, "", "POST", "/api/issues", admin, body{"projectId": prefix, "title": "Issue"})
		records = append(records, record{key: prefix + "-1", project: prefix, issue: prefix + "I-1"})
	}
	records = append(records, record{key: "QUAY-99", project: "QUAY", issue: "QUAYI-99"})

	type explained struct {
		Allow, Hidden bool
		Permission    string
		Reasons       []struct{ Code, Message string }
	}
	explain := func(token, operation, of, user string) (answer, explained) {
		q := url.Values{"operation": {operation}}
		if of != "" {
			q.Set("record", of)
		}
		if user != "" {
			q.Set("userId", user)
		}
		a := s.do("GET", "/api/explain-decision?"+q.Encode(), token, nil)
		if a.Code != 200 {
			return a, explained{}
		}
		return a, decode[explained](t, a)
	}
	compared := map[bool]int{}
	for _, user := range []string{"project-manager", "member", "reviewer", "guest", "agent-role", "platform-admin", "auditor"} {
		address := user + "@acme.example"
		token := s.loginAs(address)
		for _, r := range records {
			task := "/api/projects/" + r.project + "/tasks/" + r.key
			for _, o := range []struct {
				name, of, method, path string
				body                   any
			}{
				{"get-task", r.key, "GET", task, nil},
				{"update-task", r.key, "PATCH", task, body{}},
				{"list-dependencies", r.key, "GET", task + "/dependencies", nil},
				{"get-project", r.project, "GET", "/api/projects/" + r.project, nil},
				{"update-project", r.project, "PATCH", "/api/projects/" + r.project, body{}},
				{"get-issue", r.issue, "GET", "/api/issues/" + r.issue, nil},
				{"update-issue", r.issue, "PATCH", "/api/issues/" + r.issue, body{}},
			} {
				real := s.do(o.method, o.path, token, o.body)
				isAllowed := real.Code != 403 && real.Code != 404
				own, e := explain(token, o.name, o.of, "")
				switch {
				case real.Code == 404 && (own.Code != 404 || own.Error.Message != real.Error.Message):
					t.Errorf("%s of %s for %s itself: got %d %q, want the 404 of the operation, %q", o.name, o.of, user, own.Code, own.Error.Message, real.Error.Message)
				case real.Code != 404 && (own.Code != 200 || e.Allow != isAllowed):
					t.Errorf("%s of %s for %s itself: got %d %+v, want allow %t, because the operation answers %d", o.name, o.of, user, own.Code, e, isAllowed, real.Code)
				}
				if strings.HasSuffix(r.key, "-99") && o.of != r.project {
					continue // the administrator gets 404 as well; see below
				}
				other, e := explain(admin, o.name, o.of, address)
				compared[isAllowed]++
				if other.Code != 200 || e.Allow != isAllowed || e.Hidden != (real.Code == 404) || e.Permission == "" {
					t.Errorf("%s of %s for %s: got %d %+v, want allow %t, because the operation answers %d", o.name, o.of, user, other.Code, e, isAllowed, real.Code)
				}
				if real.Code == 403 && (len(e.Reasons) == 0 || e.Reasons[0].Message != real.Error.Message) {
					t.Errorf("%s of %s for %s: got the reasons %+v, want %q", o.name, o.of, user, e.Reasons, real.Error.Message)
				}
			}
		}
	}
	if compared[true] < 20 || compared[false] < 20 {
		t.Errorf("compared %d allowed and %d denied operations, want at least 20 of each", compared[true], compared[false])
	}

	// An auditor learns nothing about a record above its own clearance.
	hidden, _ := explain(auditor, "update-task", "DEEP-1", "admin@acme.example")
	missing, _ := explain(auditor, "update-task", "GHOST-1", "admin@acme.example")
	if hidden.Code != 404 || missing.Code != 404 || hidden.Error.Message != missing.Error.Message {
		t.Errorf("hidden record: got %d %q, want the 404 of a missing one, %d %q", hidden.Code, hidden.Error.Message, missing.Code, missing.Error.Message)
	}
	member := s.loginAs("member@acme.example")
	for _, c := range []struct {
		token, operation, of, user string
		code                       int
		want                       string
	}{
		{member, "update-task", "QUAY-1", "guest@acme.example", 403, "decision_log.read"},
		{admin, "update-task", "QUAY-1", "member@globex.example", 400, "userId"},
		{admin, "update-task", "QUAY-1", "multi-llm-review", 400, "service principal"},
		{admin, "list-tasks", "QUAY", "", 400, "cannot be explained"},
		{admin, "login", "", "", 400, "cannot be explained"},
		{admin, "issue-key", "", "", 400, "cannot be explained"},
		{admin, "revoke-permission", "tasks.read", "", 400, "more than one record"},
		{admin, "update-task", "", "", 400, "record is required"},
		{admin, "paint-task", "QUAY-1", "", 400, "no operation"},
		{admin, "mark-awaiting-decision", "QUAY-1", "", 400, "several permissions"},
		{admin, "update_task", "QUAY-1", "", 200, `"allow":true`},
		{admin, "get-task", "QUAY-1", "agent+builder@acme.example", 200, `"allow":true`},
		{admin, "get-task", "QUAY-1", "agent+retired@acme.example", 200, `"code":"account_not_active"`},
		{admin, "get-task", "QUAY-1", "agent+retired@acme.example", 200, `"allow":false`},
	} {
		if a, _ := explain(c.token, c.operation, c.of, c.user); a.Code != c.code || !strings.Contains(a.Body, c.want) {
			t.Errorf("explain %s of %s for %q: got %d %s, want %d with %q", c.operation, c.of, c.user, a.Code, a.Body, c.code, c.want)
		}
	}
	// Nothing was deleted.
	if _, e := explain(admin, "delete-task", "QUAY-1", ""); !e.Allow {
		t.Error("delete-task: got not allowed for the administrator, want allowed")
	}
	s.want(200, "Task", "GET", "/api/projects/QUAY/tasks/QUAY-1", admin, nil)
}

// TestExplainDecision_AgreesWithCreation compares the explanation of operations that create
// a record, for the caller and for another user, with the status of the real request.
func TestExplainDecision_AgreesWithCreation(t *testing.T) {
	t.Parallel()
	s := &stage{Dev: startDev(t), t: t}
	admin := s.loginAs("admin@acme.example")
	for prefix, classification := range map[string]string{"QUAY": "UNCLASSIFIED", "DEEP": "SECRET"} {
		s.want(201, "", "POST", "/api/projects", admin, body{"name": prefix + " project", "prefix": prefix, "issuePrefix": prefix + "I", "startDate": "2027-01-01", "classification": classification})
		s.want(201, "", "POST", "/api/projects/"+prefix+"/tasks", admin, body{"title": "Task"})
	}
	explain := func(token, operation, of, user string) (answer, bool) {
		q := url.Values{"operation": {operation}, "record": {of}, "userId": {user}}
		for name := range q {
			if q.Get(name) == "" {
				q.Del(name)
			}
		}
		a := s.do("GET", "/api/explain-decision?"+q.Encode(), token, nil)
		return a, strings.Contains(a.Body, `"allow":true`)
	}
	compared := map[bool]int{}
	for i, user := range []string{"admin", "project-manager", "member", "reviewer", "guest", "auditor", "agent-role"} {
		address := user + "@acme.example"
		token := s.loginAs(address)
		unique := fmt.Sprintf("New %d", i)
		type creation struct {
			name, of, path string
			body           body
		}
		creations := []creation{
			{"create-project", "", "/api/projects", body{"name": unique, "prefix": fmt.Sprintf("NEW%d", i), "startDate": "2027-01-01"}},
			{"create-project", "Acme Works", "/api/projects", body{"name": unique + "a", "prefix": fmt.Sprintf("OLD%d", i), "startDate": "2027-01-01", "organisationId": "Acme Works"}},
			{"create-initiative", "", "/api/initiatives", body{"name": unique, "startDate": "2027-01-01", "endDate": "2027-12-31"}},
			{"create-organisation", "", "/api/organisations", body{"name": unique}},
			{"create-role", "", "/api/roles", body{"name": unique}},
			{"create-user", "", "/api/users", body{"email": fmt.Sprintf("new%d@acme.example", i), "displayName": unique, "roles": []string{"Member"}}},
			{"create-tenant", "", "/api/tenants", body{"slug": fmt.Sprintf("new-%d", i), "name": unique, "organisationName": unique, "adminEmail": "a@new.example", "adminName": "A"}},
		}
		for _, prefix := range []string{"QUAY", "DEEP"} {
			path, task := "/api/projects/"+prefix, prefix+"-1"
			creations = append(creations,
				creation{"create-task", prefix, path + "/tasks", body{"title": unique}},
				creation{"create-stage", prefix, path + "/stages", body{"name": unique}},
				creation{"create-deliverable", prefix, path + "/deliverables", body{"title": unique}},
				creation{"create-issue", prefix, "/api/issues", body{"projectId": prefix, "title": unique}},
				creation{"create-comment", task, "/api/comments", body{"taskId": task, "body": unique}},
				creation{"create-time-entry", task, "/api/time-entries", body{"taskId": task, "date": "2027-01-01", "minutes": 5}},
				creation{"create-criterion", task, path + "/criteria", body{"taskId": task, "text": unique}},
			)
		}
		for _, o := range creations {
			own, isOwnAllowed := explain(token, o.name, o.of, "")
			other, isOtherAllowed := explain(admin, o.name, o.of, address)
			real := s.do("POST", o.path, token, o.body)
			isAllowed := real.Code != 403 && real.Code != 404 && !strings.Contains(real.Body, "that you can read")
			compared[isAllowed]++
			if (own.Code == 200) && isOwnAllowed != isAllowed || (own.Code != 200 && isAllowed) {
				t.Errorf("%s in %q for %s itself: got %d %s, want allow %t, because the operation answers %d %s", o.name, o.of, user, own.Code, own.Body, isAllowed, real.Code, real.Body)
			}
			if other.Code != 200 || isOtherAllowed != isAllowed {
				t.Errorf("%s in %q for %s: got %d %s, want allow %t, because the operation answers %d %s", o.name, o.of, user, other.Code, other.Body, isAllowed, real.Code, real.Body)
			}
		}
	}
	if compared[true] < 30 || compared[false] < 30 {
		t.Errorf("compared %d allowed and %d denied operations, want at least 30 of each", compared[true], compared[false])
	}

	member := s.loginAs("member@acme.example")
	for _, c := range []struct {
		token, operation, of, user string
		code                       int
		want                       string
	}{
		{member, "create-project", "", "admin@acme.example", 403, "decision_log.read"},
		{member, "create-project", "", "", 200, `"code":"permission_missing"`},
		{admin, "create-task", "", "", 400, "record is required"},
		{admin, "create-membership", "", "", 400, "record is required"},
		{admin, "create-comment", "", "", 400, "taskId or issueId"},
		{admin, "create-role", "QUAY", "", 400, "Omit record"},
		{admin, "create-task", "GHOST", "", 404, "no such project"},
	} {
		if a, _ := explain(c.token, c.operation, c.of, c.user); a.Code != c.code || !strings.Contains(a.Body, c.want) {
			t.Errorf("explain %s of %q for %q: got %d %s, want %d with %q", c.operation, c.of, c.user, a.Code, a.Body, c.code, c.want)
		}
	}
}

// TestExplainDecision_ConcurrentUsersGetTheirOwnDecision asks about two users at the same time
// while no principal is cached, so that the loads of both are under way together.
func TestExplainDecision_ConcurrentUsersGetTheirOwnDecision(t *testing.T) {
	t.Parallel()
	s := &stage{Dev: startDev(t), t: t}
	admin := s.loginAs("admin@acme.example")
	s.want(201, "", "POST", "/api/projects", admin, body{"name": "Quay", "prefix": "QUAY", "startDate": "2027-01-01"})
	s.want(201, "", "POST", "/api/projects/QUAY/tasks", admin, body{"title": "Task"})
	for round := range 5 {
		// A change of the roles makes the cached principals outdated.
		s.want(201, "", "POST", "/api/roles", admin, body{"name": fmt.Sprintf("Round %d", round)})
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				user, want := "project-manager@acme.example", `"allow":true`
				if i%2 == 1 {
					user, want = "guest@acme.example", `"allow":false`
				}
				q := url.Values{"operation": {"delete-task"}, "record": {"QUAY-1"}, "userId": {user}}
				if a := s.do("GET", "/api/explain-decision?"+q.Encode(), admin, nil); a.Code != 200 || !strings.Contains(a.Body, want) {
					t.Errorf("round %d: delete-task for %s: got %d %s, want %s", round, user, a.Code, a.Body, want)
				}
			})
		}
		group.Wait()
	}
}

// A session whose principal is cached asks right after its authority has changed, so that the
// explained call is retried with the new one.
func TestExplainDecision_NamesDelegationThatIsNewerThanCachedPrincipal(t *testing.T) {
	t.Parallel()
	s := &stage{Dev: startDev(t), t: t}
	manager, reviewer := s.loginAs("project-manager@acme.example"), s.loginAs("reviewer@acme.example")
	s.want(201, "", "POST", "/api/projects", manager, body{"name": "Quay", "prefix": "QUAY", "startDate": "2027-01-01"})
	path := "/api/explain-decision?operation=update-project&record=QUAY"
	s.want(200, `"allow":false`, "GET", path, reviewer, nil)
	s.want(201, "", "POST", "/api/delegations", manager, body{"delegate": "reviewer@acme.example", "permissions": []string{"project.update"},
		"scope": "PROJECT", "projectId": "QUAY", "until": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
	if a := s.do("GET", path, reviewer, nil); !strings.Contains(a.Body, `"allow":true`) || !strings.Contains(a.Body, `"delegationId":"`) || !strings.Contains(a.Body, `"email":"project-manager@acme.example"`) {
		t.Errorf("got %d %s, want allowed, with the delegation and its delegator", a.Code, a.Body)
	}
}
