package authz

import "github.com/open-policy-agent/opa/v1/ast"

// Delegate asks whether Delegator may lend Permissions to Delegate in the place
// that Resource is. Whether the actor may delegate at all, for itself or for
// another, is a decision of its own.
type Delegate struct {
	Actor       *Subject
	Delegator   Candidate
	Delegate    Candidate
	Permissions []string
	Resource    Resource
}

func (Delegate) entrypoint() string { return "parapet/delegations/verdict" }

func (q Delegate) document() ast.Value {
	d, ok := withRecord(q.Actor, &q.Resource)
	if !ok {
		return nil
	}
	d.value("delegator", q.Delegator.document())
	d.value("delegate", q.Delegate.document())
	d.texts("permissions", q.Permissions)
	return d.Object
}

func (q Delegate) about() about {
	a := aboutWork(q.Actor, &q.Resource, q.Delegate.ID)
	a.permission = "delegation.create"
	return a
}
