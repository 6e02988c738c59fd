package authz_test

import (
	"context"
	"fmt"
	"testing"

	"parapet/internal/authz"
)

const (
	acme     = "00000000-0000-7000-8000-000000000001"
	globex   = "00000000-0000-7000-8000-000000000002"
	office   = "00000000-0000-7000-8000-000000000003"
	orgA     = "00000000-0000-7000-8000-0000000000a1"
	orgB     = "00000000-0000-7000-8000-0000000000a2"
	projectA = "00000000-0000-7000-8000-0000000000b1"
	projectB = "00000000-0000-7000-8000-0000000000b2"
	alice    = "00000000-0000-7000-8000-0000000000c1"
	bob      = "00000000-0000-7000-8000-0000000000c2"
)

func newEngine(t testing.TB, cfg authz.Config) *authz.Engine {
	t.Helper()
	e, err := authz.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// roles gives the default roles as a tenant's rows would.
func roles(e *authz.Engine) map[string][]string {
	grants := map[string][]string{}
	for _, r := range e.Catalogue().Roles {
		grants[r.Name] = r.Grants
	}
	return grants
}

// person is a session of alice in acme with these roles, tenant-wide.
func person(e *authz.Engine, names ...string) authz.SubjectInput {
	in := authz.SubjectInput{
		Token:      authz.Token{Kind: authz.TokenSession, Tenant: acme, Roles: names, Clearance: "CONFIDENTIAL"},
		Tenant:     acme,
		TenantType: "STANDARD",
		User:       authz.User{ID: alice, Kind: authz.KindHuman, Organisation: orgA},
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
		Type: "task", ID: bob, Tenant: acme, Organisation: orgA, Project: projectA,
		Creator: bob, Classification: "INTERNAL",
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

func TestSmoke(t *testing.T) {
	e := newEngine(t, authz.Config{})
	s := subject(t, e, person(e, "Member"))
	fmt.Println(decide(t, e, authz.Input{Permission: "tasks.read", Effect: authz.Read, Module: "tracker", Actor: s, Resource: task()}))
	r := task()
	r.Tenant = globex
	fmt.Println(decide(t, e, authz.Input{Permission: "tasks.read", Effect: authz.Read, Module: "tracker", Actor: s, Resource: r}))
	in := person(e, "Member")
	in.Token.RoleScopes = map[string][]string{"Member": {"project:" + projectA, "organisation:" + orgA}}
	cols := authz.NewColumns(map[string]authz.Column{
		"resource.tenant": authz.UUID("t.tenant_id"), "resource.project": authz.UUID("t.project_id"), "resource.organisation": authz.UUID("p.organisation_id"),
		"resource.creator": authz.UUID("t.creator"), "resource.owner": authz.UUID("t.assignee"), "resource.classification": authz.Text("p.classification"),
	})
	for _, p := range []string{"tasks.read", "task.delete", "task.update.own", "audit.read", "tenant.list"} {
		for _, in := range []authz.SubjectInput{person(e, "Member"), in} {
			f, err := e.Filter(t.Context(), p, subject(t, e, in), cols)
			fmt.Println(p, f.SQL(), err)
			fmt.Println(f.Positional(3))
		}
	}

}

func BenchmarkDecideAllow(b *testing.B) {
	e := newEngine(b, authz.Config{})
	s := subject(b, e, person(e, "Member"))
	in := authz.Input{Permission: "tasks.read", Effect: authz.Read, Module: "tracker", Actor: s, Resource: task()}
	b.ReportAllocs()
	for b.Loop() {
		if d, _ := e.Decide(b.Context(), in); !d.Allow {
			b.Fatal(d)
		}
	}
}

func BenchmarkDecideDeny(b *testing.B) {
	e := newEngine(b, authz.Config{})
	s := subject(b, e, person(e, "Member"))
	in := authz.Input{Permission: "task.delete", Effect: authz.Write, Module: "tracker", Actor: s, Resource: task()}
	b.ReportAllocs()
	for b.Loop() {
		if d, _ := e.Decide(b.Context(), in); d.Allow {
			b.Fatal(d)
		}
	}
}

func BenchmarkSubject(b *testing.B) {
	e := newEngine(b, authz.Config{})
	in := person(e, "Admin")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Subject(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
}
