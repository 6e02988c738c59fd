package authz_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"parapet/internal/authz"
	"parapet/internal/postgres/pgtest"
)

// thorough increases the number of random cases. A nightly workflow sets it.
var thorough = flag.Bool("thorough", false, "compare filters and decisions on many more random records")

// row is a test record. Each attribute may be NULL.
type row struct {
	ID             int
	Tenant         *string `db:"tenant_id"`
	Organisation   *string `db:"organisation_id"`
	Project        *string `db:"project_id"`
	Creator        *string
	Owner          *string
	Classification *string
}

// orEmpty returns "" for NULL.
func orEmpty(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// mapping maps the attributes of a resource to columns, and rows to resources.
type mapping struct {
	name     string
	columns  *authz.Columns
	resource func(row) authz.Resource
}

func mappings() []mapping {
	allColumns := func(r row) authz.Resource {
		return authz.Resource{
			Type: "record", Tenant: orEmpty(r.Tenant), Organisation: orEmpty(r.Organisation), Project: orEmpty(r.Project),
			Creator: orEmpty(r.Creator), Owner: orEmpty(r.Owner), Classification: orEmpty(r.Classification),
			NullClassification: r.Classification == nil,
		}
	}
	return []mapping{
		{
			name: "every column",
			columns: authz.NewColumns(map[string]authz.Column{
				"resource.tenant": authz.UUID("r.tenant_id"), "resource.organisation": authz.UUID("r.organisation_id"),
				"resource.project": authz.UUID("r.project_id"), "resource.creator": authz.UUID("r.creator"),
				"resource.owner": authz.UUID("r.owner"), "resource.classification": authz.Text("r.classification"),
			}),
			resource: allColumns,
		},
		{
			name: "no owner, fixed classification",
			columns: authz.NewColumns(map[string]authz.Column{
				"resource.tenant": authz.UUID("r.tenant_id"), "resource.organisation": authz.Absent(),
				"resource.project": authz.UUID("r.project_id"), "resource.creator": authz.UUID("r.creator"),
				"resource.classification": authz.Literal("INTERNAL"),
			}),
			resource: func(r row) authz.Resource {
				out := allColumns(r)
				out.Organisation, out.Owner = "", ""
				out.Classification, out.NullClassification = "INTERNAL", false
				return out
			},
		},
		{
			// Initiatives. The column owner contains the id of the initiative.
			name: "initiatives",
			columns: authz.NewColumns(map[string]authz.Column{
				"resource.type": authz.Literal("initiative"), "resource.id": authz.UUID("r.owner"),
				"resource.tenant": authz.UUID("r.tenant_id"), "resource.organisation": authz.UUID("r.organisation_id"),
				"resource.creator": authz.UUID("r.creator"), "resource.classification": authz.Text("r.classification"),
			}),
			resource: func(r row) authz.Resource {
				out := allColumns(r)
				out.Type, out.ID, out.Owner, out.Project = "initiative", orEmpty(r.Owner), "", ""
				return out
			},
		},
	}
}

// pick returns one of the values; pickNull may also return NULL.
func pick[T any](r *rand.Rand, values []T) T { return values[r.IntN(len(values))] }

func pickNull(r *rand.Rand, values []string) *string {
	if r.IntN(len(values)+1) == 0 {
		return nil
	}
	v := pick(r, values)
	return &v
}

var (
	organisations   = []string{orgA, orgB}
	projects        = []string{projectA, projectB}
	users           = []string{worker, colleague}
	tiers           = []string{"UNCLASSIFIED", "INTERNAL", "RESTRICTED", "CONFIDENTIAL", "SECRET"}
	classifications = append(slices.Clone(tiers), "COSMIC")
	// requestedPermissions are of every kind: normal, .own, platform and audit.
	requestedPermissions = []string{"tasks.read", "task.update", "task.delete", "tenant.list", "audit.read", "audit.read.organisation", "project.update"}
	// grantedPermissions are the permissions that random roles grant.
	grantedPermissions = []string{
		"tasks.read", "task.update", "task.update.own", "task.delete.own", "tenant.list", "project.update.own",
		"audit.read.own", "audit.read.organisation", "audit.read.tenant", "audit.read.classified", "no.such.permission",
	}
	caveats = []string{"read-only", "project:" + projectA, "project:" + projectB, "module:tracker", "module:audit", "weekdays"}
)

// randomSubject returns a caller with random roles in random scopes, equal in token and
// records.
func randomSubject(r *rand.Rand) authz.SubjectInput {
	in := authz.SubjectInput{
		Token: authz.Token{
			Kind: pick(r, []string{authz.TokenSession, authz.TokenAPIKey}), Tenant: acme,
			RoleScopes: map[string][]string{}, Clearance: pick(r, append(classifications, "")),
		},
		Tenant: acme, TenantType: pick(r, []string{"STANDARD", "PROGRAMME_OFFICE"}),
		User:  authz.User{ID: worker, Kind: pick(r, []string{authz.KindHuman, authz.KindAgent}), Organisation: pick(r, []string{orgA, orgB, ""})},
		Roles: map[string][]string{},
	}
	in.Stored.Clearance = in.Token.Clearance
	for i := range 1 + r.IntN(3) {
		role := fmt.Sprintf("role %d", i)
		for range 1 + r.IntN(4) {
			in.Roles[role] = append(in.Roles[role], pick(r, grantedPermissions))
		}
		in.Token.Roles = append(in.Token.Roles, role)
		switch r.IntN(3) {
		case 0:
			in.Stored.Assignments = append(in.Stored.Assignments, authz.Assignment{Role: role, Scope: authz.ScopeTenant})
		case 1:
			id := pick(r, organisations)
			in.Token.RoleScopes[role] = []string{"organisation:" + id}
			in.Stored.Assignments = append(in.Stored.Assignments, authz.Assignment{Role: role, Scope: authz.ScopeOrganisation, ID: id})
		default:
			id := pick(r, projects)
			in.Token.RoleScopes[role] = []string{"project:" + id}
			in.Stored.Assignments = append(in.Stored.Assignments, authz.Assignment{Role: role, Scope: authz.ScopeProject, ID: id})
		}
	}
	if r.IntN(4) == 0 {
		in.Token.Caveats = []string{pick(r, caveats)}
	}
	for i := range r.IntN(3) {
		role := fmt.Sprintf("delegator role %d", i)
		in.Roles[role] = []string{pick(r, grantedPermissions), pick(r, grantedPermissions), "tasks.read"}
		d := authz.Delegation{
			ID: orgA, Scope: pick(r, []string{authz.ScopeTenant, authz.ScopeProject, authz.ScopeInitiative}),
			Permissions: []string{pick(r, grantedPermissions), pick(r, grantedPermissions), pick(r, grantedPermissions)},
			Delegator: authz.Delegator{
				ID: colleague, Kind: authz.KindHuman, Status: "ACTIVE", Membership: "ACTIVE", Clearance: pick(r, append(classifications, "")),
				Assignments: []authz.Assignment{pick(r, []authz.Assignment{
					{Role: role, Scope: authz.ScopeTenant}, {Role: role, Scope: authz.ScopeOrganisation, ID: pick(r, organisations)},
					{Role: role, Scope: authz.ScopeProject, ID: pick(r, projects)},
				})},
			},
		}
		if d.Scope != authz.ScopeTenant {
			d.Projects = []string{pick(r, projects)}
		}
		if d.Scope == authz.ScopeInitiative {
			d.Initiatives = []string{pick(r, users)}
		}
		in.Delegations = append(in.Delegations, d)
	}
	return in
}

// TestFilter_SelectsWhatDecideAllows compares the rows that a filter selects with a decision
// for each row, with NULLs and different columns.
func TestFilter_SelectsWhatDecideAllows(t *testing.T) {
	t.Parallel()
	rows, subjects := 60, 20/raceDivisor
	if *thorough {
		rows, subjects = 150, 100
	}
	r := rand.New(rand.NewPCG(20, 26))
	conn, err := pgx.Connect(t.Context(), pgtest.Empty(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `CREATE TEMP TABLE records (id int, tenant_id uuid, organisation_id uuid,
		project_id uuid, creator uuid, owner uuid, classification text)`); err != nil {
		t.Fatal(err)
	}
	var all []row
	for id := range rows {
		all = append(all, row{
			ID: id, Tenant: pickNull(r, []string{acme, acme, acme, globex}), Organisation: pickNull(r, organisations),
			Project: pickNull(r, projects), Creator: pickNull(r, users), Owner: pickNull(r, users),
			Classification: pickNull(r, classifications),
		})
	}
	if _, err := conn.CopyFrom(t.Context(), pgx.Identifier{"records"},
		[]string{"id", "tenant_id", "organisation_id", "project_id", "creator", "owner", "classification"},
		pgx.CopyFromSlice(len(all), func(i int) ([]any, error) {
			r := all[i]
			return []any{r.ID, r.Tenant, r.Organisation, r.Project, r.Creator, r.Owner, r.Classification}, nil
		})); err != nil {
		t.Fatal(err)
	}

	e := newEngine(t, authz.Config{})
	decisions, allowed, byDelegation := 0, 0, 0
	for range subjects {
		in := randomSubject(r)
		s := subject(t, e, in)
		for _, permission := range requestedPermissions {
			effect, module := effectAndModule(e, permission)
			for _, m := range mappings() {
				want := []int{}
				for _, record := range all {
					d := decide(t, e, authz.Input{Permission: permission, Effect: effect, Module: module, Actor: s, Resource: m.resource(record)})
					if decisions++; d.Allow {
						want = append(want, record.ID)
					}
					if d.OnBehalfOf != nil {
						byDelegation++
					}
				}
				allowed += len(want)
				f, err := e.Filter(t.Context(), permission, s, m.columns)
				if err != nil {
					t.Fatal(err)
				}
				named := pgx.StrictNamedArgs{}
				f.AddTo(named)
				positional, args := f.Positional(1)
				for _, query := range []struct {
					sql  string
					args []any
				}{
					{"SELECT id FROM records r WHERE " + f.SQL() + " ORDER BY id", []any{named}},
					{"SELECT id FROM records r WHERE id >= $1 AND " + positional + " ORDER BY id", append([]any{0}, args...)},
				} {
					found, err := conn.Query(t.Context(), query.sql, query.args...)
					if err != nil {
						t.Fatalf("%s: %v", query.sql, err)
					}
					got, err := pgx.CollectRows(found, pgx.RowTo[int])
					if err != nil {
						t.Fatalf("%s %v: %v", query.sql, query.args, err)
					}
					if !slices.Equal(got, want) {
						t.Fatalf("%s, %s, subject %+v\n%s %v\ngot rows %v\nwant rows %v, which Decide allows", permission, m.name, in, query.sql, query.args, got, want)
					}
					if f.None() && len(want) > 0 {
						t.Fatalf("%s: got None() true, want false: Decide allows the rows %v", permission, want)
					}
				}
			}
		}
	}
	t.Logf("%d decisions, %d allowed, %d by delegation", decisions, allowed, byDelegation)
	if byDelegation == 0 || allowed == byDelegation || allowed == decisions {
		t.Errorf("got %d of %d allowed, %d of them by delegation; want denials, own permissions and delegations", allowed, decisions, byDelegation)
	}
}

func effectAndModule(e *authz.Engine, permission string) (authz.Effect, string) {
	for _, p := range e.Catalogue().Permissions {
		if p.Name == permission {
			return p.Effect, p.Module
		}
	}
	return authz.Read, "audit"
}

// TestFilter_ValuesAreArguments checks that ids of the subject are not part of the SQL text.
func TestFilter_ValuesAreArguments(t *testing.T) {
	t.Parallel()
	e := newEngine(t, authz.Config{})
	in := person(e, "Reviewer")
	in.Token.RoleScopes = map[string][]string{"Reviewer": {"project:" + projectA}}
	f, err := e.Filter(t.Context(), "task.update", subject(t, e, in), mappings()[0].columns)
	if err != nil {
		t.Fatal(err)
	}
	args := map[string]any{}
	f.AddTo(args)
	for _, value := range slices.Collect(maps.Values(args)) {
		if s, ok := value.(string); ok && len(s) > 0 && contains(f.SQL(), s) {
			t.Errorf("SQL text contains the value %q: %s", s, f.SQL())
		}
	}
	if len(args) == 0 {
		t.Error("got no arguments")
	}
}

func TestFilter_InvalidInputIncludesNoRows(t *testing.T) {
	t.Parallel()
	e := newEngine(t, authz.Config{})
	s := subject(t, e, person(e, "Admin"))
	columns := mappings()[0].columns
	for name, filter := range map[string]func() (authz.Filter, error){
		"missing actor":         func() (authz.Filter, error) { return e.Filter(t.Context(), "tasks.read", nil, columns) },
		"missing columns":       func() (authz.Filter, error) { return e.Filter(t.Context(), "tasks.read", s, nil) },
		"an unknown permission": func() (authz.Filter, error) { return e.Filter(t.Context(), "tasks.raed", s, columns) },
	} {
		f, err := filter()
		if err == nil {
			t.Errorf("%s: got no error", name)
		}
		if sql, args := f.Positional(0); !f.None() || f.SQL() != "(FALSE)" || sql != "(FALSE)" || args != nil {
			t.Errorf("%s: got the filter %s, want (FALSE)", name, f.SQL())
		}
	}
	// Missing permissions and missing columns include no rows.
	member := subject(t, e, person(e, "Member"))
	if f, err := e.Filter(t.Context(), "wiki:page:write", member, columns); err != nil || !f.None() {
		t.Errorf("permission that the subject lacks: got the filter %s, %v; want one that includes no rows", f.SQL(), err)
	}
	if f, err := e.Filter(t.Context(), "tasks.read", s, authz.NewColumns(nil)); err != nil || !f.None() {
		t.Errorf("empty columns: got the filter %s, %v; want one that includes no rows", f.SQL(), err)
	}
}

// TestFilter_IsBoundAgainAfterReload reloads policies that allow nothing, and reads the
// filter that the subject had cached.
func TestFilter_IsBoundAgainAfterReload(t *testing.T) {
	t.Parallel()
	e := newEngine(t, authz.Config{})
	s := subject(t, e, person(e, "Member"))
	columns := mappings()[0].columns
	before, err := e.Filter(t.Context(), "tasks.read", s, columns)
	if err != nil || before.None() {
		t.Fatal(before, err)
	}
	closed := change(t, "parapet/access/access.rego", "\t_in_tenant\n\tinput.effect", "\tfalse\n\t_in_tenant\n\tinput.effect")
	if err := e.Reload(t.Context(), authz.Source{Policies: closed, Tests: passingTests()}); err != nil {
		t.Fatal(err)
	}
	after, err := e.Filter(t.Context(), "tasks.read", s, columns)
	if err != nil || !after.None() {
		t.Errorf("filter after the reload: got %s, %v; want one that includes no rows", after.SQL(), err)
	}
}
