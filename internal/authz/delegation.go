package authz

import (
	"context"

	"github.com/open-policy-agent/opa/v1/ast"
)

// ScopeInitiative is a scope of delegations alone.
const ScopeInitiative = "initiative"

// Delegation lets its receiver act on another's behalf. It is in force: begun,
// not over, not revoked.
type Delegation struct {
	ID        string
	Delegator Delegator
	// Scope is tenant, project or initiative. Projects are the project, or those
	// that belong to the initiative now; Initiatives is the initiative.
	Scope       string
	Projects    []string
	Initiatives []string
	Permissions []string
}

// Delegator is who delegated, as the target tenant has it on record now.
type Delegator struct {
	ID   string
	Kind string
	// Status is the user's status, Membership that of its membership.
	Status     string
	Membership string
	// Clearance is the stored clearance in the target tenant; empty is none. The
	// delegate reads with the lower of its own and this one.
	Clearance   string
	Assignments []Assignment
}

// OnBehalf says by which delegation something is allowed, and on whose behalf.
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

// behalf asks on whose behalf the subject may do what it may not by itself; nil
// is on nobody's. Where several delegations allow it, the first by id is named.
func (v *evaluator) behalf(ctx context.Context, input ast.Value) (*OnBehalf, *failure) {
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
	return behalfOf(allowing.Slice()[0].Value), nil
}

// behalfOf reads what the policies say of a delegation; nil where they say none.
func behalfOf(v ast.Value) *OnBehalf {
	o, ok := v.(ast.Object)
	if !ok {
		return nil
	}
	return &OnBehalf{Delegation: text(o, "delegation"), Delegator: text(o, "delegator")}
}
