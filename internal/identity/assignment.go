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
		executor.Handle(s.executor, contract.AssignRole, loadNewAssignment, s.assignRole),
		executor.Handle(s.executor, contract.UnassignRole, loadAssignment, s.unassignRole),
	}
}

// assignmentType maps the attributes of an assignment to columns of the alias a. An
// assignment belongs to the organisation or project of its scope.
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

// scopeID returns the assignment's scope id if its scope is of the given kind.
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
	after, err := cursorTime(key)
	if err != nil {
		return nil, err
	}
	if _, err := selectRole(ctx, c.DB, c.Tenant, in.RoleID, false); err != nil {
		return nil, err
	}
	items, err := selectAssignments(ctx, c.DB, c.Tenant, in, after, id, f)
	if err != nil {
		return nil, err
	}
	return op.NewPage(items, in.Limit, func(a *contract.RoleAssignment) string {
		return op.NewCursor(contract.ListAssignments.Name, c.Tenant, op.CursorTime(a.CreatedAt), string(a.ID))
	}), nil
}

// newAssignment is an assignment to create, with its role and user.
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
	// Without an owner, role.assign with the suffix .own does not let users assign roles to themselves.
	r.Owner = ""
	return g, r, nil
}

func (s *Service) assignRole(ctx context.Context, c *executor.Call, _ *contract.AssignRoleIn, g newAssignment) (*contract.RoleAssignment, error) {
	a := g.assignment
	if err := checkScope(ctx, c, a); err != nil {
		return nil, err
	}
	if g.user.MembershipStatus == contract.MembershipRemoved || g.user.Status == contract.UserDeleted {
		return nil, fault.Conflict("The user is no longer a member of the tenant.")
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

// checkScope checks that the scope and the scope id match. The id of a project is not
// checked, because projects belong to another module; an unknown id grants nothing.
func checkScope(ctx context.Context, c *executor.Call, a contract.RoleAssignment) error {
	switch {
	case a.Scope == contract.ScopeTenant && a.ScopeID != "":
		return fault.Validation("scopeId", "The field scopeId must be absent for the scope tenant.")
	case a.Scope != contract.ScopeTenant && a.ScopeID == "":
		return fault.Validation("scopeId", fmt.Sprintf("The field scopeId is required for the scope %s.", a.Scope))
	case a.Scope == contract.ScopeOrganisation:
		_, err := selectOrganisation(ctx, c.DB, c.Tenant, a.ScopeID, false)
		if fault.HasCode(err, fault.CodeNotFound) {
			return fault.Validation("scopeId", "There is no such organisation in the tenant.")
		}
		return err
	}
	return nil
}

// loadedAssignment is a stored assignment with the kind of the user who holds it.
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

func recordAssignmentChange(c *executor.Call, a contract.RoleAssignment, action string, event *op.EventType) {
	c.Record(executor.Change{
		Action: action, Type: "user", ID: a.UserID, Critical: true,
		Details: auditChanges{"assignment": a.ID, "role": a.RoleID, "roleName": a.Role, "scope": a.Scope, "scopeId": a.ScopeID},
		Event:   event, EventAbout: a.RoleID, Payload: a,
	})
}

// newMember is a user who gets roles and a clearance with a new membership.
type newMember struct {
	id        op.UUID
	kind      string
	clearance string
}

// loadRolesToAssign returns the roles that a new member gets for the whole tenant. It
// returns an error if the caller may not assign them or may not give the clearance.
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
			return nil, fault.Validation("roles", fmt.Sprintf("There is no role %q in the tenant.", name))
		}
	}
	request := authz.GiveAuthority{RecipientID: string(to.id), RecipientKind: to.kind, ClearanceTo: to.clearance}
	for _, r := range roles {
		request.RoleKinds = append(request.RoleKinds, r.Kind)
		request.Grants = append(request.Grants, r.tenantGrants()...)
	}
	err = s.decideGiveAuthority(ctx, c, request)
	if f := fault.From(err); f != nil && f.Code == fault.CodeConflict {
		// For a new member the conflict is an invalid value of the field roles.
		return nil, fault.Validation("roles", f.Message)
	}
	return roles, err
}

// cursorTime parses the timestamp in a cursor. It is zero for the first page.
func cursorTime(key string) (time.Time, error) {
	if key == "" {
		return time.Time{}, nil
	}
	return op.ParseCursorTime(key)
}
