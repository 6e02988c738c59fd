package authz

import (
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Delegate decides whether Delegator may delegate Permissions to Delegate in the scope of
// Resource, from Starts to Ends. Whether the actor may create delegations is decided
// separately. If a limit is exceeded, the verdict contains it as Cap, in days or as a number
// of delegations.
type Delegate struct {
	Actor       *Subject
	Delegator   Candidate
	Delegate    Candidate
	Permissions []string
	Resource    Resource
	// Now is the time of the request. Fractions of microseconds are ignored in all times.
	Now    time.Time
	Starts time.Time
	Ends   time.Time
	// Received counts the delegations that Delegate has already received.
	Received Received
}

// Received counts the delegations to a user that have not ended: those from one delegator,
// and all.
type Received struct {
	FromDelegator int
	Total         int
}

func (Delegate) entrypoint() string { return "parapet/delegations/verdict" }

func (q Delegate) document() ast.Value {
	return withRecord(q.Actor, &q.Resource, func(d document) {
		d.value("delegator", q.Delegator.document())
		d.value("delegate", q.Delegate.document())
		d.texts("permissions", q.Permissions)
		d.number("now", int(q.Now.UnixMicro()))
		d.number("starts_at", int(q.Starts.UnixMicro()))
		d.number("ends_at", int(q.Ends.UnixMicro()))
		received := newDocument()
		received.number("from_delegator", q.Received.FromDelegator)
		received.number("total", q.Received.Total)
		d.value("received", received.Object)
	})
}

func (q Delegate) logContext() decisionContext {
	a := workContext(q.Actor, &q.Resource, q.Delegate.ID)
	a.permission = "delegation.create"
	return a
}
