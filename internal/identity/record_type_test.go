package identity_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"parapet/internal/audit"
	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/identity"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/token"
	"parapet/internal/uid"
)

// directoryReads are the permissions that the lists of the directory require.
var directoryReads = []string{
	"user.read", "membership.read", "organisation.read", "role.read", "tenant.read", "events.read", "audit.read.own", "audit.read.organisation",
}

// directorySubjects creates records of every type in acme, with several organisations,
// scopes, statuses and classifications, and returns tokens of many kinds of subjects.
func directorySubjects(r *fixture) map[string]string {
	r.t.Helper()
	subjects := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(people)) {
		subjects[name] = r.login(name + "@acme.example")
	}
	yard, project := uid.New(), uid.New()
	r.exec(`INSERT INTO identity.organisations (tenant_id, id, name) VALUES ($1, $2, 'Yard')`, r.acme.id, yard)
	_, subjects["auditor"] = r.addPersonWithRole("auditor", "Auditor")
	clerk, _ := r.addPerson("clerk", directoryReads...)
	ownID, own := r.addPerson("own", "audit.read.own", "api_key.read.own", "api_key.issue")
	subjects["own"] = own
	_, subjects["tenant auditor"] = r.addPerson("tenant-auditor", "audit.read.tenant")
	_, subjects["classified auditor"] = r.addPerson("classified-auditor", "audit.read.classified")
	_, subjects["nobody"] = r.addPerson("nobody")
	subjects["key of own"] = must[contract.IssuedKey](r, "issue-key", request{token: own, body: body(fields{"label": "k"})}).Token
	_, issuer := r.addPerson("issuer", append([]string{"api_key.issue"}, directoryReads...)...)
	for name, caveats := range map[string][]string{
		"key": nil, "read-only key": {"read-only"}, "key of a project": {"project:" + string(project)}, "key of the wiki": {"module:wiki"},
	} {
		subjects[name] = r.issueKeyWithCaveats(issuer, caveats)
	}
	// These hold their role in one organisation or in one project only.
	for name, scope := range map[string]struct {
		kind string
		id   op.UUID
	}{"clerk of works": {"organisation", r.acme.organisation}, "clerk of the yard": {"organisation", yard}, "clerk of a project": {"project", project}} {
		who := "clerk-" + string(uid.New())
		id, _ := r.addPerson(who, directoryReads...)
		r.exec(`UPDATE identity.role_assignments SET scope = $3, scope_id = $4 WHERE tenant_id = $1 AND user_id = $2`, r.acme.id, id, scope.kind, scope.id)
		subjects[name] = r.login(who + "@acme.example")
	}

	for i, status := range []string{"ACTIVE", "SUSPENDED", "REMOVED"} {
		for _, organisation := range []any{yard, r.acme.organisation, nil} {
			id, _ := r.addPersonWithRole("m"+string(uid.New()), "Member")
			r.exec(`UPDATE identity.memberships SET organisation_id = $3, status = $4 WHERE tenant_id = $1 AND user_id = $2`, r.acme.id, id, organisation, status)
			if i == 0 {
				ownID = id
			}
		}
	}
	tiers := []*string{nil}
	for _, tier := range []string{"UNCLASSIFIED", "INTERNAL", "SECRET"} {
		tiers = append(tiers, &tier)
	}
	r.asOwner(func(ctx context.Context, tx pgx.Tx) error {
		var entries []audit.Entry
		for _, tier := range tiers {
			for _, actor := range []op.UUID{clerk, ownID, r.acme.people["member"], r.subjectID(own)} {
				entries = append(entries, audit.Entry{
					Tenant: r.acme.id, Actor: actor, Action: "probe", ResourceType: "probe", Module: "identity", Classification: tier,
				})
			}
		}
		if err := postgres.SetTenant(ctx, tx, string(r.acme.id)); err != nil {
			return err
		}
		return audit.Append(ctx, tx, entries)
	})
	for _, event := range []string{"directory.user.created", "projects.task.updated"} {
		for _, tier := range tiers {
			payload := fields{}
			if tier != nil {
				payload["classification"] = *tier
			}
			r.exec(`INSERT INTO events.outbox (id, type, tenant_id, aggregate_type, aggregate_id, occurred_at, correlation_id, payload)
			        VALUES (gen_random_uuid(), $1, $2, 'probe', gen_random_uuid(), now(), gen_random_uuid(), $3)`, event, r.acme.id, payload)
		}
	}
	return subjects
}

func (r *fixture) subjectID(token string) op.UUID {
	r.t.Helper()
	return op.UUID(r.subject(token).ID())
}

// issueKeyWithCaveats returns a key of the session's user with caveats.
func (r *fixture) issueKeyWithCaveats(session string, caveats []string) string {
	r.t.Helper()
	issued := must[contract.IssuedKey](r, "issue-key", request{token: session, body: body(fields{"label": "k"})}).Token
	claims, err := r.tokens.Verify(issued, token.APIKey)
	if err != nil {
		r.t.Fatal(err)
	}
	claims.Caveats = caveats
	text, err := r.tokens.Issue(claims, token.APIKey)
	if err != nil {
		r.t.Fatal(err)
	}
	return text
}

// records returns the filtered rows of a type and the decisions about each row.
func (r *fixture) records(token, of, permission string) *identity.Records {
	r.t.Helper()
	return must[identity.Records](r, "probe-records", request{token: token, query: url.Values{"type": {of}, "permission": {permission}}})
}

// isAllowed reports whether the call is allowed. NOT_FOUND counts as not allowed.
func (r *fixture) isAllowed(name string, q request) bool {
	r.t.Helper()
	_, err := r.call(name, q)
	if err != nil && !fault.HasCode(err, fault.CodeForbidden) && !fault.HasCode(err, fault.CodeNotFound) {
		r.t.Fatalf("%s: %v", name, err)
	}
	return err == nil
}

// listIDs returns the ids in a list, and none if the caller may not list.
func (r *fixture) listIDs(token, name string, path map[string]string, idField string) []op.UUID {
	r.t.Helper()
	out, err := r.call(name, request{token: token, path: path, query: url.Values{"limit": {"200"}}})
	if fault.HasCode(err, fault.CodeForbidden) || fault.HasCode(err, fault.CodeNotFound) {
		return nil
	}
	if err != nil {
		r.t.Fatalf("%s: %v", name, err)
	}
	text, err := json.Marshal(out)
	if err != nil {
		r.t.Fatal(err)
	}
	var page struct {
		Items      []map[string]any `json:"items"`
		NextCursor string           `json:"nextCursor"`
	}
	if err := json.Unmarshal(text, &page); err != nil {
		r.t.Fatal(err)
	}
	if page.NextCursor != "" {
		r.t.Fatalf("%s has more than one page", name)
	}
	ids := make([]op.UUID, len(page.Items))
	for i, item := range page.Items {
		ids[i] = op.UUID(item[idField].(string))
	}
	return ids
}

// Every list of the directory shows each subject the same records as the operation on one
// record does, or as the decision about the loaded record if there is no such operation.
func TestDirectoryLists_AgreeWithDecisionsAboutRecords(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	probe := r.service.ProbeRecords()
	r.bound[probe.Name] = probe
	acme := directorySubjects(r)
	r.addOffice()
	office := map[string]string{"admin": r.login("admin@northwind.example"), "member": r.login("member@northwind.example")}
	types := []struct {
		name, permission, list, id string
		get, part                  string
		subjects                   map[string]string
	}{
		{"user", "user.read", "list-users", "id", "get-user", "userId", acme},
		{"membership", "membership.read", "list-memberships", "userId", "", "", acme},
		{"organisation", "organisation.read", "list-organisations", "id", "get-organisation", "organisationId", acme},
		{"role", "role.read", "list-roles", "id", "get-role", "roleId", acme},
		{"audit entry", "audit.read", "list-audit-entries", "id", "", "", acme},
		{"event", "events.read", "list-events", "id", "", "", acme},
		{"tenant", "tenant.list", "list-tenants", "id", "get-tenant", "tenantId", office},
	}
	compared := map[string]bool{"list-people": true, "list-assignments": true}
	for _, of := range types {
		compared[of.list] = true
		shown, hidden := 0, 0
		for name, subject := range of.subjects {
			decided := r.records(subject, of.name, of.permission)
			list := r.listIDs(subject, of.list, nil, of.id)
			for _, id := range decided.All {
				can := slices.Contains(decided.Decided, id)
				if slices.Contains(decided.Filtered, id) != can {
					t.Errorf("%s as %s: got filter %t, want %t", of.name, name, !can, can)
				}
				if slices.Contains(list, id) != can {
					t.Errorf("%s as %s: got list %t, want %t", of.name, name, !can, can)
				}
				// get-tenant also returns the caller's own tenant, without tenant.list.
				if of.get != "" && (of.name != "tenant" || r.tenantOf(subject) != id) && r.isAllowed(of.get, pathRequest(subject, of.part, id, nil)) != can {
					t.Errorf("%s as %s: got get %t, want %t", of.name, name, !can, can)
				}
				if can {
					shown++
				} else {
					hidden++
				}
			}
		}
		if shown == 0 || hidden == 0 {
			t.Errorf("%s: got %d shown and %d hidden records, want some of each", of.name, shown, hidden)
		}
	}
	shown, hidden := 0, 0
	for name, subject := range acme {
		// list-people shows the active people of the caller's organisation whom get-user shows.
		people := r.listIDs(subject, "list-people", nil, "id")
		users := r.records(subject, "user", "user.read")
		for _, id := range users.All {
			colleague := queryValue[bool](r, `
SELECT m.status = 'ACTIVE' AND ($3 = '' OR m.organisation_id::text = $3) IS TRUE
FROM identity.memberships m WHERE m.tenant_id = $1 AND m.user_id = $2`, r.acme.id, id, r.subject(subject).Organisation())
			if can := colleague && slices.Contains(users.Decided, id); slices.Contains(people, id) != can {
				t.Errorf("list-people as %s: got %t, want %t", name, !can, can)
			}
		}
		assignments := r.records(subject, "assignment", "role.read")
		var list []op.UUID
		for _, role := range r.records(subject, "role", "role.read").All {
			list = append(list, r.listIDs(subject, "list-assignments", map[string]string{"roleId": string(role)}, "id")...)
		}
		for _, id := range assignments.All {
			can := slices.Contains(assignments.Decided, id)
			if slices.Contains(list, id) != can || slices.Contains(assignments.Filtered, id) != can {
				t.Errorf("assignment as %s: got list %t and filter %t, want %t", name, slices.Contains(list, id), slices.Contains(assignments.Filtered, id), can)
			}
			if can {
				shown++
			} else {
				hidden++
			}
		}
	}
	if shown == 0 || hidden == 0 {
		t.Errorf("assignment: got %d shown and %d hidden records, want some of each", shown, hidden)
	}
	// These lists have one decision for all records: own keys, notifications, decision log. Types
	// of events are no records: they are the same for everybody.
	for _, name := range []string{"list-keys", "list-orgs", "list-permissions", "list-decisions", "list-notifications", "list-event-types"} {
		compared[name] = true
	}
	for name := range r.bound {
		if strings.HasPrefix(name, "list-") && !compared[name] {
			t.Errorf("%s: the list is not compared with decisions", name)
		}
	}
}

func (r *fixture) tenantOf(token string) op.UUID {
	r.t.Helper()
	return op.UUID(r.subject(token).Tenant())
}
