package identity

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/gate"
	"parapet/internal/op"
)

func (s *Service) grantOperations() []op.Bound {
	return []op.Bound{
		gate.Handle(s.gate, contract.GrantPermission, gate.Handler[contract.GrantPermissionIn, contract.Role, grantingRole]{
			Load: func(ctx context.Context, c *gate.Call, in *contract.GrantPermissionIn) (grantingRole, authz.Resource, error) {
				return loadRole(ctx, c, in.RoleID, true)
			},
			Do: s.grantPermission,
		}),
		gate.Handle(s.gate, contract.RevokePermission, gate.Handler[contract.RevokePermissionIn, contract.Role, grantingRole]{
			Load: func(ctx context.Context, c *gate.Call, in *contract.RevokePermissionIn) (grantingRole, authz.Resource, error) {
				return loadRole(ctx, c, in.RoleID, true)
			},
			Do: s.revokePermission,
		}),
		gate.Handle(s.gate, contract.ListPermissions, gate.Handler[contract.ListPermissionsIn, op.Page[contract.Permission], struct{}]{
			Load: func(_ context.Context, c *gate.Call, _ *contract.ListPermissionsIn) (struct{}, authz.Resource, error) {
				return struct{}{}, tenantWide(c, "permission"), nil
			},
			Do: s.listPermissions,
		}),
	}
}

func (s *Service) listPermissions(context.Context, *gate.Call, *contract.ListPermissionsIn, struct{}) (*op.Page[contract.Permission], error) {
	known := s.deps.Policies.Catalogue().Permissions
	page := &op.Page[contract.Permission]{Items: make([]contract.Permission, len(known))}
	for i, p := range known {
		page.Items[i] = contract.Permission{
			Name: p.Name, Module: p.Module, Effect: string(p.Effect), Description: p.Description, Platform: p.Platform,
		}
	}
	return page, nil
}

func (s *Service) grantPermission(ctx context.Context, c *gate.Call, in *contract.GrantPermissionIn, r grantingRole) (*contract.Role, error) {
	if !s.deps.Policies.Catalogue().Knows(in.Permission) {
		return nil, unknownPermission("permission", in.Permission)
	}
	if slices.Contains(r.Permissions, in.Permission) {
		return s.publicRole(r), nil
	}
	// What the policies register for a service role can be restored by who may
	// change roles: it goes to the one principal of that profile and to nobody else.
	d := s.defaultRole(r.Name)
	registered := r.Kind == contract.RoleGlobal && d != nil && slices.Contains(d.Grants, in.Permission)
	if !registered {
		if err := s.mayHandOut(ctx, c, []string{in.Permission}, scope{kind: contract.ScopeTenant}); err != nil {
			return nil, err
		}
	}
	if err := insertGrant(ctx, c.DB, c.Tenant, r.ID, in.Permission, c.Now); err != nil {
		return nil, err
	}
	r.Permissions = slices.Sorted(slices.Values(append(slices.Clone(r.Permissions), in.Permission)))
	return s.grantChanged(c, r, in.Permission, contract.ActionPermissionGranted), nil
}

func (s *Service) revokePermission(ctx context.Context, c *gate.Call, in *contract.RevokePermissionIn, r grantingRole) (*contract.Role, error) {
	i := slices.Index(r.Permissions, in.Permission)
	if i < 0 {
		return nil, fault.NotFound("grant")
	}
	// Nobody could give back what nobody holds.
	if r.Name == adminRole && (in.Permission == contract.AssignRole.Permission || in.Permission == contract.GrantPermission.Permission) {
		return nil, fault.Conflict(fmt.Sprintf("The role %s keeps %s: without it nobody could administer the tenant's roles.", adminRole, in.Permission))
	}
	if err := deleteGrant(ctx, c.DB, c.Tenant, r.ID, in.Permission); err != nil {
		return nil, err
	}
	r.Permissions = slices.Delete(slices.Clone(r.Permissions), i, i+1)
	return s.grantChanged(c, r, in.Permission, contract.ActionPermissionRevoked), nil
}

func (s *Service) grantChanged(c *gate.Call, r grantingRole, permission, action string) *contract.Role {
	public := s.publicRole(r)
	c.Record(gate.Note{
		Action: action, ResourceType: "role", ResourceID: string(r.ID), Critical: true,
		Changes: changes{"role": r.Name, "permission": permission},
	})
	c.Emit(gate.Event{Type: contract.EventRoleUpdated, AggregateType: "role", AggregateID: r.ID, Payload: public, Changed: []string{"permissions"}})
	return public
}

func unknownPermission(field, name string) error {
	return fault.Validation(field, fmt.Sprintf("There is no permission %q. list-permissions names them all.", name))
}

// scope is where a role or a permission is to hold.
type scope struct {
	kind string
	id   op.UUID
}

// mayHandOut refuses to hand out in a scope what the actor does not hold there:
// nobody makes somebody, or themselves, more than they are. Whether the actor
// holds it is the policies' answer, asked about a record that nothing but that
// scope covers.
func (s *Service) mayHandOut(ctx context.Context, c *gate.Call, permissions []string, where scope) error {
	for _, p := range permissions {
		if s.powerless(c, p) {
			continue
		}
		ask, r := heldIn(c, p, where)
		if err := c.Decide(ctx, ask, r); err != nil {
			if !fault.HasCode(err, fault.CodeForbidden) && !fault.HasCode(err, fault.CodeNotFound) {
				return err
			}
			f := fault.Forbidden(p)
			f.Message = fmt.Sprintf("Nobody hands out more than they hold: the permission %s is missing.", p)
			return f.WithCause(err)
		}
	}
	return nil
}

// powerless tells whether a permission lets nobody do anything in this tenant:
// one for people of a programme office elsewhere, or one that the policies no
// longer know.
func (s *Service) powerless(c *gate.Call, permission string) bool {
	known := s.deps.Policies.Catalogue().Permissions
	i := slices.IndexFunc(known, func(p authz.Permission) bool { return p.Name == permission })
	return i < 0 || (known[i].Platform && c.Actor.TenantType != contract.TenantProgrammeOffice)
}

// heldIn gives the question whose allow means that the actor holds the permission
// in the scope. One with the suffix .own is asked about a record that the actor
// created and owns, because the catalogue declares which of the two counts;
// those for reading audit entries about an entry that only such a scope admits.
func heldIn(c *gate.Call, permission string, where scope) (string, authz.Resource) {
	r := tenantWide(c, "permission")
	switch where.kind {
	case contract.ScopeOrganisation:
		r.Organisation = string(where.id)
	case contract.ScopeProject:
		r.Project = string(where.id)
	}
	if kind, ok := strings.CutPrefix(permission, "audit.read."); ok {
		switch kind {
		case "own":
			r.Creator = string(c.Actor.UserID)
		case "classified":
			r.Classification = "SECRET"
		}
		return contract.ListAuditEntries.Permission, r
	}
	if base, ok := strings.CutSuffix(permission, ".own"); ok {
		r.Creator, r.Owner = string(c.Actor.UserID), string(c.Actor.UserID)
		return base, r
	}
	return permission, r
}
