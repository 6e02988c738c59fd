package oracle_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"

	"parapet/internal/authz"
	"parapet/policytests/oracle"
)

// request is a complete request: the caller's token and records, and the decision request.
type request struct {
	caller   any
	decision map[string]any
}

// allowed evaluates the subject and then the decision with the engine. A failed evaluation
// denies.
func (r request) allowed(ctx context.Context, e *authz.Engine) bool {
	actor, err := e.EvalRaw(ctx, "parapet/subject/subject", r.caller)
	if err != nil {
		return false
	}
	decision := maps.Clone(r.decision)
	decision["actor"] = actor
	v, err := e.EvalRaw(ctx, "parapet/access/allow", decision)
	return err == nil && v == true
}

// allowedRequests draws requests until the engine has allowed n of them.
func allowedRequests(t *testing.T, e *authz.Engine, n int) []request {
	t.Helper()
	var found []request
	for number := uint64(0); len(found) < n; number++ {
		if number > uint64(100*n) {
			t.Fatalf("got %d allowed of %d drawn requests, want more", len(found), number)
		}
		d := newDrawer(*seed+1, number)
		caller := d.subjectInput()
		actor := oracle.Oracle{}.Subject(caller)
		decision := d.decisionFor(actor).(map[string]any)
		delete(decision, "actor")
		if r := (request{caller, decision}); r.allowed(t.Context(), e) {
			found = append(found, r)
		}
	}
	return found
}

// isWidening reports whether a missing field grants more: a caveat or an entry in role_scopes.
func isWidening(p valuePath) bool {
	return len(p) >= 3 && p[0] == "token" && (p[1] == "caveats" || p[1] == "role_scopes")
}

// TestAllow_CorruptedRequestsAreDenied corrupts allowed requests: another tenant, an unknown
// caveat, or a corrupted required field must cause a denial. It tests the engine without the
// oracle.
func TestAllow_CorruptedRequestsAreDenied(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	requests := allowedRequests(t, e, max(*decisions/600, 8))
	tried := struct {
		sync.Mutex
		n int
	}{}
	parallel(len(requests), func(number int) {
		r := requests[number]
		foreign := request{r.caller, clone(r.decision).(map[string]any)}
		foreign.decision["resource"].(map[string]any)["tenant"] = "e0000000-0000-4000-8000-000000000009"
		if foreign.allowed(t.Context(), e) {
			t.Errorf("got allow for a record of another tenant: %s %s", toJSON(foreign.caller), toJSON(foreign.decision))
		}
		for _, caveat := range []any{"unknown", "", "Read-Only", "project:x", "module:x", 1, nil} {
			narrowed := request{clone(r.caller), r.decision}
			token := narrowed.caller.(map[string]any)["token"].(map[string]any)
			token["caveats"] = append(token["caveats"].([]any), caveat)
			if narrowed.allowed(t.Context(), e) {
				t.Errorf("got allow with the unknown caveat %v: %s %s", caveat, toJSON(narrowed.caller), toJSON(narrowed.decision))
			}
		}
		n := 0
		for _, kind := range []string{"missing", "null", "number", "unknown"} {
			for _, p := range pathsOf(r.decision, nil) {
				other := request{r.caller, change(clone(r.decision), p, corruption(kind)).(map[string]any)}
				n += requireDenial(t, e, other, p, kind)
			}
			for _, p := range pathsOf(r.caller, nil) {
				if kind == "missing" && isWidening(p) {
					continue
				}
				other := request{change(clone(r.caller), p, corruption(kind)), r.decision}
				n += requireDenial(t, e, other, p, kind)
			}
		}
		tried.Lock()
		tried.n += n
		tried.Unlock()
	})
	if tried.n < len(requests) {
		t.Errorf("got only %d denials of corrupted requests", tried.n)
	}
}

// corruption returns a function that replaces or removes a value, for the function change.
func corruption(kind string) func(any) (any, bool) {
	return func(any) (any, bool) {
		switch kind {
		case "missing":
			return nil, false
		case "null":
			return nil, true
		case "number":
			return 7, true
		}
		return "no such value", true
	}
}

// requiredFields are the fields that every allowed request has. Only some requests require
// other fields.
var requiredFields = []string{
	"permission", "effect", "module", "resource", "resource.tenant", "token", "token.kind", "token.tenant", "token.caveats",
	"tenant", "user", "user.id", "user.kind", "roles",
}

// requireDenial returns 1 for a denial. An allow is an error only if the field at the path
// is one of requiredFields.
func requireDenial(t *testing.T, e *authz.Engine, r request, p valuePath, kind string) int {
	t.Helper()
	if !r.allowed(t.Context(), e) {
		return 1
	}
	if slices.Contains(requiredFields, dottedPath(p)) {
		t.Errorf("%s %s: got allow, want a denial: %s %s", dottedPath(p), kind, toJSON(r.caller), toJSON(r.decision))
	}
	return 0
}

func dottedPath(p valuePath) string {
	out := ""
	for i, part := range p {
		name, ok := part.(string)
		if !ok {
			return ""
		}
		if i > 0 {
			out += "."
		}
		out += name
	}
	return out
}

// TestAllow_RemovingFieldsNeverAllowsDeniedRequest removes fields of denied requests.
func TestAllow_RemovingFieldsNeverAllowsDeniedRequest(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	parallel(max(*decisions/200, 40), func(number int) {
		d := newDrawer(*seed+2, uint64(number))
		caller := d.subjectInput()
		decision := d.decisionFor(oracle.Oracle{}.Subject(caller)).(map[string]any)
		delete(decision, "actor")
		r := request{caller, decision}
		if r.allowed(t.Context(), e) {
			return
		}
		for _, p := range pathsOf(caller, nil) {
			if isWidening(p) {
				continue
			}
			less := request{change(clone(caller), p, corruption("missing")), decision}
			if less.allowed(t.Context(), e) {
				t.Errorf("without %v: got allow, want a denial: %s %s", p, toJSON(less.caller), toJSON(less.decision))
			}
		}
		for _, p := range pathsOf(decision, nil) {
			less := request{caller, change(clone(decision), p, corruption("missing")).(map[string]any)}
			if less.allowed(t.Context(), e) {
				t.Errorf("without %v: got allow, want a denial: %s %s", p, toJSON(less.caller), toJSON(less.decision))
			}
		}
	})
}

// TestCatalogue_EqualsOracle compares the oracle's list of permissions with the catalogue.
func TestCatalogue_EqualsOracle(t *testing.T) {
	t.Parallel()
	var names []string
	for _, permission := range newEngine(t).Catalogue().Permissions {
		names = append(names, permission.Name)
		if want := oracle.IsPlatform(permission.Name); permission.Platform != want {
			t.Errorf("%s: got platform %t in the catalogue, want %t", permission.Name, permission.Platform, want)
		}
	}
	if own, want := newEngine(t).Catalogue().Own, oracle.OwnBy(); !maps.EqualFunc(own, want, slices.Equal) {
		t.Errorf("relations of .own: got in the catalogue\n%v\nwant\n%v", own, want)
	}
	slices.Sort(names)
	if want := oracle.Permissions(); !slices.Equal(names, want) {
		t.Errorf("permissions: got in the catalogue\n%v\nwant\n%v", names, want)
	}
}
