package authz_test

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parapet/internal/authz"
	"parapet/policies"
)

const (
	acme      = "00000000-0000-7000-8000-000000000001"
	globex    = "00000000-0000-7000-8000-000000000002"
	orgA      = "00000000-0000-7000-8000-0000000000a1"
	orgB      = "00000000-0000-7000-8000-0000000000a2"
	projectA  = "00000000-0000-7000-8000-0000000000b1"
	projectB  = "00000000-0000-7000-8000-0000000000b2"
	worker    = "00000000-0000-7000-8000-0000000000c1"
	colleague = "00000000-0000-7000-8000-0000000000c2"
)

// newEngine creates an engine. It does not check a source without tests.
func newEngine(t testing.TB, cfg authz.Config) *authz.Engine {
	t.Helper()
	if cfg.Timeout == 0 {
		cfg.Timeout = time.Minute // a slow machine must not fail the test
	}
	create := authz.New
	if cfg.Source.Policies != nil && cfg.Source.Tests == nil {
		create = authz.NewUnchecked
	}
	e, err := create(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// roles returns the default roles as a tenant has them on record.
func roles(e *authz.Engine) map[string][]string {
	grants := map[string][]string{}
	for _, r := range e.Catalogue().Roles {
		grants[r.Name] = r.Grants
	}
	return grants
}

// person returns a session of worker in acme with these roles in the scope of the tenant.
func person(e *authz.Engine, names ...string) authz.SubjectInput {
	in := authz.SubjectInput{
		Token:      authz.Token{Kind: authz.TokenSession, Tenant: acme, Roles: names, Clearance: "CONFIDENTIAL"},
		Tenant:     acme,
		TenantType: "STANDARD",
		User:       authz.User{ID: worker, Kind: authz.KindHuman, Organisation: orgA},
		Stored:     authz.Stored{Clearance: "CONFIDENTIAL"},
		Roles:      roles(e),
	}
	for _, name := range names {
		in.Stored.Assignments = append(in.Stored.Assignments, authz.Assignment{Role: name, Scope: authz.ScopeTenant})
	}
	return in
}

func subject(t testing.TB, e *authz.Engine, in authz.SubjectInput) *authz.Subject {
	t.Helper()
	s, err := e.Subject(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func task() authz.Resource {
	return authz.Resource{
		Type: "task", ID: colleague, Tenant: acme, Organisation: orgA, Project: projectA,
		Creator: colleague, Classification: "INTERNAL",
	}
}

func decide(t testing.TB, e *authz.Engine, in authz.Input) authz.Decision {
	t.Helper()
	d, err := e.Decide(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDecide_DefaultRoles evaluates subject and decision for the default roles.
func TestDecide_DefaultRoles(t *testing.T) {
	t.Parallel()
	e := newEngine(t, authz.Config{})
	for _, c := range []struct {
		role, permission string
		allow            bool
	}{
		{"Admin", "task.update", true},
		{"Admin", "role.assign", true},
		{"Admin", "tenant.create", false},
		{"Project Manager", "project.delete", true},
		{"Project Manager", "role.assign", false},
		{"Member", "task.create", true},
		{"Member", "project.create", false},
		{"Member", "task.delete", false},
		{"Reviewer", "tasks.read", true},
		{"Reviewer", "task.update", false},
		{"Auditor", "tasks.read", true},
		{"Auditor", "task.create", false},
		{"Guest Customer", "projects.read", true},
		{"Guest Customer", "user.read", false},
		{"Agent", "tasks.read", true},
		{"Agent", "task.delete", false},
		{"PLATFORM_ADMIN", "tenant.read", false},
		{"wiki:page:write", "wiki:page:write", true},
		{"wiki:page:write", "tasks.read", false},
		{"multi-llm-review", "tasks.read", true},
		{"multi-llm-review", "task.update", false},
	} {
		effect, module := effectAndModule(e, c.permission)
		d := decide(t, e, authz.Input{
			Permission: c.permission, Effect: effect, Module: module,
			Actor: subject(t, e, person(e, c.role)), Resource: task(),
		})
		if d.Allow != c.allow || d.Hidden || (len(d.Reasons) == 0) != c.allow || d.Revision != e.Revision() {
			t.Errorf("%s, %s: got %+v, want allow %v", c.role, c.permission, d, c.allow)
		}
	}
}

func TestSubject_ReturnsItsAttributes(t *testing.T) {
	t.Parallel()
	e := newEngine(t, authz.Config{})
	s := subject(t, e, person(e, "Reviewer"))
	if s.ID() != worker || s.Tenant() != acme || s.TenantType() != "STANDARD" || s.Kind() != authz.KindHuman ||
		s.TokenKind() != authz.TokenSession || s.Organisation() != orgA || s.Clearance() != "CONFIDENTIAL" ||
		s.Admin() || s.Revision() != e.Revision() || !slices.Equal(s.Readable(), tiers[:4]) ||
		!slices.Equal(s.Roles(), []string{"Reviewer"}) || !slices.Contains(s.Permissions(), "task.update.own") {
		t.Errorf("subject of a session with the role Reviewer: got %+v, want the attributes of the input", s)
	}
	for permission, want := range map[string]bool{
		"tasks.read": true, "task.update": true, "task.update.own": true, "task.delete": false,
		"audit.read": true, "audit.read.own": true, "audit.read.tenant": false, "": false,
	} {
		if s.Holds(permission) != want {
			t.Errorf("Holds(%q): got %t, want %t", permission, !want, want)
		}
	}
	if (*authz.Subject)(nil).Holds("tasks.read") {
		t.Error("a nil subject must hold nothing")
	}
	if !subject(t, e, person(e, "Admin")).Admin() {
		t.Error("Admin(): got false for the role Admin, want true")
	}
}

// TestDecide_FailedEvaluationDenies checks the reason code and the counter of each kind of
// failure.
func TestDecide_FailedEvaluationDenies(t *testing.T) {
	t.Parallel()
	const access = "parapet/access/access.rego"
	const rule = "allow if {\n\tscopes"
	withCondition := func(body string) authz.Source {
		return authz.Source{Policies: change(t, access, rule, "allow if {\n\tinput.permission == \"boom\"\n\t"+body+"\n}\n\n"+rule)}
	}
	for name, c := range map[string]struct {
		source authz.Source
		reason string
	}{
		"undefined":                      {authz.Source{Policies: change(t, access, "default allow := false\n", "")}, authz.ReasonUndefined},
		"result is an object":            {authz.Source{Policies: change(t, access, "default allow := false", "default allow := {}")}, authz.ReasonType},
		"result is a string":             {authz.Source{Policies: change(t, access, "default allow := false", "default allow := \"true\"")}, authz.ReasonType},
		"built-in function fails":        {withCondition(`regex.match("[", input.effect)`), authz.ReasonError},
		"built-in function fails in not": {withCondition(`not regex.match("[", input.effect)`), authz.ReasonError},
		"timeout": {
			withCondition(`count([1 | some a in numbers.range(1, 9000); some b in numbers.range(1, 9000); a == b]) > 0`),
			authz.ReasonTimeout,
		},
	} {
		cfg := authz.Config{Source: c.source, Logger: slog.New(slog.DiscardHandler)}
		if c.reason == authz.ReasonTimeout {
			cfg.Timeout = 500 * time.Millisecond
		}
		e := newEngine(t, cfg)
		s := subject(t, e, person(e, "Member"))
		d, err := e.Decide(t.Context(), authz.Input{Permission: "boom", Effect: authz.Read, Module: "tracker", Actor: s, Resource: task()})
		if err == nil || d.Allow || d.Hidden || !slices.Equal(d.Reasons, []string{c.reason}) {
			t.Errorf("%s: got %+v, %v; want reason %s", name, d, err, c.reason)
		}
		if stats := e.Stats(); stats.Failed[c.reason] != 1 || stats.Denied != 1 || stats.Allowed != 0 {
			t.Errorf("%s: got counters %+v, want one denial and one failure %s", name, stats, c.reason)
		}
	}
}

func TestDecide_WithoutActorDenies(t *testing.T) {
	t.Parallel()
	e := newEngine(t, authz.Config{Logger: slog.New(slog.DiscardHandler)})
	d, err := e.Decide(t.Context(), authz.Input{Permission: "tasks.read", Effect: authz.Read, Module: "tracker", Resource: task()})
	if err == nil || d.Allow || !slices.Equal(d.Reasons, []string{authz.ReasonNoActor}) {
		t.Errorf("got %+v, %v; want a denial", d, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := subject(t, e, person(e, "Member"))
	cancel()
	d, err = e.Decide(ctx, authz.Input{Permission: "tasks.read", Effect: authz.Read, Module: "tracker", Actor: s, Resource: task()})
	if err == nil || d.Allow || !slices.Equal(d.Reasons, []string{authz.ReasonTimeout}) {
		t.Errorf("canceled context: got %+v, %v; want a denial", d, err)
	}
}

// TestDecide_WithoutValidReasonDenies breaks the rule that returns the reason of a denial.
func TestDecide_WithoutValidReasonDenies(t *testing.T) {
	t.Parallel()
	const last = "else := {\"hidden\": false, \"reasons\": [\"out_of_scope\"]}"
	for with, reason := range map[string]string{
		"else := 7": authz.ReasonType,
		last + " if input.permission == \"never\"": authz.ReasonUndefined,
	} {
		source := authz.Source{Policies: change(t, "parapet/access/access.rego", last, with)}
		e := newEngine(t, authz.Config{Source: source, Logger: slog.New(slog.DiscardHandler)})
		inOtherProject := person(e, "Project Manager")
		inOtherProject.Token.RoleScopes = map[string][]string{"Project Manager": {"project:" + projectB}}
		d, err := e.Decide(t.Context(), authz.Input{
			Permission: "task.delete", Effect: authz.Write, Module: "tracker",
			Actor: subject(t, e, inOtherProject), Resource: task(),
		})
		if err == nil || d.Allow || !slices.Equal(d.Reasons, []string{reason}) || len(d.Explained) != 1 || d.Explained[0].Code != "no_answer" {
			t.Errorf("last branch of denial is %q: got %+v, %v; want a denial with the reason %s", with, d, err, reason)
		}
	}
}

func TestSubject_FailedEvaluationIsError(t *testing.T) {
	t.Parallel()
	e := newEngine(t, authz.Config{Logger: slog.New(slog.DiscardHandler)})
	if s, err := e.Subject(t.Context(), authz.SubjectInput{}); err == nil || s != nil {
		t.Errorf("input without a user: got subject %+v, want an error", s)
	}
	if e.Stats().Failed[authz.ReasonUndefined] != 1 {
		t.Errorf("input without a user: got counters %+v, want one failure %s", e.Stats(), authz.ReasonUndefined)
	}
	replaced := change(t, "parapet/subject/subject.rego", "", "package parapet.subject\n\n# METADATA\n# entrypoint: true\nsubject := 7\n")
	e = newEngine(t, authz.Config{Source: authz.Source{Policies: replaced}, Logger: slog.New(slog.DiscardHandler)})
	if s, err := e.Subject(t.Context(), person(e, "Member")); err == nil || s != nil {
		t.Errorf("result of another type: got subject %+v, want an error", s)
	}
}

func TestEvaluate_CustomDecisions(t *testing.T) {
	t.Parallel()
	e := newEngine(t, authz.Config{})
	admin := subject(t, e, person(e, "Admin"))
	member := subject(t, e, person(e, "Member"))
	reviewer := authz.ServicePrincipal{
		ID: colleague, Tenant: acme, Kind: authz.KindService, Status: "ACTIVE", Membership: "ACTIVE", IntegrationKey: "multi-llm-review",
		Roles: []authz.HeldRole{{Name: "multi-llm-review", Kind: "GLOBAL", Scope: authz.ScopeTenant, Grants: []string{"projects.read", "tasks.read"}}},
	}
	drifted := reviewer
	drifted.Roles = []authz.HeldRole{{Name: "multi-llm-review", Kind: "GLOBAL", Scope: authz.ScopeTenant, Grants: []string{"tasks.read"}}}
	servicesKey := authz.Key{JTI: orgA, Tenant: acme, Owner: authz.KeyOwner{ID: colleague, Tenant: acme, Kind: authz.KindService}}
	alicesKey := authz.Key{JTI: orgA, Tenant: acme, Owner: authz.KeyOwner{ID: worker, Tenant: acme, Kind: authz.KindHuman}}
	days := func(n int) *int { return &n }
	for name, c := range map[string]struct {
		decision authz.CustomDecision
		want     authz.Verdict
	}{
		"issue service key": {authz.IssueServiceKey{Actor: admin, Target: reviewer}, authz.Verdict{Allow: true, Days: 90, Cap: 90}},
		"issue service key for changed role": {
			authz.IssueServiceKey{Actor: admin, Target: drifted},
			authz.Verdict{Code: "CONFLICT", Reasons: []string{"grants_drift"}},
		},
		"issue service key above limit": {
			authz.IssueServiceKey{Actor: admin, Target: reviewer, Settings: authz.KeySettings{MaxUserDays: 89}},
			authz.Verdict{Code: "CONFLICT", Reasons: []string{"max_user_days_below_service_lifetime"}},
		},
		"issue service key as member": {
			authz.IssueServiceKey{Actor: member, Target: reviewer},
			authz.Verdict{Code: "FORBIDDEN", Reasons: []string{"permission_missing"}, Permission: "api_key.issue_for_service"},
		},
		"issue personal key": {authz.IssueSelfKey{Actor: member, Settings: authz.KeySettings{MaxActivePersonal: 1}}, authz.Verdict{Allow: true, Days: 30, Cap: 365}},
		"issue personal key above limit": {
			authz.IssueSelfKey{Actor: admin, ExpiresInDays: days(41), Settings: authz.KeySettings{MaxAdminDays: 40, MaxActivePersonal: 1}},
			authz.Verdict{Code: "VALIDATION", Reasons: []string{"lifetime_out_of_range"}, Field: "expiresInDays", Cap: 40},
		},
		"list own keys":     {authz.ListKeys{Actor: member}, authz.Verdict{Allow: true}},
		"list service keys": {authz.ListKeys{Actor: admin, Owner: &authz.KeyOwner{ID: colleague, Tenant: acme, Kind: authz.KindService}}, authz.Verdict{Allow: true}},
		"revoke own key":    {authz.RevokeKey{Actor: member, Key: alicesKey}, authz.Verdict{Allow: true}},
		"revoke personal key as service key": {
			authz.RevokeKey{Actor: admin, ServiceOwned: true, Key: alicesKey},
			authz.Verdict{Code: "FORBIDDEN", Reasons: []string{"not_service_owned"}},
		},
		"revoke service key": {authz.RevokeKey{Actor: admin, ServiceOwned: true, Key: servicesKey}, authz.Verdict{Allow: true}},
		"profile":            {authz.ValidateProfile{Target: reviewer}, authz.Verdict{Allow: true}},
		"act as": {
			authz.ActAs{TokenKind: authz.TokenSession, TokenTenant: acme, PrincipalKind: authz.KindHuman, Module: "tracker", Header: true, Target: globex},
			authz.Verdict{Allow: true},
		},
		"act in other tenant, wiki": {
			authz.ActAs{TokenKind: authz.TokenSession, TokenTenant: acme, PrincipalKind: authz.KindHuman, Module: "wiki", Header: true, Target: globex},
			authz.Verdict{Code: "FORBIDDEN", Reasons: []string{"header_not_honoured"}},
		},
	} {
		got, err := e.Evaluate(t.Context(), c.decision)
		c.want.Revision = e.Revision()
		if c.want.Code != "NOT_FOUND" {
			for _, code := range c.want.Reasons {
				want := e.Catalogue().Reasons[code]
				for _, text := range []*string{&want.Message, &want.Remedy} {
					*text = strings.ReplaceAll(*text, "{cap}", strconv.Itoa(c.want.Cap))
					if c.want.Permission != "" {
						*text = strings.ReplaceAll(*text, "{permission}", c.want.Permission)
					}
				}
				c.want.Explained = append(c.want.Explained, want)
			}
		}
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, c.want)
		}
	}
}

func TestEvaluate_FailedEvaluationDenies(t *testing.T) {
	t.Parallel()
	quiet := slog.New(slog.DiscardHandler)
	e := newEngine(t, authz.Config{Logger: quiet})
	for _, q := range []authz.CustomDecision{authz.IssueServiceKey{}, authz.IssueSelfKey{}, authz.ListKeys{}, authz.RevokeKey{}} {
		v, err := e.Evaluate(t.Context(), q)
		if err == nil || v.Allow || v.Code != "FORBIDDEN" || !slices.Equal(v.Reasons, []string{authz.ReasonNoActor}) {
			t.Errorf("%T without an actor: got %+v, %v; want a denial", q, v, err)
		}
	}
	for text, reason := range map[string]string{
		"verdict := 7":                          authz.ReasonType,
		"verdict := {\"allow\": \"true\"}":      authz.ReasonType,
		"verdict := {\"allow\": true} if false": authz.ReasonUndefined,
	} {
		source := change(t, "parapet/actas/actas.rego", "", "package parapet.actas\n\n# METADATA\n# entrypoint: true\n"+text+"\n")
		e := newEngine(t, authz.Config{Source: authz.Source{Policies: source}, Logger: quiet})
		v, err := e.Evaluate(t.Context(), authz.ActAs{})
		if err == nil || v.Allow || !slices.Equal(v.Reasons, []string{reason}) {
			t.Errorf("rule %s: got %+v, %v; want a denial with the reason %s", text, v, err, reason)
		}
	}
	e = newEngine(t, authz.Config{
		Source: authz.Source{Policies: change(t, "parapet/actas/actas.rego", "# entrypoint: true\n", "")}, Logger: quiet,
	})
	if v, err := e.Evaluate(t.Context(), authz.ActAs{}); err == nil || v.Allow {
		t.Errorf("missing rule: got %+v, %v; want a denial", v, err)
	}
}

func TestEvalRaw_EvaluatesEntryPointsOnly(t *testing.T) {
	t.Parallel()
	e := newEngine(t, authz.Config{})
	got, err := e.EvalRaw(t.Context(), "parapet/clearance/may_read", map[string]any{"clearance": "SECRET", "classification": "INTERNAL"})
	if err != nil || got != true {
		t.Errorf("may_read of INTERNAL with the clearance SECRET: got %v, %v; want true", got, err)
	}
	if _, err := e.EvalRaw(t.Context(), "parapet/access/_has_grant", map[string]any{}); err == nil {
		t.Error("private rule: got no error")
	}
	if _, err := e.EvalRaw(t.Context(), "parapet/subject/subject", map[string]any{}); err == nil {
		t.Error("undefined result: got no error")
	}
	if _, err := e.EvalRaw(t.Context(), "parapet/access/allow", func() {}); err == nil {
		t.Error("function as input: got no error")
	}
}

// TestDecide_ConcurrentWithReload evaluates decisions while the policies change. Each
// decision has one of the revisions.
func TestDecide_ConcurrentWithReload(t *testing.T) {
	t.Parallel()
	e := newEngine(t, authz.Config{})
	s := subject(t, e, person(e, "Member"))
	columns := mappings()[0].columns
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for range 100 / raceDivisor {
				if d, err := e.Decide(t.Context(), authz.Input{Permission: "tasks.read", Effect: authz.Read, Module: "tracker", Actor: s, Resource: task()}); err != nil || !d.Allow {
					t.Errorf("got %+v, %v; want allow", d, err)
				}
				if d, err := e.Decide(t.Context(), authz.Input{Permission: "task.delete", Effect: authz.Write, Module: "tracker", Actor: s, Resource: task()}); err != nil || d.Allow {
					t.Errorf("task.delete: got %+v, %v; want a denial", d, err)
				}
				if f, err := e.Filter(t.Context(), "tasks.read", s, columns); err != nil || f.None() {
					t.Errorf("filter of tasks.read: got %s, %v; want one that includes rows", f.SQL(), err)
				}
				if _, err := e.Subject(t.Context(), person(e, "Member")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 2 {
		if err := e.ReloadUnchecked(t.Context(), authz.Source{Policies: policies.FS}); err != nil {
			t.Error(err)
		}
	}
	work.Wait()
}
