package gate

import (
	"context"
	"fmt"

	"parapet/internal/authz"
	"parapet/internal/op"
)

// Handler is the code of an operation on one resource. Load finds the resource
// and says what the policies need to know of it; for a creation it describes
// the record to be. Do runs only after the decision was an allow.
type Handler[In, Out, R any] struct {
	Load func(ctx context.Context, c *Call, in *In) (R, authz.Resource, error)
	Do   func(ctx context.Context, c *Call, in *In, resource R) (*Out, error)
}

// Handle binds an operation on one resource.
func Handle[In, Out, R any](m *Module, o op.Op[In, Out], h Handler[In, Out, R]) op.Bound {
	m.mustBe(o.Operation, op.Permitted)
	return bind(m, o, (*Call).holds, func(ctx context.Context, c *Call, in *In) (*Out, error) {
		r, resource, err := h.Load(ctx, c, in)
		if err != nil {
			return nil, err
		}
		if err := c.Decide(ctx, o.Permission, resource); err != nil {
			return nil, err
		}
		return h.Do(ctx, c, in, r)
	})
}

// List binds an operation that gives many resources: the handler must put the
// filter into its WHERE clause.
func List[In, Out any](m *Module, o op.Op[In, Out], columns *authz.Columns, do func(ctx context.Context, c *Call, in *In, f authz.Filter) (*Out, error)) op.Bound {
	m.mustBe(o.Operation, op.Permitted)
	return bind(m, o, (*Call).holds, func(ctx context.Context, c *Call, in *In) (*Out, error) {
		f, err := c.Filter(ctx, o.Permission, columns)
		if err != nil {
			return nil, err
		}
		m.cfg.Engine.RecordList(c.Actor.Subject, o.Permission, m.cfg.Module, op.RequestID(ctx), f)
		return do(ctx, c, in, f)
	})
}

// Open binds an operation that needs a live credential and no permission, or
// whose decision is a question of its own that the handler asks. The caveats of
// the token are held against it all the same.
func Open[In, Out any](m *Module, o op.Op[In, Out], do func(ctx context.Context, c *Call, in *In) (*Out, error)) op.Bound {
	m.mustBe(o.Operation, op.Authenticated)
	return bind(m, o, (*Call).open, do)
}

// Asked binds an operation that has a permission but whose decision is a
// question of its own, such as the issuing of a key: the handler asks it. The
// caller must hold the permission in some scope unless the policies resolve it
// elsewhere, which the handler's question does.
func Asked[In, Out any](m *Module, o op.Op[In, Out], do func(ctx context.Context, c *Call, in *In) (*Out, error)) op.Bound {
	m.mustBe(o.Operation, op.Permitted)
	return bind(m, o, nil, do)
}

// Public binds an operation that anybody may call. It has no tenant and no
// transaction of the gate's.
func Public[In, Out any](m *Module, o op.Op[In, Out], do func(ctx context.Context, in *In) (*Out, error)) op.Bound {
	m.mustBe(o.Operation, op.Public)
	return op.Bound{Operation: o.Operation, Call: func(ctx context.Context, in any) (any, error) {
		typed, ok := in.(*In)
		if !ok {
			return nil, fmt.Errorf("gate: %s was called with %T", o.Name, in)
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

// mustBe refuses to bind an operation in a way that its declaration does not
// allow: a program that does so must not start.
func (m *Module) mustBe(o *op.Operation, access op.Access) {
	if o.Access != access {
		panic(fmt.Sprintf("gate: %s is bound with another access than it declares", o.Name))
	}
	if o.Module != m.cfg.Module {
		panic(fmt.Sprintf("gate: %s belongs to the module %s, not to %s", o.Name, o.Module, m.cfg.Module))
	}
}

// bind erases the operation's types and wraps its code. The guard, where there is
// one, comes before everything, the answer kept for an idempotency key included.
func bind[In, Out any](m *Module, o op.Op[In, Out], guard func(*Call, context.Context) error, do func(ctx context.Context, c *Call, in *In) (*Out, error)) op.Bound {
	return op.Bound{Operation: o.Operation, Call: func(ctx context.Context, in any) (any, error) {
		typed, ok := in.(*In)
		if !ok {
			return nil, fmt.Errorf("gate: %s was called with %T", o.Name, in)
		}
		var out *Out
		err := m.run(ctx, o.Operation, func(ctx context.Context, c *Call) error {
			if guard != nil {
				if err := guard(c, ctx); err != nil {
					return err
				}
			}
			var err error
			out, err = once(ctx, c, typed, do)
			return err
		})
		if err != nil {
			return nil, err
		}
		return out, nil
	}}
}
