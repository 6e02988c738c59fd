package webhook

import (
	"context"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/principal"
)

// authority decides with the permissions of the owner of one webhook.
type authority struct {
	s      *Service
	tenant op.UUID
	// owner is the owner as it was at revision.
	owner    *principal.Principal
	revision int64
}

// mayRead reports whether the owner may read the event of a delivery now, as list-events decides.
// The state of the owner was read when the delivery was claimed.
func (a *authority) mayRead(ctx context.Context, w *owned, d *delivery) (bool, error) {
	if w.OwnerStatus != "ACTIVE" || w.Membership != "ACTIVE" || !w.TenantEnabled || w.OwnerKind == authz.KindService || !d.WithinLimit {
		return false, nil
	}
	if err := a.refresh(ctx, w); err != nil {
		if fault.HasCode(err, fault.CodeForbidden) {
			return false, nil
		}
		return false, err
	}
	// The delivery log says what was sent, and why not, so the decision log does not repeat it.
	decision, err := a.s.deps.Policies.Decide(authz.Unlogged(ctx), authz.Input{
		Permission: contract.ListEvents.Permission, Effect: authz.Read, Module: contract.Module, Actor: a.owner.Subject,
		Resource: authz.Resource{Type: "event", ID: string(d.EventID), Tenant: string(a.tenant), Classification: d.Classification},
	})
	return err == nil && decision.Allow, err
}

// refresh builds the owner's authority if the tenant's roles and memberships have changed.
func (a *authority) refresh(ctx context.Context, w *owned) error {
	if a.owner != nil && a.revision == w.Revision && a.owner.UserID == w.OwnerID {
		return nil
	}
	p, err := a.s.deps.Principals.ForUser(ctx, a.tenant, w.OwnerID, w.OwnerKind)
	if err != nil {
		return err
	}
	if p.Revision != w.Revision {
		if p, err = a.s.deps.Principals.Refresh(ctx, p, principal.LiveState{Revision: w.Revision}); err != nil {
			return err
		}
	}
	a.owner, a.revision = p, w.Revision
	return nil
}
