package dev

import (
	"strings"
	"time"

	"parapet/internal/op"
)

// namesStayInScope sends names and looks for references with credentials that reach only a
// part of a tenant: a key with a caveat, a delegate, and a visitor from another tenant. A
// name outside this part gets the response for a name that no record has.
func namesStayInScope(s *stage) {
	manager, admin, visitor := s.loginAs("project-manager@acme.example"), s.loginAs("admin@acme.example"), s.loginAs("project-manager@northwind.example")
	project := func(token, name, prefix string) string {
		return s.want(201, "", "POST", "/api/projects", token, body{"name": name, "prefix": prefix, "startDate": "2027-01-01"}).field(s.t, "id")
	}
	task := func(token, project, kind string) named {
		return decode[named](s.t, s.want(201, "", "POST", "/api/projects/"+project+"/tasks", token, body{"title": kind, "issueType": kind}))
	}
	near, far := project(manager, "Near Lock", "NEAR"), project(manager, "Far Lock", "FAR")
	homeNear, home := project(visitor, "Near Lock", "NEAR"), project(visitor, "Home Lock", "HOME")
	nearTask, farTask, homeTask := task(manager, near, "EPIC"), task(manager, far, "EPIC"), task(visitor, home, "EPIC")
	child := decode[named](s.t, s.want(201, "", "POST", "/api/projects/NEAR/tasks", manager, body{"title": "Gate", "epicId": nearTask.Key, "assignee": "member@acme.example"}))

	key := s.key(manager)
	limited := s.forge(keyHeader, withClaim(s.claims(key), "caveats", []string{"project:" + near}))
	s.want(201, "", "POST", "/api/roles", admin, body{"name": "Bystander", "permissions": []string{}})
	s.want(201, "", "POST", "/api/users", admin, body{"email": "delegate@acme.example", "displayName": "Delegate", "roles": []string{"Bystander"}, "password": "a long enough secret"})
	delegate := s.want(200, "", "POST", "/api/auth/login", "", body{"email": "delegate@acme.example", "password": "a long enough secret"}).field(s.t, "token")
	delegation := func(permissions ...string) string {
		return s.want(201, "", "POST", "/api/delegations", manager, body{
			"delegate": "delegate@acme.example", "permissions": permissions, "scope": "PROJECT", "projectId": "NEAR",
			"until": time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
		}).field(s.t, "id")
	}
	names := delegation("projects.read", "tasks.read")
	delegation("tasks.read")
	acme := string(s.tenant("acme").ID)

	const projects, epics = "/api/projects/", "/api/projects/NEAR/tasks?epicId="
	for _, c := range []struct {
		name, token, tenant string
		// path ends with a name. A name in found identifies the record with the id; a name
		// in unknown gets the response of missing.
		path    string
		found   map[string]string
		unknown []string
		missing string
	}{
		{"key without caveats, path", key, "", projects, map[string]string{"NEAR": near, "Far%20Lock": far}, nil, "NONE"},
		{"key for a project, path", limited, "", projects, map[string]string{"NEAR": near, "Near%20Lock": near, "lock": near}, []string{"FAR", "Far%20Lock"}, "NONE"},
		{"key for a project, query", limited, "", epics, map[string]string{nearTask.Key: child.ID}, []string{farTask.Key}, "NEAR-999"},
		{"delegate, path", delegate, "", projects, map[string]string{"NEAR": near, "lock": near}, []string{"FAR", "Far%20Lock"}, "NONE"},
		{"delegate, query", delegate, "", epics, map[string]string{nearTask.Key: child.ID}, []string{farTask.Key}, "NEAR-999"},
		{"visitor at home", visitor, "", projects, map[string]string{"NEAR": homeNear, "HOME": home}, []string{"FAR"}, "NONE"},
		{"visitor in another tenant", visitor, acme, projects, map[string]string{"NEAR": near, "FAR": far}, []string{"HOME", "Home%20Lock"}, "NONE"},
		{"visitor in another tenant, query", visitor, acme, epics, map[string]string{nearTask.Key: child.ID}, []string{homeTask.Key}, "NEAR-999"},
		{"visitor in another tenant, person", visitor, acme, "/api/projects/NEAR/tasks?assignee=", nil, []string{"admin@northwind.example"}, "nobody@northwind.example"},
	} {
		var headers []string
		if c.tenant != "" {
			headers = []string{actAs, c.tenant}
		}
		for name, id := range c.found {
			if a := s.do("GET", c.path+name, c.token, nil, headers...); a.Code != 200 || !strings.Contains(a.Body, `"id":"`+id+`"`) {
				s.t.Errorf("%s: name %s: got %d %s, want the record %s", c.name, name, a.Code, a.Body, id)
			}
		}
		missing := s.do("GET", c.path+c.missing, c.token, nil, headers...)
		for _, name := range c.unknown {
			a := s.do("GET", c.path+name, c.token, nil, headers...)
			if want := strings.ReplaceAll(missing.Error.Message, c.missing, name); a.Code < 400 || a.Code != missing.Code || a.Error.Code != missing.Error.Code || a.Error.Message != want {
				s.t.Errorf("%s: name %s: got %d %s, want %d %q as for a name that no record has", c.name, name, a.Code, a.Body, missing.Code, want)
			}
		}
	}

	// Each reads the task after the manager has read it, so that every name is in the cache.
	read := func(token string, headers ...string) (project, assignee *op.Reference) {
		s.t.Helper()
		got := decode[named](s.t, s.want(200, "", "GET", "/api/projects/"+near+"/tasks/"+child.ID, token, nil, headers...))
		return got.Project, got.AssigneeUser
	}
	for _, c := range []struct {
		name, token, project, assignee string
		headers                        []string
	}{
		{"manager", manager, "Near Lock", "Member", nil},
		{"key for the project", limited, "Near Lock", op.Redacted, nil},
		{"delegate", delegate, "Near Lock", op.Redacted, nil},
		{"visitor", visitor, "Near Lock", "Member", []string{actAs, acme}},
	} {
		if project, assignee := read(c.token, c.headers...); project == nil || project.Name != c.project || assignee == nil || assignee.Name != c.assignee {
			s.t.Errorf("references for %s: got %+v and %+v, want %s and %s", c.name, project, assignee, c.project, c.assignee)
		}
	}
	s.want(200, "", "DELETE", "/api/delegations/"+names, manager, nil)
	if project, _ := read(delegate); project == nil || project.Name != op.Redacted {
		s.t.Errorf("reference after the delegation of projects.read has ended: got %+v, want %s", project, op.Redacted)
	}
}
