package cli

import (
	"bytes"
	"context"
	"encoding/csv"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"parapet/internal/cli/text"
	"parapet/internal/client"
	"parapet/internal/contract/identity"
	"parapet/internal/op"
)

// The formats of an exported audit log.
const (
	formatJSONLines = "jsonl"
	formatCSV       = "csv"
)

type auditExportOptions struct {
	inv    *invocation
	call   *call
	format string
}

func newAuditExportCmd(inv *invocation) *cobra.Command {
	f := logForms()["list-audit-entries"]
	f.log, f.paths, f.flags, f.allPages = nil, nil, f.flags+" after=-", true
	f.short = "Export the audit log as JSON Lines or CSV"
	f.long = `Export the audit entries that you may read, oldest first, to standard output or a file.
The file is written atomically. Its name selects the format: .csv is CSV, anything else is
JSON Lines, one entry per line. --format overrides it.

CSV has one column for each member of an entry; changes is JSON. A cell that a spreadsheet
would read as a formula starts with an apostrophe.`
	f.example = `  pt audit export audit.jsonl --since 2027-03-01 --until 2027-04-01
  pt audit export audit.csv --actor lin@acme.example
  pt audit export --credential 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f | jq -r .action`
	k, cmd := newCall(inv, identity.ListAuditEntries.Operation, f, "audit export")
	o := &auditExportOptions{inv: inv, call: k}
	cmd.Use, cmd.Args = "export [file]", cobra.MaximumNArgs(1)
	cmd.Flags().StringVar(&o.format, "format", "", "The `format`: jsonl or csv")
	return inv.setRun(cmd, reflect.TypeFor[identity.AuditEntry](), o.run)
}

func (o *auditExportOptions) run(ctx context.Context, args []string) error {
	name := ""
	if len(args) == 1 {
		name = args[0]
	}
	if o.inv.wantsJSON() {
		return usagef("--json, --jq and --fields do not apply; the export is JSON Lines or CSV (--format)")
	}
	format := o.format
	switch {
	case format == "" && strings.EqualFold(filepath.Ext(name), ".csv"):
		format = formatCSV
	case format == "":
		format = formatJSONLines
	case format != formatJSONLines && format != formatCSV:
		return usagef("unknown format %q; allowed: %s, %s", format, formatJSONLines, formatCSV)
	}
	c, err := o.call.prepare(ctx, nil)
	if err != nil {
		return err
	}
	return o.inv.writeExport(name, "entries", func(w *exportWriter) error {
		if format == formatJSONLines {
			return o.forEachEntry(ctx, c, func(e *identity.AuditEntry) error {
				line, err := json.Marshal(e, json.Deterministic(true))
				if err != nil {
					return err
				}
				return w.writeLine(text.JSON(line))
			})
		}
		if _, err := w.out.WriteString(strings.Join(auditColumnNames(), ",") + "\n"); err != nil {
			return err
		}
		return o.forEachEntry(ctx, c, func(e *identity.AuditEntry) error {
			line, err := auditLine(e)
			if err != nil {
				return err
			}
			return w.writeLine(line)
		})
	})
}

// forEachEntry calls f for every entry, oldest first.
func (o *auditExportOptions) forEachEntry(ctx context.Context, c *client.Client, f func(*identity.AuditEntry) error) error {
	in, err := inputOf[identity.ListAuditEntriesIn](o.call)
	if err != nil {
		return err
	}
	after := 0
	in.After, in.Limit = &after, maxPage
	for {
		page, err := callOperation(ctx, c, identity.ListAuditEntries, in)
		if err != nil {
			return err
		}
		for i := range page.Items {
			if err := f(&page.Items[i]); err != nil {
				return err
			}
			after = int(page.Items[i].Seq)
		}
		if len(page.Items) < maxPage {
			return nil
		}
	}
}

// auditColumn is a column of the audit log as CSV.
type auditColumn struct {
	name  string
	value func(e *identity.AuditEntry) string
}

func auditColumns() []auditColumn {
	name := func(r *op.Reference) string {
		if r == nil {
			return ""
		}
		return firstNonEmpty(r.Email, r.Key, r.Name)
	}
	return []auditColumn{
		{"seq", func(e *identity.AuditEntry) string { return strconv.FormatInt(e.Seq, 10) }},
		{"createdAt", func(e *identity.AuditEntry) string { return e.CreatedAt.UTC().Format(time.RFC3339Nano) }},
		{"action", func(e *identity.AuditEntry) string { return e.Action }},
		{"resourceType", func(e *identity.AuditEntry) string { return e.ResourceType }},
		{"resourceId", func(e *identity.AuditEntry) string { return e.ResourceID }},
		{"resource", func(e *identity.AuditEntry) string { return name(e.Resource) }},
		{"module", func(e *identity.AuditEntry) string { return e.Module }},
		{"actorType", func(e *identity.AuditEntry) string { return e.ActorType }},
		{"actorId", func(e *identity.AuditEntry) string { return string(e.ActorID) }},
		{"actor", func(e *identity.AuditEntry) string { return name(e.Actor) }},
		{"onBehalfOf", func(e *identity.AuditEntry) string { return string(e.OnBehalfOf) }},
		{"credentialKind", func(e *identity.AuditEntry) string { return e.CredentialKind }},
		{"credentialId", func(e *identity.AuditEntry) string { return string(e.CredentialID) }},
		{"correlationId", func(e *identity.AuditEntry) string { return string(e.CorrelationID) }},
		{"classification", func(e *identity.AuditEntry) string {
			if e.Classification == nil {
				return ""
			}
			return *e.Classification
		}},
		{"changes", func(e *identity.AuditEntry) string {
			if e.Changes == nil {
				return ""
			}
			changes, err := json.Marshal(e.Changes, json.Deterministic(true))
			if err != nil {
				return ""
			}
			return string(changes)
		}},
		{"id", func(e *identity.AuditEntry) string { return string(e.ID) }},
		{"hash", func(e *identity.AuditEntry) string { return e.Hash }},
	}
}

func auditColumnNames() []string {
	var names []string
	for _, c := range auditColumns() {
		names = append(names, c.name)
	}
	return names
}

// auditLine returns an entry as a line of CSV without the line break.
func auditLine(e *identity.AuditEntry) ([]byte, error) {
	var cells []string
	for _, c := range auditColumns() {
		cells = append(cells, toCell(c.value(e)))
	}
	var line bytes.Buffer
	w := csv.NewWriter(&line)
	if err := w.Write(cells); err != nil {
		return nil, err
	}
	w.Flush()
	return bytes.TrimSuffix(line.Bytes(), []byte("\n")), w.Error()
}

// toCell makes a text safe for a cell of a spreadsheet. Control and invisible characters become
// visible. A text that a spreadsheet would read as a formula gets an apostrophe in front
// (OWASP, "CSV Injection"), also after spaces and in the full-width form of a character.
func toCell(value string) string {
	visible := text.Line(value)
	start := strings.TrimLeft(visible, " \u00a0\u3000")
	if strings.HasPrefix(start, "=") || strings.HasPrefix(start, "+") || strings.HasPrefix(start, "-") || strings.HasPrefix(start, "@") ||
		strings.HasPrefix(start, "＝") || strings.HasPrefix(start, "＋") || strings.HasPrefix(start, "－") || strings.HasPrefix(start, "＠") {
		return "'" + visible
	}
	return visible
}
