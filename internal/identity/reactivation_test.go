package identity_test

import (
	"testing"

	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
)

// A key keeps the roles that it was issued with, so the caller who reactivates its owner must hold
// these roles too, even if the owner has lost them since.
func TestReactivation_RequiresAuthorityOfActiveKeys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key     string
		allowed bool
	}{
		"an active key":                      {"", false},
		"an active key without stored roles": {`UPDATE identity.api_keys SET roles = NULL WHERE owner_id = $1`, false},
		"a key with fewer roles":             {`UPDATE identity.api_keys SET roles = '[{"role":"Helper","scope":"tenant","id":""}]' WHERE owner_id = $1`, true},
		"a key with more clearance":          {`UPDATE identity.api_keys SET roles = '[]', clearance = 'SECRET' WHERE owner_id = $1`, false},
		"an expired key":                     {`UPDATE identity.api_keys SET created_at = now() - interval '2 days', expires_at = now() - interval '1 day' WHERE owner_id = $1`, true},
		"a revoked key":                      {`UPDATE identity.api_keys SET revoked_at = now(), revoked_by = owner_id WHERE owner_id = $1`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFixture(t, fixtureOptions{})
			first := r.login("admin@acme.example")
			must[contract.Role](r, "create-role", request{token: first, body: body(fields{"name": "Helper", "permissions": []string{"tasks.read"}})})
			_, desk := r.addPerson("desk", "user.read", "user.update", "membership.update", "membership.read", "tasks.read")
			former := must[contract.User](r, "create-user", request{token: first, body: body(fields{
				"email": "former@acme.example", "displayName": "Former", "roles": []string{"Admin"}, "password": testPassword,
			})})
			must[contract.IssuedKey](r, "issue-key", request{token: r.login("former@acme.example"), body: body(fields{"label": "ci", "expiresInDays": 7})})
			if c.key != "" {
				r.exec(c.key, former.ID)
			}
			r.exec(`DELETE FROM identity.role_assignments WHERE user_id = $1`, former.ID)
			calls := map[string]struct {
				suspendSQL string
				body       fields
			}{
				"activate-user":     {`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, fields{}},
				"update-membership": {`UPDATE identity.memberships SET status = 'SUSPENDED' WHERE user_id = $1`, fields{"status": "ACTIVE"}},
			}
			for operation, call := range calls {
				desk := desk
				r.exec(call.suspendSQL, former.ID)
				r.checker.DropAll()
				if !c.allowed {
					r.wantFault(operation, pathRequest(desk, "userId", former.ID, call.body), fault.CodeForbidden, "permissions that you do not have")
					desk = first
				}
				if _, err := r.call(operation, pathRequest(desk, "userId", former.ID, call.body)); err != nil {
					t.Errorf("%s: got %v, want no error", operation, err)
				}
			}
		})
	}
}
