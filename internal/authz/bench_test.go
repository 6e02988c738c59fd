package authz_test

import (
	"slices"
	"testing"

	"parapet/internal/authz"
)

// goRule is the rule parapet.access.allow written in Go. Benchmarks compare the engine's
// time with it. The product does not use it.
type goRule struct {
	tenant, id string
	readable   []string
	grants     map[string]goGrant
}

type goGrant struct {
	tenant                  bool
	organisations, projects []string
	own                     bool
}

func (w *goRule) decide(in *authz.Input) bool {
	r := &in.Resource
	if r.Tenant == "" || r.Tenant != w.tenant || !slices.Contains(w.readable, r.Classification) {
		return false
	}
	g, ok := w.grants[in.Permission]
	if !ok {
		return false
	}
	return g.tenant || slices.Contains(g.organisations, r.Organisation) || slices.Contains(g.projects, r.Project) ||
		g.own && (r.Creator == w.id || r.Owner == w.id)
}

func newGoRule() *goRule {
	return &goRule{
		tenant: acme, id: worker, readable: tiers[:4],
		grants: map[string]goGrant{"tasks.read": {tenant: true}, "task.delete": {own: true}},
	}
}

func benchmarkDecide(b *testing.B, permission string, effect authz.Effect, allow bool, cfg authz.Config) {
	b.Helper()
	e := newEngine(b, cfg)
	in := authz.Input{
		Permission: permission, Effect: effect, Module: "tracker",
		Actor: subject(b, e, person(e, "Member")), Resource: task(),
	}
	b.ReportAllocs()
	for b.Loop() {
		if d, err := e.Decide(b.Context(), in); err != nil || d.Allow != allow {
			b.Fatal(d, err)
		}
	}
}

func BenchmarkDecideAllow(b *testing.B) {
	benchmarkDecide(b, "tasks.read", authz.Read, true, authz.Config{})
}

func BenchmarkDecideDeny(b *testing.B) {
	benchmarkDecide(b, "task.delete", authz.Write, false, authz.Config{})
}

// discardSink is a sink with a buffer. It drops the records that do not fit into the buffer.
type discardSink chan authz.DecisionRecord

func (f discardSink) Record(r authz.DecisionRecord) {
	select {
	case f <- r:
	default:
	}
}

func BenchmarkDecideAllowLogged(b *testing.B) {
	benchmarkDecide(b, "tasks.read", authz.Read, true, authz.Config{Sink: make(discardSink, 64)})
}

func BenchmarkDecideAllowWrittenInGo(b *testing.B) {
	w := newGoRule()
	in := authz.Input{Permission: "tasks.read", Resource: task()}
	b.ReportAllocs()
	for b.Loop() {
		if !w.decide(&in) {
			b.Fatal("got a denial, want allow")
		}
	}
}

func BenchmarkDecideDenyWrittenInGo(b *testing.B) {
	w := newGoRule()
	in := authz.Input{Permission: "task.delete", Resource: task()}
	b.ReportAllocs()
	for b.Loop() {
		if w.decide(&in) {
			b.Fatal("got allow, want a denial")
		}
	}
}

func BenchmarkSubject(b *testing.B) {
	e := newEngine(b, authz.Config{})
	for _, role := range []string{"Member", "Admin"} {
		in := person(e, role)
		b.Run(role, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Subject(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFilter measures binding a filter, and reading it from the subject's cache.
func BenchmarkFilter(b *testing.B) {
	e := newEngine(b, authz.Config{})
	s := subject(b, e, person(e, "Member"))
	b.Run("bind", func(b *testing.B) {
		columns := mappings()[0].columns
		b.ReportAllocs()
		for b.Loop() {
			if f := authz.BindUncached(e, "tasks.read", s, columns); f.None() {
				b.Fatal("got a filter that includes no rows")
			}
		}
	})
	b.Run("cached", func(b *testing.B) {
		columns := mappings()[0].columns
		b.ReportAllocs()
		for b.Loop() {
			if f, err := e.Filter(b.Context(), "tasks.read", s, columns); err != nil || f.None() {
				b.Fatal("got a filter that includes no rows")
			}
		}
	})
}

func BenchmarkReload(b *testing.B) {
	e := newEngine(b, authz.Config{})
	b.ReportAllocs()
	for b.Loop() {
		if err := e.Reload(b.Context(), authz.Embedded()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		newEngine(b, authz.Config{})
	}
}
