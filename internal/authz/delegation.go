package authz

import (
	"context"

	"github.com/open-policy-agent/opa/v1/ast"
)

// ScopeInitiative is a scope that only delegations have.
const ScopeInitiative = "initiative"

// Delegation is an active delegation that a user received: started, not ended and not
// revoked.
type Delegation struct {
	ID        string
	Delegator Delegator
	// Scope is tenant, project or initiative. Projects contains the project, or the current
	// projects of the initiative. Initiatives contains the initiative.
	Scope       string
	Projects    []string
	Initiatives []string
	Permissions []string
}

// Delegator describes the delegator with the target tenant's current records.
type Delegator struct {
	ID   string
	Kind string
	// Status is the status of the user, Membership that of the membership.
	Status     string
	Membership string
	// Clearance is the clearance on record in the target tenant, empty if there is none. The
	// delegate reads with the lower of both clearances.
	Clearance   string
	Assignments []Assignment
}

// OnBehalf names the delegation that allows a request, and its delegator.
type OnBehalf struct {
	Delegation string
	Delegator  string
}

func delegations(received []Delegation) ast.Value {
	terms := make([]*ast.Term, len(received))
	for i, r := range received {
		delegator := newDocument()
		delegator.text("id", r.Delegator.ID)
		delegator.text("kind", r.Delegator.Kind)
		delegator.text("status", r.Delegator.Status)
		delegator.text("membership", r.Delegator.Membership)
		delegator.optional("clearance", r.Delegator.Clearance)
		delegator.value("assignments", assignments(r.Delegator.Assignments))

		d := newDocument()
		d.text("id", r.ID)
		d.text("scope", r.Scope)
		d.texts("projects", r.Projects)
		d.texts("initiatives", r.Initiatives)
		d.texts("permissions", r.Permissions)
		d.value("delegator", delegator.Object)
		terms[i] = ast.NewTerm(d.Object)
	}
	return ast.NewArray(terms...)
}

// allowingDelegation returns a delegation that allows a request that the subject itself may
// not make: the one with the lowest id, or nil if there is none.
func (v *evaluator) allowingDelegation(ctx context.Context, input ast.Value) (*OnBehalf, *failure) {
	value, failed := v.eval(ctx, v.set.behalf, input)
	if failed != nil {
		return nil, failed
	}
	allowing, ok := value.(ast.Set)
	if !ok {
		return nil, &failure{reason: ReasonType}
	}
	if allowing.Len() == 0 {
		return nil, nil
	}
	return readOnBehalf(allowing.Slice()[0].Value), nil
}

// readOnBehalf reads the delegation from a result of the policies. It returns nil if there
// is none.
func readOnBehalf(v ast.Value) *OnBehalf {
	o, ok := v.(ast.Object)
	if !ok {
		return nil
	}
	return &OnBehalf{Delegation: text(o, "delegation"), Delegator: text(o, "delegator")}
}

// OwnFilter is like Filter, but ignores the delegations that the subject received. It is for
// callers that do not check whether these delegations are still active.
func (e *Engine) OwnFilter(ctx context.Context, permission string, actor *Subject, columns *Columns) (Filter, error) {
	if actor == nil || len(actor.delegatedSubjects) == 0 {
		return e.Filter(ctx, permission, actor, columns)
	}
	return e.Filter(ctx, permission, &Subject{term: actor.term, id: actor.id, tenant: actor.tenant, revision: actor.revision}, columns)
}
