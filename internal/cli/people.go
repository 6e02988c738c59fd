package cli

import (
	"github.com/spf13/cobra"

	"parapet/internal/contract/identity"
)

func newListPeopleCmd(inv *invocation) *cobra.Command {
	return newListCmd(inv, identity.ListPeople, commandForm[identity.ListPeopleIn]{
		example: `  pt list-people
  pt list-people --search lin --json --jq '.data[0].id'`,
		flags: []string{"search", "organisationId:organisation"},
	}, table[identity.Colleague]{
		emptyText: "No people.", flex: 0,
		columns: []column[identity.Colleague]{
			{name: "Name", value: func(p *identity.Colleague) string { return p.DisplayName }},
			{name: "Address", value: func(p *identity.Colleague) string { return p.Email }},
			{name: "Kind", value: func(p *identity.Colleague) string { return p.PrincipalKind }},
			{name: "ID", value: func(p *identity.Colleague) string { return string(p.ID) }},
		},
	})
}
