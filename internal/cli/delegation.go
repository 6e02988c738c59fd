package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/contract/tracker"
)

func newDelegationCmds(inv *invocation) []*cobra.Command {
	return []*cobra.Command{
		lists(inv, tracker.ListDelegations, commandForm[tracker.ListDelegationsIn]{
			example: `  pt list-delegations --state ACTIVE
  pt list-delegations --delegate 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f`,
			flags: []string{"delegator", "delegate", "state"},
		}, delegationTable),
		showRecord(inv, tracker.GetDelegation, commandForm[tracker.DelegationIn]{
			example: `  pt get-delegation 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f`,
		}, showDelegation),
		showRecord(inv, tracker.CreateDelegation, commandForm[tracker.CreateDelegationIn]{
			long: `Lets another person act on your behalf: for a time, with the permissions that you
name and hold, everywhere or in one project or one initiative. Clearance and caveats
stay the delegate's own. It ends with its time, when it is revoked, when you lose the
permission, and when either is suspended.

--project and --initiative set the scope; without them it is the whole organisation.`,
			example: `  pt create-delegation --delegate 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --permissions task.update,decision.answer --until 2027-03-31T17:00:00Z
  pt create-delegation --delegate 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --permissions task.update --until 2027-03-31T17:00:00Z --project APOLLO`,
			flags:      []string{"delegate", "delegator", "scope", "initiativeId:initiative", "permissions", "from", "until"},
			anyProject: true,
			setup: func(cmd *cobra.Command, _ *tracker.CreateDelegationIn) {
				atMostOne(cmd, "project", "initiative")
			},
			fill: func(in *tracker.CreateDelegationIn) error {
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
		showRecord(inv, tracker.RevokeDelegation, commandForm[tracker.DelegationIn]{
			question: "End the delegation %s for good?",
			example:  `  pt revoke-delegation 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --yes`,
		}, showDelegation),
	}
}

var delegationTable = table[tracker.Delegation]{
	empty: "No delegations.", flex: 4,
	columns: []column[tracker.Delegation]{
		{name: "State", value: func(g *tracker.Delegation) string { return g.State }},
		{name: "Delegator", value: func(g *tracker.Delegation) string { return string(g.DelegatorID) }},
		{name: "Delegate", value: func(g *tracker.Delegation) string { return string(g.DelegateID) }},
		{name: "Scope", value: delegationScope},
		{name: "Permissions", value: func(g *tracker.Delegation) string { return strings.Join(g.Permissions, ", ") }},
		{name: "Until", value: func(g *tracker.Delegation) string { return formatTime(g.Until) }},
		{name: "ID", value: func(g *tracker.Delegation) string { return string(g.ID) }},
	},
}

func delegationScope(g *tracker.Delegation) string {
	return strings.TrimSpace(g.Scope + " " + first(string(g.ProjectID), string(g.InitiativeID)))
}

func showDelegation(d *markdown.Doc, g *tracker.Delegation) {
	d.Heading(1, "Delegation: "+g.State)
	d.Field("ID", string(g.ID))
	d.Field("Delegator", string(g.DelegatorID))
	d.Field("Delegate", string(g.DelegateID))
	d.Field("Scope", delegationScope(g))
	d.Field("Permissions", strings.Join(g.Permissions, ", "))
	d.Field("From", formatTime(g.From))
	d.Field("Until", formatTime(g.Until))
	d.Field("Created", formatTime(g.CreatedAt)+" by "+string(g.CreatedBy))
	if g.RevokedAt != nil {
		d.Field("Revoked", formatTime(*g.RevokedAt)+" by "+string(g.RevokedBy))
	}
}
