package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parapet/internal/cli/convert"
	"parapet/internal/cli/text"
	"parapet/internal/client"
	"parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// The maximum size of a batch, which is one request. Small batches keep the progress
// display responsive and lose little work if a request fails. The service accepts more.
const (
	batchItems = 200
	batchBytes = 4 << 20
)

type importOptions struct {
	inv            *invocation
	format         string
	mapStatus      []string
	createStatuses bool
	// readsStdin reports whether the file is standard input, so pt cannot ask on it.
	readsStdin bool
	writeFlags
}

func newImportCmd(inv *invocation) *cobra.Command {
	o := &importOptions{inv: inv}
	cmd := &cobra.Command{
		Use:   "import <project> <file>",
		Short: "Import work items of another tracker into a project",
		Long: `Import the work items of another tracker into a project, from a file or - for standard
input. pt recognizes the format of the file:

  github  JSON of issues, as gh issue list --json and gh api print it; pull requests
          are skipped
  jira    a CSV export of Jira with all fields
  jsonl   one JSON object per line, as pt export writes it

Import matches records by their ID in the source. You can stop an import and run it
again, also with a newer file: existing tasks are not duplicated, and are updated only if
their record has changed. pt imports the valid records, lists the others by cause and
exits with code 1. Ctrl-C stops the import and prints its results so far.

A status that the project does not have needs a target: --map-status names it, and
--create-statuses adds the status to the project, which requires the permission to change
the project. On a terminal, pt asks. Otherwise, pt uses the category of the status if the
source states it, and rejects the record if not.

A person whose address or name is that of a person of your organisation becomes the
assignee of new tasks. Other people, comments, sprints, time fields and custom fields are
kept as text in the description.

The fields of a line of jsonl (only id and title are required):

  id            the item's ID in the other tracker
  title         up to 500 characters
  description   up to 100,000 characters
  status        open, in_progress, hooked, closed, or a status of the project
  priority      0 (highest) to 4; default 2
  issue_type    task, bug, feature, epic or chore; any other type becomes a task with
                the type as a label
  labels        a list of strings of up to 50 characters
  created_at    a timestamp such as 2027-03-31T17:00:00Z
  closed_at     a timestamp
  dependencies  a list of {"depends_on_id":…,"type":…}; type blocks: the item waits for
                the other item; parent-child: the other item is its parent; other types
                are plain links`,
		Example: `  pt import APOLLO backlog.jsonl --map-status pinned=TODO
  gh api --paginate "repos/acme/rocket/issues?state=all" | pt import APOLLO -
  pt import APOLLO jira.csv --create-statuses`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: inv.completeImport,
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "", "the `format` of the file: "+strings.Join(convert.Formats(), ", ")+" (default: detected)")
	f.StringArrayVar(&o.mapStatus, "map-status", nil, "use the status `FROM=TO` of the project for a status of the file; can be repeated")
	f.BoolVar(&o.createStatuses, "create-statuses", false, "add unknown statuses of the file to the project")
	must(cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(convert.Formats(), cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.RegisterFlagCompletionFunc("map-status", cobra.NoFileCompletions))
	o.bind(cmd)
	return inv.setRun(cmd, reflect.TypeFor[importOut](), o.run)
}

func (o *importOptions) run(ctx context.Context, args []string) error {
	mapping, err := parseStatusMapping(o.mapStatus)
	if err != nil {
		return err
	}
	file, format, err := o.read(args[1])
	if err != nil {
		return err
	}
	c, _, err := o.inv.connect()
	if err != nil {
		return err
	}
	id, err := o.inv.projectID(ctx, c, args[0])
	if err != nil {
		return err
	}
	im := &importer{
		inv: o.inv, client: c, project: id, start: o.inv.Clock.Now(), key: firstNonEmpty(o.key, client.NewID()), total: len(file.Records),
		out: importOut{ProjectID: id, Format: string(format), Skipped: file.Skipped, Lines: len(file.Records), Failures: []failedInput{}},
	}
	if err := im.mapStatuses(ctx, file.Records, mapping, o); err != nil {
		return err
	}
	if err := im.matchPeople(ctx, file.Records); err != nil {
		return err
	}
	runErr := im.run(ctx, file.Records)
	o.inv.clearProgress()
	im.out.Complete = runErr == nil
	slices.SortFunc(im.out.Failures, func(a, b failedInput) int { return a.Line - b.Line })
	im.out.Causes = causesOf(im.out.Failures)
	im.out.Seconds = math.Round(o.inv.Clock.Now().Sub(im.start).Seconds()*100) / 100
	im.printFailures()
	// Print the results even if the context has ended.
	if err := o.inv.show(context.WithoutCancel(ctx), view{data: im.out, markdown: im.out.markdown}); err != nil {
		return err
	}
	if runErr == nil && im.out.Failed > 0 {
		return errReported
	}
	return runErr
}

// read reads the file. It returns a usage error if the whole file is unreadable.
func (o *importOptions) read(name string) (*convert.File, convert.Format, error) {
	var data []byte
	var err error
	if o.readsStdin = name == "-"; o.readsStdin {
		data, err = io.ReadAll(o.inv.In)
	} else {
		data, err = os.ReadFile(name) //nolint:gosec // the user chooses the file
	}
	if err != nil {
		return nil, "", usage(err)
	}
	format := convert.Format(strings.ToLower(o.format))
	if format == "" {
		format = convert.Detect(data)
	}
	file, err := convert.Read(format, data)
	if err != nil {
		return nil, "", usagef("%s: %w", text.Line(name), err)
	}
	return file, format, nil
}

// importer sends the items of a file in batches.
type importer struct {
	inv     *invocation
	client  *client.Client
	project op.UUID
	// key is the prefix of the idempotency keys of the batches.
	key     string
	batches int
	// people are the IDs of the people to assign, by lower-case address or name.
	people map[string]op.UUID
	// total is the number of records, and done the number of those that were sent.
	total, done  int
	start        time.Time
	lastProgress time.Time
	out          importOut
}

// run sends the records that have a valid item.
func (im *importer) run(ctx context.Context, records []convert.Record) error {
	var batch []*convert.Record
	bytes := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := im.send(ctx, batch)
		im.done += len(batch)
		batch, bytes = batch[:0], 0
		im.showProgress()
		return err
	}
	for i := range records {
		r := &records[i]
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if r.Problem != "" {
			im.done++
			im.addFailure(r.Line, r.Item.ID, r.Problem)
			continue
		}
		batch, bytes = append(batch, r), bytes+len(r.Item.Description)
		if len(batch) == batchItems || bytes >= batchBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// send sends a batch. If the service rejects the batch for its content, send splits it
// until it finds the invalid items.
func (im *importer) send(ctx context.Context, batch []*convert.Record) error {
	in := &tracker.ImportItemsIn{ProjectID: im.project, Items: make([]tracker.ImportItem, 0, len(batch))}
	for _, r := range batch {
		in.Items = append(in.Items, r.Item)
	}
	im.batches++
	// The key makes it safe to repeat the batch if the response was lost.
	out, err := client.Do(ctx, im.client, tracker.ImportItems, in, client.WithIdempotencyKey(fmt.Sprintf("%s-%d", im.key, im.batches)))
	var f *fault.Error
	if errors.As(err, &f) && (f.Code == fault.CodeValidation || f.Code == fault.CodePayloadTooLarge) {
		if len(batch) == 1 {
			im.addFailure(batch[0].Line, batch[0].Item.ID, f.Message)
			return nil
		}
		half := len(batch) / 2
		if err := im.send(ctx, batch[:half]); err != nil {
			return err
		}
		return im.send(ctx, batch[half:])
	}
	if err != nil {
		return err
	}
	im.out.Created += out.Created
	im.out.Updated += out.Updated
	im.out.Unchanged += out.Unchanged
	im.out.Linked += out.Linked
	im.out.SubTasks += out.SubTasks
	im.out.Dependencies += out.Waiting
	for _, result := range out.Results {
		if result.Index < 0 || result.Index >= len(batch) {
			continue
		}
		if err := im.addResult(ctx, batch[result.Index], &result); err != nil {
			return err
		}
	}
	return nil
}

// addResult counts what became of a record, and assigns a new task.
func (im *importer) addResult(ctx context.Context, r *convert.Record, result *tracker.ImportResult) error {
	switch result.Outcome {
	case tracker.OutcomeFailed:
		im.addFailure(r.Line, r.Item.ID, result.Reason)
		return nil
	case tracker.OutcomeUnchanged:
		return nil
	}
	for _, d := range r.Item.Dependencies {
		if d.Type != tracker.LinkBlocks && d.Type != tracker.LinkParentChild {
			im.out.Links++
		}
	}
	if result.Outcome == tracker.OutcomeCreated {
		return im.assign(ctx, r, result.TaskID)
	}
	return nil
}

// addFailure records a record that was not imported.
func (im *importer) addFailure(line int, id, reason string) {
	im.out.Failed++
	im.out.Failures = append(im.out.Failures, failedInput{line, id, reason})
}

// printFailures prints the first lines of each cause, unless the output is JSON.
func (im *importer) printFailures() {
	if im.inv.wantsJSON() {
		return
	}
	printed := map[string]int{}
	for _, f := range im.out.Failures {
		if printed[f.Reason]++; printed[f.Reason] > maxLinesOfCause {
			continue
		}
		id := f.ID
		if id != "" {
			id = " (" + id + ")"
		}
		im.inv.printNote("line %d%s: %s", f.Line, text.Line(text.Cut(id, 200)), text.Line(f.Reason))
	}
}

// showProgress prints the progress to a terminal, at most ten times per second.
func (im *importer) showProgress() {
	now := im.inv.Clock.Now()
	if now.Sub(im.lastProgress) < 100*time.Millisecond {
		return
	}
	im.lastProgress = now
	im.inv.showProgress("%d of %d items, %d failed", im.done, im.total, im.out.Failed)
}
