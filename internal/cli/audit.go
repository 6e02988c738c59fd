package cli

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/contract/identity"
)

func newListAuditEntriesCmd(inv *invocation) *cobra.Command {
	return newListCmd(inv, identity.ListAuditEntries, commandForm[identity.ListAuditEntriesIn]{
		example: `  pt list-audit-entries --action api_key.revoked
  pt list-audit-entries --credential 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --from 2027-03-01T00:00:00Z`,
		flags: []string{
			"actorId:actor", "action", "resourceType", "resourceId", "module", "correlationId:request", "credentialId:credential", "from", "until",
		},
	}, table[identity.AuditEntry]{
		emptyText: "No entries.", flex: 2,
		columns: []column[identity.AuditEntry]{
			{name: "When", value: func(e *identity.AuditEntry) string { return formatTime(e.CreatedAt) }},
			{name: "Action", value: func(e *identity.AuditEntry) string { return e.Action }},
			{name: "Record", value: func(e *identity.AuditEntry) string { return e.ResourceType + " " + e.ResourceID }},
			{name: "Actor", value: func(e *identity.AuditEntry) string { return personAddress(e.Actor, e.ActorID) }},
			{name: "Credential", value: func(e *identity.AuditEntry) string { return e.CredentialKind }},
			{name: "Credential ID", value: func(e *identity.AuditEntry) string { return string(e.CredentialID) }},
		},
	})
}

func newDecisionLogCmds(inv *invocation) []*cobra.Command {
	return []*cobra.Command{
		newListCmd(inv, identity.ListDecisions, commandForm[identity.ListDecisionsIn]{
			example: `  pt list-decisions --permission task.delete --allow=false
  pt list-decisions --credential 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f`,
			flags: []string{"actorId:actor", "permission", "allow", "requestId:request", "credentialId:credential"},
		}, decisionLogTable),
		newRecordCmd(inv, identity.GetDecision, commandForm[identity.DecisionIn]{
			example: `  pt get-decision 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f
  pt get-decision 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --json --jq .data.subject.input.token.caveats`,
		}, showLoggedDecision),
	}
}

var decisionLogTable = table[identity.DecisionEntry]{
	emptyText: "No decisions.", flex: 2,
	columns: []column[identity.DecisionEntry]{
		{name: "When", value: func(e *identity.DecisionEntry) string { return formatTime(e.DecidedAt) }},
		{name: "Answer", value: decisionAnswer},
		{name: "Rule", value: func(e *identity.DecisionEntry) string { return strings.TrimSpace(e.Rule + " " + e.Permission) }},
		{name: "Actor", value: func(e *identity.DecisionEntry) string { return e.ActorID }},
		{name: "Credential", value: func(e *identity.DecisionEntry) string { return e.CredentialKind }},
		{name: "Credential ID", value: func(e *identity.DecisionEntry) string { return string(e.CredentialID) }},
		{name: "ID", value: func(e *identity.DecisionEntry) string { return string(e.ID) }},
	},
}

func decisionAnswer(e *identity.DecisionEntry) string {
	if e.Allow {
		return "allow"
	}
	return strings.TrimSpace("deny " + strings.Join(e.Reasons, ", "))
}

func showLoggedDecision(d *markdown.Doc, e *identity.Decision) {
	d.Heading(1, strings.TrimSpace(e.Rule+" "+e.Permission)+": "+decisionAnswer(&e.DecisionEntry))
	d.Field("ID", string(e.ID))
	d.Field("When", formatTime(e.DecidedAt))
	d.Field("Actor", e.ActorID)
	d.Field("Credential", strings.TrimSpace(e.CredentialKind+" "+string(e.CredentialID)))
	d.Field("Module", e.Module)
	d.Field("Request", e.RequestID)
	d.Field("Policies", e.Revision)
	d.Field("Subject digest", e.SubjectDigest)
	d.Field("Subject", e.SubjectStatus)
	quoteJSON(d, "Input", e.Input)
	quoteJSON(d, "Subject", e.Subject)
}

// quoteJSON writes a value as indented JSON below a heading; it omits nil.
func quoteJSON(d *markdown.Doc, heading string, value any) {
	if value == nil {
		return
	}
	text, err := json.Marshal(value, json.Deterministic(true), jsontext.WithIndent("  "))
	if err == nil {
		d.Heading(2, heading)
		d.Quote(string(text))
	}
}
