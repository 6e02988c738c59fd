package cli

import (
	"github.com/spf13/cobra"

	"parapet/internal/contract/identity"
)

func newListAuditEntriesCmd(inv *invocation) *cobra.Command {
	return lists(inv, identity.ListAuditEntries, form[identity.ListAuditEntriesIn]{
		example: `  pt list-audit-entries --action api_key.revoked
  pt list-audit-entries --credential 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --from 2027-03-01T00:00:00Z`,
		flags: []string{
			"actorId:actor", "action", "resourceType", "resourceId", "module", "correlationId:request", "credentialId:credential", "from", "until",
		},
	}, table[identity.AuditEntry]{
		empty: "No entries.", flex: 2,
		columns: []column[identity.AuditEntry]{
			{name: "When", value: func(e *identity.AuditEntry) string { return moment(e.CreatedAt) }},
			{name: "Action", value: func(e *identity.AuditEntry) string { return e.Action }},
			{name: "Record", value: func(e *identity.AuditEntry) string { return e.ResourceType + " " + e.ResourceID }},
			{name: "Actor", value: func(e *identity.AuditEntry) string { return string(e.ActorID) }},
			{name: "Credential", value: func(e *identity.AuditEntry) string { return e.CredentialKind }},
			{name: "Credential ID", value: func(e *identity.AuditEntry) string { return string(e.CredentialID) }},
		},
	})
}
