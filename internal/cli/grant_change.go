package cli

import (
	"context"
	"slices"
	"strings"

	"parapet/internal/client"
	"parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// foundGrant is the assignment that pt grants revoke removes, with its user.
type foundGrant struct {
	grant
	user *identity.User
}

func grantForms() map[string]form {
	return map[string]form{
		"list-assignments": {via: "grants list"},
		"assign-role": {
			paths: []string{"grants assign"}, flags: "scopeId=scope-id", atMostOne: "organisation project scope-id", change: assignChange,
			custom: []customFlag{
				suggesting(suggestOrganisations, textFlag("", "organisation", "Assign the role in this `organisation` only (id or name)", func(in *identity.AssignRoleIn, name string) error {
					in.Scope, in.ScopeID = identity.ScopeOrganisation, op.UUID(name)
					return nil
				})),
				suggesting(suggestProjects, textFlag("", "project", "Assign the role in this `project` only (id, prefix or name)", func(in *identity.AssignRoleIn, name string) error {
					in.Scope, in.ScopeID = identity.ScopeProject, op.UUID(name)
					return nil
				})),
			},
			example: `  pt grants assign Member --user lin@acme.example
  pt grants assign Reviewer --user lin@acme.example --organisation "Acme Works"
  pt grants assign "Project Manager" --user lin@acme.example --project APOLLO`,
		},
		"unassign-role": {
			paths: []string{"grants revoke"}, pathFlags: "assignmentId", flags: "assignmentId=assignment", optional: "assignment", oneOf: "user assignment",
			short: "Remove a role from a user",
			long: `Remove a role from a user. If the user holds the role in several scopes, name one
with --organisation, --project or --scope tenant.

The tenant's last administrator cannot lose the administrator role, nor a service
principal its GLOBAL role.`,
			example: `  pt grants revoke Member --user lin@acme.example
  pt grants revoke Reviewer --user lin@acme.example --organisation "Acme Works" --yes`,
			custom: []customFlag{
				lookupFlag("user", "The `person` who loses the role (id, email address, integration key, name or me)", suggestUsers),
				lookupFlag("organisation", "The role in this `organisation` (id or name)", suggestOrganisations),
				lookupFlag("project", "The role in this `project` (id, prefix or name)", suggestProjects),
				lookupFlag("scope", "The role in this kind of `scope`: tenant, organisation, project", fixedSource(scopes())),
			},
			prepare: preparing(func(_ *invocation, in *identity.UnassignRoleIn) error {
				if in.AssignmentID == "" {
					in.AssignmentID = placeholderID // until findGrant finds it
				}
				return nil
			}),
			find: findGrant, change: unassignChange,
			done: func(k *call) (any, string) {
				in, _ := k.input().(*identity.UnassignRoleIn)
				out := deleteOut{ID: string(in.AssignmentID), Deleted: true}
				if g, ok := k.found.(*foundGrant); ok {
					return out, "Revoked the role " + g.Role + " from " + userName(g.user) + " " + g.place() + "."
				}
				return out, "Revoked the role " + string(in.RoleID) + "."
			},
		},
	}
}

// scopes returns the kinds of scope of a role.
func scopes() []string { return fieldNamed(identity.AssignRole.Operation, "scope").Enum }

// findGrant finds the assignment to revoke by user, role and scope.
func findGrant(ctx context.Context, k *call, c *client.Client) error {
	in, ok := k.input().(*identity.UnassignRoleIn)
	user := k.customText("user")
	if !ok || user == "" {
		return nil
	}
	u, err := callOperation(ctx, c, identity.GetUser, &identity.UserIn{UserID: op.UUID(user)})
	if err != nil {
		return err
	}
	all := grantsOf(u)
	matches := slices.DeleteFunc(slices.Clone(all), func(g grant) bool { return !k.selectsGrant(&g, string(in.RoleID)) })
	switch len(matches) {
	case 1:
		k.found = &foundGrant{matches[0], u}
		in.RoleID, in.AssignmentID = matches[0].RoleID, matches[0].AssignmentID
		return nil
	case 0:
		return fault.Conflict(userName(u) + " does not hold the role " + string(in.RoleID) + " there. " + describeGrants(all))
	default:
		f := fault.Conflict(userName(u) + " holds the role " + matches[0].Role + " in several scopes. Select one with --organisation, --project or --scope tenant.")
		var list []any
		for _, g := range matches {
			list = append(list, map[string]any{"name": g.place(), "assignmentId": string(g.AssignmentID)})
		}
		f.Details = map[string]any{"candidates": list}
		return f
	}
}

// selectsGrant reports whether the role and the flags select the grant.
func (k *call) selectsGrant(g *grant, role string) bool {
	isRole := strings.EqualFold(g.Role, role) || string(g.RoleID) == role
	isScope := func(scope, name string) bool {
		names := []string{string(g.ScopeID)}
		if g.ScopeRecord != nil {
			names = append(names, g.ScopeRecord.Key, g.ScopeRecord.Name)
		}
		return g.Scope == scope && slices.ContainsFunc(names, func(n string) bool { return n != "" && strings.EqualFold(n, name) })
	}
	organisation, project, scope := k.customText("organisation"), k.customText("project"), k.customText("scope")
	return isRole && (scope == "" || strings.EqualFold(g.Scope, scope)) &&
		(organisation == "" || isScope(identity.ScopeOrganisation, organisation)) && (project == "" || isScope(identity.ScopeProject, project))
}

// describeGrants says which roles a user holds.
func describeGrants(grants []grant) string {
	if len(grants) == 0 {
		return "The user holds no role."
	}
	var parts []string
	for i := range grants {
		parts = append(parts, grants[i].Role+" "+grants[i].place())
	}
	return "The user holds " + strings.Join(parts, ", ") + "."
}

// assignChange describes the assignment of a role.
func assignChange(ctx context.Context, k *call, c *client.Client) (*change, error) {
	in, ok := k.input().(*identity.AssignRoleIn)
	if !ok {
		return nil, nil //nolint:nilnil // nothing to confirm
	}
	u, err := ignoreForbidden(callOperation(ctx, c, identity.GetUser, &identity.UserIn{UserID: in.UserID}))
	if err != nil {
		return nil, err
	}
	role, name := string(in.RoleID), string(in.UserID)
	ch := &change{}
	if u != nil {
		name = userName(u)
		difference, err := permissionDifference(ctx, c, u, role, in.Scope, in.ScopeID, "")
		if err != nil {
			return nil, err
		}
		role = firstNonEmpty(difference.role, role)
		ch.effect = difference.sentence("This adds", "This adds no permission that the user does not have already.")
	}
	ch.question = "Assign the role " + role + " to " + name + " " + scopePlace(in.Scope, string(in.ScopeID)) + "?"
	return ch, nil
}

// unassignChange describes the removal of a role.
func unassignChange(ctx context.Context, k *call, c *client.Client) (*change, error) {
	in, _ := k.input().(*identity.UnassignRoleIn)
	g, ok := k.found.(*foundGrant)
	if !ok {
		return &change{question: "Revoke the role " + string(in.RoleID) + " (assignment " + string(in.AssignmentID) + ")?"}, nil
	}
	difference, err := permissionDifference(ctx, c, g.user, string(g.RoleID), g.Scope, g.ScopeID, g.AssignmentID)
	if err != nil {
		return nil, err
	}
	return &change{
		question: "Revoke the role " + g.Role + " from " + userName(g.user) + " " + g.place() + "?",
		effect:   difference.sentence("This removes", "This removes no permission, because other roles of the user grant the same."),
	}, nil
}

// difference is what the assignment or the removal of a role changes.
type difference struct {
	// role is the name of the role, or "" if the caller may not read roles.
	role string
	// permissions are those that only this assignment grants in its scope.
	permissions []string
}

// sentence says how many permissions change, or none if there are none.
func (d difference) sentence(verb, none string) string {
	switch {
	case d.role == "":
		return ""
	case len(d.permissions) == 0:
		return none
	default:
		return verb + " " + countOf(len(d.permissions), "permissions") + "."
	}
}

// permissionDifference returns the permissions that a role grants to a user in a scope and
// that no other role of the user grants there. except is an assignment to ignore. It does
// not know which organisation a project belongs to, and compares only the tenant and the
// same scope.
func permissionDifference(
	ctx context.Context, c *client.Client, u *identity.User, role, scope string, scopeID, except op.UUID,
) (difference, error) {
	roles, err := listAll(ctx, c, identity.ListRoles, &identity.ListRolesIn{})
	if err != nil {
		if fault.HasCode(err, fault.CodeForbidden) {
			err = nil
		}
		return difference{}, err
	}
	grants := map[op.UUID][]string{}
	var changed *identity.Role
	for i, r := range roles {
		grants[r.ID] = r.Permissions
		if strings.EqualFold(r.Name, role) || string(r.ID) == role {
			changed = &roles[i]
		}
	}
	if changed == nil {
		return difference{}, nil
	}
	var held []string
	for _, r := range u.Roles {
		isSame := r.Scope == identity.ScopeTenant || (r.Scope == scope && (r.ScopeID == scopeID || (r.ScopeRecord != nil && strings.EqualFold(string(scopeID), recordKey(r.ScopeRecord)))))
		if isSame && r.AssignmentID != except {
			held = append(held, grants[r.RoleID]...)
		}
	}
	d := difference{role: changed.Name}
	for _, p := range changed.Permissions {
		if !slices.Contains(held, p) && !slices.Contains(held, strings.TrimSuffix(p, ".own")) {
			d.permissions = append(d.permissions, p)
		}
	}
	return d, nil
}

// recordKey returns what a user types to name a record: its key, or its name.
func recordKey(r *op.Reference) string { return firstNonEmpty(r.Key, r.Name) }
