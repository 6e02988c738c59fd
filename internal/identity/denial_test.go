package identity_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// credentialOperations lists the operations on sessions, the caller's account and API keys,
// and on types of events. Every active user may call most of them.
var credentialOperations = []string{
	"login", "logout", "change-password", "change-email", "request-password-reset", "reset-password",
	"me", "permissions", "list-orgs", "issue-service-key", "issue-key", "list-keys", "revoke-key",
	"list-event-types", "get-event-type",
}

// directoryOperations returns all other operations: those on tenants, organisations, users,
// memberships, roles, the audit and decision logs, events and notifications. Package webhook
// implements and tests the others.
func directoryOperations() []*op.Operation {
	return slices.DeleteFunc(contract.Contract.Operations(), func(o *op.Operation) bool {
		return slices.Contains(credentialOperations, o.Name) || strings.HasPrefix(o.Path, "/api/webhooks")
	})
}

// Each credential operation must have a case in which it is denied.
func TestCredentialOperations_AreDenied(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	service := r.provision(r.acme)["spec-wiki-sync"]
	member, guest := r.login("member@acme.example"), r.login("guest@acme.example")
	key := must[contract.IssuedKey](r, "issue-key", request{token: member, body: body(fields{"label": "x"})})
	foreign := r.login("admin@globex.example")
	away := request{token: member, actAs: string(r.globex.id)}
	denials := map[string]struct {
		request  request
		code     fault.Code
		wantText string
	}{
		"login":             {request{body: body(fields{"email": "member@acme.example", "password": "wrong"})}, fault.CodeUnauthorized, ""},
		"logout":            {request{token: key.Token}, fault.CodeConflict, "API key"},
		"change-password":   {request{token: key.Token, body: body(fields{"currentPassword": testPassword, "newPassword": "another long secret"})}, fault.CodeForbidden, "session"},
		"change-email":      {request{token: key.Token, body: body(fields{"currentPassword": testPassword, "email": "x@acme.example"})}, fault.CodeForbidden, "session"},
		"reset-password":    {request{body: body(fields{"token": "x", "newPassword": "another long secret"})}, fault.CodeValidation, "unknown, used or expired"},
		"me":                {away, fault.CodeForbidden, "not allowed"},
		"permissions":       {away, fault.CodeForbidden, "not allowed"},
		"list-orgs":         {away, fault.CodeForbidden, "not allowed"},
		"list-event-types":  {away, fault.CodeForbidden, "not allowed"},
		"get-event-type":    {away, fault.CodeForbidden, "not allowed"},
		"issue-service-key": {request{token: member, body: body(fields{"label": "x", "targetUserId": service})}, fault.CodeForbidden, "api_key.issue_for_service"},
		"issue-key":         {request{token: guest, body: body(fields{"label": "x"})}, fault.CodeForbidden, "api_key.issue"},
		"list-keys":         {request{token: member, query: url.Values{"serviceUserId": {string(service)}}}, fault.CodeForbidden, "api_key.issue_for_service"},
		"revoke-key":        {request{token: foreign, path: map[string]string{"keyId": string(key.ID)}}, fault.CodeNotFound, ""},
	}
	for _, name := range credentialOperations {
		if name == contract.RequestPasswordReset.Name {
			continue // the same response for everybody
		}
		d, ok := denials[name]
		if !ok {
			t.Errorf("%s: no case with a denial", name)
			continue
		}
		r.wantFault(name, d.request, d.code, d.wantText)
		if r.bound[name].Access != op.Public {
			for _, text := range []string{"", "x", key.Token + "x", key.Token[:len(key.Token)-1]} {
				q := d.request
				q.token = text
				r.wantFault(name, q, fault.CodeUnauthorized, "")
			}
		}
	}
	must[contract.MeOut](r, "me", request{token: key.Token})
}

// A disabled tenant rejects all its credentials and requests of other tenants' credentials
// that act in it.
func TestDisabledTenant_RejectsAllCredentials(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	r.exec(`INSERT INTO identity.memberships (tenant_id, user_id) VALUES ($1, $2)`, r.acme.id, r.globex.people["admin"])
	admin, guest := r.login("admin@acme.example"), r.login("admin@globex.example")
	must[contract.MeOut](r, "me", request{token: guest, actAs: string(r.acme.organisation)})
	r.exec(`UPDATE identity.tenants SET disabled_at = now() WHERE id = $1`, r.acme.id)
	r.wantFault("me", request{token: admin}, fault.CodeUnauthorized, "TENANT_DISABLED")
	r.wantFault("me", request{token: guest, actAs: string(r.acme.organisation)}, fault.CodeForbidden, "not allowed")
	must[contract.MeOut](r, "me", request{token: guest})
	r.exec(`UPDATE identity.tenants SET disabled_at = NULL WHERE id = $1`, r.acme.id)
	must[contract.MeOut](r, "me", request{token: admin})
}
