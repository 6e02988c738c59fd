package cli

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/client"
	"parapet/internal/contract/identity"
)

func newAccessCmd(inv *invocation) *cobra.Command {
	k, cmd := newCall(inv, identity.GetAccess.Operation, form{
		short: "Show what a user may do, and why",
		long: `Show the roles, the clearance, the delegations and the effective permissions of a user,
and which role or delegation grants each permission. --permission explains one
permission.

Everybody may ask about themselves. To ask about others, you need role.read and user.read.`,
		example: `  pt access of lin@acme.example
  pt access of me --permission task.delete
  pt access of lin@acme.example --json --jq '.data.permissions[].name'`,
	}, "access of")
	var permission string
	cmd.Flags().StringVar(&permission, "permission", "", "Explain only this `permission`")
	inv.completeFlag(cmd, "permission", suggestPermissions)
	return inv.setRun(cmd, reflect.TypeFor[identity.Access](), func(ctx context.Context, args []string) error {
		c, err := k.prepare(ctx, args)
		if err != nil {
			return err
		}
		in, err := inputOf[identity.UserIn](k)
		if err != nil {
			return err
		}
		a, err := callOperation(ctx, c, identity.GetAccess, in)
		if err != nil {
			return err
		}
		if permission != "" {
			return inv.explainPermission(ctx, c, a, permission)
		}
		return inv.show(ctx, view{data: a, markdown: func(d *markdown.Doc) { writeAccess(d, a) }})
	})
}

// writeAccess writes the page of pt access of.
func writeAccess(d *markdown.Doc, a *identity.Access) {
	d.Heading(1, "Access of "+userName(&a.User))
	d.Field("Active", activeText(a))
	d.Field("Kind", a.User.PrincipalKind)
	d.Field("Clearance", firstNonEmpty(a.User.Clearance, "UNCLASSIFIED"))
	d.Field("Organisation", recordName(a.User.Organisation, a.User.OrganisationID))
	d.Heading(2, "Roles")
	writeItems(d, a.User.Roles, "roles")
	if len(a.Delegations) > 0 {
		d.Heading(2, "Delegations")
		writeItems(d, a.Delegations, "delegations")
	}
	d.Heading(2, "Permissions")
	switch {
	case len(a.Permissions) == 0:
		d.Line("No permissions.")
		return
	case !a.Active:
		d.Line(countOf(len(a.Permissions), "permissions") + ", which the user can use once active.")
	default:
		d.Line(countOf(len(a.Permissions), "permissions") + ".")
	}
	var origins []string
	granted := map[string][]string{}
	for _, p := range a.Permissions {
		for i := range p.Origins {
			origin := originText(a, &p.Origins[i])
			if granted[origin] == nil {
				origins = append(origins, origin)
			}
			granted[origin] = append(granted[origin], p.Name)
		}
	}
	for _, origin := range origins {
		d.Heading(3, "From the "+origin)
		writePermissionFields(d, granted[origin])
	}
}

// activeText says whether a user can act, and what prevents it.
func activeText(a *identity.Access) string {
	switch {
	case a.Active:
		return "yes"
	case a.User.Status != identity.UserActive:
		return "no, the account is " + a.User.Status
	default:
		return "no, the membership is " + a.User.MembershipStatus
	}
}

// originText names what grants a permission: "role Member in the whole tenant".
func originText(a *identity.Access, o *identity.PermissionOrigin) string {
	place := scopePlace(o.Scope, recordName(o.ScopeRecord, o.ScopeID))
	if o.Scope == "initiative" {
		place = "in an initiative"
	}
	if o.Kind == identity.OriginRole {
		return "role " + o.Role + " " + place
	}
	text := "delegation"
	if o.Delegator != "" {
		text += " of " + personAddress(o.DelegatorUser, o.Delegator)
	}
	text += " " + place
	for _, g := range a.Delegations {
		if g.ID == o.DelegationID {
			text += " until " + formatTime(g.Until)
		}
	}
	return text
}

// explainPermission prints who or what grants a permission to a user, or which roles would.
func (inv *invocation) explainPermission(ctx context.Context, c *client.Client, a *identity.Access, name string) error {
	held := heldPermission(a, name)
	data := identity.AccessPermission{Name: name, Origins: []identity.PermissionOrigin{}}
	if held != nil {
		data = *held
	}
	var remedy string
	if data.Name != name || held == nil {
		var err error
		if remedy, err = rolesThatGrant(ctx, c, name); err != nil {
			return err
		}
	}
	return inv.show(ctx, view{data: data, markdown: func(d *markdown.Doc) {
		user := userName(&a.User)
		if !a.Active {
			d.Line(user + " can do nothing at present: " + strings.TrimPrefix(activeText(a), "no, ") + ".")
		}
		switch {
		case held == nil:
			d.Line(user + " does not have the permission " + name + ".")
		case held.Name == name:
			d.Line(user + " has the permission " + name + ": " + held.Description)
		default:
			d.Line(user + " has " + name + " only in the form " + held.Name + ": " + held.Description)
		}
		if held != nil {
			for i := range held.Origins {
				d.Field("Granted by", "the "+originText(a, &held.Origins[i]))
			}
		}
		if remedy != "" {
			d.Line(remedy)
		}
	}})
}

// heldPermission returns a permission of the user, or the one with the suffix .own, or nil.
func heldPermission(a *identity.Access, name string) *identity.AccessPermission {
	for _, n := range []string{name, name + ".own"} {
		if i := slices.IndexFunc(a.Permissions, func(p identity.AccessPermission) bool { return p.Name == n }); i >= 0 {
			return &a.Permissions[i]
		}
	}
	return nil
}

// rolesThatGrant says which roles grant a permission to people. It says nothing if the
// caller may not read roles. A permission that does not exist is an error.
func rolesThatGrant(ctx context.Context, c *client.Client, permission string) (string, error) {
	catalogue, err := ignoreForbidden(callOperation(ctx, c, identity.ListPermissions, &identity.ListPermissionsIn{}))
	if catalogue == nil {
		return "", err
	}
	i := slices.IndexFunc(catalogue.Items, func(p identity.Permission) bool { return p.Name == permission })
	if i < 0 {
		return "", usagef("there is no permission %q; pt roles permissions lists all permissions", permission)
	}
	roles, err := listAll(ctx, c, identity.ListRoles, &identity.ListRolesIn{})
	if err != nil {
		return "", err
	}
	var names []string
	for _, r := range roles {
		if r.Kind == identity.RoleStandard && slices.Contains(r.Permissions, permission) {
			names = append(names, r.Name)
		}
	}
	text := "No role grants " + permission + "."
	if len(names) > 0 {
		text = "Roles that grant " + permission + ": " + strings.Join(names, ", ") + "."
	}
	if catalogue.Items[i].Platform {
		text += " Only members of a programme office can use it."
	}
	return text, nil
}
