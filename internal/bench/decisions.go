package main

import (
	"context"
	"fmt"

	"parapet/internal/authz"
)

// decisions measures one decision in every engine, after verifying that all engines return
// the same result.
func decisions(ctx context.Context, r *report) error {
	w := newWorld()
	engine, err := authz.New(ctx, authz.Config{})
	if err != nil {
		return err
	}
	subject, err := engine.Subject(ctx, w.subject())
	if err != nil {
		return err
	}
	hand := newOracle(w)
	ced, err := newCedar(w)
	if err != nil {
		return err
	}
	cas, err := newCasbin(w)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name     string
		resource authz.Resource
		want     bool
	}{{"allow", w.allowed, true}, {"deny", w.denied, false}} {
		in := authz.Input{Permission: w.permission, Effect: authz.Write, Module: "tracker", Actor: subject, Resource: c.resource}
		d, err := engine.Decide(ctx, in)
		if err != nil {
			return err
		}
		byCasbin, err := cas.decide(w.permission, c.resource)
		if err != nil {
			return err
		}
		if d.Allow != c.want || hand.decide(w.permission, &c.resource) != c.want || ced.decide(c.name) != c.want || byCasbin != c.want {
			return fmt.Errorf("decision %s: the engines disagree: %v %v", c.name, d, byCasbin)
		}
		resource := c.resource
		base := measure(func() { hand.decide(w.permission, &resource) })
		if err := r.addComparison("decision/"+c.name+"/go-by-hand", base, "", nil); err != nil {
			return err
		}
		for _, e := range []struct {
			name string
			f    func()
		}{
			{"parapet", func() { _, _ = engine.Decide(ctx, in) }},
			{"cedar-go", func() { ced.decide(c.name) }},
			{"casbin", func() { _, _ = cas.decide(w.permission, resource) }},
		} {
			if err := r.addComparison("decision/"+c.name+"/"+e.name, measure(e.f), "go-by-hand", &base); err != nil {
				return err
			}
		}
	}
	return filters(ctx, r, engine, subject)
}

// filters measures binding a subject to a prepared filter.
func filters(ctx context.Context, r *report, engine *authz.Engine, subject *authz.Subject) error {
	columns := authz.NewColumns(map[string]authz.Column{
		"resource.tenant": authz.UUID("t.tenant_id"), "resource.project": authz.UUID("t.project_id"), "resource.organisation": authz.UUID("p.organisation_id"),
		"resource.creator": authz.UUID("t.created_by"), "resource.owner": authz.UUID("t.assignee"), "resource.classification": authz.Text("p.classification"),
	})
	if _, err := engine.Filter(ctx, "tasks.read", subject, columns); err != nil {
		return err
	}
	m := measure(func() {
		f, err := engine.Filter(ctx, "tasks.read", subject, columns)
		if err == nil {
			f.SQL()
			f.AddTo(map[string]any{})
		}
	})
	return r.addComparison("filter/bind", m, "", nil)
}
