// Package delegation is the part of the tracker module about delegations: a user lets another
// user use some of its permissions for a time. Package tracker composes it.
//
// It guarantees the following:
//
//   - A new, revoked or expired delegation takes effect with the next statement of the delegate,
//     because ActiveReader is part of the check of the tenant context.
//   - The policies decide who may delegate which permissions, where and for how long.
package delegation

import (
	"context"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
)

// Deps are the dependencies of the package. All are required.
type Deps struct {
	// Executor runs the operations of the tracker module.
	Executor *executor.Module
	// LoadCandidate reads a user as policy input.
	LoadCandidate func(ctx context.Context, c *executor.Call, idOrEmail string) (authz.Candidate, error)
	// LockProject and LockInitiative read the policy input of a project or an initiative and
	// lock it against deletion. They return NOT_FOUND if it does not exist.
	LockProject    func(ctx context.Context, c *executor.Call, id op.UUID) (authz.Resource, error)
	LockInitiative func(ctx context.Context, c *executor.Call, id op.UUID) (authz.Resource, error)
	// RedactInitiatives replaces the ids of initiatives that the caller may not read, in place.
	RedactInitiatives func(ctx context.Context, c *executor.Call, ids ...*op.UUID) error
}

// Service implements the operations about delegations.
type Service struct{ Deps }

// New returns the service.
func New(d Deps) *Service { return &Service{d} }

// Operations returns the operations about delegations, bound to their handlers.
func (s *Service) Operations() []op.Bound {
	return []op.Bound{
		executor.List(s.Executor, contract.ListDelegations, Type.Columns(), s.list),
		executor.Handle(s.Executor, contract.CreateDelegation, s.loadScope, s.create),
		executor.Handle(s.Executor, contract.GetDelegation, loadToRead, s.get),
		executor.Handle(s.Executor, contract.RevokeDelegation, loadToRevoke, s.revoke),
	}
}
