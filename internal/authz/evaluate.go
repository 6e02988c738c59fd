package authz

import (
	"context"

	"github.com/open-policy-agent/opa/v1/ast"

	"parapet/internal/telemetry"
)

// Evaluate evaluates one of the special policy entry points. If the evaluation fails, the
// verdict is a denial with a reason ENGINE_…, and the error is not nil.
func (e *Engine) Evaluate(ctx context.Context, q CustomDecision) (Verdict, error) {
	v := e.current.Load()
	ctx, span := telemetry.StartChild(ctx, "decision")
	input := q.document()
	verdict, failed := v.evaluateCustom(ctx, q.entrypoint(), input)
	endDecision(span, q.entrypoint(), "", verdict.Allow, failed)
	verdict.Revision = v.set.revision
	if !verdict.isHidden() {
		verdict.Explained = v.set.explainVerdict(&verdict)
	}
	e.counts.countDecision(verdict.Allow)
	e.recordCustomDecision(v.set, q, input, &verdict)
	if failed != nil {
		e.counts.failed(failed.reason)
		e.logger.ErrorContext(ctx, "evaluation of a custom decision failed", "reason", failed.reason,
			"rule", q.entrypoint(), "revision", v.set.revision, "error", failed.cause)
		return verdict, failed
	}
	return verdict, nil
}

func (v *evaluator) evaluateCustom(ctx context.Context, entrypoint string, input ast.Value) (Verdict, *failure) {
	denyFor := func(f *failure) (Verdict, *failure) {
		return Verdict{Code: "FORBIDDEN", Reasons: []string{f.reason}}, f
	}
	query, ok := v.set.queries[entrypoint]
	if !ok {
		return denyFor(&failure{reason: ReasonUndefined})
	}
	if input == nil {
		return denyFor(&failure{reason: ReasonNoActor})
	}
	value, failed := v.eval(ctx, query, input)
	if failed != nil {
		return denyFor(failed)
	}
	o, ok := value.(ast.Object)
	if !ok {
		return denyFor(&failure{reason: ReasonType})
	}
	allow, ok := field(o, "allow").(ast.Boolean)
	if !ok {
		return denyFor(&failure{reason: ReasonType})
	}
	return Verdict{
		Allow:      bool(allow),
		Code:       text(o, "code"),
		Reasons:    stringsAt(o, "reasons"),
		Permission: text(o, "permission"),
		Field:      text(o, "field"),
		Days:       number(o, "days"),
		Cap:        number(o, "cap"),
		OnBehalfOf: readOnBehalf(field(o, "on_behalf")),
	}, nil
}

// withActor builds the input of a custom decision: the subject, and the fields that the
// function add inserts. add may be nil. Without a subject, the input is nil, which denies.
func withActor(actor *Subject, add func(document)) ast.Value {
	if actor == nil {
		return nil
	}
	d := newDocument()
	d.Insert(inputKeys.actor, actor.term)
	if add != nil {
		add(d)
	}
	return d.Object
}

func (s KeySettings) document() ast.Value {
	d := newDocument()
	if s.MaxAdminDays != 0 {
		d.number("max_admin_days", s.MaxAdminDays)
	}
	if s.MaxUserDays != 0 {
		d.number("max_user_days", s.MaxUserDays)
	}
	return d.Object
}

func heldRoles(held []HeldRole) ast.Value {
	roles := make([]*ast.Term, len(held))
	for i, r := range held {
		d := newDocument()
		d.text("name", r.Name)
		d.text("kind", r.Kind)
		d.text("scope", r.Scope)
		d.optional("id", r.ScopeID)
		d.texts("grants", r.Grants)
		roles[i] = ast.NewTerm(d.Object)
	}
	return ast.NewArray(roles...)
}

func (p ServicePrincipal) document() ast.Value {
	d := newDocument()
	d.optional("id", p.ID)
	d.optional("tenant", p.Tenant)
	d.text("kind", p.Kind)
	d.text("status", p.Status)
	d.text("membership", p.Membership)
	d.optional("integration_key", p.IntegrationKey)
	d.value("roles", heldRoles(p.Roles))
	return d.Object
}

func (o KeyOwner) document() ast.Value {
	d := newDocument()
	d.optional("id", o.ID)
	d.optional("tenant", o.Tenant)
	d.text("kind", o.Kind)
	return d.Object
}

func (q IssueServiceKey) document() ast.Value {
	return withActor(q.Actor, func(d document) {
		d.value("target", q.Target.document())
		d.value("settings", q.Settings.document())
	})
}

func (q IssueSelfKey) document() ast.Value {
	return withActor(q.Actor, func(d document) {
		if q.ExpiresInDays != nil {
			d.number("expires_in_days", *q.ExpiresInDays)
		}
		d.number("active_keys", q.ActiveKeys)
		d.number("max_active_keys", q.Settings.MaxActivePersonal)
		d.value("settings", q.Settings.document())
	})
}

func (q ListKeys) document() ast.Value {
	return withActor(q.Actor, func(d document) {
		d.boolean("service_owned", q.Owner != nil)
		if q.Owner != nil {
			d.value("owner", q.Owner.document())
		}
	})
}

func (q RevokeKey) document() ast.Value {
	return withActor(q.Actor, func(d document) {
		key := newDocument()
		key.optional("jti", q.Key.JTI)
		key.optional("tenant", q.Key.Tenant)
		key.value("owner", q.Key.Owner.document())
		d.boolean("service_owned", q.ServiceOwned)
		d.value("key", key.Object)
	})
}

func (q ValidateProfile) document() ast.Value {
	d := newDocument()
	d.value("target", q.Target.document())
	return d.Object
}

func (q AuthenticatedAccess) document() ast.Value {
	return withActor(q.Actor, func(d document) {
		d.text("effect", string(q.Effect))
		d.text("module", q.Module)
	})
}

func (q ActAs) document() ast.Value {
	d := newDocument()
	d.text("token_kind", q.TokenKind)
	d.optional("token_tenant", q.TokenTenant)
	d.text("principal_kind", q.PrincipalKind)
	d.text("module", q.Module)
	d.boolean("header", q.Header)
	d.optional("target", q.Target)
	return d.Object
}
