package authz

import (
	"context"

	"github.com/open-policy-agent/opa/v1/ast"

	"parapet/internal/telemetry"
)

// inputKeys contains the keys of the access input. They are shared, because terms are
// immutable.
var inputKeys = struct {
	permission, effect, module, actor, resource                            *ast.Term
	typ, id, tenant, organisation, project, creator, owner, classification *ast.Term
	read, write, null                                                      *ast.Term
}{
	permission: ast.StringTerm("permission"), effect: ast.StringTerm("effect"),
	module: ast.StringTerm("module"), actor: ast.StringTerm("actor"), resource: ast.StringTerm("resource"),
	typ: ast.StringTerm("type"), id: ast.StringTerm("id"), tenant: ast.StringTerm("tenant"),
	organisation: ast.StringTerm("organisation"), project: ast.StringTerm("project"),
	creator: ast.StringTerm("creator"), owner: ast.StringTerm("owner"),
	classification: ast.StringTerm("classification"),
	read:           ast.StringTerm("read"), write: ast.StringTerm("write"), null: ast.NullTerm(),
}

type unloggedKey struct{}

// Unlogged returns a context in which Decide adds nothing to the decision log, for
// decisions about requests that nobody made.
func Unlogged(ctx context.Context) context.Context {
	return context.WithValue(ctx, unloggedKey{}, true)
}

// Decide decides about one request for a record. If the evaluation fails, the decision is a
// denial with a reason ENGINE_…, and the error is not nil.
func (e *Engine) Decide(ctx context.Context, in Input) (Decision, error) {
	v := e.current.Load()
	ctx, span := telemetry.StartChild(ctx, "decision")
	decision, failed := e.decide(ctx, v, &in)
	endDecision(span, in.Permission, in.Resource.Type, decision.Allow, failed)
	decision.Revision = v.set.revision
	if !decision.Hidden {
		decision.Explained = v.set.explain(decision.Reasons)
	}
	e.counts.countDecision(decision.Allow)
	if ctx.Value(unloggedKey{}) == nil {
		e.logDecision(v.set, &in, &decision)
	}
	if failed != nil {
		e.counts.failed(failed.reason)
		e.logger.ErrorContext(ctx, "evaluation of a decision failed", "reason", failed.reason,
			"permission", in.Permission, "revision", v.set.revision, "error", failed.cause)
		return decision, failed
	}
	return decision, nil
}

// endDecision ends the span of a decision. Its attributes are names from the program and the
// policies; they contain no ids and no text of users.
func endDecision(span telemetry.Span, name, resourceType string, allow bool, failed *failure) {
	span.SetString("parapet.permission", name)
	span.SetString("parapet.resource_type", resourceType)
	span.SetBool("parapet.allow", allow)
	if failed != nil {
		span.SetString("error.type", failed.reason)
	}
	span.End(failed != nil)
}

func (e *Engine) decide(ctx context.Context, v *evaluator, in *Input) (Decision, *failure) {
	if in.Actor == nil {
		return deny(&failure{reason: ReasonNoActor})
	}
	return v.decide(ctx, v.set.input(in), len(in.Actor.delegatedSubjects) > 0)
}

// decide evaluates the rule. If the rule denies, it evaluates the delegations, and if none
// of them allows, the reason of the denial.
func (v *evaluator) decide(ctx context.Context, input ast.Value, delegated bool) (Decision, *failure) {
	value, failed := v.eval(ctx, v.set.allow, input)
	if failed != nil {
		return deny(failed)
	}
	allow, ok := value.(ast.Boolean)
	if !ok {
		return deny(&failure{reason: ReasonType})
	}
	if allow {
		return Decision{Allow: true}, nil
	}
	if delegated {
		behalf, failed := v.allowingDelegation(ctx, input)
		if failed != nil {
			return deny(failed)
		}
		if behalf != nil {
			return Decision{Allow: true, OnBehalfOf: behalf}, nil
		}
	}
	return v.explain(ctx, input)
}

func deny(f *failure) (Decision, *failure) {
	return Decision{Reasons: []string{f.reason}}, f
}

// explain evaluates the reason of a denial.
func (v *evaluator) explain(ctx context.Context, input ast.Value) (Decision, *failure) {
	value, failed := v.eval(ctx, v.set.denial, input)
	if failed != nil {
		return deny(failed)
	}
	denial, ok := value.(ast.Object)
	if !ok {
		return deny(&failure{reason: ReasonType})
	}
	return Decision{Hidden: boolean(denial, "hidden"), Reasons: stringsAt(denial, "reasons")}, nil
}

// input builds the input document. It shares the actor's term and omits empty fields.
func (s *set) input(in *Input) ast.Object {
	effect := inputKeys.write
	if in.Effect == Read {
		effect = inputKeys.read
	}
	return ast.NewObject(
		[2]*ast.Term{inputKeys.permission, s.term(in.Permission)},
		[2]*ast.Term{inputKeys.effect, effect},
		[2]*ast.Term{inputKeys.module, s.term(in.Module)},
		[2]*ast.Term{inputKeys.actor, in.Actor.term},
		[2]*ast.Term{inputKeys.resource, ast.NewTerm(in.Resource.object(s.term))},
	)
}

// object converts the resource to a document. tier converts a classification to a term.
func (r *Resource) object(tier func(string) *ast.Term) ast.Object {
	resource := ast.NewObject([2]*ast.Term{inputKeys.typ, ast.StringTerm(r.Type)})
	insert := func(key *ast.Term, text string) {
		if text != "" {
			resource.Insert(key, ast.StringTerm(text))
		}
	}
	insert(inputKeys.id, r.ID)
	insert(inputKeys.tenant, r.Tenant)
	insert(inputKeys.organisation, r.Organisation)
	insert(inputKeys.project, r.Project)
	insert(inputKeys.creator, r.Creator)
	insert(inputKeys.owner, r.Owner)
	if r.Classification != "" {
		resource.Insert(inputKeys.classification, tier(r.Classification))
	} else if r.NullClassification {
		resource.Insert(inputKeys.classification, inputKeys.null)
	}
	return resource
}
