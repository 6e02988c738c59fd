package executor

import (
	"context"
	"errors"
	"fmt"

	"parapet/internal/authz"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/principal"
)

// Explanation is the decision about the permission of an operation for one record. It
// comes from a call of the operation that ends after the decision, so nothing changes.
type Explanation struct {
	// Resource is the record as the policies see it. It is the zero value if the call ended
	// before it loaded a record.
	Resource authz.Resource
	Decision authz.Decision
	// Fault is the error that the operation would return; nil if the policies allow it.
	Fault *fault.Error
}

// ExplainedUser is another user than the caller, whose call is explained.
type ExplainedUser struct {
	ID   op.UUID
	Kind string
}

// userPrincipals is an optional interface of Principals.
type userPrincipals interface {
	// ForUser returns the principal of a user with the authority that the records of the
	// tenant give it.
	ForUser(ctx context.Context, tenant, user op.UUID, kind string) (*principal.Principal, error)
}

// explanation is the state of a call that is explained.
type explanation struct {
	Explanation
	permission string
	decided    bool
	// skipGuard omits the check that the caller holds the permission in any scope. The
	// record is then always loaded.
	skipGuard bool
}

// errExplained ends the call of an operation after its decision.
var errExplained = errors.New("executor: the decision is explained")

type explanationKey struct{}

// explanationFrom returns the explanation of the call, or nil for an ordinary call.
func explanationFrom(ctx context.Context) *explanation {
	e, _ := ctx.Value(explanationKey{}).(*explanation)
	return e
}

// Explain explains what the policies decide about the operation b with the input in, for
// the caller, or for another user. in is a pointer to the input of b; its names are
// replaced by ids. The decision is not added to the decision log. If the caller may not see
// the record, it returns the same error as for a missing record. The caller of Explain must
// have decided that the caller may ask about the other user.
func (c *Call) Explain(ctx context.Context, b op.Bound, in any, other *ExplainedUser) (Explanation, error) {
	if other == nil {
		return explain(ctx, b, in, c.Actor, false)
	}
	own, err := explain(ctx, b, in, c.Actor, true)
	if err != nil {
		return own, err
	}
	if own.Fault != nil && own.Fault.Code == fault.CodeNotFound {
		return own, own.Fault
	}
	principals, ok := c.module.cfg.Principals.(userPrincipals)
	if !ok {
		return own, fault.Internal(errors.New("executor: Principals does not implement ForUser"))
	}
	p, err := principals.ForUser(ctx, c.Tenant, other.ID, other.Kind)
	if err != nil {
		return own, err
	}
	return explain(ctx, b, in, p, false)
}

// explain calls the operation as the principal until its decision.
func explain(ctx context.Context, b op.Bound, in any, p *principal.Principal, skipGuard bool) (Explanation, error) {
	e := &explanation{permission: b.Permission, skipGuard: skipGuard}
	// The explained call has no idempotency key, so no stored response is returned for it.
	ctx = op.WithRequest(authz.Unlogged(ctx), op.Request{ID: op.RequestID(ctx)})
	_, err := b.Call(context.WithValue(principal.NewContext(ctx, p), explanationKey{}, e), in)
	switch {
	case errors.Is(err, errExplained):
		return e.Explanation, nil
	case fault.HasCode(err, fault.CodeForbidden), fault.HasCode(err, fault.CodeNotFound):
		e.Fault = fault.From(err)
		return e.Explanation, nil
	case fault.HasCode(err, fault.CodeValidation):
		return e.Explanation, fault.Validation("record", "The decision about "+b.Name+" cannot be explained for this record: "+fault.From(err).Message)
	case err == nil:
		return e.Explanation, fault.Internal(fmt.Errorf("executor: %s did not end after its decision", b.Name))
	default:
		return e.Explanation, err
	}
}

// notExplainable returns the error for an operation whose decision cannot be explained.
func notExplainable(o *op.Operation) error {
	return fault.Validation("operation", "The decision about "+o.Name+" cannot be explained, because it is not a decision of one permission about one record. Use an operation on one record, such as update-task.")
}

// reset removes the decision of an earlier attempt. A call is retried if the principal was
// outdated; the explanation reports the last attempt.
func (e *explanation) reset() {
	e.decided, e.Resource, e.Decision = false, authz.Resource{}, authz.Decision{}
}

// record stores the first decision about the operation's permission.
func (e *explanation) record(permission string, r authz.Resource, d authz.Decision) {
	if !e.decided && permission == e.permission {
		e.decided, e.Resource, e.Decision = true, r, d
	}
}
