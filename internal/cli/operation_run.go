package cli

import (
	"context"
	"reflect"
	"strconv"
	"strings"

	"parapet/internal/cli/markdown"
	"parapet/internal/cli/text"
	"parapet/internal/client"
	"parapet/internal/op"
)

// pageType returns the type of the items if the operation returns a page of a list, or nil.
func pageType(o *op.Operation) reflect.Type {
	if o.Out.Kind() != reflect.Struct {
		return nil
	}
	items, hasItems := o.Out.FieldByName("Items")
	if _, hasCursor := o.Out.FieldByName("NextCursor"); !hasItems || !hasCursor {
		return nil
	}
	return items.Type.Elem()
}

// isPlainPage reports whether the operation returns an op.Page without further members.
func isPlainPage(o *op.Operation) bool {
	return pageType(o) != nil && len(appendMembers(nil, reflect.New(o.Out).Elem())) == 2
}

// returnsNothing reports whether the output of the operation has no members.
func returnsNothing(o *op.Operation) bool {
	return o.Out.Kind() == reflect.Struct && o.Out.NumField() == 0
}

// dataType returns the type of the data that the command prints with --json.
func (k *call) dataType() reflect.Type {
	switch {
	case returnsNothing(k.op) && k.form.done != nil:
		data, _ := k.form.done(k)
		return reflect.TypeOf(data)
	case returnsNothing(k.op) && k.op.Effect == op.Destroy:
		return reflect.TypeFor[deleteOut]()
	case returnsNothing(k.op):
		return reflect.TypeFor[doneOut]()
	case isPlainPage(k.op):
		return pageType(k.op)
	default:
		return k.op.Out
	}
}

// run executes the operation and prints its output.
func (k *call) run(ctx context.Context, args []string) error {
	c, err := k.prepare(ctx, args)
	if err != nil {
		return err
	}
	if k.isFollowing {
		return k.follow(ctx, c)
	}
	if pageType(k.op) != nil {
		return k.runList(ctx, c)
	}
	out := reflect.New(k.op.Out)
	writeRest := k.startRest(ctx, c)
	if err := k.execute(ctx, c, out.Interface()); err != nil {
		return err
	}
	if returnsNothing(k.op) {
		data, line := k.doneOf()
		return k.inv.show(ctx, view{data: data, markdown: func(d *markdown.Doc) { d.Line(line) }})
	}
	if k.op.Secret {
		k.inv.flags.noPager = true // a pager can keep what it shows
		k.inv.printNote("The token is shown only once. Store it now.")
	}
	return k.inv.show(ctx, view{data: out.Interface(), markdown: func(d *markdown.Doc) {
		k.writePage(d, out)
		writeRest(d)
	}})
}

// startRest starts to fetch what follows the page, and returns the function that waits for it
// and writes it. A failure is a note: the page is complete without it.
func (k *call) startRest(ctx context.Context, c *client.Client) func(*markdown.Doc) {
	if k.form.with == nil || k.inv.wantsJSON() {
		return func(*markdown.Doc) {}
	}
	type result struct {
		write func(*markdown.Doc)
		err   error
	}
	done := make(chan result, 1)
	go func() {
		write, err := k.form.with(ctx, k, c)
		done <- result{write, err}
	}()
	return func(d *markdown.Doc) {
		rest := <-done
		if rest.err != nil {
			k.inv.printNote("The page is not complete: %s", text.Line(rest.err.Error()))
			return
		}
		rest.write(d)
	}
}

func (k *call) writePage(d *markdown.Doc, out reflect.Value) {
	if k.form.page != nil {
		k.form.page(d, out.Interface())
		return
	}
	writeRecord(d, 1, out.Elem())
}

// execute sends the request. An invalid input is a usage error and sends no request.
func (k *call) execute(ctx context.Context, c *client.Client, out any) error {
	if err := k.op.Validate(k.input()); err != nil {
		return k.inputError(err)
	}
	return client.Call(ctx, c, k.op, k.input(), out, k.options()...)
}

// runList executes an operation that returns pages: one page, or all pages with --all.
func (k *call) runList(ctx context.Context, c *client.Client) error {
	out := reflect.New(k.op.Out).Elem()
	items := reflect.MakeSlice(out.FieldByName("Items").Type(), 0, 0)
	isFirst := true
	fetch := func() (string, error) {
		page := reflect.New(k.op.Out)
		if err := k.execute(ctx, c, page.Interface()); err != nil {
			return "", err
		}
		if isFirst {
			out.Set(page.Elem())
			isFirst = false
		}
		items = reflect.AppendSlice(items, page.Elem().FieldByName("Items"))
		return page.Elem().FieldByName("NextCursor").String(), nil
	}
	limit, cursor := pageFields(k.op, k.in)
	next, err := fetchPages(k.all, limit, cursor, fetch)
	if err != nil {
		return err
	}
	out.FieldByName("Items").Set(items)
	out.FieldByName("NextCursor").SetString("")
	v := view{data: items.Interface(), next: next, markdown: func(d *markdown.Doc) {
		omitted := writeTable(d, items, listNoun(k.op))
		writeSummary(d, out)
		k.writeFooter(d, items.Len(), next, omitted)
	}}
	if !isPlainPage(k.op) {
		v.data = out.Addr().Interface()
	}
	if err := k.inv.show(ctx, v); err != nil {
		return err
	}
	if !k.inv.OutTerminal {
		k.inv.printTruncationHint(items.Len(), next)
	}
	return nil
}

// writeFooter writes what stands below a table on a terminal: the number of items, how to
// get more, and which columns do not fit.
func (k *call) writeFooter(d *markdown.Doc, shown int, next string, omitted []string) {
	if shown == 0 || !k.inv.OutTerminal {
		return
	}
	total := countOf(shown, listNoun(k.op))
	switch {
	case next != "":
		d.Footer(total + " shown, and there are more: use --all, or --limit up to " + strconv.Itoa(maxPage) + ".")
	case k.startsAtFirstPage():
		d.Footer(total + ".")
	}
	if len(omitted) > 0 {
		d.Footer("Columns that do not fit: " + strings.Join(omitted, ", ") + ". A wider terminal or --json shows them.")
	}
}

// startsAtFirstPage reports whether the list starts with its first item.
func (k *call) startsAtFirstPage() bool {
	_, cursor := pageFields(k.op, k.in)
	return cursor == nil || *cursor == "" || k.all
}

// countOf formats a number with a noun in the plural: "2 tasks", "1 entry".
func countOf(n int, plural string) string {
	if n == 1 {
		return "1 " + op.Singular(plural)
	}
	return strconv.Itoa(n) + " " + plural
}

// listNoun returns what a list operation lists: "custom fields" for list-custom-fields.
func listNoun(o *op.Operation) string {
	_, noun, _ := strings.Cut(o.Name, "-")
	return strings.ReplaceAll(noun, "-", " ")
}

// deleteOut is the output of a command that deletes a record.
type deleteOut struct {
	// ID is the ID of the record, or the key if the user typed that.
	ID        string  `json:"id"`
	ProjectID op.UUID `json:"projectId,omitempty"`
	Deleted   bool    `json:"deleted"`
}

// doneOut is the output of another operation that returns nothing.
type doneOut struct {
	// ID is the ID of the record, if the operation has one.
	ID   string `json:"id,omitempty"`
	Done bool   `json:"done"`
}

// doneOf returns the output of an operation that returns nothing.
func (k *call) doneOf() (data any, line string) {
	if k.form.done != nil {
		return k.form.done(k)
	}
	var id, name string
	if len(k.args) > 0 {
		last := k.args[len(k.args)-1]
		id, name = last.text(), firstNonEmpty(last.foundName, last.typed)
	}
	if k.op.Effect != op.Destroy {
		return doneOut{ID: id, Done: true}, strings.TrimSuffix(k.op.Summary, ".") + ": done."
	}
	out := deleteOut{ID: id, Deleted: true}
	if k.args[0].kind == hintProject && len(k.args) > 1 {
		out.ProjectID = op.UUID(k.args[0].text())
	}
	verb, noun := actionOf(k.op)
	return out, verb.past() + " the " + noun + " " + name + "."
}

// verb is an English verb, such as delete.
type verb string

// past returns the past tense, with a capital: Deleted. It is right for the regular verbs
// that operations have.
func (v verb) past() string {
	s := strings.ToUpper(string(v[:1])) + string(v[1:])
	return strings.TrimSuffix(s, "e") + "ed"
}

// actionOf splits the name of an operation: delete-custom-field is delete and "custom
// field".
func actionOf(o *op.Operation) (action verb, noun string) {
	first, rest, _ := strings.Cut(o.Name, "-")
	return verb(first), strings.ReplaceAll(rest, "-", " ")
}
