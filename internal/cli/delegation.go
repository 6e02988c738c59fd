package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/contract/tracker"
)

func newDelegationCmds(inv *invocation) []*cobra.Command {
	return []*cobra.Command{
		newListCmd(inv, tracker.ListDelegations, commandForm[tracker.ListDelegationsIn]{
			example: `  pt list-delegations --state ACTIVE
  pt list-delegations --delegate 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f`,
			flags: []string{"delegator", "delegate", "state"},
		}, delegationTable),
		newRecordCmd(inv, tracker.GetDelegation, commandForm[tracker.DelegationIn]{
			example: `  pt get-delegation 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f`,
		}, showDelegation),
		newRecordCmd(inv, tracker.CreateDelegation, commandForm[tracker.CreateDelegationIn]{
			long: `Delegate some of your permissions to another user for a limited time. The delegate's
own clearance and caveats still apply. A delegation ends when it expires or is revoked,
when you lose the permission, and when you or the delegate is suspended.

--project or --initiative limits the scope. The default scope is the tenant.`,
			example: `  pt create-delegation --delegate 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --permissions task.update,decision.answer --until 2027-03-31T17:00:00Z
  pt create-delegation --delegate 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --permissions task.update --until 2027-03-31T17:00:00Z --project APOLLO`,
			flags:                []string{"delegate", "delegator", "scope", "initiativeId:initiative", "permissions", "from", "until"},
			ignoreDefaultProject: true,
			setup: func(cmd *cobra.Command, _ *tracker.CreateDelegationIn) {
				allowOneOf(cmd, "project", "initiative")
			},
			prepareInput: func(in *tracker.CreateDelegationIn) error {
				switch {
				case in.Scope != "":
				case in.ProjectID != "":
					in.Scope = tracker.DelegationProject
				case in.InitiativeID != "":
					in.Scope = tracker.DelegationInitiative
				}
				return nil
			},
		}, showDelegation),
		newRecordCmd(inv, tracker.RevokeDelegation, commandForm[tracker.DelegationIn]{
			question: "Revoke the delegation %s permanently?",
			example:  `  pt revoke-delegation 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --yes`,
		}, showDelegation),
	}
}

var delegationTable = table[tracker.Delegation]{
	emptyText: "No delegations.", flex: 4,
	columns: []column[tracker.Delegation]{
		{name: "State", value: func(g *tracker.Delegation) string { return g.State }},
		{name: "Delegator", value: func(g *tracker.Delegation) string { return personAddress(g.DelegatorUser, g.DelegatorID) }},
		{name: "Delegate", value: func(g *tracker.Delegation) string { return personAddress(g.DelegateUser, g.DelegateID) }},
		{name: "Scope", value: delegationScope},
		{name: "Permissions", value: func(g *tracker.Delegation) string { return strings.Join(g.Permissions, ", ") }},
		{name: "Until", value: func(g *tracker.Delegation) string { return formatTime(g.Until) }},
		{name: "ID", value: func(g *tracker.Delegation) string { return string(g.ID) }},
	},
}

func delegationScope(g *tracker.Delegation) string {
	return strings.TrimSpace(g.Scope + " " + firstNonEmpty(recordName(g.Project, g.ProjectID), recordName(g.Initiative, g.InitiativeID)))
}

func showDelegation(d *markdown.Doc, g *tracker.Delegation) {
	d.Heading(1, "Delegation: "+g.State)
	d.Field("ID", string(g.ID))
	d.Field("Delegator", personAddress(g.DelegatorUser, g.DelegatorID))
	d.Field("Delegate", personAddress(g.DelegateUser, g.DelegateID))
	d.Field("Scope", delegationScope(g))
	d.Field("Permissions", strings.Join(g.Permissions, ", "))
	d.Field("From", formatTime(g.From))
	d.Field("Until", formatTime(g.Until))
	d.Field("Created", formatTime(g.CreatedAt)+" by "+personAddress(g.CreatedByUser, g.CreatedBy))
	if g.RevokedAt != nil {
		d.Field("Revoked", formatTime(*g.RevokedAt)+" by "+personAddress(g.RevokedByUser, g.RevokedBy))
	}
}
