package executor

import (
	"context"
	"fmt"

	"parapet/internal/authz"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// Handler is the code of an operation on one resource. Load finds the resource
// and says what the policies need to know of it; for a creation it describes
// the record to be. Do runs only after the decision was an allow.
type Handler[In, Out, R any] struct {
	Load func(ctx context.Context, c *Call, in *In) (R, authz.Resource, error)
	Do   func(ctx context.Context, c *Call, in *In, resource R) (*Out, error)
	// Returned finds the record that an answer shows, where Load does not find that
	// one: the record that a creation has made, or the task that a claim has found.
	// An answer that is kept for an idempotency key is given again only if the
	// operation's permission is still allowed for this record. Nil where Load finds it.
	Returned func(ctx context.Context, c *Call, out *Out) (authz.Resource, error)
}

// Handle binds an operation on one resource.
func Handle[In, Out, R any](m *Module, o op.Op[In, Out], h Handler[In, Out, R]) op.Bound {
	m.requireAccess(o.Operation, op.Permitted)
	do := func(ctx context.Context, c *Call, in *In) (*Out, error) {
		r, resource, err := h.Load(ctx, c, in)
		if err != nil {
			return nil, err
		}
		if err := c.Decide(ctx, o.Permission, resource); err != nil {
			return nil, err
		}
		c.decided = &resource
		return h.Do(ctx, c, in, r)
	}
	if !o.Effect.Changes() {
		return bind(m, o, (*Call).requirePermission, do)
	}
	return bind(m, o, (*Call).requirePermission, func(ctx context.Context, c *Call, in *In) (*Out, error) {
		return runIdempotent(ctx, c, in, do, h.authorizeAgain)
	})
}

// authorizeAgain decides anew about an answer that was kept: about the record of
// the request as it is now, and about the record that the answer shows. was is what
// was decided about when the answer was made.
func (h *Handler[In, Out, R]) authorizeAgain(ctx context.Context, c *Call, in *In, out *Out, was *authz.Resource) error {
	_, resource, err := h.Load(ctx, c, in)
	if err != nil {
		if was == nil || !wasCompleted[Out](err) {
			return err
		}
		resource = *was
	}
	if err := c.Decide(ctx, c.operation.Permission, resource); err != nil {
		return err
	}
	if h.Returned == nil {
		return nil
	}
	if resource, err = h.Returned(ctx, c, out); err != nil {
		return err
	}
	return c.Decide(ctx, c.operation.Permission, resource)
}

// wasCompleted tells whether an error says no more than that the request was carried out
// before: its record has gone, and the answer shows nothing of it, or the record's
// state does not admit the request twice.
func wasCompleted[Out any](err error) bool {
	err = postgres.MapError(err)
	if _, empty := any((*Out)(nil)).(*op.None); empty && fault.HasCode(err, fault.CodeNotFound) {
		return true
	}
	return fault.HasCode(err, fault.CodeConflict) || fault.HasCode(err, fault.CodeValidation)
}

// List binds an operation that gives many resources: the handler must put the
// filter into its WHERE clause.
func List[In, Out any](m *Module, o op.Op[In, Out], columns *authz.Columns, do func(ctx context.Context, c *Call, in *In, f authz.Filter) (*Out, error)) op.Bound {
	m.requireAccess(o.Operation, op.Permitted)
	return bind(m, o, (*Call).requirePermission, func(ctx context.Context, c *Call, in *In) (*Out, error) {
		f, err := c.Filter(ctx, o.Permission, columns)
		if err != nil {
			return nil, err
		}
		m.cfg.Engine.RecordList(c.Actor.Subject, o.Permission, m.cfg.Module, op.RequestID(ctx), f)
		return do(ctx, c, in, f)
	})
}

// Authenticated binds an operation that needs a live credential and no permission, or
// whose decision is a question of its own that the handler asks. The caveats of
// the token are held against it all the same. No answer is kept for an idempotency
// key: the handler runs and decides again, so it must do nothing the second time.
func Authenticated[In, Out any](m *Module, o op.Op[In, Out], do func(ctx context.Context, c *Call, in *In) (*Out, error)) op.Bound {
	m.requireAccess(o.Operation, op.Authenticated)
	return bind(m, o, (*Call).requireCaveats, do)
}

// CustomDecision binds an operation that has a permission but whose decision is a
// question of its own, such as the issuing of a key: the handler asks it. The
// caller must hold the permission in some scope unless the policies resolve it
// elsewhere, which the handler's question does. No answer is kept, as for Open.
func CustomDecision[In, Out any](m *Module, o op.Op[In, Out], do func(ctx context.Context, c *Call, in *In) (*Out, error)) op.Bound {
	m.requireAccess(o.Operation, op.Permitted)
	return bind(m, o, nil, do)
}

// Public binds an operation that anybody may call. It has no tenant and no
// transaction of the executor's.
func Public[In, Out any](m *Module, o op.Op[In, Out], do func(ctx context.Context, in *In) (*Out, error)) op.Bound {
	m.requireAccess(o.Operation, op.Public)
	return op.Bound{Operation: o.Operation, Call: func(ctx context.Context, in any) (any, error) {
		typed, ok := in.(*In)
		if !ok {
			return nil, fmt.Errorf("executor: %s was called with %T", o.Name, in)
		}
		ctx, cancel := m.deadline(ctx, o.Operation)
		defer cancel()
		out, err := do(ctx, typed)
		if err != nil {
			return nil, err
		}
		return out, nil
	}}
}

// requireAccess refuses to bind an operation in a way that its declaration does not
// allow: a program that does so must not start.
func (m *Module) requireAccess(o *op.Operation, access op.Access) {
	if o.Access != access {
		panic(fmt.Sprintf("executor: %s is bound with another access than it declares", o.Name))
	}
	if o.Module != m.cfg.Module {
		panic(fmt.Sprintf("executor: %s belongs to the module %s, not to %s", o.Name, o.Module, m.cfg.Module))
	}
}

// bind erases the operation's types and wraps its code. The guard, where there is
// one, comes before everything, the answer kept for an idempotency key included.
func bind[In, Out any](m *Module, o op.Op[In, Out], guard func(*Call, context.Context) error, do func(ctx context.Context, c *Call, in *In) (*Out, error)) op.Bound {
	return op.Bound{Operation: o.Operation, Call: func(ctx context.Context, in any) (any, error) {
		typed, ok := in.(*In)
		if !ok {
			return nil, fmt.Errorf("executor: %s was called with %T", o.Name, in)
		}
		var out *Out
		err := m.run(ctx, o.Operation, func(ctx context.Context, c *Call) error {
			c.requested = requested(o.Operation, typed)
			if guard != nil {
				if err := guard(c, ctx); err != nil {
					return err
				}
			}
			err := c.validateIdempotencyKey(ctx)
			if err == nil {
				out, err = do(ctx, c, typed)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		return out, nil
	}}
}
