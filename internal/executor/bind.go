package executor

import (
	"context"
	"fmt"

	"parapet/internal/authz"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// Handle binds an operation on one resource. load reads the resource and returns its
// attributes for the policies; for a create operation it returns the attributes of the new
// record. do runs only if the policies allow the operation.
func Handle[In, Out, R any](m *Module, o op.Op[In, Out], load Load[In, R], do Do[In, Out, R]) op.Bound {
	return HandleReturning(m, o, load, do, nil)
}

// Load reads the resource of an operation and its attributes for the policies.
type Load[In, R any] func(ctx context.Context, c *Call, in *In) (R, authz.Resource, error)

// Do carries out an operation on the resource that Load has read.
type Do[In, Out, R any] func(ctx context.Context, c *Call, in *In, resource R) (*Out, error)

// Returned loads the record in a response.
type Returned[Out any] func(ctx context.Context, c *Call, out *Out) (authz.Resource, error)

// HandleReturning is like Handle for an operation whose response contains another record than
// the one that load reads: the record that a create operation has created, or the task that
// acquire-task has found. A response stored for an idempotency key is returned again only if
// the operation's permission is still allowed for the record that returned loads.
func HandleReturning[In, Out, R any](m *Module, o op.Op[In, Out], load Load[In, R], do Do[In, Out, R], returned Returned[Out]) op.Bound {
	m.requireAccess(o.Operation, op.Permitted)
	decideAndDo := func(ctx context.Context, c *Call, in *In) (*Out, error) {
		r, resource, err := load(ctx, c, in)
		if err != nil {
			return nil, err
		}
		if err := c.Decide(ctx, o.Permission, resource); err != nil {
			return nil, err
		}
		if explanationFrom(ctx) != nil {
			return nil, errExplained
		}
		c.decidedResource = &resource
		return do(ctx, c, in, r)
	}
	if !o.Effect.Changes() {
		return bindExplainable(m, o, (*Call).requirePermission, decideAndDo)
	}
	return bindExplainable(m, o, (*Call).requirePermission, func(ctx context.Context, c *Call, in *In) (*Out, error) {
		return runIdempotent(ctx, c, in, decideAndDo, func(ctx context.Context, c *Call, in *In, out *Out, previous *authz.Resource) error {
			return reauthorize(ctx, c, in, out, previous, load, returned)
		})
	})
}

// reauthorize decides whether a stored response may be returned again. It checks the
// operation's permission for the request's record in its current state and for the
// record in the response. previous is the resource of the original decision.
func reauthorize[In, Out, R any](
	ctx context.Context, c *Call, in *In, out *Out, previous *authz.Resource, load Load[In, R], returned Returned[Out],
) error {
	_, resource, err := load(ctx, c, in)
	if err != nil {
		if previous == nil || !wasCompleted[Out](err) {
			return err
		}
		resource = *previous
	}
	if err := c.Decide(ctx, c.operation.Permission, resource); err != nil {
		return err
	}
	if returned == nil {
		return nil
	}
	if resource, err = returned(ctx, c, out); err != nil {
		return err
	}
	return c.Decide(ctx, c.operation.Permission, resource)
}

// wasCompleted reports whether err only means that the request was carried out before:
// either the record is deleted and the response is empty, or the record's state does
// not allow the same change twice.
func wasCompleted[Out any](err error) bool {
	err = postgres.MapError(err)
	if _, isEmpty := any((*Out)(nil)).(*op.None); isEmpty && fault.HasCode(err, fault.CodeNotFound) {
		return true
	}
	return fault.HasCode(err, fault.CodeConflict) || fault.HasCode(err, fault.CodeValidation)
}

// List binds an operation that returns many resources. The handler must add the filter
// to the WHERE clause of its query.
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

// Authenticated binds an operation that requires a valid credential but no permission,
// or whose handler evaluates a custom decision. The caveats of the token are checked in
// either case. No response is stored for an idempotency key: the handler runs again, so
// repeating it must have no further effect.
func Authenticated[In, Out any](m *Module, o op.Op[In, Out], do func(ctx context.Context, c *Call, in *In) (*Out, error)) op.Bound {
	m.requireAccess(o.Operation, op.Authenticated)
	return bind(m, o, (*Call).requireCaveats, do)
}

// CustomDecision binds an operation that has a permission and whose handler evaluates a
// custom decision, for example to issue a key. The executor checks nothing before the
// handler runs. No response is stored for an idempotency key, as for Authenticated.
func CustomDecision[In, Out any](m *Module, o op.Op[In, Out], do func(ctx context.Context, c *Call, in *In) (*Out, error)) op.Bound {
	m.requireAccess(o.Operation, op.Permitted)
	return bind(m, o, nil, do)
}

// Public binds an operation that requires no credential. The executor sets no tenant
// and begins no transaction for it.
func Public[In, Out any](m *Module, o op.Op[In, Out], do func(ctx context.Context, in *In) (*Out, error)) op.Bound {
	m.requireAccess(o.Operation, op.Public)
	return op.Bound{Operation: o.Operation, Call: func(ctx context.Context, in any) (any, error) {
		if explanationFrom(ctx) != nil {
			return nil, notExplainable(o.Operation)
		}
		typed, ok := in.(*In)
		if !ok {
			return nil, fmt.Errorf("executor: %s was called with %T", o.Name, in)
		}
		ctx, cancel := m.withTimeout(ctx, o.Operation)
		defer cancel()
		out, err := do(ctx, typed)
		if err != nil {
			return nil, err
		}
		return out, nil
	}}
}

// requireAccess panics if the operation declares another access or another module than
// it is bound with, so that a wrong binding stops the program at start.
func (m *Module) requireAccess(o *op.Operation, access op.Access) {
	if o.Access != access {
		panic(fmt.Sprintf("executor: operation %s must be bound with the access that it declares", o.Name))
	}
	if o.Module != m.cfg.Module {
		panic(fmt.Sprintf("executor: operation %s belongs to module %s, not to %s", o.Name, o.Module, m.cfg.Module))
	}
}

// bind binds an operation whose decision cannot be explained.
func bind[In, Out any](m *Module, o op.Op[In, Out], guard func(*Call, context.Context) error, do func(ctx context.Context, c *Call, in *In) (*Out, error)) op.Bound {
	b := bindExplainable(m, o, guard, do)
	call := b.Call
	b.Call = func(ctx context.Context, in any) (any, error) {
		if explanationFrom(ctx) != nil {
			return nil, notExplainable(o.Operation)
		}
		return call(ctx, in)
	}
	return b
}

// bindExplainable adds the executor's work to an operation and erases its types. The guard, if
// there is one, runs first, even before a stored response is looked up.
func bindExplainable[In, Out any](m *Module, o op.Op[In, Out], guard func(*Call, context.Context) error, do func(ctx context.Context, c *Call, in *In) (*Out, error)) op.Bound {
	return op.Bound{Operation: o.Operation, Call: func(ctx context.Context, in any) (any, error) {
		typed, ok := in.(*In)
		if !ok {
			return nil, fmt.Errorf("executor: %s was called with %T", o.Name, in)
		}
		var sent op.Wire
		if o.Effect.Changes() && op.RequestOf(ctx).IdempotencyKey != "" {
			var err error
			if sent, err = o.Write(typed); err != nil {
				return nil, err
			}
		}
		prepare := func(ctx context.Context, c *Call) error {
			c.input, c.sent = typed, sent
			if e := explanationFrom(ctx); guard != nil && (e == nil || !e.skipGuard) {
				if err := guard(c, ctx); err != nil {
					return err
				}
			}
			return c.validateIdempotencyKey(ctx)
		}
		names, err := m.resolveNames(ctx, o.Operation, typed, prepare)
		if err != nil {
			return nil, err
		}
		if explanationFrom(ctx) != nil {
			// The input is used again for another user, and Load can change it.
			copied := *typed
			typed = &copied
		}
		var out *Out
		var last *Call
		err = m.run(ctx, o.Operation, func(ctx context.Context, c *Call) error {
			last, c.names = c, names
			err := prepare(ctx, c)
			if err == nil {
				out, err = do(ctx, c, typed)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		m.addReferences(ctx, last, out)
		return out, nil
	}}
}
