package authz_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"parapet/internal/authz"
)

// toRecorded converts a record to the form in which the decision log returns it.
func toRecorded(t testing.TB, r authz.DecisionRecord) authz.Recorded {
	t.Helper()
	input, err := json.Marshal(r.Input)
	if err != nil {
		t.Fatal(err)
	}
	return authz.Recorded{Rule: r.Rule, Permission: r.Permission, Module: r.Module, Input: input, Subject: r.Subject}
}

// wantReplayed expects that a replay returns the recorded decision.
func wantReplayed(t testing.TB, e *authz.Engine, r authz.DecisionRecord) authz.Replayed {
	t.Helper()
	got, err := e.Replay(t.Context(), toRecorded(t, r))
	if err != nil {
		t.Errorf("%s %s: %v", r.Rule, r.Permission, err)
		return got
	}
	delegation := ""
	if got.OnBehalfOf != nil {
		delegation = got.OnBehalfOf.Delegation
	}
	if got.Allow != r.Allow || got.Hidden != r.Hidden || !slices.Equal(got.Reasons, r.Reasons) || got.Revision != r.Revision || delegation != r.Input.Delegation {
		t.Errorf("replay of %s, %s: got %+v, want the recorded %+v", r.Rule, r.Permission, got, r)
	}
	return got
}

func TestReplay_AgreesWithDecideAndFilter(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 10))
	records := &sink{}
	e := newEngine(t, authz.Config{Sink: records, Logger: slog.New(slog.DiscardHandler)})
	low := append([]string{"UNCLASSIFIED", "UNCLASSIFIED", "UNCLASSIFIED", "UNCLASSIFIED"}, classifications...)
	reasons, lists := map[string]int{}, map[string]int{}
	for range 48 / raceDivisor {
		s := subject(t, e, randomSubject(r))
		for _, permission := range append(requestedPermissions, "no.such.permission") {
			effect, module := effectAndModule(e, permission)
			for _, m := range mappings() {
				for range 2 {
					record := row{
						Tenant: pickNull(r, []string{acme, acme, acme, acme, acme, acme, globex}), Organisation: pickNull(r, organisations),
						Project: pickNull(r, projects), Creator: pickNull(r, users), Owner: pickNull(r, users), Classification: pickNull(r, low),
					}
					decide(t, e, authz.Input{Permission: permission, Effect: effect, Module: module, Actor: s, Resource: m.resource(record)})
					reasons[strings.Join(wantReplayed(t, e, records.last()).Reasons, " ")]++
				}
				if f, err := e.Filter(t.Context(), permission, s, m.columns); err == nil {
					e.RecordList(s, permission, module, "", f)
					lists[strings.Join(wantReplayed(t, e, records.last()).Reasons, " ")]++
				}
			}
		}
	}
	t.Log(reasons, lists)
	for _, reason := range []string{
		// programme_office_only cannot occur: a subject in a standard tenant holds no
		// platform permission.
		"", "foreign_tenant", "clearance", "caveat_unknown", "permission_missing", "caveat_effect", "caveat_module", "caveat_project",
		"not_own", "out_of_scope",
	} {
		if reasons[reason] == 0 && raceDivisor == 1 {
			t.Errorf("got no decision with the reason %q", reason)
		}
	}
	if lists["filtered"] == 0 || lists["filtered_out"] == 0 {
		t.Errorf("got lists %v, want some with the reasons filtered and filtered_out", lists)
	}
	if _, err := e.Decide(t.Context(), authz.Input{Permission: "tasks.read", Module: "tracker", Resource: task()}); err == nil {
		t.Error("decision without an actor: got no error")
	}
	wantReplayed(t, e, records.last())
}

// TestReplay_OmitsOtherTenants checks that the record of a decision about an account does
// not reveal whether the account is a member of other tenants.
func TestReplay_OmitsOtherTenants(t *testing.T) {
	t.Parallel()
	records := &sink{}
	e := newEngine(t, authz.Config{Sink: records})
	admin := subject(t, e, person(e, "Admin"))
	inAcme := authz.Holding{Tenant: acme, Membership: "ACTIVE", Clearance: "INTERNAL", Caller: admin, CallerMembership: "ACTIVE", Grants: []authz.Grant{{Permissions: []string{"tasks.read"}, Scope: "tenant"}}}
	inGlobex := authz.Holding{Tenant: globex, Membership: "ACTIVE", Clearance: "INTERNAL", Grants: []authz.Grant{{Permissions: []string{"role.assign"}, Scope: "tenant"}}}
	account := authz.Account{ID: colleague, Kind: authz.KindHuman, Status: "ACTIVE", Home: acme, HasPassword: true, AddressConfirmed: true}
	record := func(holdings ...authz.Holding) authz.DecisionRecord {
		t.Helper()
		if _, err := e.Evaluate(t.Context(), authz.ChangeAccount{Change: authz.ChangeAddress, Actor: admin, Account: account, Holdings: holdings}); err != nil {
			t.Fatal(err)
		}
		return records.last()
	}
	allowed, denied := record(inAcme), record(inAcme, inGlobex)
	if !allowed.Allow || denied.Allow {
		t.Fatalf("got allow %t, want true if the caller holds all permissions of the account; got %t, want false if it does not", allowed.Allow, denied.Allow)
	}
	if a, b := toRecorded(t, allowed), toRecorded(t, denied); !bytes.Equal(a.Input, b.Input) || bytes.Contains(b.Input, []byte(globex)) {
		t.Errorf("the records reveal permissions in another tenant:\n%s\n%s", a.Input, b.Input)
	}
	if got := wantReplayed(t, e, allowed); !got.Incomplete {
		t.Error("replay of a decision about an account: got complete, want incomplete")
	}
	// The replay evaluates the remaining input. The caller in the holding comes from the
	// snapshot.
	inAcme.Grants[0].Permissions = []string{"role.assign", "wiki:page:write"}
	wantReplayed(t, e, record(inAcme))
	restore := authz.ChangeAccount{Change: authz.RestoreMembership, Actor: admin, Account: account, Holdings: []authz.Holding{inAcme}}
	if _, err := e.Evaluate(t.Context(), restore); err != nil {
		t.Fatal(err)
	}
	if got := wantReplayed(t, e, records.last()); got.Incomplete {
		t.Error("decision about one tenant: got incomplete, want complete")
	}
}

func TestSubjectSnapshot_ContainsPolicyInputOnly(t *testing.T) {
	t.Parallel()
	records := &sink{}
	e := newEngine(t, authz.Config{Sink: records})
	take := func(change func(*authz.SubjectInput)) *authz.SubjectSnapshot {
		t.Helper()
		in := delegateCaller(e, authz.ScopeProject, projectA)
		in.Token.ID = colleague
		change(&in)
		s := subject(t, e, in)
		decide(t, e, authz.Input{Permission: "tasks.read", Module: "tracker", Effect: authz.Read, Actor: s, Resource: task()})
		if err := records.last().Subject.Verify(); err != nil {
			t.Error(err)
		}
		return records.last().Subject
	}
	first := take(func(*authz.SubjectInput) {})
	for _, secret := range []string{colleague + `","kind":"jti`, "@"} {
		if bytes.Contains(first.Document, []byte(secret)) {
			t.Errorf("snapshot contains %q: %s", secret, first.Document)
		}
	}
	for name, c := range map[string]struct {
		change func(*authz.SubjectInput)
		same   bool
	}{
		"nothing":               {func(*authz.SubjectInput) {}, true},
		"another credential":    {func(in *authz.SubjectInput) { in.Token.ID = worker }, true},
		"another kind of token": {func(in *authz.SubjectInput) { in.Token.Kind = authz.TokenAPIKey }, false},
		"a caveat":              {func(in *authz.SubjectInput) { in.Token.Caveats = []string{"read-only"} }, false},
		"a narrower scope": {func(in *authz.SubjectInput) {
			in.Token.RoleScopes = map[string][]string{"Auditor": {"project:" + projectB}}
		}, false},
		"a grant":               {func(in *authz.SubjectInput) { in.Roles["Auditor"] = []string{"tasks.read"} }, false},
		"the stored clearance":  {func(in *authz.SubjectInput) { in.Stored.Clearance = "INTERNAL" }, false},
		"delegated permissions": {func(in *authz.SubjectInput) { in.Delegations[0].Permissions = []string{"tasks.read"} }, false},
		"the delegator's grant": {func(in *authz.SubjectInput) { in.Roles["Lead"] = []string{"tasks.read"} }, false},
	} {
		if got := take(c.change); (got.Digest == first.Digest) != c.same {
			t.Errorf("change of %s: got an equal digest %t, want %t", name, !c.same, c.same)
		}
	}
	withoutLog := newEngine(t, authz.Config{})
	if s := subject(t, withoutLog, person(withoutLog, "Member")); authz.HasSnapshot(s) {
		t.Error("engine without a decision log: got a snapshot, want none")
	}
}

// TestSubjectSnapshot_InputGivesSameSubject computes the subject again from the snapshot.
func TestSubjectSnapshot_InputGivesSameSubject(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 11))
	records := &sink{}
	e := newEngine(t, authz.Config{Sink: records})
	for range 10 {
		decide(t, e, authz.Input{Permission: "tasks.read", Module: "tracker", Effect: authz.Read, Actor: subject(t, e, randomSubject(r)), Resource: task()})
		var document struct{ Input, Subject any }
		if err := json.Unmarshal(records.last().Subject.Document, &document); err != nil {
			t.Fatal(err)
		}
		again, err := e.EvalRaw(t.Context(), "parapet/subject/subject", document.Input)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(document.Subject)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(again)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("subject computed from a snapshot: got %s\nwant %s\n%v", got, want, err)
		}
	}
}

func TestReplay_RejectsIncompleteRecords(t *testing.T) {
	t.Parallel()
	records := &sink{}
	e := newEngine(t, authz.Config{Sink: records})
	decide(t, e, authz.Input{Permission: "tasks.read", Module: "tracker", Effect: authz.Read, Actor: subject(t, e, person(e, "Member")), Resource: task()})
	good := toRecorded(t, records.last())
	for name, c := range map[string]struct {
		change func(*authz.Recorded)
		want   string
	}{
		"no snapshot":                     {func(r *authz.Recorded) { r.Subject = nil }, "contains no subject snapshot"},
		"a changed snapshot":              {func(r *authz.Recorded) { r.Subject.Document = []byte(`{"subject":{}}`) }, "was altered"},
		"a broken snapshot":               {func(r *authz.Recorded) { r.Subject.Document = []byte(`{`) }, "canonical JSON"},
		"no resource":                     {func(r *authz.Recorded) { r.Input = []byte(`{"actor":{}}`) }, "contains no resource"},
		"a custom decision without input": {func(r *authz.Recorded) { r.Rule, r.Input = "parapet/open/verdict", []byte(`{"actor":{}}`) }, "cannot be replayed"},
		"no JSON":                         {func(r *authz.Recorded) { r.Input = []byte(`x`) }, "invalid character"},
		"no such rule":                    {func(r *authz.Recorded) { r.Rule, r.Input = "parapet/no/rule", []byte(`{"question":{}}`) }, authz.ReasonUndefined},
	} {
		r := good
		subject := *good.Subject
		r.Subject = &subject
		c.change(&r)
		if got, err := e.Replay(t.Context(), r); err == nil || !strings.Contains(err.Error(), c.want) || got.Allow {
			t.Errorf("%s: got %+v, %v; want an error with %q", name, got, err, c.want)
		}
	}
}

func BenchmarkSubjectSnapshot(b *testing.B) {
	for _, role := range []string{"Member", "Admin"} {
		e := newEngine(b, authz.Config{Sink: make(discardSink, 64)})
		in := person(e, role)
		s := subject(b, e, in)
		b.Run(role, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := authz.TakeSnapshot(in, s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
