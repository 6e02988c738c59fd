package cli

import (
	"context"
	"reflect"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/contract/identity"
	"parapet/internal/op"
)

func newIssueKeyCmd(inv *invocation) *cobra.Command {
	in := &identity.IssueKeyIn{}
	cmd := &cobra.Command{
		Use:   "issue-key",
		Short: "Issue an API key for yourself",
		Long: `Issue an API key that acts as you. The command requires a session (pt auth login
--email), because an API key cannot issue API keys. The token is shown only once.`,
		Example: `  pt issue-key --label "my laptop"
  pt issue-key --label ci --expires-in-days 7 --json --jq .data.token`,
		Args: cobra.NoArgs,
	}
	bind(cmd, identity.IssueKey.Operation, in, "label", "expiresInDays")
	return inv.setRun(cmd, reflect.TypeFor[identity.IssuedKey](), func(ctx context.Context, _ []string) error {
		c, _, err := inv.connect()
		if err != nil {
			return err
		}
		out, err := callOperation(ctx, c, identity.IssueKey, in)
		if err != nil {
			return err
		}
		return inv.showIssued(ctx, out)
	})
}

func newIssueServiceKeyCmd(inv *invocation) *cobra.Command {
	in := &identity.IssueServiceKeyIn{}
	cmd := &cobra.Command{
		Use:   "issue-service-key",
		Short: "Issue an API key for a service principal",
		Long: `Issue an API key that acts as a service principal and is valid for 90 days. The
command requires an administrator's session with the permission
api_key.issue_for_service. The token is shown only once.`,
		Example: `  pt issue-service-key --label "PT_AUTH_TOKEN of CI" --user 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f`,
		Args:    cobra.NoArgs,
	}
	bind(cmd, identity.IssueServiceKey.Operation, in, "label", "targetUserId:user")
	return inv.setRun(cmd, reflect.TypeFor[identity.IssuedKey](), func(ctx context.Context, _ []string) error {
		c, _, err := inv.connect()
		if err != nil {
			return err
		}
		out, err := callOperation(ctx, c, identity.IssueServiceKey, in)
		if err != nil {
			return err
		}
		return inv.showIssued(ctx, out)
	})
}

func (inv *invocation) showIssued(ctx context.Context, k *identity.IssuedKey) error {
	inv.printNote("The token is shown only once. Store it now.")
	return inv.show(ctx, view{data: k, markdown: func(d *markdown.Doc) {
		d.Heading(1, k.Label)
		d.Field("ID", string(k.ID))
		d.Field("Kind", k.Kind)
		d.Field("Owner", personAddress(k.OwnerUser, k.Owner))
		d.Field("Tenant", recordName(k.Tenant, k.TenantID))
		d.Field("Expires", formatTime(k.Expiry))
		d.Field("Token", k.Token)
	}})
}

type listKeysOptions struct {
	inv *invocation
	in  identity.ListKeysIn
	listFlags
}

func newListKeysCmd(inv *invocation) *cobra.Command {
	o := &listKeysOptions{inv: inv}
	cmd := &cobra.Command{
		Use:   "list-keys",
		Short: "List your API keys or those of a service principal",
		Example: `  pt list-keys
  pt list-keys --service-user 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f`,
		Args: cobra.NoArgs,
	}
	bind(cmd, identity.ListKeys.Operation, &o.in, "serviceUserId:service-user", "limit", "cursor")
	o.bind(cmd)
	return inv.setRun(cmd, reflect.TypeFor[identity.Key](), o.run)
}

func (o *listKeysOptions) run(ctx context.Context, _ []string) error {
	c, _, err := o.inv.connect()
	if err != nil {
		return err
	}
	page, err := fetchList(ctx, o.inv, c, identity.ListKeys, &o.in, o.listFlags)
	if err != nil {
		return err
	}
	return o.inv.show(ctx, view{data: page.Items, next: page.NextCursor, markdown: func(d *markdown.Doc) {
		if len(page.Items) == 0 {
			d.Line("No keys.")
			return
		}
		var rows [][]string
		for _, k := range page.Items {
			rows = append(rows, []string{string(k.ID), k.Label, k.Kind, formatTime(k.Expiry), optionalTime(k.LastUsedAt), optionalTime(k.RevokedAt)})
		}
		d.Table([]string{"ID", "Label", "Kind", "Expires", "Last used", "Revoked"}, rows, 1)
	}})
}

type revokeKeyOptions struct {
	inv *invocation
	in  identity.RevokeKeyIn
	yes bool
	writeFlags
}

func newRevokeKeyCmd(inv *invocation) *cobra.Command {
	o := &revokeKeyOptions{inv: inv}
	cmd := &cobra.Command{
		Use:   "revoke-key <key>",
		Short: "Revoke an API key permanently",
		Long: `Revoke one of your API keys, or with --service-owned a key of a service principal,
permanently. All servers reject the key within a minute. The command asks for
confirmation on a terminal; without a terminal it requires --yes.`,
		Example: `  pt revoke-key 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --yes
  pt revoke-key 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --service-owned --reason "replaced" --yes`,
		Args: cobra.ExactArgs(1),
	}
	bind(cmd, identity.RevokeKey.Operation, &o.in, "serviceOwned", "reason")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask for confirmation")
	o.bind(cmd)
	return inv.setRun(cmd, reflect.TypeFor[identity.Key](), o.run)
}

func (o *revokeKeyOptions) run(ctx context.Context, args []string) error {
	id, err := op.ParseUUID(args[0])
	if err != nil {
		return usagef("key %q: %w", args[0], err)
	}
	o.in.KeyID = id
	if err := o.inv.confirmDestructive(o.yes); err != nil {
		return err
	}
	c, _, err := o.inv.connect()
	if err != nil {
		return err
	}
	if !o.yes {
		if err := o.inv.confirm(ctx, "Revoke the key %s permanently?", id); err != nil {
			return err
		}
	}
	k, err := callOperation(ctx, c, identity.RevokeKey, &o.in, o.options()...)
	if err != nil {
		return err
	}
	return o.inv.show(ctx, view{data: k, markdown: func(d *markdown.Doc) {
		d.Heading(1, k.Label)
		d.Field("ID", string(k.ID))
		d.Field("Kind", k.Kind)
		d.Field("Owner", personAddress(k.OwnerUser, k.Owner))
		d.Field("Revoked", optionalTime(k.RevokedAt))
		d.Field("By", personAddress(k.RevokedByUser, k.RevokedBy))
		d.Field("Reason", k.RevokeReason)
	}})
}
