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
	caller any
	ask    map[string]any
}

// allowed evaluates the subject and then the decision with the engine. A failed evaluation
// denies.
func (r request) allowed(ctx context.Context, e *authz.Engine) bool {
	actor, err := e.EvalRaw(ctx, "parapet/subject/subject", r.caller)
	if err != nil {
		return false
	}
	ask := maps.Clone(r.ask)
	ask["actor"] = actor
	v, err := e.EvalRaw(ctx, "parapet/access/allow", ask)
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
		d := at(*seed+1, number)
		caller := d.subjectInput()
		actor := oracle.Oracle{}.Subject(caller)
		ask := d.decisionFor(actor).(map[string]any)
		delete(ask, "actor")
		if r := (request{caller, ask}); r.allowed(t.Context(), e) {
			found = append(found, r)
		}
	}
	return found
}

// isWidening reports whether a missing field grants more: a caveat or an entry in role_scopes.
func isWidening(p place) bool {
	return len(p) >= 3 && p[0] == "token" && (p[1] == "caveats" || p[1] == "role_scopes")
}

// TestAllow_DamagedRequestsAreDenied damages allowed requests: another tenant, an unknown
// caveat, or a corrupted required field must deny. It tests the engine without the oracle.
func TestAllow_DamagedRequestsAreDenied(t *testing.T) {
	t.Parallel()
	e := engine(t)
	requests := allowedRequests(t, e, max(*decisions/600, 8))
	tried := struct {
		sync.Mutex
		n int
	}{}
	parallel(len(requests), func(number int) {
		r := requests[number]
		foreign := request{r.caller, clone(r.ask).(map[string]any)}
		foreign.ask["resource"].(map[string]any)["tenant"] = "e0000000-0000-4000-8000-000000000009"
		if foreign.allowed(t.Context(), e) {
			t.Errorf("got allow for a record of another tenant: %s %s", pretty(foreign.caller), pretty(foreign.ask))
		}
		for _, caveat := range []any{"unknown", "", "Read-Only", "project:x", "module:x", 1, nil} {
			narrowed := request{clone(r.caller), r.ask}
			token := narrowed.caller.(map[string]any)["token"].(map[string]any)
			token["caveats"] = append(token["caveats"].([]any), caveat)
			if narrowed.allowed(t.Context(), e) {
				t.Errorf("got allow with the unknown caveat %v: %s %s", caveat, pretty(narrowed.caller), pretty(narrowed.ask))
			}
		}
		n := 0
		for _, kind := range []string{"missing", "null", "number", "unknown"} {
			for _, p := range placesOf(r.ask, nil) {
				other := request{r.caller, change(clone(r.ask), p, spoilt(kind)).(map[string]any)}
				n += requireDenial(t, e, other, p, kind)
			}
			for _, p := range placesOf(r.caller, nil) {
				if kind == "missing" && isWidening(p) {
					continue
				}
				other := request{change(clone(r.caller), p, spoilt(kind)), r.ask}
				n += requireDenial(t, e, other, p, kind)
			}
		}
		tried.Lock()
		tried.n += n
		tried.Unlock()
	})
	if tried.n < len(requests) {
		t.Errorf("got only %d denials of damaged requests", tried.n)
	}
}

func spoilt(kind string) func(any) (any, bool) {
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

// decisive are the fields without which no request is allowed. Other fields are required by
// some requests only.
var decisive = []string{
	"permission", "effect", "module", "resource", "resource.tenant", "token", "token.kind", "token.tenant", "token.caveats",
	"tenant", "user", "user.id", "user.kind", "roles",
}

// requireDenial reports an allow without a decisive field, and counts the denials. It does not
// replace the value of a field by an unknown string if the field can be any string; the
// differential test covers such values.
func requireDenial(t *testing.T, e *authz.Engine, r request, p place, kind string) int {
	t.Helper()
	if !r.allowed(t.Context(), e) {
		return 1
	}
	if slices.Contains(decisive, dotted(p)) {
		t.Errorf("%s %s: got allow, want a denial: %s %s", dotted(p), kind, pretty(r.caller), pretty(r.ask))
	}
	return 0
}

func dotted(p place) string {
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
	e := engine(t)
	parallel(max(*decisions/200, 40), func(number int) {
		d := at(*seed+2, uint64(number))
		caller := d.subjectInput()
		ask := d.decisionFor(oracle.Oracle{}.Subject(caller)).(map[string]any)
		delete(ask, "actor")
		r := request{caller, ask}
		if r.allowed(t.Context(), e) {
			return
		}
		for _, p := range placesOf(caller, nil) {
			if isWidening(p) {
				continue
			}
			less := request{change(clone(caller), p, spoilt("missing")), ask}
			if less.allowed(t.Context(), e) {
				t.Errorf("without %v: got allow, want a denial: %s %s", p, pretty(less.caller), pretty(less.ask))
			}
		}
		for _, p := range placesOf(ask, nil) {
			less := request{caller, change(clone(ask), p, spoilt("missing")).(map[string]any)}
			if less.allowed(t.Context(), e) {
				t.Errorf("without %v: got allow, want a denial: %s %s", p, pretty(less.caller), pretty(less.ask))
			}
		}
	})
}

// TestCatalogue_EqualsOracle compares the oracle's list of permissions with the catalogue.
func TestCatalogue_EqualsOracle(t *testing.T) {
	t.Parallel()
	var names []string
	for _, permission := range engine(t).Catalogue().Permissions {
		names = append(names, permission.Name)
		if want := oracle.IsPlatform(permission.Name); permission.Platform != want {
			t.Errorf("%s: got platform %t in the catalogue, want %t", permission.Name, permission.Platform, want)
		}
	}
	if own, want := engine(t).Catalogue().Own, oracle.OwnBy(); !maps.EqualFunc(own, want, slices.Equal) {
		t.Errorf("relations of .own: got in the catalogue\n%v\nwant\n%v", own, want)
	}
	slices.Sort(names)
	if want := oracle.Permissions(); !slices.Equal(names, want) {
		t.Errorf("permissions: got in the catalogue\n%v\nwant\n%v", names, want)
	}
}
