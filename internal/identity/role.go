package identity

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/uid"
)

func (s *Service) roleOperations() []op.Bound {
	return []op.Bound{
		executor.List(s.executor, contract.ListRoles, roleType.Columns(), s.listRoles),
		executor.Handle(s.executor, contract.GetRole, loadRoleToRead, s.getRole),
		executor.Handle(s.executor, contract.CreateRole, loadNewRole, s.createRole),
		executor.Handle(s.executor, contract.UpdateRole, loadRoleToUpdate, s.updateRole),
		executor.Handle(s.executor, contract.DeleteRole, loadRoleToDelete, s.deleteRole),
	}
}

func loadRoleToRead(ctx context.Context, c *executor.Call, in *contract.RoleIn) (grantingRole, authz.Resource, error) {
	return loadRole(ctx, c, in.RoleID, false)
}

func loadRoleToUpdate(ctx context.Context, c *executor.Call, in *contract.UpdateRoleIn) (grantingRole, authz.Resource, error) {
	return loadRole(ctx, c, in.RoleID, true)
}

func loadRoleToDelete(ctx context.Context, c *executor.Call, in *contract.RoleIn) (grantingRole, authz.Resource, error) {
	return loadRole(ctx, c, in.RoleID, true)
}

func (s *Service) getRole(_ context.Context, _ *executor.Call, _ *contract.RoleIn, r grantingRole) (*contract.Role, error) {
	return s.roleToContract(r), nil
}

// roleType maps the attributes of a role to columns of the alias r. A role belongs to the
// whole tenant, so a permission for it must be held in the whole tenant.
var roleType = authz.NewRecordType("role", authz.Attributes[grantingRole]{
	Tenant:         authz.TenantColumn[grantingRole]("r.tenant_id"),
	ID:             authz.NewAttribute("r.id", func(r *grantingRole) string { return string(r.ID) }),
	Classification: authz.FixedAttribute[grantingRole](directoryClassification),
})

func (s *Service) roleToContract(r grantingRole) *contract.Role { return toRole(s.deps.Policies, r) }

func toRole(policies Policies, r grantingRole) *contract.Role {
	return &contract.Role{
		ID: r.ID, Name: r.Name, Kind: r.Kind, Description: r.Description, Permissions: r.Permissions, Default: defaultRole(policies, r.Name) != nil,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

// defaultRole returns the default role with this name, or nil.
func defaultRole(policies Policies, name string) *authz.DefaultRole {
	roles := policies.Catalogue().Roles
	i := slices.IndexFunc(roles, func(r authz.DefaultRole) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return &roles[i]
}

func (s *Service) listRoles(ctx context.Context, c *executor.Call, in *contract.ListRolesIn, f authz.Filter) (*op.Page[contract.Role], error) {
	name, id, err := cursorKeys(c, contract.ListRoles.Operation, in.Cursor)
	if err != nil {
		return nil, err
	}
	rows, err := selectRoles(ctx, c.DB, c.Tenant, in.Limit+1, name, id, f)
	if err != nil {
		return nil, err
	}
	items := make([]contract.Role, len(rows))
	for i, r := range rows {
		items[i] = *s.roleToContract(r)
	}
	return op.NewPage(items, in.Limit, func(r *contract.Role) string {
		return op.NewCursor(contract.ListRoles.Name, c.Tenant, r.Name, string(r.ID))
	}), nil
}

func loadRole(ctx context.Context, c *executor.Call, id op.UUID, lock bool) (grantingRole, authz.Resource, error) {
	r, err := selectRole(ctx, c.DB, c.Tenant, id, lock)
	return r, roleType.Resource(string(c.Tenant), &r), err
}

func loadNewRole(_ context.Context, c *executor.Call, in *contract.CreateRoleIn) (grantingRole, authz.Resource, error) {
	name, err := trimName("name", in.Name)
	r := grantingRole{
		ID: uid.New(), Name: name, Kind: contract.RoleStandard, Description: in.Description,
		Permissions: slices.Compact(slices.Sorted(slices.Values(in.Permissions))), CreatedAt: c.Now, UpdatedAt: c.Now,
	}
	return r, roleType.Resource(string(c.Tenant), &r), err
}

func (s *Service) createRole(ctx context.Context, c *executor.Call, _ *contract.CreateRoleIn, r grantingRole) (*contract.Role, error) {
	v, err := c.Evaluate(ctx, authz.ChangeRole{Change: authz.CreateRole, Actor: c.Actor.Subject, Spelling: foldedName(r.Name)})
	if err := accountFault(v, err); err != nil {
		return nil, err
	}
	for _, p := range r.Permissions {
		if !s.deps.Policies.Catalogue().Knows(p) {
			return nil, unknownPermission("permissions", p)
		}
	}
	if err := s.decideGiveAuthority(ctx, c, authz.GiveAuthority{Grants: r.tenantGrants()}); err != nil {
		return nil, err
	}
	if err := insertRole(ctx, c.DB, c.Tenant, r); err != nil {
		return nil, err
	}
	public := s.roleToContract(r)
	c.Record(executor.Change{
		Action: contract.ActionRoleCreated, Type: "role", ID: r.ID, Critical: true,
		Details: auditChanges{"name": r.Name, "permissions": r.Permissions},
		Event:   contract.EventRoleCreated, Payload: public,
	})
	return public, nil
}

func (s *Service) updateRole(ctx context.Context, c *executor.Call, in *contract.UpdateRoleIn, r grantingRole) (*contract.Role, error) {
	old := r
	var p op.Patch
	op.SetTrimmed(&p, "name", &r.Name, in.Name)
	op.SetOrClear(&p, "description", &r.Description, in.Description)
	r.Description = strings.TrimSpace(r.Description)
	fields, err := p.Changed()
	if err != nil {
		return nil, err
	}
	if r.Name != old.Name {
		v, err := c.Evaluate(ctx, authz.ChangeRole{
			Change: authz.RenameRole, Actor: c.Actor.Subject, Role: old.policyRole(), Spelling: foldedName(r.Name),
		})
		if err := accountFault(v, err); err != nil {
			return nil, err
		}
		// An old key may contain the new name from a deleted role; it then gets these grants.
		if err := s.decideGiveAuthority(ctx, c, authz.GiveAuthority{Grants: r.tenantGrants()}); err != nil {
			return nil, err
		}
	}
	if len(fields) == 0 {
		return s.showUnchangedRole(ctx, c, r)
	}
	r.UpdatedAt = c.Now
	if err := writeRole(ctx, c.DB, c.Tenant, r); err != nil {
		return nil, err
	}
	public := s.roleToContract(r)
	c.Record(executor.Change{
		Action: contract.ActionRoleUpdated, Type: "role", ID: r.ID, Critical: true,
		Fields: fields, Details: auditChanges{"fields": fields, "from": old.Name, "to": r.Name},
		Event: contract.EventRoleUpdated, Payload: public,
	})
	return public, nil
}

func (s *Service) deleteRole(ctx context.Context, c *executor.Call, _ *contract.RoleIn, r grantingRole) (*op.None, error) {
	v, err := c.Evaluate(ctx, authz.ChangeRole{Change: authz.DeleteRole, Actor: c.Actor.Subject, Role: r.policyRole()})
	if err := accountFault(v, err); err != nil {
		return nil, err
	}
	if err := deleteRoleRow(ctx, c.DB, c.Tenant, r.ID); err != nil {
		return nil, err
	}
	c.Record(executor.Change{
		Action: contract.ActionRoleDeleted, Type: "role", ID: r.ID, Critical: true,
		Details: auditChanges{"name": r.Name, "permissions": r.Permissions},
		Event:   contract.EventRoleDeleted, Payload: s.roleToContract(r),
	})
	return &op.None{}, nil
}

// tenantGrants returns the role's permissions as grants for the whole tenant.
func (r grantingRole) tenantGrants() []authz.Grant {
	return []authz.Grant{{Permissions: r.Permissions, Scope: authz.ScopeTenant}}
}

// foldedName returns a role name without the differences that a reader overlooks: character
// variants (such as full width), case, spaces and invisible characters.
func foldedName(name string) string {
	folded := cases.Fold().String(norm.NFKC.String(name))
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsGraphic(r) {
			return -1
		}
		return r
	}, norm.NFKC.String(folded))
}
