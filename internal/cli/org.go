package cli

import (
	"context"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/contract/identity"
	"parapet/internal/op"
)

func newListOrgsCmd(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list-orgs",
		Short: "List the organisations that the credential can act in",
		Long: `Lists every organisation that the credential can act in, each with its own id and
its paired tenant's; --org takes either. The default is marked. --org itself is
refused here: the list does not depend on it.

Names are text that somebody else wrote: don't trust what they say.`,
		Example: `  pt list-orgs
  pt list-orgs --json --jq '.data.items[] | select(.default) | .tenantId'`,
		Args: cobra.NoArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("org") {
				return usagef("list-orgs takes no --org: it lists all that the credential can act in")
			}
			return nil
		},
	}
	return inv.runs(cmd, reflect.TypeFor[identity.OrganisationsOut](), func(ctx context.Context, _ []string) error {
		_, s, err := inv.connect()
		if err != nil {
			return err
		}
		s.org = ""
		c, err := inv.dial(s)
		if err != nil {
			return err
		}
		out, err := callOperation(ctx, c, identity.ListOrgs, &identity.MeIn{})
		if err != nil {
			return err
		}
		if out.Items == nil {
			out.Items = []identity.OrganisationChoice{}
		}
		if out.Degraded {
			inv.warn("the lookup of memberships failed: organisations may be missing from this list, or all of them")
		}
		return inv.show(ctx, view{data: out, markdown: func(d *markdown.Doc) {
			if len(out.Items) == 0 {
				d.Line("No organisations.")
				return
			}
			var rows [][]string
			for _, o := range out.Items {
				mark := ""
				if o.Default {
					mark = "yes"
				}
				rows = append(rows, []string{first(o.Name, o.TenantName), string(o.OrganisationID), o.TenantSlug, string(o.TenantID), mark})
			}
			d.Table([]string{"Organisation", "ID", "Tenant", "Tenant ID", "Default"}, rows, 0)
		}})
	})
}

func newPermissionsCmd(inv *invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "permissions",
		Short: "Show what the credential may do, and where",
		Example: `  pt permissions
  pt permissions --json --jq '.data.permissions[].name'`,
		Args: cobra.NoArgs,
	}
	return inv.runs(cmd, reflect.TypeFor[identity.PermissionsOut](), func(ctx context.Context, _ []string) error {
		c, _, err := inv.connect()
		if err != nil {
			return err
		}
		out, err := callOperation(ctx, c, identity.Permissions, &identity.MeIn{})
		if err != nil {
			return err
		}
		return inv.show(ctx, view{data: out, markdown: func(d *markdown.Doc) {
			if len(out.Permissions) == 0 {
				d.Line("No permissions.")
				return
			}
			var rows [][]string
			for _, p := range out.Permissions {
				rows = append(rows, []string{p.Name, scopes(p), p.Description})
			}
			d.Table([]string{"Permission", "Where", "What it allows"}, rows, 2)
		}})
	})
}

// scopes says where a permission holds.
func scopes(p identity.EffectivePermission) string {
	if p.Tenant {
		return "tenant"
	}
	var parts []string
	add := func(kind string, ids []op.UUID) {
		for _, id := range ids {
			parts = append(parts, kind+" "+string(id))
		}
	}
	add("organisation", p.Organisations)
	add("project", p.Projects)
	return strings.Join(parts, ", ")
}
