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
	"time"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
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
	inv *invocation
	writeFlags
}

func newImportCmd(inv *invocation) *cobra.Command {
	o := &importOptions{inv: inv}
	cmd := &cobra.Command{
		Use:   "import <project> <file.jsonl>",
		Short: "Import work items of another tracker into a project",
		Long: `Import work items of another tracker into a project, from a file with one JSON object
per line (- for standard input). Only id and title are required:

  id            the item's ID in the other tracker; import matches items by it
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
                are plain links

You can stop an import and run it again: existing items are not duplicated, and are
updated only if their line has changed. If a line is invalid, pt reports its number,
imports the other lines and exits with code 1. Ctrl-C stops the import and prints its
results so far.`,
		Example: `  pt import APOLLO backlog.jsonl
  jq -c 'select(.status != "closed")' backlog.jsonl | pt import APOLLO -`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: inv.completeImport,
	}
	o.bind(cmd)
	return inv.setRun(cmd, reflect.TypeFor[importOut](), o.run)
}

// importOut is the output of pt import.
type importOut struct {
	ProjectID op.UUID       `json:"projectId"`
	Lines     int           `json:"lines"`
	Created   int           `json:"created"`
	Updated   int           `json:"updated"`
	Unchanged int           `json:"unchanged"`
	Failed    int           `json:"failed"`
	Linked    int           `json:"linked"`
	Seconds   float64       `json:"seconds"`
	Complete  bool          `json:"complete"`
	Failures  []failedInput `json:"failures"`
}

// failedInput is a line that was not imported.
type failedInput struct {
	Line   int    `json:"line"`
	ID     string `json:"id,omitempty"`
	Reason string `json:"reason"`
}

func (o *importOptions) run(ctx context.Context, args []string) error {
	file, size, err := o.open(args[1])
	if err != nil {
		return err
	}
	defer file.Close()
	c, _, err := o.inv.connect()
	if err != nil {
		return err
	}
	id, err := o.inv.projectID(ctx, c, args[0])
	if err != nil {
		return err
	}
	im := &importer{
		inv: o.inv, client: c, project: id, size: size, start: o.inv.Clock.Now(), key: firstNonEmpty(o.key, client.NewID()),
		out: importOut{ProjectID: id, Failures: []failedInput{}},
	}
	runErr := im.run(ctx, file)
	o.inv.clearProgress()
	im.out.Complete = runErr == nil
	slices.SortFunc(im.out.Failures, func(a, b failedInput) int { return a.Line - b.Line })
	im.out.Seconds = math.Round(o.inv.Clock.Now().Sub(im.start).Seconds()*100) / 100
	// Print the results even if the context has ended.
	if err := o.inv.show(context.WithoutCancel(ctx), view{data: im.out, markdown: im.out.markdown}); err != nil {
		return err
	}
	if runErr == nil && im.out.Failed > 0 {
		return errReported
	}
	return runErr
}

// open opens the file and returns its size, or 0 if the size is unknown.
func (o *importOptions) open(name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(o.inv.In), 0, nil
	}
	f, err := os.Open(name) //nolint:gosec // the user chooses the file
	if err != nil {
		return nil, 0, usage(err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	if info.IsDir() {
		return nil, 0, errors.Join(usagef("%s is a directory; name a file", name), f.Close())
	}
	return f, info.Size(), nil
}

func (out *importOut) markdown(d *markdown.Doc) {
	title := "Import"
	if !out.Complete {
		title = "Import (incomplete; run the command again to continue)"
	}
	d.Heading(1, title)
	for _, f := range []struct {
		name string
		n    int
	}{
		{"Lines", out.Lines}, {"Created", out.Created}, {"Updated", out.Updated}, {"Unchanged", out.Unchanged},
		{"Failed", out.Failed}, {"Linked to an epic or parent", out.Linked},
	} {
		d.Field(f.name, fmt.Sprint(f.n))
	}
	d.Field("Seconds", fmt.Sprintf("%.2f", out.Seconds))
}

// importer sends the items of a file in batches.
type importer struct {
	inv     *invocation
	client  *client.Client
	project op.UUID
	// key is the prefix of the idempotency keys of the batches.
	key     string
	batches int
	// size and read are the size of the file and the number of bytes that were read.
	size         int64
	read         int64
	start        time.Time
	lastProgress time.Time
	out          importOut
}

func (im *importer) run(ctx context.Context, r io.Reader) error {
	lines := newItemReader(r)
	var batch []numberedItem
	bytes := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := im.send(ctx, batch)
		batch, bytes = batch[:0], 0
		im.read = lines.bytes
		im.showProgress()
		return err
	}
	for {
		item, problem, err := lines.next()
		if errors.Is(err, io.EOF) {
			return flush()
		}
		if err != nil {
			return errors.Join(flush(), err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		im.out.Lines++
		if problem != "" {
			im.addFailure(item.line, item.item.ID, problem)
			continue
		}
		batch, bytes = append(batch, item), bytes+item.bytes
		if len(batch) == batchItems || bytes >= batchBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
}

// send sends a batch. If the service rejects the batch for its content, send splits it
// until it finds the invalid items.
func (im *importer) send(ctx context.Context, batch []numberedItem) error {
	in := &tracker.ImportItemsIn{ProjectID: im.project, Items: make([]tracker.ImportItem, 0, len(batch))}
	for _, b := range batch {
		in.Items = append(in.Items, b.item)
	}
	im.batches++
	// The key makes it safe to repeat the batch if the response was lost.
	out, err := client.Do(ctx, im.client, tracker.ImportItems, in, client.WithIdempotencyKey(fmt.Sprintf("%s-%d", im.key, im.batches)))
	var f *fault.Error
	if errors.As(err, &f) && (f.Code == fault.CodeValidation || f.Code == fault.CodePayloadTooLarge) {
		if len(batch) == 1 {
			im.addFailure(batch[0].line, batch[0].item.ID, f.Message)
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
	for _, r := range out.Results {
		if r.Outcome == tracker.OutcomeFailed && r.Index >= 0 && r.Index < len(batch) {
			im.addFailure(batch[r.Index].line, batch[r.Index].item.ID, r.Reason)
		}
	}
	return nil
}

// addFailure records a line that was not imported, and prints it unless the output is
// JSON.
func (im *importer) addFailure(line int, id, reason string) {
	im.out.Failed++
	im.out.Failures = append(im.out.Failures, failedInput{line, id, reason})
	if im.inv.wantsJSON() {
		return
	}
	im.inv.clearProgress()
	if id != "" {
		id = " (" + id + ")"
	}
	im.inv.printNote("line %d%s: %s", line, text.Line(text.Cut(id, 200)), text.Line(reason))
}

// showProgress prints the progress to a terminal, at most ten times per second.
func (im *importer) showProgress() {
	now := im.inv.Clock.Now()
	if now.Sub(im.lastProgress) < 100*time.Millisecond {
		return
	}
	im.lastProgress = now
	percent := ""
	if im.size > 0 {
		percent = fmt.Sprintf(" (%d %%)", min(100*im.read/im.size, 100))
	}
	done := im.out.Created + im.out.Updated + im.out.Unchanged
	im.inv.showProgress("%d items%s, %d failed", done, percent, im.out.Failed)
}
