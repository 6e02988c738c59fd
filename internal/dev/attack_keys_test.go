package dev

import (
	"net/http"
	"strings"
	"time"

	"parapet/internal/op"
	"parapet/internal/uid"
)

type body = map[string]any

// checkKeyRules verifies the four endpoints for API keys against the tables of the specification.
func checkKeyRules(s *stage) {
	const own, forService = "/api/auth/api-keys", "/api/auth/api-keys/service"
	admin, manager, otherTenantUser := s.loginAs("admin@acme.example"), s.loginAs("project-manager@acme.example"), s.loginAs("admin@globex.example")
	service, foreign := s.user("acme", "multi-llm-review@acme.invalid"), s.user("globex", "multi-llm-review@globex.invalid")
	issued := s.want(201, `"kind":"SERVICE"`, "POST", forService, admin, body{"label": "CI", "targetUserId": service})
	bot := issued.field(s.t, "token")
	c := s.claims(bot)
	iat, _ := c["iat"].(interface{ Int64() (int64, error) }).Int64()
	exp, _ := c["exp"].(interface{ Int64() (int64, error) }).Int64()
	if exp-iat != 90*86400 {
		s.t.Errorf("lifetime of a service key: got %d s, want 90 days", exp-iat)
	}
	for _, t := range []struct {
		status      int
		says, token string
		in          any
	}{
		{400, `"field":"expiresInDays"`, admin, body{"label": "x", "targetUserId": service, "expiresInDays": 5}},
		{400, `"field":"roles"`, admin, body{"label": "x", "targetUserId": service, "roles": []string{"Admin"}}},
		{400, `"field":"Label"`, admin, body{"Label": "x", "targetUserId": service}},
		{400, `"field":"targetUserId"`, admin, body{"label": "x", "targetUserId": "somebody"}},
		{400, `"field":"targetUserId"`, admin, body{"label": "x"}},
		{400, `"field":"label"`, admin, body{"label": " ", "targetUserId": service}},
		{400, `"field":"label"`, admin, `{"label":"x","label":"y","targetUserId":"` + string(service) + `"}`},
		{403, "FORBIDDEN", admin, body{"label": "x", "targetUserId": s.user("acme", "member@acme.example")}},
		{403, "FORBIDDEN", admin, body{"label": "x", "targetUserId": s.user("acme", "agent+builder@acme.example")}},
		{404, "NOT_FOUND", admin, body{"label": "x", "targetUserId": foreign}},
		{404, "NOT_FOUND", admin, body{"label": "x", "targetUserId": uid.Random()}},
		{403, "api_key.issue_for_service", manager, body{"label": "x", "targetUserId": service}},
		{403, "api_key.issue_for_service", s.loginAs("platform-admin@acme.example"), body{"label": "x", "targetUserId": service}},
		{403, "session", bot, body{"label": "x", "targetUserId": service}},
		{403, "session", s.key(admin), body{"label": "x", "targetUserId": service}},
		{404, "NOT_FOUND", otherTenantUser, body{"label": "x", "targetUserId": service}},
	} {
		s.want(t.status, t.says, "POST", forService, t.token, t.in)
	}
	for _, t := range []struct {
		status      int
		says, token string
		in          any
	}{
		{400, `"field":"targetUserId"`, admin, body{"label": "x", "targetUserId": service}},
		{400, "30", admin, body{"label": "x", "expiresInDays": 31}},
		{400, "365", manager, body{"label": "x", "expiresInDays": 366}},
		{400, `"field":"expiresInDays"`, manager, body{"label": "x", "expiresInDays": 0}},
		{400, `"field":"expiresInDays"`, manager, body{"label": "x", "expiresInDays": 1.5}},
		{400, `"field":"expiresInDays"`, manager, `{"label":"x","expiresInDays":2e0}`},
		{400, `"field":"caveats"`, manager, body{"label": "x", "caveats": []string{"read-only"}}},
		{403, "api_key.issue", s.loginAs("guest@acme.example"), body{"label": "x"}},
		{403, "FORBIDDEN", bot, body{"label": "x"}},
		{201, "token", manager, body{"label": "x", "expiresInDays": 365}},
	} {
		s.want(t.status, t.says, "POST", own, t.token, t.in)
	}
	// Lists contain records but never a token.
	for _, t := range []struct {
		status      int
		token, path string
	}{
		{200, admin, own}, {200, admin, own + "?serviceUserId=" + string(service)}, {403, manager, own + "?serviceUserId=" + string(service)},
		{404, admin, own + "?serviceUserId=" + string(foreign)}, {404, admin, own + "?serviceUserId=" + string(s.user("acme", "member@acme.example"))},
		{400, admin, own + "?serviceUserId="}, {400, admin, own + "?serviceUserId=x"}, {400, admin, own + "?serviceUserId=%zz"},
	} {
		if a := s.want(t.status, "", "GET", t.path, t.token, nil); strings.Contains(a.Body, "eyJ") {
			s.t.Errorf("%s: the response contains a token", t.path)
		}
	}
	personal := s.want(201, "", "POST", own, manager, body{"label": "mine"})
	id, ownKey := issued.field(s.t, "id"), personal.field(s.t, "id")
	because := body{"reason": "rotated"}
	for _, t := range []struct {
		status            int
		says, token, path string
		in                any
	}{
		{403, "api_key.issue_for_service", manager, id + "?serviceOwned=true", because},
		{403, "Only the owner", admin, ownKey + "?serviceOwned=true", because},
		{404, "NOT_FOUND", admin, ownKey, nil},
		{404, "NOT_FOUND", admin, id, nil},
		{404, "NOT_FOUND", otherTenantUser, id + "?serviceOwned=true", because},
		{404, "NOT_FOUND", admin, string(uid.Random()) + "?serviceOwned=true", because},
		{400, `"field":"reason"`, admin, id + "?serviceOwned=true", nil},
		{400, `"field":"query"`, admin, id + "?serviceOwned=true;x", because},
		{400, `"field":"serviceOwned"`, admin, id + "?serviceOwned=true&serviceOwned=false", because},
		{400, `"field":"note"`, admin, id + "?serviceOwned=true", body{"reason": "x", "note": "y"}},
		{200, "revokedAt", admin, id + "?serviceOwned=true", because},
		{200, "revokedAt", manager, ownKey, nil},
	} {
		s.want(t.status, t.says, "DELETE", own+"/"+t.path, t.token, t.in)
	}
	for _, token := range []string{bot, personal.field(s.t, "token")} {
		s.waitUntilRejected(token, "")
	}
	// The process that revokes a key rejects it from the next request on.
	for range 8 {
		k := s.want(201, "", "POST", own, manager, body{"label": "short"})
		s.want(200, "", "GET", "/api/auth/me", k.field(s.t, "token"), nil)
		s.want(200, "revokedAt", "DELETE", own+"/"+k.field(s.t, "id"), manager, nil)
		s.want(401, "UNAUTHORIZED", "GET", "/api/auth/me", k.field(s.t, "token"), nil)
		session := s.loginAs("auditor@acme.example")
		s.want(200, "", "GET", "/api/auth/me", session, nil)
		s.want(204, "", "POST", "/api/auth/logout", session, nil)
		s.want(401, "UNAUTHORIZED", "GET", "/api/auth/me", session, nil)
	}
	// If the grants of the role differ from the profile, no new key is issued; other
	// operations still work.
	role := s.role(admin, "multi-llm-review")
	s.want(200, "", "POST", "/api/roles/"+role+"/permissions", admin, body{"permission": "tasks.update.any"})
	s.want(409, "CONFLICT", "POST", forService, admin, body{"label": "x", "targetUserId": service})
	s.want(200, "", "DELETE", "/api/roles/"+role+"/permissions/tasks.update.any", admin, nil)
	s.want(201, "", "POST", forService, admin, body{"label": "x", "targetUserId": service})
}

// waitUntilRejected waits until a credential is rejected with this reason. The server
// rejects it after it was notified of the change.
func (s *stage) waitUntilRejected(token, reason string) {
	s.t.Helper()
	var a answer
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if a = s.do("GET", "/api/auth/me", token, nil); a.Code == http.StatusUnauthorized {
			break
		}
	}
	if a.Code != http.StatusUnauthorized || a.Error.Code != "UNAUTHORIZED" || a.Error.Reason != reason {
		s.t.Errorf("rejected credential: got %d %s, want 401 with the reason %q", a.Code, a.Body, reason)
	}
}

// role returns the id of a role.
func (s *stage) role(token, name string) string {
	s.t.Helper()
	a := s.want(200, name, "GET", "/api/roles?limit=200", token, nil)
	before, _, _ := strings.Cut(a.Body, `"name":"`+name+`"`)
	return before[strings.LastIndex(before, `"id":"`)+6:][:36]
}

// escalatePrivileges tries to give a user more permissions than the caller has.
func escalatePrivileges(s *stage) {
	admin, manager := s.loginAs("admin@acme.example"), s.loginAs("project-manager@acme.example")
	self, boss := string(s.user("acme", "project-manager@acme.example")), string(s.user("acme", "admin@acme.example"))
	bot := string(s.user("acme", "multi-llm-review@acme.invalid"))
	adminRole, auditor, global := s.role(admin, "Admin"), s.role(admin, "Auditor"), s.role(admin, "multi-llm-review")
	person := func(email string, roles ...string) body {
		return body{"email": email, "displayName": "X", "roles": roles, "password": "a long enough secret"}
	}
	holders := s.want(200, boss, "GET", "/api/roles/"+adminRole+"/assignments", admin, nil).Body
	last := holders[strings.Index(holders, `"id":"`)+6:][:36]
	for _, t := range []struct {
		status                    int
		says, token, method, path string
		in                        any
	}{
		// A caller without the permission.
		{403, "role.update", manager, "POST", "/api/roles/" + s.role(admin, "Project Manager") + "/permissions", body{"permission": "user.update"}},
		{403, "role.assign", manager, "POST", "/api/roles/" + adminRole + "/assignments", body{"userId": self, "scope": "tenant"}},
		{403, "role.create", manager, "POST", "/api/roles", body{"name": "More", "permissions": []string{"role.assign"}}},
		{403, "user.create", manager, "POST", "/api/users", person("two@acme.example", "Admin")},
		{403, "user.update", manager, "PATCH", "/api/users/" + boss, body{"password": "a long enough secret"}},
		{403, "user.update", manager, "PATCH", "/api/users/" + self, body{"clearance": "SECRET"}},
		{403, "membership.update", manager, "PATCH", "/api/memberships/" + self, body{"clearance": "SECRET"}},
		{403, "tenant.disable", manager, "POST", "/api/tenants/" + string(s.tenant("acme").ID) + "/disable", body{}},
		// An administrator, in other tenants and beyond the fixed rules.
		{403, "tenant.create", admin, "POST", "/api/tenants", body{
			"slug": "own-office", "name": "X", "type": "PROGRAMME_OFFICE", "organisationName": "X", "adminEmail": "x@y.example", "adminName": "X",
		}},
		{403, "tenant.disable", admin, "POST", "/api/tenants/" + string(s.tenant("globex").ID) + "/disable", body{}},
		{404, "NOT_FOUND", admin, "PATCH", "/api/tenants/" + string(s.tenant("globex").ID), body{"currency": "EUR"}},
		{404, "NOT_FOUND", admin, "POST", "/api/roles/" + adminRole + "/assignments", body{"userId": s.user("globex", "member@globex.example"), "scope": "tenant"}},
		{400, "scopeId", admin, "POST", "/api/roles/" + auditor + "/assignments", body{"userId": self, "scope": "organisation", "scopeId": s.tenant("globex").Organisations[0].ID}},
		{400, "permission", admin, "POST", "/api/roles/" + adminRole + "/permissions", body{"permission": "*"}},
		{409, "yourself", admin, "POST", "/api/users/" + boss + "/suspend", body{}},
		{409, "yourself", admin, "PATCH", "/api/memberships/" + boss, body{"status": "REMOVED"}},
		{409, "Admin", admin, "DELETE", "/api/roles/" + adminRole + "/assignments/" + last, nil},
		{409, "administer", admin, "DELETE", "/api/roles/" + adminRole + "/permissions/role.assign", nil},
		{409, "CONFLICT", admin, "DELETE", "/api/roles/" + adminRole, nil},
		{400, "reset-user-password", admin, "PATCH", "/api/users/" + boss, body{"password": "a long enough secret"}},
		// Service principals.
		{400, "integrationKey", admin, "PATCH", "/api/users/" + bot, body{"integrationKey": "spec-wiki-sync"}},
		{400, "principalKind", admin, "PATCH", "/api/users/" + bot, body{"principalKind": "HUMAN"}},
		{400, "password", admin, "PATCH", "/api/users/" + bot, body{"password": "a long enough secret"}},
		{400, "email", admin, "PATCH", "/api/users/" + bot, body{"email": "x@acme.example"}},
		{400, "integrationKey", admin, "POST", "/api/users", body{"email": "x@acme.example", "displayName": "X", "roles": []string{"Member"}, "integrationKey": "spec-wiki-sync"}},
		{400, "principalKind", admin, "POST", "/api/users", body{"email": "x@acme.invalid", "displayName": "X", "roles": []string{"Member"}, "principalKind": "SERVICE"}},
		{409, "registered profile", admin, "POST", "/api/roles/" + adminRole + "/assignments", body{"userId": bot, "scope": "tenant"}},
		{409, "GLOBAL", admin, "POST", "/api/roles/" + global + "/assignments", body{"userId": self, "scope": "tenant"}},
		{409, "cannot be renamed", admin, "PATCH", "/api/roles/" + global, body{"name": "mine"}},
		{409, "stays", admin, "DELETE", "/api/roles/" + global, nil},
		{400, "kind", admin, "POST", "/api/roles", body{"name": "mine", "kind": "GLOBAL", "permissions": []string{}}},
	} {
		s.want(t.status, t.says, t.method, t.path, t.token, t.in)
	}
	// A user with permissions for user administration is neither an administrator nor has a
	// higher clearance.
	s.want(201, "", "POST", "/api/roles", admin, body{"name": "Desk", "permissions": []string{"user.create", "user.read", "user.update", "role.assign", "membership.update"}})
	s.want(201, "", "POST", "/api/users", admin, body{
		"email": "desk@acme.example", "displayName": "Desk", "roles": []string{"Desk"}, "clearance": "INTERNAL", "password": "a long enough secret",
	})
	desk := s.want(200, "", "POST", "/api/auth/login", "", body{"email": "desk@acme.example", "password": "a long enough secret"}).field(s.t, "token")
	guest := string(s.user("acme", "guest@acme.example"))
	for path, in := range map[string]body{
		"/api/users/" + boss:        {"email": "me@evil.example"},
		"/api/users/" + guest:       {"clearance": "SECRET"},
		"/api/memberships/" + guest: {"clearance": "SECRET"},
	} {
		s.want(http.StatusForbidden, "FORBIDDEN", "PATCH", path, desk, in)
	}
	s.want(http.StatusForbidden, "you do not have it in this scope", "POST", "/api/users", desk, person("two@acme.example", "Admin"))
	s.want(http.StatusForbidden, "you do not have it in this scope", "POST", "/api/roles/"+adminRole+"/assignments", desk, body{"userId": op.UUID(guest), "scope": "tenant"})
}
