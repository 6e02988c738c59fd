package identity

import (
	"context"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
)

func (s *Service) membershipOperations() []op.Bound {
	return []op.Bound{
		executor.List(s.executor, contract.ListMemberships, membershipType.Columns(), listMemberships),
		executor.Handle(s.executor, contract.CreateMembership, loadNewMembership, s.createMembership),
		executor.Handle(s.executor, contract.UpdateMembership, loadMembership, s.updateMembership),
	}
}

// membershipType maps the attributes of a membership to columns of the alias m.
var membershipType = authz.NewRecordType("membership", authz.Attributes[contract.Membership]{
	Tenant:         authz.NewAttribute("m.tenant_id", func(m *contract.Membership) string { return string(m.TenantID) }),
	ID:             authz.NewAttribute("m.user_id", func(m *contract.Membership) string { return string(m.UserID) }),
	Organisation:   authz.NewAttribute("m.organisation_id", func(m *contract.Membership) string { return string(m.OrganisationID) }),
	Owner:          authz.NewAttribute("m.user_id", func(m *contract.Membership) string { return string(m.UserID) }),
	Classification: authz.FixedAttribute[contract.Membership](directoryClassification),
})

func listMemberships(ctx context.Context, c *executor.Call, in *contract.ListMembershipsIn, f authz.Filter) (*op.Page[contract.Membership], error) {
	key, id, err := cursorKeys(c, contract.ListMemberships.Operation, in.Cursor)
	if err != nil {
		return nil, err
	}
	after, err := cursorTime(key)
	if err != nil {
		return nil, err
	}
	items, err := selectMemberships(ctx, c.DB, c.Tenant, in, after, id, f)
	if err != nil {
		return nil, err
	}
	return op.NewPage(items, in.Limit, func(m *contract.Membership) string {
		return op.NewCursor(contract.ListMemberships.Name, c.Tenant, op.CursorTime(m.CreatedAt), string(m.UserID))
	}), nil
}

// newMembership is a membership to create: a user and the tenant to join.
type newMembership struct {
	tenant contract.Tenant
	user   contract.User
	// homeAdministered reports whether the current tenant is the user's home tenant or
	// administers it.
	homeAdministered bool
}

// loadNewMembership loads the tenant to join and the user. Both must belong to the current
// tenant or to one that it administers; otherwise the result is NOT_FOUND.
func loadNewMembership(ctx context.Context, c *executor.Call, in *contract.CreateMembershipIn) (newMembership, authz.Resource, error) {
	r := tenantResource(c, "membership")
	r.Organisation = string(in.OrganisationID)
	var j newMembership
	var err error
	if j.tenant, err = loadOwnOrAdministeredTenant(ctx, c, in.TenantID); err != nil {
		return j, r, err
	}
	if j.tenant.ID != c.Tenant {
		// An organisation of another tenant is not in any scope of the actor.
		r.Organisation = ""
	}
	from, err := loadOwnOrAdministeredTenant(ctx, c, in.UserTenantID)
	if err != nil {
		return j, r, err
	}
	err = inTenant(ctx, c, from.ID, func() error {
		j.user, err = selectUser(ctx, c.DB, from.ID, in.UserID, false)
		return err
	})
	if err != nil {
		return j, r, err
	}
	if j.user.MembershipStatus == contract.MembershipRemoved {
		return j, r, fault.NotFound("user")
	}
	switch _, err = selectTenant(ctx, c.DB, c.Tenant, j.user.HomeTenantID, false); {
	case err == nil:
		j.homeAdministered = true
	case fault.From(err).Code != fault.CodeNotFound:
		return j, r, err
	}
	return j, r, nil
}

// loadOwnOrAdministeredTenant returns the current tenant if id is empty or its own, or a
// tenant that the current one administers as a programme office.
func loadOwnOrAdministeredTenant(ctx context.Context, c *executor.Call, id op.UUID) (contract.Tenant, error) {
	if id == "" {
		id = c.Tenant
	}
	t, err := selectTenant(ctx, c.DB, c.Tenant, id, false)
	if err == nil && t.ID != c.Tenant {
		err = c.Decide(ctx, contract.ListTenants.Permission, registryResource(t))
	}
	return t, err
}

func (s *Service) createMembership(ctx context.Context, c *executor.Call, in *contract.CreateMembershipIn, j newMembership) (*contract.Membership, error) {
	account := authz.Account{ID: string(j.user.ID), Kind: j.user.PrincipalKind, Status: j.user.Status, Home: string(j.user.HomeTenantID)}
	v, err := c.Evaluate(ctx, authz.AddMembership{Actor: c.Actor.Subject, Account: account, HomeAdministered: j.homeAdministered})
	if err := accountFault(v, err); err != nil {
		return nil, err
	}
	var m contract.Membership
	err = inTenant(ctx, c, j.tenant.ID, func() error {
		roles, err := s.loadRolesToAssign(ctx, c, j.tenant.ID, newMember{j.user.ID, j.user.PrincipalKind, in.Clearance}, in.Roles)
		if err != nil {
			return err
		}
		if err := insertMembership(ctx, c.DB, j.tenant.ID, j.user.ID, in.OrganisationID, in.Clearance, roles, c.Now); err != nil {
			return err
		}
		if m, err = selectMembership(ctx, c.DB, j.tenant.ID, j.user.ID, false); err != nil {
			return err
		}
		c.Record(executor.Change{
			Action: contract.ActionMembershipCreated, Type: "membership", ID: m.UserID, Critical: true,
			Details: auditChanges{"tenant": m.TenantID, "organisation": m.OrganisationID, "clearance": m.Clearance, "roles": roleIDs(roles)},
			Event:   contract.EventMembershipCreated, Payload: m, Tenants: []op.UUID{c.Tenant, j.tenant.ID},
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &m, nil
}

func loadMembership(ctx context.Context, c *executor.Call, in *contract.UpdateMembershipIn) (contract.Membership, authz.Resource, error) {
	m, err := selectMembership(ctx, c.DB, c.Tenant, in.UserID, true)
	return m, membershipType.Resource(string(c.Tenant), &m), err
}

func (s *Service) updateMembership(ctx context.Context, c *executor.Call, in *contract.UpdateMembershipIn, m contract.Membership) (*contract.Membership, error) {
	old := m
	var p op.Patch
	op.SetOrClear(&p, "organisationId", &m.OrganisationID, in.OrganisationID)
	op.Set(&p, "status", &m.Status, in.Status)
	fields, err := p.Changed()
	if err != nil {
		return nil, err
	}
	m.Clearance = in.Clearance.Or(m.Clearance)
	if m.OrganisationID != old.OrganisationID {
		// The caller needs the permission in the new organisation as well.
		if err := c.Decide(ctx, contract.UpdateMembership.Permission, membershipType.Resource(string(c.Tenant), &m)); err != nil {
			return nil, err
		}
	}
	if m.Status != old.Status {
		change := authz.StopMembership
		if m.Status == contract.MembershipActive {
			change = authz.RestoreMembership
		}
		if err := s.decideAccount(ctx, c, change, m.UserID); err != nil {
			return nil, err
		}
	}
	m.UpdatedAt = c.Now
	if len(fields) > 0 {
		if err := writeMembership(ctx, c.DB, m); err != nil {
			return nil, err
		}
		c.Record(executor.Change{
			Action: contract.ActionMembershipUpdated, Type: "membership", ID: m.UserID, Critical: m.Status != old.Status,
			Details: auditChanges{"fields": fields, "organisation": m.OrganisationID, "from": old.Status, "to": m.Status}.withReason(in.Reason),
		})
	}
	if m.Status != contract.MembershipActive && m.Status != old.Status {
		if err := revokeOtherSessions(ctx, c.DB, c.Tenant, m.UserID, nilUUID, c.Now); err != nil {
			return nil, err
		}
	}
	if m.Clearance != old.Clearance {
		fields = append(fields, "clearance")
		if err := s.setClearance(ctx, c, m.UserID, old.Clearance, m.Clearance); err != nil {
			return nil, err
		}
	}
	if len(fields) == 0 {
		return showUnchanged(ctx, c, contract.ListMemberships.Permission, membershipType.Resource(string(c.Tenant), &old), &old)
	}
	c.Record(executor.Change{Type: "membership", ID: m.UserID, Event: contract.EventMembershipUpdated, Payload: m, Fields: fields})
	return &m, nil
}

// setClearance changes a member's clearance and records a critical audit entry.
func (s *Service) setClearance(ctx context.Context, c *executor.Call, user op.UUID, from, to string) error {
	err := s.decideGiveAuthority(ctx, c, authz.GiveAuthority{RecipientID: string(user), ClearanceFrom: from, ClearanceTo: to})
	if err != nil {
		return err
	}
	if err := writeClearance(ctx, c.DB, c.Tenant, user, to, c.Now); err != nil {
		return err
	}
	c.Record(executor.Change{
		Action: contract.ActionUserClearanceChanged, Type: "user", ID: user, Critical: true,
		Details: auditChanges{"from": from, "to": to},
	})
	return nil
}
