package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parapet/internal/client"
	"parapet/internal/contract/identity"
	"parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// logForms are the forms of the audit log and of the decision log.
func logForms() map[string]form {
	flags := "correlationId=request requestId=request credentialId=credential"
	return map[string]form{
		"list-audit-entries": {
			paths: []string{"list-audit-entries", "audit list"}, flags: flags, log: auditLog(),
			long: logHelp + `

audit.read.own, .organisation and .tenant show entries whose classification is absent or
UNCLASSIFIED; audit.read.classified shows all entries.`,
			example: `  pt audit list --actor lin@acme.example --since 2h
  pt audit list --action role.assigned --since 2027-03-01 --until 2027-04-01
  pt audit list --credential 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f
  pt audit --follow`,
			custom: logFlags(
				func(in *identity.ListAuditEntriesIn, t string) { in.From = t },
				func(in *identity.ListAuditEntriesIn, t string) { in.Until = t },
				func(in *identity.ListAuditEntriesIn) *string { return &in.ResourceID },
			),
			find: findRecordOf(func(in *identity.ListAuditEntriesIn) *string { return &in.ResourceID }),
		},
		"list-decisions": {
			paths: []string{"list-decisions", "decisions list"}, flags: flags, log: decisionLog(),
			long: logHelp + `

The service writes the log asynchronously: a decision appears within seconds. Some may be
missing if the server was overloaded or killed. --follow does not show a decision that
appears more than a minute after newer ones, for example because one of several servers
could not reach the database.`,
			example: `  pt decisions list --permission task.delete --allow=false
  pt decisions list --actor lin@acme.example --since 2h
  pt decisions --follow --allow=false`,
			custom: logFlags(
				func(in *identity.ListDecisionsIn, t string) { in.From = t },
				func(in *identity.ListDecisionsIn, t string) { in.Until = t },
				func(in *identity.ListDecisionsIn) *string { return &in.ResourceID },
			),
			find: findRecordOf(func(in *identity.ListDecisionsIn) *string { return &in.ResourceID }),
		},
		"get-decision": {
			paths: []string{"get-decision", "decisions get"},
			example: `  pt get-decision 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f
  pt get-decision 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --json --jq .data.subject.input.token.caveats`,
		},
	}
}

const logHelp = `List the entries that you may read, newest first. --since and --until take a time span
before now, such as 30m, 2h or 7d, a date, or an RFC 3339 timestamp. --follow prints new
entries until you press Ctrl-C; with --json, each entry is one line. If the server
restarts, the command continues where it stopped.`

// logFlags returns the flags for the time and the record of the entries of a log.
func logFlags[In any](setFrom, setUntil func(in *In, timestamp string), record func(in *In) *string) []customFlag {
	from := timestampFlag("from", "since", "Only entries at or after this `time`, such as 2h (ago) or 2027-03-01", parsePastTime, setFrom)
	from.alias = "from"
	about := textFlag("resourceId", "record", "Only entries about this `record`: its id, the address of a user, the key of a task, or the prefix or name of a project",
		func(in *In, text string) error {
			*record(in) = text
			return nil
		})
	about.alias = "resource-id"
	return []customFlag{from, about, timestampFlag("until", "until", "Only entries before this `time`, such as 30m (ago) or 2027-03-31", parsePastTime, setUntil)}
}

// findRecordOf returns a form's find that replaces the name of a record by its id.
func findRecordOf[In any](record func(in *In) *string) func(context.Context, *call, *client.Client) error {
	return func(ctx context.Context, k *call, c *client.Client) error {
		in, ok := k.input().(*In)
		if !ok || *record(in) == "" {
			return nil
		}
		id, err := findRecord(ctx, c, *record(in))
		*record(in) = string(id)
		return err
	}
}

// findRecord returns the id of a user, a task or a project.
func findRecord(ctx context.Context, c *client.Client, name string) (op.UUID, error) {
	id, err := op.ParseUUID(name)
	switch {
	case err == nil:
		return id, nil
	case strings.Contains(name, "@"):
		u, err := callOperation(ctx, c, identity.GetUser, &identity.UserIn{UserID: op.UUID(name)})
		if err != nil {
			return "", err
		}
		return u.ID, nil
	case op.TaskKeyPrefix(name) != "":
		id, _, err := findTask(ctx, c, name)
		return id, err
	}
	p, err := callOperation(ctx, c, tracker.FindProject, &tracker.FindProjectIn{Hint: name})
	if fault.HasCode(err, fault.CodeNotFound) {
		return "", usagef("no user, task or project is named %q; name another record by its ID", name)
	}
	if err != nil {
		return "", err
	}
	return p.ID, nil
}

func auditLog() *logForm {
	return &logForm{
		position: func(e any) int64 { return auditEntry(e).Seq },
		id:       func(e any) string { return string(auditEntry(e).ID) },
		isOwn:    func(*call, any) bool { return false },
		line: func(v any) string {
			e := auditEntry(v)
			text := formatTime(e.CreatedAt) + "  " + e.Action + "  " + typedRecord(e.ResourceType, e.Resource, e.ResourceID)
			if e.ActorID != "" {
				text += "  by " + personAddress(e.Actor, e.ActorID)
			}
			if e.OnBehalfOf != "" {
				text += " on behalf of " + personAddress(e.OnBehalfOfUser, e.OnBehalfOf)
			}
			return text
		},
	}
}

func decisionLog() *logForm {
	return &logForm{
		position: func(e any) int64 { return decisionEntry(e).DecidedAt.UnixMicro() },
		delay:    time.Minute.Microseconds(),
		id:       func(e any) string { return string(decisionEntry(e).ID) },
		// Reading the decision log is itself a decision.
		isOwn: func(k *call, e any) bool {
			in, ok := k.input().(*identity.ListDecisionsIn)
			return ok && in.Permission == "" && decisionEntry(e).Permission == identity.ListDecisions.Permission
		},
		line: func(v any) string {
			e := decisionEntry(v)
			return formatTime(e.DecidedAt) + "  " + decisionAnswer(e) + "  " + firstNonEmpty(e.Permission, e.Rule) + "  by " + e.ActorID
		},
	}
}

func auditEntry(v any) *identity.AuditEntry {
	if e, ok := v.(*identity.AuditEntry); ok {
		return e
	}
	return &identity.AuditEntry{}
}

func decisionEntry(v any) *identity.DecisionEntry {
	if e, ok := v.(*identity.DecisionEntry); ok {
		return e
	}
	return &identity.DecisionEntry{}
}

// newLogCmd returns the command of a family that lists its log if no subcommand is given.
func newLogCmd(operation, name string) func(*invocation) *cobra.Command {
	return func(inv *invocation) *cobra.Command {
		for _, o := range operationForms() {
			if o.Name != operation {
				continue
			}
			cmd := newOperationCmd(inv, o.Operation, o.form, name)
			family := commandFamilies()[name]
			cmd.Short, cmd.Args = family.short, noSuchCommand
			cmd.SuggestionsMinimumDistance = 2
			return cmd
		}
		panic("cli: no operation " + operation)
	}
}
