package identity_test

import (
	"slices"
	"testing"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	trackercontract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/identity"
	"parapet/internal/op"
	"parapet/internal/uid"
)

// access calls get-access.
func (r *fixture) access(token string, user op.UUID) *contract.Access {
	r.t.Helper()
	return must[contract.Access](r, "get-access", request{token: token, path: map[string]string{"userId": string(user)}})
}

// The permissions that get-access shows as granted by roles are those of a session of the user.
func TestGetAccess_AgreesWithPermissionsOfSession(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	guest, project := r.acme.people["guest"], uid.New()
	member := r.roleID(r.acme.id, "Member")
	must[contract.RoleAssignment](r, "assign-role", pathRequest(admin, "roleId", member, fields{"userId": guest, "scope": "project", "scopeId": project}))
	must[contract.RoleAssignment](r, "assign-role", pathRequest(admin, "roleId", member, fields{"userId": guest, "scope": "organisation", "scopeId": r.acme.organisation}))
	for _, name := range []string{"admin", "member", "guest"} {
		token := r.login(name + "@acme.example")
		own := must[contract.PermissionsOut](r, "permissions", request{token: token})
		for _, asker := range []string{token, admin} {
			got := r.access(asker, r.acme.people[name])
			if !got.Active || got.User.ID != r.acme.people[name] || len(got.User.Roles) == 0 || len(got.Permissions) != len(own.Permissions) {
				t.Errorf("%s: got %d permissions of %+v, want the %d permissions of the active user", name, len(got.Permissions), got.User, len(own.Permissions))
				continue
			}
			for i, p := range got.Permissions {
				want := own.Permissions[i]
				scopes := contract.EffectivePermission{Name: p.Name, Description: p.Description, Organisations: []op.UUID{}, Projects: []op.UUID{}}
				for _, o := range p.Origins {
					switch o.Scope {
					case contract.ScopeTenant:
						scopes.Tenant = true
					case contract.ScopeOrganisation:
						scopes.Organisations = append(scopes.Organisations, o.ScopeID)
					case contract.ScopeProject:
						scopes.Projects = append(scopes.Projects, o.ScopeID)
					}
				}
				if scopes.Name != want.Name || scopes.Tenant != want.Tenant || !slices.Equal(scopes.Organisations, want.Organisations) || !slices.Equal(scopes.Projects, want.Projects) {
					t.Errorf("%s: got %+v from the origins, want %+v", name, scopes, want)
				}
			}
		}
	}
}

func TestGetAccess_ShowsDelegatedPermissionsWithDelegator(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	guest, member := r.acme.people["guest"], r.acme.people["member"]
	r.delegate(r.acme, member, guest, "-1 hour", "task.update", "role.assign", "tasks.read")
	r.delegate(r.acme, member, guest, "1 hour", "task.create")
	got := r.access(admin, guest)
	if len(got.Delegations) != 2 || got.Delegations[0].Delegator != member || got.Delegations[0].Scope != "tenant" {
		t.Errorf("got the delegations %+v, want both", got.Delegations)
	}
	origins := map[string][]string{}
	for _, p := range got.Permissions {
		for _, o := range p.Origins {
			if (o.Kind == contract.OriginDelegation) != (o.Delegator == member && o.DelegationID != "" && o.Role == "") {
				t.Errorf("%s: got the origin %+v, want a role, or the delegation of the member", p.Name, o)
			}
			origins[p.Name] = append(origins[p.Name], o.Kind)
		}
	}
	// The member holds no role.assign, and the other delegation has not started.
	for name, want := range map[string][]string{"task.update": {"delegation"}, "tasks.read": {"role", "delegation"}, "projects.read": {"role"}, "role.assign": nil, "task.create": nil} {
		if !slices.Equal(origins[name], want) {
			t.Errorf("%s: got the origins %v, want %v", name, origins[name], want)
		}
	}
	must[contract.User](r, "suspend-user", pathRequest(admin, "userId", member, fields{}))
	for _, p := range r.access(admin, guest).Permissions {
		if p.Name == "task.update" {
			t.Error("got a permission delegated by a suspended user, want none")
		}
	}
	if r.access(admin, member).Active {
		t.Error("got active for a suspended user, want not active")
	}
}

func TestGetAccess_OfAnotherUserNeedsPermissions(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin, member, guest := r.login("admin@acme.example"), r.login("member@acme.example"), r.login("guest@acme.example")
	of := func(token string, user op.UUID) request {
		return request{token: token, path: map[string]string{"userId": string(user)}}
	}
	r.wantFault("get-access", of(guest, r.acme.people["member"]), fault.CodeForbidden, "user.read")
	r.wantFault("get-access", of(member, r.acme.people["guest"]), fault.CodeForbidden, "role.read")
	for _, user := range []op.UUID{r.globex.people["member"], uid.New()} {
		r.wantFault("get-access", of(admin, user), fault.CodeNotFound, "There is no such user.")
	}
	// A user who may read users and roles, but no delegations.
	reader := r.roleID(r.acme.id, "Guest Customer")
	for _, permission := range []string{"user.read", "role.read"} {
		must[contract.Role](r, "grant-permission", pathRequest(admin, "roleId", reader, fields{"permission": permission}))
	}
	r.delegate(r.acme, r.acme.people["admin"], r.acme.people["member"], "-1 hour", "task.update")
	got := r.access(guest, r.acme.people["member"])
	delegated := 0
	for _, p := range got.Permissions {
		for _, o := range p.Origins {
			if o.Kind == contract.OriginDelegation {
				delegated++
			}
			if o.Delegator != "" || o.DelegationID != "" {
				t.Errorf("%s: got the origin %+v, want it without the delegation", p.Name, o)
			}
		}
	}
	if got.Delegations != nil || delegated != 1 {
		t.Errorf("got the delegations %+v and %d delegated permissions, want none and 1", got.Delegations, delegated)
	}
	if got := r.access(member, r.acme.people["member"]); len(got.Delegations) != 1 {
		t.Errorf("the user itself: got the delegations %+v, want one", got.Delegations)
	}
}

// A delegation grants a permission only in the scopes in which the delegator holds it now, not
// in those held when it was created.
func TestGetAccess_DelegationIsLimitedToCurrentScopesOfDelegator(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	guest, member, project := r.acme.people["guest"], r.acme.people["member"], uid.New()
	r.delegate(r.acme, member, guest, "-1 hour", "task.update", "comments.update.own")
	origin := func(permission string) contract.PermissionOrigin {
		t.Helper()
		for _, p := range r.access(admin, guest).Permissions {
			if i := slices.IndexFunc(p.Origins, func(o contract.PermissionOrigin) bool { return o.Kind == contract.OriginDelegation }); p.Name == permission && i >= 0 {
				return p.Origins[i]
			}
		}
		return contract.PermissionOrigin{}
	}
	if o := origin("task.update"); o.Scope != contract.ScopeTenant || o.Delegator != member {
		t.Errorf("delegator with a role in the whole tenant: got %+v, want the scope tenant", o)
	}
	r.exec(`UPDATE identity.role_assignments SET scope = 'project', scope_id = $2 WHERE user_id = $1`, member, project)
	if o := origin("task.update"); o.Scope != contract.ScopeProject || o.ScopeID != project || o.Delegator != member {
		t.Errorf("delegator with a role in one project: got %+v, want this project", o)
	}
	r.exec(`DELETE FROM identity.role_assignments WHERE user_id = $1`, member)
	if o := origin("task.update"); o.Scope != "" {
		t.Errorf("delegator without a role: got %+v, want none", o)
	}
}

func TestDelegatedOrigins_IntersectScopes(t *testing.T) {
	t.Parallel()
	const p, q, o = "p", "q", "o"
	tenant := trackercontract.ReceivedDelegation{Scope: "TENANT"}
	project := trackercontract.ReceivedDelegation{Scope: "PROJECT", ProjectID: p}
	initiative := trackercontract.ReceivedDelegation{Scope: "INITIATIVE"}
	type origin = contract.PermissionOrigin
	for name, c := range map[string]struct {
		delegation trackercontract.ReceivedDelegation
		delegator  authz.Scopes
		want       []origin
	}{
		"tenant and tenant":            {tenant, authz.Scopes{Tenant: true, Projects: []string{p}}, []origin{{Scope: "tenant"}}},
		"tenant and narrower scopes":   {tenant, authz.Scopes{Organisations: []string{o}, Projects: []string{p}}, []origin{{Scope: "organisation", ScopeID: o}, {Scope: "project", ScopeID: p}}},
		"tenant and nothing":           {tenant, authz.Scopes{}, nil},
		"project and tenant":           {project, authz.Scopes{Tenant: true}, []origin{{Scope: "project", ScopeID: p}}},
		"project and the same project": {project, authz.Scopes{Projects: []string{q, p}}, []origin{{Scope: "project", ScopeID: p}}},
		"project and another project":  {project, authz.Scopes{Projects: []string{q}}, nil},
		"project and an organisation":  {project, authz.Scopes{Organisations: []string{o}}, []origin{{Scope: "project", ScopeID: p}}},
		"initiative and a project":     {initiative, authz.Scopes{Projects: []string{p}}, []origin{{Scope: "initiative"}}},
	} {
		if got := identity.DelegatedOrigins(&c.delegation, c.delegator); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

// A key that is limited to a project must not show what its owner may do in other projects.
func TestGetAccess_KeyLimitedToProjectIsDenied(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	session, admin := r.login("admin@acme.example"), r.acme.people["admin"]
	of := func(token string, user op.UUID) request {
		return request{token: token, path: map[string]string{"userId": string(user)}}
	}
	limit := "project:" + string(uid.New())
	for _, caveats := range [][]string{{limit}, {limit, "read-only"}, {limit, "module:identity"}} {
		key := r.issueKeyWithCaveats(session, caveats)
		r.wantFault("get-access", of(key, admin), fault.CodeForbidden, "limited to a project")
		r.wantFault("get-access", of(key, r.acme.people["member"]), fault.CodeForbidden, "project")
	}
	for _, caveats := range [][]string{nil, {"read-only"}, {"module:identity"}} {
		if got := r.access(r.issueKeyWithCaveats(session, caveats), admin); len(got.Permissions) == 0 {
			t.Errorf("caveats %v: got no permissions, want those of the owner", caveats)
		}
	}
}
