package identity_test

import (
	"context"
	"errors"
	"net/url"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"

	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/identity"
	"parapet/internal/op"
	"parapet/internal/uid"
)

// addOffice adds northwind, a PROGRAMME_OFFICE tenant that administers acme but not globex.
func (r *fixture) addOffice() testTenant {
	r.t.Helper()
	h := testTenant{people: map[string]op.UUID{}}
	r.asOwner(func(ctx context.Context, tx pgx.Tx) error {
		s := &identity.Seeder{Tx: tx, Catalogue: r.engine.Catalogue(), Passwords: r.passwords, Now: r.clock.Now()}
		var err error
		if h.id, err = s.EnsureTenant(ctx, identity.SeedTenant{Slug: "northwind", Name: "Northwind", Type: "PROGRAMME_OFFICE"}); err != nil {
			return err
		}
		for name, role := range map[string]string{"admin": "Admin", "member": "Member"} {
			h.people[name], err = s.EnsureUser(ctx, identity.SeedUser{
				Tenant: h.id, Email: name + "@northwind.example", DisplayName: name, Kind: "HUMAN", Password: testPassword, Clearance: "SECRET", Roles: []string{role},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	r.exec(`UPDATE identity.tenants SET office_id = $1 WHERE id = $2`, h.id, r.acme.id)
	return h
}

// roleID returns the id of a tenant's role.
func (r *fixture) roleID(tenant op.UUID, name string) op.UUID {
	r.t.Helper()
	return op.UUID(queryValue[string](r, `SELECT id::text FROM identity.roles WHERE tenant_id = $1 AND name = $2`, tenant, name))
}

// addPerson adds a member of acme with a new role that grants these permissions in the whole
// tenant. It returns the user's id and a session token.
func (r *fixture) addPerson(name string, permissions ...string) (op.UUID, string) {
	r.t.Helper()
	return r.addPersonIn(r.acme, name, permissions...)
}

// addPersonIn is addPerson for another tenant.
func (r *fixture) addPersonIn(h testTenant, name string, permissions ...string) (op.UUID, string) {
	r.t.Helper()
	role := uid.New()
	r.exec(`INSERT INTO identity.roles (tenant_id, id, name) VALUES ($1, $2, $3)`, h.id, role, name+"'s role")
	for _, p := range permissions {
		r.exec(`INSERT INTO identity.role_grants (tenant_id, role_id, permission) VALUES ($1, $2, $3)`, h.id, role, p)
	}
	return r.addPersonWithRoleIn(h, name, name+"'s role")
}

// addPersonWithRole adds a member of acme with an existing role.
func (r *fixture) addPersonWithRole(name, role string) (op.UUID, string) {
	r.t.Helper()
	return r.addPersonWithRoleIn(r.acme, name, role)
}

// addPersonWithRoleIn is addPersonWithRole for another tenant.
func (r *fixture) addPersonWithRoleIn(h testTenant, name, role string) (op.UUID, string) {
	r.t.Helper()
	var id op.UUID
	r.asOwner(func(ctx context.Context, tx pgx.Tx) error {
		s := &identity.Seeder{Tx: tx, Catalogue: r.engine.Catalogue(), Passwords: r.passwords, Now: r.clock.Now()}
		var err error
		id, err = s.EnsureUser(ctx, identity.SeedUser{
			Tenant: h.id, Organisation: h.organisation, Email: name + "@acme.example", DisplayName: name, Kind: "HUMAN", Password: testPassword,
			Clearance: "INTERNAL", Roles: []string{role},
		})
		return err
	})
	return id, r.login(name + "@acme.example")
}

// hasCriticalEntry reports whether the tenant has an audit entry of this action about the
// record, and an audit.entry.created event.
func (r *fixture) hasCriticalEntry(tenant op.UUID, action string, resource op.UUID) bool {
	r.t.Helper()
	return queryValue[bool](r, `
SELECT EXISTS (SELECT 1 FROM audit.entries WHERE tenant_id = $1 AND action = $2 AND resource_id = $3)
   AND EXISTS (SELECT 1 FROM events.outbox WHERE tenant_id = $1 AND type = 'audit.entry.created')`, tenant, action, string(resource))
}

// hasEvent reports whether the outbox has an event of this type about the record.
func (r *fixture) hasEvent(tenant op.UUID, event *op.EventType, aggregate op.UUID) bool {
	r.t.Helper()
	return queryValue[bool](r, `SELECT EXISTS (SELECT 1 FROM events.outbox WHERE tenant_id = $1 AND type = $2 AND aggregate_id = $3)`, tenant, event.Name, string(aggregate))
}

// requestBodies returns a valid body for every operation of the directory.
func requestBodies() map[string]string {
	id := string(uid.New())
	return map[string]string{
		"create-tenant": body(fields{"slug": "fresh", "name": "Fresh", "organisationName": "Fresh works", "adminEmail": "a@fresh.example", "adminName": "A"}),
		"update-tenant": body(fields{"name": "New"}), "disable-tenant": `{}`, "enable-tenant": `{}`,
		"create-organisation": body(fields{"name": "Org"}), "update-organisation": body(fields{"name": "Org"}),
		"create-user": body(fields{"email": "x@acme.example", "displayName": "X", "roles": []string{"Member"}}),
		"update-user": body(fields{"displayName": "Y"}), "suspend-user": `{}`, "activate-user": `{}`,
		"create-membership": body(fields{"userId": id, "roles": []string{"Member"}}), "update-membership": body(fields{"status": "SUSPENDED"}),
		"create-role": body(fields{"name": "Helper"}), "update-role": body(fields{"description": "D"}),
		"grant-permission": body(fields{"permission": "tasks.read"}), "assign-role": body(fields{"userId": id}),
	}
}

// requestFor returns a valid request of an operation for the record with this id.
func requestFor(o *op.Operation, token string, id op.UUID) request {
	q := request{token: token, path: map[string]string{}, body: requestBodies()[o.Name]}
	for _, part := range o.PathParts() {
		q.path[part] = string(id)
	}
	if o.Name == contract.ExplainDecision.Name {
		q.query = url.Values{"operation": {"get-user"}, "record": {string(id)}, "userId": {string(id)}}
	}
	return q
}

// A caller without permissions gets FORBIDDEN with the missing permission before anything is
// loaded.
func TestDirectoryOperations_DenyCallerWithoutPermissions(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	withoutPermission := r.login("platform@acme.example")
	for _, o := range directoryOperations() {
		if _, bound := r.bound[o.Name]; !bound {
			t.Errorf("%s is declared but not bound", o.Name)
			continue
		}
		for _, id := range []op.UUID{r.acme.people["member"], uid.New()} {
			r.wantFault(o.Name, requestFor(o, withoutPermission, id), fault.CodeForbidden, o.Permission)
		}
	}
}

// A record of another tenant and a missing record give the same error.
func TestDirectoryOperations_HideRecordsOfOtherTenants(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	foreign := map[string]op.UUID{
		"tenantId": r.globex.id, "organisationId": r.globex.organisation, "userId": r.globex.people["member"], "roleId": r.roleID(r.globex.id, "Member"),
		"assignmentId": op.UUID(queryValue[string](r, `SELECT id::text FROM identity.role_assignments WHERE tenant_id = $1 LIMIT 1`, r.globex.id)),
	}
	tested := 0
	for _, o := range directoryOperations() {
		if len(o.PathParts()) == 0 || o.Name == "mark-notification-read" {
			continue
		}
		tested++
		want := fault.CodeNotFound
		if o.Name == "disable-tenant" || o.Name == "enable-tenant" {
			want = fault.CodeForbidden // administrators of STANDARD tenants hold neither tenant.disable nor tenant.enable
		}
		var errs [2]fault.Error
		for i := range errs {
			q := requestFor(o, admin, uid.New())
			if i == 0 {
				for _, part := range o.PathParts() {
					if id, ok := foreign[part]; ok {
						q.path[part] = string(id)
					}
				}
			}
			_, err := r.call(o.Name, q)
			var f *fault.Error
			if !errors.As(err, &f) || f.Code != want {
				t.Errorf("%s: got %v, want %s", o.Name, err, want)
				continue
			}
			errs[i] = fault.Error{Code: f.Code, Message: f.Message, Reason: f.Reason, Field: f.Field, Permission: f.Permission, Details: f.Details}
		}
		if !reflect.DeepEqual(errs[0], errs[1]) {
			t.Errorf("%s: got different errors for a foreign and a missing record: %+v, %+v", o.Name, errs[0], errs[1])
		}
	}
	if tested < 15 {
		t.Errorf("got %d operations tested, want at least 15", tested)
	}
	// Ids in bodies and queries give the same errors too.
	member := r.roleID(r.acme.id, "Member")
	for _, user := range []op.UUID{r.globex.people["member"], uid.New()} {
		r.wantFault("assign-role", request{token: admin, path: map[string]string{"roleId": string(member)}, body: body(fields{"userId": user})}, fault.CodeNotFound, "There is no such user.")
		r.wantFault("create-membership", request{token: admin, body: body(fields{"userId": user, "roles": []string{"Member"}})}, fault.CodeNotFound, "There is no such user.")
	}
	for _, organisation := range []op.UUID{r.globex.organisation, uid.New()} {
		r.wantFault("create-user", request{token: admin, body: body(fields{
			"email": "new@acme.example", "displayName": "N", "roles": []string{"Member"}, "organisationId": organisation,
		})}, fault.CodeValidation, "There is no such organisation in the tenant.")
	}
}

// No response contains a password hash.
func TestDirectoryReads_ReturnNoPasswordHash(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	for _, name := range []string{"list-users", "list-people", "get-user", "list-memberships"} {
		out, err := r.call(name, requestFor(r.bound[name].Operation, admin, r.acme.people["member"]))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"argon2", "assword"} {
			if containsText(text, secret) {
				t.Errorf("%s: got response %s, want no password hash", name, text)
			}
		}
	}
}

// All pages together contain each record exactly once.
func TestDirectoryLists_PageAllRecordsOnce(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	admin := r.login("admin@acme.example")
	for i := range 5 {
		name := string(rune('A'+i)) + " organisation"
		must[contract.Organisation](r, "create-organisation", request{token: admin, body: body(fields{"name": name})})
	}
	checkPages[contract.Organisation](r, "list-organisations", admin, 6, func(o contract.Organisation) op.UUID { return o.ID })
	checkPages[contract.User](r, "list-users", admin, len(people), func(u contract.User) op.UUID { return u.ID })
	checkPages[contract.Colleague](r, "list-people", admin, len(people), func(p contract.Colleague) op.UUID { return p.ID })
	checkPages[contract.Membership](r, "list-memberships", admin, len(people), func(m contract.Membership) op.UUID { return m.UserID })
	checkPages[contract.Role](r, "list-roles", admin, len(r.engine.Catalogue().Roles), func(r contract.Role) op.UUID { return r.ID })
	events := queryValue[int](r, `SELECT count(*)::int FROM events.outbox WHERE tenant_id = $1`, r.acme.id)
	checkPages[contract.EventRecord](r, "list-events", admin, events, func(e contract.EventRecord) op.UUID { return e.ID })
	for _, name := range []string{"list-events", "list-notifications"} {
		r.wantFault(name, request{token: admin, query: map[string][]string{"cursor": {op.NewCursor(name, r.acme.id, "b")}}}, fault.CodeValidation, "cursor")
	}
	for _, cursor := range []string{"x", "AAAA", op.NewCursor("list-users", r.globex.id, "a", string(uid.New())), op.NewCursor("list-users", r.acme.id, "a", "b")} {
		r.wantFault("list-users", request{token: admin, query: map[string][]string{"cursor": {cursor}}}, fault.CodeValidation, "cursor")
	}
	for _, limit := range []string{"0", "201", "-1", "x"} {
		r.wantFault("list-users", request{token: admin, query: map[string][]string{"limit": {limit}}}, fault.CodeValidation, "limit")
	}
}

// Lists of a programme office and lists about one record.
func TestOfficeAndAssignmentLists_PageAllRecords(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	r.addOffice()
	office := r.login("admin@northwind.example")
	first := must[op.Page[contract.Tenant]](r, "list-tenants", request{token: office, query: map[string][]string{"limit": {"1"}}})
	second := must[op.Page[contract.Tenant]](r, "list-tenants", request{token: office, query: map[string][]string{"limit": {"1"}, "cursor": {first.NextCursor}}})
	if len(first.Items) != 1 || len(second.Items) != 1 || first.Items[0].Slug != "acme" || second.Items[0].Slug != "northwind" || second.NextCursor != "" {
		t.Errorf("list-tenants: got pages %+v and %+v", first, second)
	}
	admin := r.login("admin@acme.example")
	role := r.roleID(r.acme.id, "Member")
	must[contract.RoleAssignment](r, "assign-role", pathRequest(admin, "roleId", role, fields{"userId": r.acme.people["guest"]}))
	seen := map[op.UUID]bool{}
	q := pathRequest(admin, "roleId", role, nil)
	q.query = map[string][]string{"limit": {"1"}}
	for range 3 {
		page := must[op.Page[contract.RoleAssignment]](r, "list-assignments", q)
		seen[page.Items[0].UserID] = true
		if page.NextCursor == "" {
			break
		}
		q.query = map[string][]string{"limit": {"1"}, "cursor": {page.NextCursor}}
	}
	if len(seen) != 2 || !seen[r.acme.people["member"]] || !seen[r.acme.people["guest"]] {
		t.Errorf("list-assignments: got users %v", seen)
	}
	q.query = map[string][]string{"cursor": {op.NewCursor("list-assignments", r.acme.id, "no moment", string(role))}}
	r.wantFault("list-assignments", q, fault.CodeValidation, "cursor")
}

func checkPages[T any](r *fixture, name, token string, want int, id func(T) op.UUID) {
	r.t.Helper()
	seen := map[op.UUID]bool{}
	cursor := ""
	for range want + 1 {
		query := map[string][]string{"limit": {"2"}}
		if cursor != "" {
			query["cursor"] = []string{cursor}
		}
		page := must[op.Page[T]](r, name, request{token: token, query: query})
		if page.NextCursor != "" && len(page.Items) != 2 {
			r.t.Errorf("%s: got a page of %d before the last page, want 2", name, len(page.Items))
		}
		for _, item := range page.Items {
			if seen[id(item)] {
				r.t.Errorf("%s: got %s twice", name, id(item))
			}
			seen[id(item)] = true
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if len(seen) != want || cursor != "" {
		r.t.Errorf("%s: got %d records in all pages, want %d", name, len(seen), want)
	}
}
