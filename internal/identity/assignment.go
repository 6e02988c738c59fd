package identity

import (
	"context"
	"fmt"
	"slices"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
)

func (s *Service) assignmentOperations() []op.Bound {
	return []op.Bound{
		executor.List(s.executor, contract.ListAssignments, assignmentType.Columns(), listAssignments),
		executor.Handle(s.executor, contract.AssignRole, executor.Handler[contract.AssignRoleIn, contract.RoleAssignment, newAssignment]{
			Load: loadNewAssignment, Do: s.assignRole,
		}),
		executor.Handle(s.executor, contract.UnassignRole, executor.Handler[contract.UnassignRoleIn, op.None, loadedAssignment]{
			Load: loadAssignment, Do: s.unassignRole,
		}),
	}
}

// assignmentType says where the alias a keeps what the policies ask of an
// assignment. It belongs to the scope that it grants the role in.
var assignmentType = authz.NewRecordType("assignment", authz.Attributes[contract.RoleAssignment]{
	Tenant: authz.TenantColumn[contract.RoleAssignment]("a.tenant_id"),
	ID:     authz.NewAttribute("a.id", func(a *contract.RoleAssignment) string { return string(a.ID) }),
	Organisation: authz.NewAttribute("(CASE WHEN a.scope = 'organisation' THEN a.scope_id END)",
		func(a *contract.RoleAssignment) string { return scopeID(a, contract.ScopeOrganisation) }),
	Project: authz.NewAttribute("(CASE WHEN a.scope = 'project' THEN a.scope_id END)",
		func(a *contract.RoleAssignment) string { return scopeID(a, contract.ScopeProject) }),
	Owner:          authz.NewAttribute("a.user_id", func(a *contract.RoleAssignment) string { return string(a.UserID) }),
	Classification: authz.FixedAttribute[contract.RoleAssignment](directoryClassification),
})

// scopeID is the id that the assignment's scope has if it is one of this kind.
func scopeID(a *contract.RoleAssignment, scope string) string {
	if a.Scope != scope {
		return ""
	}
	return string(a.ScopeID)
}

func listAssignments(ctx context.Context, c *executor.Call, in *contract.ListAssignmentsIn, f authz.Filter) (*op.Page[contract.RoleAssignment], error) {
	key, id, err := cursorKeys(c, contract.ListAssignments.Operation, in.Cursor)
	if err != nil {
		return nil, err
	}
	since, err := cursorTime(key)
	if err != nil {
		return nil, err
	}
	if _, err := selectRole(ctx, c.DB, c.Tenant, in.RoleID, false); err != nil {
		return nil, err
	}
	items, err := selectAssignments(ctx, c.DB, c.Tenant, in, since, id, f)
	if err != nil {
		return nil, err
	}
	return newPage(items, in.Limit, func(a contract.RoleAssignment) string {
		return op.NewCursor(contract.ListAssignments.Name, c.Tenant, op.CursorTime(a.CreatedAt), string(a.ID))
	}), nil
}

// newAssignment is an assignment about to be made.
type newAssignment struct {
	assignment contract.RoleAssignment
	role       grantingRole
	user       contract.User
}

func loadNewAssignment(ctx context.Context, c *executor.Call, in *contract.AssignRoleIn) (newAssignment, authz.Resource, error) {
	a := contract.RoleAssignment{ID: uid.New(), UserID: in.UserID, Scope: in.Scope, ScopeID: in.ScopeID, CreatedAt: c.Now}
	var g newAssignment
	var err error
	if g.role, err = selectRole(ctx, c.DB, c.Tenant, in.RoleID, true); err != nil {
		return g, authz.Resource{}, err
	}
	if g.user, err = selectUser(ctx, c.DB, c.Tenant, in.UserID, true); err != nil {
		return g, authz.Resource{}, err
	}
	a.RoleID, a.Role = g.role.ID, g.role.Name
	g.assignment = a
	r := assignmentType.Resource(string(c.Tenant), &a)
	// To hold role.assign as .own would be to assign roles to oneself.
	r.Owner = ""
	return g, r, nil
}

func (s *Service) assignRole(ctx context.Context, c *executor.Call, _ *contract.AssignRoleIn, g newAssignment) (*contract.RoleAssignment, error) {
	a := g.assignment
	if err := checkScope(ctx, c, a); err != nil {
		return nil, err
	}
	if g.user.MembershipStatus == contract.MembershipRemoved || g.user.Status == contract.UserDeleted {
		return nil, fault.Conflict("The user is no member of the tenant any more.")
	}
	err := s.decideGiveAuthority(ctx, c, authz.GiveAuthority{
		RecipientID: string(g.user.ID), RecipientKind: g.user.PrincipalKind, RoleKinds: []string{g.role.Kind},
		Grants: []authz.Grant{{Permissions: g.role.Permissions, Scope: a.Scope, ScopeID: string(a.ScopeID)}},
	})
	if err != nil {
		return nil, err
	}
	if err := insertAssignment(ctx, c.DB, c.Tenant, a); err != nil {
		return nil, err
	}
	recordAssignmentChange(c, a, contract.ActionRoleAssigned, contract.EventRoleAssigned)
	return &a, nil
}

// checkScope holds the two halves of a scope against each other. A project is
// another module's record: an id that is none gives authority over nothing.
func checkScope(ctx context.Context, c *executor.Call, a contract.RoleAssignment) error {
	switch {
	case a.Scope == contract.ScopeTenant && a.ScopeID != "":
		return fault.Validation("scopeId", "The scope tenant takes no scopeId.")
	case a.Scope != contract.ScopeTenant && a.ScopeID == "":
		return fault.Validation("scopeId", fmt.Sprintf("The scope %s needs the scopeId of one.", a.Scope))
	case a.Scope == contract.ScopeOrganisation:
		_, err := selectOrganisation(ctx, c.DB, c.Tenant, a.ScopeID, false)
		if fault.HasCode(err, fault.CodeNotFound) {
			return fault.Validation("scopeId", "The tenant has no such organisation.")
		}
		return err
	}
	return nil
}

// loadedAssignment is an assignment that is there, with the kind of who holds it.
type loadedAssignment struct {
	contract.RoleAssignment
	PrincipalKind string
}

func loadAssignment(ctx context.Context, c *executor.Call, in *contract.UnassignRoleIn) (loadedAssignment, authz.Resource, error) {
	a, err := selectAssignment(ctx, c.DB, c.Tenant, in.RoleID, in.AssignmentID)
	r := assignmentType.Resource(string(c.Tenant), &a.RoleAssignment)
	r.Owner = ""
	return a, r, err
}

func (s *Service) unassignRole(ctx context.Context, c *executor.Call, _ *contract.UnassignRoleIn, a loadedAssignment) (*op.None, error) {
	others, err := s.countOtherAdministrators(ctx, c, a.UserID)
	if err != nil {
		return nil, err
	}
	v, err := c.Evaluate(ctx, authz.ChangeRole{
		Change: authz.UnassignRole, Actor: c.Actor.Subject, Role: authz.HeldRole{Name: a.Role, Scope: a.Scope},
		RecipientID: string(a.UserID), RecipientKind: a.PrincipalKind, OtherAdministrators: others,
	})
	if err := accountFault(v, err); err != nil {
		return nil, err
	}
	if err := deleteAssignment(ctx, c.DB, c.Tenant, a.ID); err != nil {
		return nil, err
	}
	recordAssignmentChange(c, a.RoleAssignment, contract.ActionRoleUnassigned, contract.EventRoleUnassigned)
	return &op.None{}, nil
}

func recordAssignmentChange(c *executor.Call, a contract.RoleAssignment, action, event string) {
	c.Record(executor.AuditEntry{
		Action: action, ResourceType: "user", ResourceID: string(a.UserID), Critical: true,
		Changes: auditChanges{"assignment": a.ID, "role": a.RoleID, "roleName": a.Role, "scope": a.Scope, "scopeId": a.ScopeID},
	})
	c.Emit(executor.Event{Type: event, AggregateType: "role", AggregateID: a.RoleID, Payload: a})
}

// newMember is who gets roles and a clearance with a new membership.
type newMember struct {
	id        op.UUID
	kind      string
	clearance string
}

// loadRolesToAssign finds the roles that a new member gets in the whole of a tenant, and
// asks whether the caller may give them and the clearance.
func (s *Service) loadRolesToAssign(ctx context.Context, c *executor.Call, tenant op.UUID, to newMember, names []string) ([]grantingRole, error) {
	if err := c.Decide(ctx, contract.AssignRole.Permission, tenantResource(c, "role")); err != nil {
		return nil, err
	}
	roles, err := selectRolesByName(ctx, c.DB, tenant, names)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !slices.ContainsFunc(roles, func(r grantingRole) bool { return r.Name == name }) {
			return nil, fault.Validation("roles", fmt.Sprintf("The tenant has no role %q.", name))
		}
	}
	ask := authz.GiveAuthority{RecipientID: string(to.id), RecipientKind: to.kind, ClearanceTo: to.clearance}
	for _, r := range roles {
		ask.RoleKinds = append(ask.RoleKinds, r.Kind)
		ask.Grants = append(ask.Grants, r.tenantGrants()...)
	}
	err = s.decideGiveAuthority(ctx, c, ask)
	if f := fault.From(err); f != nil && f.Code == fault.CodeConflict {
		// Of a new member the field is what is wrong.
		return nil, fault.Validation("roles", f.Message)
	}
	return roles, err
}

// cursorTime reads a moment out of a cursor; the start has none.
func cursorTime(key string) (time.Time, error) {
	if key == "" {
		return time.Time{}, nil
	}
	return op.ParseCursorTime(key)
}
