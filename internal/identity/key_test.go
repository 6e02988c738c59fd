package identity_test

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/token"
	"parapet/internal/uid"
)

func daysBetween(from, to time.Time) float64 { return to.Sub(from).Hours() / 24 }

func TestIssueServiceKey_ReturnsKeyAndRecordsIt(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	user := r.provision(r.acme)["multi-llm-review"]
	admin := r.login("admin@acme.example")
	before := r.clock.Now()
	k := must[contract.IssuedKey](r, "issue-service-key", request{token: admin, body: body(fields{"label": " PT_AUTH_TOKEN ", "targetUserId": user})})
	if k.Owner != user || k.TenantID != r.acme.id || k.Kind != "SERVICE" || k.Label != "PT_AUTH_TOKEN" || k.ID != k.JTI || k.CreatedBy != r.acme.people["admin"] {
		t.Errorf("got record %+v", k)
	}
	claims, err := r.tokens.Verify(k.Token, token.APIKey)
	if err != nil {
		t.Fatal(err)
	}
	if d := daysBetween(claims.IssuedAt, claims.ExpiresAt); d != 90 {
		t.Errorf("got a lifetime of %v days, want 90", d)
	}
	if claims.ID != k.JTI || claims.Subject != user || claims.Tenant != r.acme.id || claims.PrincipalKind != "SERVICE" ||
		!slices.Equal(claims.Roles, []string{"multi-llm-review"}) || claims.RoleScopes != nil || !claims.ExpiresAt.Equal(k.Expiry) || claims.IssuedAt.Before(before.Truncate(time.Second)) {
		t.Errorf("got claims %+v", claims)
	}
	header, err := base64.RawURLEncoding.DecodeString(strings.Split(k.Token, ".")[0])
	if err != nil || !contains(string(header), `"typ":"pt-api-key+jwt"`) {
		t.Errorf("got header %s, %v", header, err)
	}
	me := must[contract.MeOut](r, "me", request{token: k.Token})
	if me.User.ID != user || me.User.PrincipalKind != "SERVICE" || me.User.IntegrationKey != "multi-llm-review" || me.TokenKind != "api_key" {
		t.Errorf("got me %+v", me)
	}
	names := []string{}
	for _, p := range must[contract.PermissionsOut](r, "permissions", request{token: k.Token}).Permissions {
		names = append(names, p.Name)
	}
	if !slices.Equal(names, []string{"projects.read", "tasks.read"}) {
		t.Errorf("got permissions %v", names)
	}
	// The audit entry contains the ids of the administrator and the owner.
	changes := queryValue[string](r, `SELECT changes::text FROM audit.entries WHERE action = 'api_key.issued' AND resource_id = $1 AND actor_id = $2`, string(k.ID), r.acme.people["admin"])
	if !contains(changes, string(user)) || !contains(changes, string(r.acme.people["admin"])) || contains(changes, "@") {
		t.Errorf("audit entry: got changes %s", changes)
	}
	if n := queryValue[int](r, `SELECT count(*) FROM events.outbox WHERE type = 'audit.entry.created' AND payload->'resource'->>'resourceId' = $1`, string(k.ID)); n != 1 {
		t.Errorf("got %d audit.entry.created events, want 1", n)
	}
	if n := queryValue[int](r, `SELECT count(*) FROM events.outbox WHERE type = 'directory.user.key_issued' AND aggregate_id = $1`, string(user)); n != 1 {
		t.Errorf("got %d key_issued events, want 1", n)
	}
	// No part of the token is stored.
	signature := k.Token[strings.LastIndexByte(k.Token, '.')+1:]
	for _, sql := range []string{
		`SELECT coalesce(string_agg(k::text, ' '), '') FROM identity.api_keys k`,
		`SELECT coalesce(string_agg(e::text, ' '), '') FROM audit.entries e`,
		`SELECT coalesce(string_agg(o::text, ' '), '') FROM events.outbox o`,
	} {
		if contains(queryValue[string](r, sql), signature) {
			t.Errorf("found the token with %s", sql)
		}
	}
	if text := body(must[op.Page[contract.Key]](r, "list-keys", request{token: admin, query: url.Values{"serviceUserId": {string(user)}}})); contains(text, signature) || !contains(text, string(k.ID)) {
		t.Errorf("list-keys: got %s, want the id of the key and no signature", text)
	}
}

// Unknown and invalid fields are rejected, and the error names the field.
func TestIssueKey_RejectsInvalidBodies(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	user := r.provision(r.acme)["spec-wiki-sync"]
	admin := r.login("admin@acme.example")
	for _, c := range []struct{ operation, body, field string }{
		{"issue-service-key", body(fields{"label": "ci", "targetUserId": user, "expiresInDays": 30}), "expiresInDays"},
		{"issue-service-key", body(fields{"label": "ci", "targetUserId": user, "roles": []string{"Admin"}}), "roles"},
		{"issue-service-key", body(fields{"label": "ci", "targetUserId": "spec-wiki-sync"}), "targetUserId"},
		{"issue-service-key", body(fields{"label": "ci", "targetUserId": nil}), "targetUserId"},
		{"issue-service-key", body(fields{"label": "ci"}), "targetUserId"},
		{"issue-service-key", body(fields{"targetUserId": user}), "label"},
		{"issue-service-key", body(fields{"label": "  ", "targetUserId": user}), "label"},
		{"issue-service-key", body(fields{"Label": "ci", "targetUserId": user}), "Label"},
		{"issue-service-key", body(fields{"label": strings.Repeat("x", 201), "targetUserId": user}), "label"},
		{"issue-key", body(fields{"label": "ci", "targetUserId": user}), "targetUserId"},
		{"issue-key", body(fields{"label": "ci", "targetUserId": r.acme.people["admin"]}), "targetUserId"},
		{"issue-key", body(fields{"label": "ci", "expiresInDays": 0}), "expiresInDays"},
		{"issue-key", body(fields{"label": "ci", "expiresInDays": -1}), "expiresInDays"},
		{"issue-key", body(fields{"label": "ci", "expiresInDays": 1.5}), "expiresInDays"},
		{"issue-key", body(fields{"label": "ci", "expiresInDays": "10"}), "expiresInDays"},
		{"issue-key", body(fields{"label": "ci", "expiresInDays": 1e12}), "expiresInDays"},
		{"issue-key", `{"label":"ci","label":"cd"}`, "label"},
	} {
		r.wantFault(c.operation, request{token: admin, body: c.body}, fault.CodeValidation, c.field)
	}
	if n := queryValue[int](r, `SELECT count(*) FROM identity.api_keys`); n != 0 {
		t.Errorf("got %d keys, want none", n)
	}
}

func TestIssueKey_LimitsLifetime(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	for _, c := range []struct {
		who       string
		settings  authz.KeySettings
		requested any
		days      float64
		cap       int // the maximum in the error; 0 if the request is allowed
	}{
		{who: "admin", days: 14},
		{who: "admin", requested: 1, days: 1},
		{who: "admin", requested: 30, days: 30},
		{who: "admin", requested: 31, cap: 30},
		{who: "admin", settings: authz.KeySettings{MaxAdminDays: 90}, requested: 90, days: 90},
		{who: "admin", settings: authz.KeySettings{MaxAdminDays: 90}, requested: 91, cap: 90},
		{who: "admin", settings: authz.KeySettings{MaxAdminDays: 1000}, requested: 365, days: 365},
		{who: "admin", settings: authz.KeySettings{MaxAdminDays: 1000}, requested: 366, cap: 365},
		{who: "admin", settings: authz.KeySettings{MaxAdminDays: 7}, days: 7},
		{who: "member", days: 30},
		{who: "member", requested: 365, days: 365},
		{who: "member", requested: 366, cap: 365},
		{who: "member", settings: authz.KeySettings{MaxUserDays: 60}, requested: 61, cap: 60},
		{who: "member", settings: authz.KeySettings{MaxUserDays: 60}, requested: 60, days: 60},
	} {
		r.startService(fixtureOptions{keys: c.settings})
		in := fields{"label": "laptop"}
		if c.requested != nil {
			in["expiresInDays"] = c.requested
		}
		q := request{token: r.login(c.who + "@acme.example"), body: body(in)}
		if c.cap > 0 {
			_, err := r.call("issue-key", q)
			f := fault.From(err)
			if f == nil || f.Code != fault.CodeValidation || f.Field != "expiresInDays" || f.Details["cap"] != c.cap || !contains(f.Message, "to "+strconv.Itoa(c.cap)) {
				t.Errorf("%+v: got %v, want VALIDATION with the maximum", c, err)
			}
			continue
		}
		k := must[contract.IssuedKey](r, "issue-key", q)
		claims, err := r.tokens.Verify(k.Token, token.APIKey)
		if err != nil {
			t.Fatal(err)
		}
		if got := daysBetween(claims.IssuedAt, claims.ExpiresAt); got != c.days {
			t.Errorf("%+v: got a lifetime of %v days", c, got)
		}
		if k.Kind != "PERSONAL" || k.Owner != r.acme.people[c.who] || claims.Subject != k.Owner {
			t.Errorf("%+v: got key %+v", c, k)
		}
	}
}

// null and an absent expiresInDays both give the default lifetime.
func TestIssueKey_WithNullExpiry_UsesDefaultLifetime(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	k := must[contract.IssuedKey](r, "issue-key", request{token: r.login("admin@acme.example"), body: `{"label":"laptop","expiresInDays":null}`})
	if d := daysBetween(k.CreatedAt.Truncate(time.Second), k.Expiry); d != 14 {
		t.Errorf("got a lifetime of %v days, want 14", d)
	}
}

// A key gets only roles and the clearance that are effective in the issuing session.
func TestIssueKey_CopiesEffectiveRolesOnly(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	session := r.login("member@acme.example")
	r.exec(`INSERT INTO identity.role_assignments (tenant_id, id, user_id, role_id, scope)
	        SELECT tenant_id, gen_random_uuid(), $2, id, 'tenant' FROM identity.roles WHERE tenant_id = $1 AND name = 'Admin'`, r.acme.id, r.acme.people["member"])
	r.exec(`UPDATE identity.memberships SET clearance = 'SECRET' WHERE user_id = $1`, r.acme.people["member"])
	k := must[contract.IssuedKey](r, "issue-key", request{token: session, body: body(fields{"label": "laptop"})})
	claims, err := r.tokens.Verify(k.Token, token.APIKey)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(claims.Roles, []string{"Member"}) || claims.Clearance != "INTERNAL" {
		t.Errorf("got claims %+v, want the role Member and the clearance INTERNAL", claims)
	}
	// The roles are fixed in the token, but their grants are read on each request.
	r.exec(`DELETE FROM identity.role_grants g USING identity.roles r WHERE r.tenant_id = g.tenant_id AND r.id = g.role_id AND r.name = 'Member' AND g.permission = 'task.create'`)
	for _, p := range must[contract.PermissionsOut](r, "permissions", request{token: k.Token}).Permissions {
		if p.Name == "task.create" {
			t.Error("key still has a permission that was removed from its role")
		}
	}
}

func TestIssueServiceKey_Denials(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	users := r.provision(r.acme)
	foreign := r.provision(r.globex)["multi-llm-review"]
	user := users["multi-llm-review"]
	issueRequest := func(token string, target op.UUID) request {
		return request{token: token, body: body(fields{"label": "ci", "targetUserId": target})}
	}
	admin := r.login("admin@acme.example")
	key := must[contract.IssuedKey](r, "issue-key", request{token: admin, body: body(fields{"label": "laptop"})}).Token
	const op = "issue-service-key"
	r.wantFault(op, issueRequest(key, user), fault.CodeForbidden, "session")
	for _, who := range []string{"member", "guest", "platform"} {
		r.wantFault(op, issueRequest(r.login(who+"@acme.example"), user), fault.CodeForbidden, "api_key.issue_for_service")
	}
	r.wantFault(op, issueRequest(admin, foreign), fault.CodeNotFound, "")
	r.wantFault(op, issueRequest(admin, uid.New()), fault.CodeNotFound, "")
	r.wantFault(op, issueRequest(admin, r.globex.people["admin"]), fault.CodeNotFound, "")
	r.wantFault(op, issueRequest(admin, r.acme.people["member"]), fault.CodeForbidden, "is not a service principal")

	for _, c := range []struct{ changeSQL, restoreSQL, wantText string }{
		{`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, `UPDATE identity.users SET status = 'ACTIVE' WHERE id = $1`, "not active"},
		{`UPDATE identity.memberships SET status = 'SUSPENDED' WHERE user_id = $1`, `UPDATE identity.memberships SET status = 'ACTIVE' WHERE user_id = $1`, "not active"},
		{`INSERT INTO identity.role_grants (tenant_id, role_id, permission) SELECT tenant_id, role_id, 'task.update' FROM identity.role_assignments WHERE user_id = $1`,
			`DELETE FROM identity.role_grants WHERE permission = 'task.update' AND role_id = (SELECT role_id FROM identity.role_assignments WHERE user_id = $1)`, "registered profile"},
		{`DELETE FROM identity.role_grants WHERE permission = 'tasks.read' AND role_id = (SELECT role_id FROM identity.role_assignments WHERE user_id = $1)`,
			`INSERT INTO identity.role_grants (tenant_id, role_id, permission) SELECT tenant_id, role_id, 'tasks.read' FROM identity.role_assignments WHERE user_id = $1`, "registered profile"},
		{`INSERT INTO identity.role_assignments (tenant_id, id, user_id, role_id, scope) SELECT tenant_id, gen_random_uuid(), $1, id, 'tenant' FROM identity.roles WHERE name = 'Member' AND tenant_id = (SELECT home_tenant_id FROM identity.users WHERE id = $1)`,
			`DELETE FROM identity.role_assignments a USING identity.roles r WHERE r.tenant_id = a.tenant_id AND r.id = a.role_id AND r.name = 'Member' AND a.user_id = $1`, ""},
		{`UPDATE identity.role_assignments SET scope = 'organisation', scope_id = gen_random_uuid() WHERE user_id = $1`,
			`UPDATE identity.role_assignments SET scope = 'tenant', scope_id = NULL WHERE user_id = $1`, ""},
	} {
		r.exec(c.changeSQL, user)
		r.wantFault(op, issueRequest(admin, user), fault.CodeConflict, c.wantText)
		r.exec(c.restoreSQL, user)
		if _, err := r.call(op, issueRequest(admin, user)); err != nil {
			t.Errorf("after %s: got %v, want no error", c.restoreSQL, err)
		}
	}

	// The permission requires a role assignment at the time of the request.
	r.exec(`DELETE FROM identity.role_assignments WHERE user_id = $1`, r.acme.people["admin"])
	r.wantFault(op, issueRequest(admin, user), fault.CodeForbidden, "api_key.issue_for_service")
}

func TestIssueServiceKey_RequiresMaximumOfAtLeastNinetyDays(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	user := r.provision(r.acme)["spec-wiki-sync"]
	for limit, allowed := range map[int]bool{0: true, 89: false, 90: true, 365: true} {
		r.startService(fixtureOptions{keys: authz.KeySettings{MaxUserDays: limit}})
		q := request{token: r.login("admin@acme.example"), body: body(fields{"label": "ci", "targetUserId": user})}
		if allowed {
			must[contract.IssuedKey](r, "issue-service-key", q)
		} else {
			r.wantFault("issue-service-key", q, fault.CodeConflict, "API_KEY_TTL_MAX_USER_DAYS")
		}
	}
}

func TestListKeys_ReturnsOwnOrServiceKeys(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	user := r.provision(r.acme)["spec-wiki-sync"]
	admin, member := r.login("admin@acme.example"), r.login("member@acme.example")
	var issued []op.UUID
	for range 5 {
		issued = append(issued, must[contract.IssuedKey](r, "issue-key", request{token: member, body: body(fields{"label": "laptop"})}).ID)
	}
	must[contract.IssuedKey](r, "issue-service-key", request{token: admin, body: body(fields{"label": "ci", "targetUserId": user})})
	var seen []op.UUID
	cursor := ""
	for {
		q := url.Values{"limit": {"2"}}
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		page := must[op.Page[contract.Key]](r, "list-keys", request{token: member, query: q})
		for _, k := range page.Items {
			if k.Owner != r.acme.people["member"] {
				t.Errorf("list-keys: got a key of user %s", k.Owner)
			}
			seen = append(seen, k.ID)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	slices.Reverse(seen)
	if !slices.Equal(seen, issued) {
		t.Errorf("list-keys: got %v, want %v", seen, issued)
	}
	listRequest := func(token string, id op.UUID) request {
		return request{token: token, query: url.Values{"serviceUserId": {string(id)}}}
	}
	if n := len(must[op.Page[contract.Key]](r, "list-keys", listRequest(admin, user)).Items); n != 1 {
		t.Errorf("list-keys of the service principal: got %d keys, want 1", n)
	}
	r.wantFault("list-keys", listRequest(member, user), fault.CodeForbidden, "api_key.issue_for_service")
	r.wantFault("list-keys", listRequest(admin, r.acme.people["member"]), fault.CodeNotFound, "")
	r.wantFault("list-keys", listRequest(admin, uid.New()), fault.CodeNotFound, "")
	r.wantFault("list-keys", listRequest(r.login("admin@globex.example"), user), fault.CodeNotFound, "")
	r.wantFault("list-keys", listRequest(r.login("platform@acme.example"), user), fault.CodeForbidden, "api_key.issue_for_service")
	r.wantFault("list-keys", request{token: r.login("platform@acme.example")}, fault.CodeForbidden, "api_key.read.own")
	r.wantFault("list-keys", request{token: member, query: url.Values{"cursor": {"x"}}}, fault.CodeValidation, "cursor")
	r.wantFault("list-keys", request{token: member, query: url.Values{"serviceUserId": {"x"}}}, fault.CodeValidation, "serviceUserId")
}

func TestRevokeKey_RequiresOwnerOrServicePermission(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	user := r.provision(r.acme)["spec-wiki-sync"]
	admin, member := r.login("admin@acme.example"), r.login("member@acme.example")
	own := must[contract.IssuedKey](r, "issue-key", request{token: member, body: body(fields{"label": "laptop"})})
	service := must[contract.IssuedKey](r, "issue-service-key", request{token: admin, body: body(fields{"label": "ci", "targetUserId": user})})
	revoke := func(token string, key op.UUID, serviceOwned bool, reason string) request {
		q := request{token: token, path: map[string]string{"keyId": string(key)}, query: url.Values{}}
		if serviceOwned {
			q.query.Set("serviceOwned", "true")
		}
		if reason != "" {
			q.body = body(fields{"reason": reason})
		}
		return q
	}
	const name = "revoke-key"
	// Only its owner can revoke a person's key.
	r.wantFault(name, revoke(admin, own.ID, true, "left"), fault.CodeForbidden, "person")
	r.wantFault(name, revoke(admin, own.ID, false, "left"), fault.CodeNotFound, "")
	must[contract.MeOut](r, "me", request{token: own.Token})
	// Revoking a service principal's key requires the permission, serviceOwned and a reason.
	r.wantFault(name, revoke(member, service.ID, true, "left"), fault.CodeForbidden, "api_key.issue_for_service")
	r.wantFault(name, revoke(r.login("admin@globex.example"), service.ID, true, "left"), fault.CodeNotFound, "")
	r.wantFault(name, revoke(admin, service.ID, false, "left"), fault.CodeNotFound, "")
	r.wantFault(name, revoke(admin, service.ID, true, ""), fault.CodeValidation, "reason")
	r.wantFault(name, revoke(admin, uid.New(), true, "left"), fault.CodeNotFound, "")
	r.wantFault(name, revoke(admin, "not-an-id", true, "left"), fault.CodeValidation, "keyId")
	r.wantFault(name, revoke(r.login("platform@acme.example"), own.ID, false, ""), fault.CodeForbidden, "api_key.revoke.own")
	must[contract.MeOut](r, "me", request{token: service.Token})

	first := must[contract.Key](r, name, revoke(admin, service.ID, true, "rotated"))
	if first.RevokedAt == nil || first.RevokedBy != r.acme.people["admin"] || first.RevokeReason != "rotated" {
		t.Errorf("revoke-key: got %+v, want the time, the administrator and the reason", first)
	}
	r.wantFault("me", request{token: service.Token}, fault.CodeUnauthorized, "")
	again := must[contract.Key](r, name, revoke(admin, service.ID, true, "again"))
	if !again.RevokedAt.Equal(*first.RevokedAt) || again.RevokeReason != "rotated" {
		t.Errorf("second revoke-key: got %+v, want no change", again)
	}
	entries := `SELECT count(*) FROM audit.entries WHERE action = 'api_key.revoked' AND resource_id = $1`
	if n := queryValue[int](r, entries, string(service.ID)); n != 1 {
		t.Errorf("got %d audit entries, want 1", n)
	}
	changes := queryValue[string](r, `SELECT changes::text FROM audit.entries WHERE action = 'api_key.revoked' AND resource_id = $1`, string(service.ID))
	if !contains(changes, string(user)) || !contains(changes, string(r.acme.people["admin"])) || !contains(changes, `"reason":"rotated"`) || contains(changes, "@") {
		t.Errorf("audit entry: got changes %s", changes)
	}
	// A key can revoke itself without a reason.
	must[contract.Key](r, name, revoke(own.Token, own.ID, false, ""))
	r.wantFault("me", request{token: own.Token}, fault.CodeUnauthorized, "")
	if n := queryValue[int](r, entries+` AND NOT changes::jsonb ? 'reason' AND credential_kind = 'api_key' AND credential_id = $1::uuid`, string(own.ID)); n != 1 {
		t.Errorf("got %d audit entries by the key without a reason, want 1", n)
	}
	if n := queryValue[int](r, `SELECT count(*) FROM events.outbox WHERE type = 'directory.user.key_revoked'`); n != 2 {
		t.Errorf("got %d key_revoked events, want 2", n)
	}
}

// A service principal cannot issue, list or revoke keys.
func TestKeyOperations_DenyServicePrincipals(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	user := r.provision(r.acme)["spec-wiki-sync"]
	key := must[contract.IssuedKey](r, "issue-service-key", request{token: r.login("admin@acme.example"), body: body(fields{"label": "ci", "targetUserId": user})})
	r.wantFault("issue-key", request{token: key.Token, body: body(fields{"label": "x"})}, fault.CodeForbidden, "session")
	r.wantFault("issue-service-key", request{token: key.Token, body: body(fields{"label": "x", "targetUserId": user})}, fault.CodeForbidden, "session")
	r.wantFault("list-keys", request{token: key.Token}, fault.CodeForbidden, "api_key.read.own")
	r.wantFault("revoke-key", request{token: key.Token, path: map[string]string{"keyId": string(key.ID)}}, fault.CodeForbidden, "api_key.revoke.own")
	r.wantFault("change-password", request{token: key.Token, body: body(fields{"currentPassword": "x", "newPassword": "another long secret"})}, fault.CodeForbidden, "session")
	r.wantFault("logout", request{token: key.Token}, fault.CodeConflict, "API key")
}

// A key is rejected while its membership is inactive. After its expiry it stays rejected.
func TestKey_WorksAgainAfterMembershipIsRestored(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	key := must[contract.IssuedKey](r, "issue-key", request{token: r.login("member@acme.example"), body: body(fields{"label": "x"})})
	r.exec(`UPDATE identity.memberships SET status = 'SUSPENDED' WHERE user_id = $1`, r.acme.people["member"])
	r.wantFault("me", request{token: key.Token}, fault.CodeUnauthorized, "USER_NOT_IN_TENANT")
	r.exec(`UPDATE identity.memberships SET status = 'ACTIVE' WHERE user_id = $1`, r.acme.people["member"])
	must[contract.MeOut](r, "me", request{token: key.Token})
	r.clock.advance(31 * 24 * time.Hour)
	r.wantFault("me", request{token: key.Token}, fault.CodeUnauthorized, "")
}

// Concurrent requests cannot exceed the maximum number of active keys. Revoked and expired
// keys do not count.
func TestIssueKey_LimitsActivePersonalKeys(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{keys: authz.KeySettings{MaxActivePersonal: 3}})
	session := r.login("member@acme.example")
	issue := request{token: session, body: body(fields{"label": "laptop", "expiresInDays": 2})}
	var wg sync.WaitGroup
	results := make([]error, 6)
	for i := range results {
		wg.Go(func() { _, results[i] = r.call("issue-key", issue) })
	}
	wg.Wait()
	issued := 0
	for _, err := range results {
		switch {
		case err == nil:
			issued++
		case !fault.HasCode(err, fault.CodeConflict):
			t.Error(err)
		}
	}
	if n := queryValue[int](r, `SELECT count(*)::int FROM identity.api_keys`); issued != 3 || n != 3 {
		t.Errorf("got %d successes and %d keys, want 3 of each", issued, n)
	}
	r.wantFault("issue-key", issue, fault.CodeConflict, "API_KEY_MAX_ACTIVE_PERSONAL")
	r.exec(`UPDATE identity.api_keys SET revoked_at = now(), revoked_by = owner_id WHERE jti = (SELECT jti FROM identity.api_keys LIMIT 1)`)
	must[contract.IssuedKey](r, "issue-key", issue)
	r.wantFault("issue-key", issue, fault.CodeConflict, "API_KEY_MAX_ACTIVE_PERSONAL")
	r.exec(`UPDATE identity.api_keys SET created_at = now() - interval '3 days', expires_at = now() - interval '1 day' WHERE revoked_at IS NULL`)
	must[contract.IssuedKey](r, "issue-key", issue)
}
