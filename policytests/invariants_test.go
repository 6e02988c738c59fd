package policytests_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"parapet/internal/authz"
)

// world draws callers and resources from a few tenants, organisations and projects, so that
// they often match.
type world struct {
	permissions []string
	engine      *authz.Engine
}

func newWorld(t testing.TB) *world {
	t.Helper()
	e := newEngine(t)
	w := &world{engine: e, permissions: []string{"audit.read"}}
	for _, p := range e.Catalogue().Permissions {
		w.permissions = append(w.permissions, p.Name)
	}
	return w
}

func tiers() []string {
	return []string{"UNCLASSIFIED", "INTERNAL", "RESTRICTED", "CONFIDENTIAL", "SECRET", "COSMIC", ""}
}

func knownCaveats() []string {
	return []string{"read-only", "project:" + projectA, "project:" + projectB, "module:tracker", "module:identity", "module:audit"}
}

func scopes() []string {
	return []string{"tenant", "organisation:" + orgA, "organisation:" + orgB, "project:" + projectA, "project:" + projectB}
}

func assignment(role, scope string) authz.Assignment {
	for _, kind := range []string{authz.ScopeOrganisation, authz.ScopeProject} {
		if len(scope) > len(kind) && scope[:len(kind)] == kind {
			return authz.Assignment{Role: role, Scope: kind, ID: scope[len(kind)+1:]}
		}
	}
	return authz.Assignment{Role: role, Scope: authz.ScopeTenant}
}

// caller draws the input of parapet.subject.
func (w *world) caller(t *rapid.T) authz.SubjectInput {
	one := func(name string, values ...string) string { return rapid.SampledFrom(values).Draw(t, name) }
	in := authz.SubjectInput{
		Token: authz.Token{
			Kind:   one("token kind", authz.TokenSession, authz.TokenAPIKey, authz.TokenInternal),
			Tenant: one("token tenant", acme, acme, globex), RoleScopes: map[string][]string{},
			Clearance: one("claim", tiers()...),
			Caveats:   rapid.SliceOfN(rapid.SampledFrom(knownCaveats()), 0, 1).Draw(t, "caveats"),
		},
		Tenant: acme, TenantType: one("tenant type", "STANDARD", "PROGRAMME_OFFICE"),
		User: authz.User{
			ID: worker, Kind: one("kind", authz.KindHuman, authz.KindHuman, authz.KindService, authz.KindAgent),
			Organisation: one("organisation", orgA, orgB, ""),
		},
		Stored: authz.Stored{Clearance: one("stored clearance", tiers()...)},
		Roles:  map[string][]string{},
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "roles") {
		role := fmt.Sprintf("role %d", i)
		in.Roles[role] = rapid.SliceOfN(rapid.SampledFrom(w.permissions), 1, 12).Draw(t, "grants")
		if rapid.Bool().Draw(t, "in the token") {
			in.Token.Roles = append(in.Token.Roles, role)
			if s := one("token scope", scopes()...); s != "tenant" {
				in.Token.RoleScopes[role] = []string{s}
			}
		}
		if rapid.Bool().Draw(t, "stored") {
			in.Stored.Assignments = append(in.Stored.Assignments, assignment(role, one("stored scope", scopes()...)))
		}
	}
	return in
}

func (w *world) resource(t *rapid.T) authz.Resource {
	one := func(name string, values ...string) string { return rapid.SampledFrom(values).Draw(t, name) }
	return authz.Resource{
		Type: "record", Tenant: one("tenant", acme, acme, acme, globex, ""), Organisation: one("of", orgA, orgB, ""),
		Project: one("in", projectA, projectB, ""), Creator: one("creator", worker, colleague, ""), Owner: one("owner", worker, colleague, ""),
		Classification: one("classification", tiers()...), NullClassification: true,
	}
}

// drawRequest draws a decision request without a subject.
func (w *world) drawRequest(t *rapid.T) authz.Input {
	return authz.Input{
		Permission: rapid.SampledFrom(w.permissions).Draw(t, "permission"),
		Effect:     rapid.SampledFrom([]authz.Effect{authz.Read, authz.Write}).Draw(t, "effect"),
		Module:     rapid.SampledFrom(w.engine.Catalogue().Modules).Draw(t, "module"),
		Resource:   w.resource(t),
	}
}

// allows evaluates the requests for a caller. Without a subject, all of them are denied.
func (w *world) allows(t *rapid.T, in authz.SubjectInput, questions []authz.Input) []bool {
	answers := make([]bool, len(questions))
	s, err := w.engine.Subject(t.Context(), in)
	if err != nil {
		return answers
	}
	for i, q := range questions {
		q.Actor = s
		d, err := w.engine.Decide(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		answers[i] = d.Allow
		if d.Allow && q.Resource.Tenant != s.Tenant() {
			t.Fatalf("subject of tenant %s: got allow for %+v, want a denial", s.Tenant(), q)
		}
		if d.Allow && !s.Holds(q.Permission) {
			t.Fatalf("got allow for %s, which the subject does not hold", q.Permission)
		}
	}
	return answers
}

func (w *world) drawRequests(t *rapid.T) []authz.Input {
	out := make([]authz.Input, 12/perDetector)
	for i := range out {
		out[i] = w.drawRequest(t)
	}
	return out
}

// TestAllow_RequiresSameTenantAndHeldPermission evaluates random requests: an allowed record
// is in the subject's tenant, and the subject holds the permission.
func TestAllow_RequiresSameTenantAndHeldPermission(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(t *rapid.T) { w.allows(t, w.caller(t), w.drawRequests(t)) })
}

// TestAllow_IsMonotonic removes roles, grants or other attributes from a random caller: the
// reduced caller is allowed nothing more.
func TestAllow_IsMonotonic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(t *rapid.T) {
		whole := w.caller(t)
		questions := w.drawRequests(t)
		before := w.allows(t, whole, questions)
		for name, less := range reducedCallers(t, whole) {
			for i, allowed := range w.allows(t, less, questions) {
				if allowed && !before[i] {
					t.Fatalf("%s: got allow for %+v, which was denied before", name, questions[i])
				}
			}
		}
	})
}

// reducedCallers draws copies of the caller that each lack one attribute.
func reducedCallers(t *rapid.T, whole authz.SubjectInput) map[string]authz.SubjectInput {
	out := map[string]authz.SubjectInput{}
	if n := len(whole.Token.Roles); n > 0 {
		less, i := whole, rapid.IntRange(0, n-1).Draw(t, "role to take")
		less.Token.Roles = slices.Delete(slices.Clone(whole.Token.Roles), i, i+1)
		out["a token without a role"] = less
	}
	if n := len(whole.Stored.Assignments); n > 0 {
		less, i := whole, rapid.IntRange(0, n-1).Draw(t, "assignment to take")
		less.Stored.Assignments = slices.Delete(slices.Clone(whole.Stored.Assignments), i, i+1)
		out["a record without an assignment"] = less
	}
	less := whole
	less.Roles = map[string][]string{}
	for role, grants := range whole.Roles {
		less.Roles[role] = grants[1:]
	}
	out["roles with a grant less"] = less

	less = whole
	less.Token.Caveats = append(slices.Clone(whole.Token.Caveats), rapid.SampledFrom(knownCaveats()).Draw(t, "caveat"))
	out["a caveat more"] = less

	less = whole
	less.Token.Clearance, less.Stored.Clearance = "", ""
	out["no clearance"] = less

	less = whole
	less.TenantType = "STANDARD"
	out["no programme office"] = less

	less = whole
	less.User.Organisation = ""
	out["no organisation"] = less

	less = whole
	less.User.Kind = "UNKNOWN"
	out["an unknown kind"] = less
	return out
}

// TestAllow_UnknownCaveatDeniesEverything adds an unknown caveat to random callers.
func TestAllow_UnknownCaveatDeniesEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	unknown := rapid.OneOf(
		rapid.SampledFrom([]string{"", "READ-ONLY", "read-only ", "project:", "project:*", "module:", "module:*", "module:Tracker", "tenant:" + acme, "project:" + projectA + " "}),
		rapid.String(),
	).Filter(func(s string) bool { return !slices.Contains(knownCaveats(), s) && s != "module:wiki" })
	rapid.Check(t, func(t *rapid.T) {
		in := w.caller(t)
		in.Token.Caveats = slices.Insert(in.Token.Caveats, 0, unknown.Draw(t, "unknown caveat"))
		for i, allowed := range w.allows(t, in, w.drawRequests(t)) {
			if allowed {
				t.Fatalf("caveats %q: got allow for request %d, want a denial", in.Token.Caveats, i)
			}
		}
		if s, err := w.engine.Subject(t.Context(), in); err == nil && len(s.Permissions()) > 0 {
			t.Fatalf("caveats %q: got permissions %v, want none", in.Token.Caveats, s.Permissions())
		}
	})
}
