package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/internal/cli/markdown"
	"parapet/internal/op"
)

// proseMembers are the members with free text of any length. A page shows them as quotes,
// in this order of importance; the first needs no heading.
var proseMembers = []string{"description", "body", "markdown", "summary", "question", "text", "note", "answer"}

// markdownMembers are the members whose text is Markdown.
var markdownMembers = []string{"description", "body", "markdown", "question", "answer"}

// longValue is the length of a text, in bytes, from which a page shows it as a quote.
const longValue = 200

// text returns the text of a member or computed value. isPage spells out false.
func (r record) text(d *markdown.Doc, name string, isPage bool) string {
	if f := r.values[name]; f != nil {
		return f(d, r.v)
	}
	first, rest, nested := strings.Cut(name, ".")
	v, ok := r.member(first)
	if !ok {
		return ""
	}
	if nested {
		if v = indirect(v); !v.IsValid() {
			return ""
		}
		return newRecord(v).text(d, rest, isPage)
	}
	if id, isID := v.Interface().(op.UUID); isID {
		return r.idText(name, id)
	}
	return valueText(d, v, isPage)
}

// idText returns the name of the record that an id identifies, or the id if it has no
// reference.
func (r record) idText(name string, id op.UUID) string {
	reference, hasReference := r.reference(name)
	switch kind := op.KindOf(name); {
	case !hasReference:
		return string(id)
	case kind == op.KindPerson && r.addresses:
		return personAddress(reference, id)
	case kind == op.KindPerson:
		return personName(reference, id)
	default:
		return recordName(reference, id)
	}
}

// indirect returns what v points to; it is invalid for nil.
func indirect(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

// valueText returns the text of a value: a time in UTC, the items of a list, the title of a
// nested record. It is empty for a value that is absent.
func valueText(d *markdown.Doc, v reflect.Value, isPage bool) string {
	if v = indirect(v); !v.IsValid() {
		return ""
	}
	if at, isTime := v.Interface().(time.Time); isTime {
		if at.IsZero() {
			return ""
		}
		return d.Time(at)
	}
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Bool:
		if isPage && !v.Bool() {
			return "no"
		}
		return yesOrEmpty(v.Bool())
	case reflect.Int, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Float64:
		return formatNumber(v.Float())
	case reflect.Slice:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = valueText(d, v.Index(i), isPage)
		}
		return strings.Join(parts, ", ")
	case reflect.Struct:
		text, _ := newRecord(addressable(v)).titleText(d)
		return text
	default:
		return fmt.Sprint(v.Interface())
	}
}

// addressable returns v, or a copy if v is not addressable.
func addressable(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return v
	}
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return c
}

// writeRecord writes a record as a page: a heading of the given level, its short members
// as fields, long texts as quotes, and nested records below headings of their own.
func writeRecord(d *markdown.Doc, level int, v reflect.Value) {
	r := newRecord(v)
	form := pageForms()[v.Type()]
	if form.write != nil {
		form.write(d, level, v.Addr().Interface())
		return
	}
	title, used := r.titleText(d)
	d.Heading(level, title)
	r.writeFields(d, used)
	if form.after != nil {
		form.after(d, level, v.Addr().Interface())
	}
	r.writeProse(d, level, used)
	for _, m := range r.members {
		if !r.isOmitted(m, used) && isNested(m.v.Type()) && r.values[m.name] == nil && !contains(r.lines, m.name) {
			r.writeNested(d, level+1, m)
		}
	}
}

// writeOne writes a record as a page. v points to the record.
func writeOne(d *markdown.Doc, level int, v any) { writeRecord(d, level, reflect.ValueOf(v).Elem()) }

// isOmitted reports whether a page shows the member elsewhere or not at all.
func (r record) isOmitted(m member, used map[string]bool) bool {
	if used[m.name] || contains(r.omit, m.name) {
		return true
	}
	_, isReference := m.v.Interface().(*op.Reference)
	return isReference
}

// writeFields writes the short members.
func (r record) writeFields(d *markdown.Doc, used map[string]bool) {
	for _, m := range r.members {
		if contains(r.lines, m.name) {
			for i := range m.v.Len() {
				d.Field(r.label(m.name), valueText(d, m.v.Index(i), true))
			}
			continue
		}
		if r.isOmitted(m, used) || (isNested(m.v.Type()) && r.values[m.name] == nil) || slices.Contains(proseMembers, m.name) || r.isDoer(m.name) {
			continue
		}
		text := r.text(d, m.name, true)
		if isLongValue(text) {
			continue
		}
		if by := r.doerOf(d, m.name); by != "" && text != "" {
			text += " by " + by
		}
		d.ColorField(r.label(m.name), markdown.Cell{Text: text, Color: r.color(d, m.name)})
	}
}

// doerOf returns who did what happened at a time: the person in createdBy for createdAt.
func (r record) doerOf(d *markdown.Doc, name string) string {
	stem, isTime := strings.CutSuffix(name, "At")
	if !isTime {
		return ""
	}
	return r.text(d, stem+"By", true)
}

// isDoer reports whether a member is shown with a time, as createdBy with createdAt.
func (r record) isDoer(name string) bool {
	stem, isBy := strings.CutSuffix(name, "By")
	_, hasTime := r.member(stem + "At")
	return isBy && hasTime
}

// isLongValue reports whether a text is shown as a quote.
func isLongValue(text string) bool { return len(text) > longValue || strings.Contains(text, "\n") }

// writeProse writes the long texts. The first one needs no heading.
func (r record) writeProse(d *markdown.Doc, level int, used map[string]bool) {
	isFirst := true
	write := func(name, text string) {
		if text == "" {
			return
		}
		if !isFirst {
			d.Heading(level+1, r.label(name))
		}
		isFirst = false
		if slices.Contains(markdownMembers, name) {
			d.Prose(text)
		} else {
			d.Quote(text)
		}
	}
	for _, name := range proseMembers {
		if v, ok := r.member(name); ok && !used[name] && !contains(r.omit, name) && indirect(v).Kind() == reflect.String {
			write(name, r.text(d, name, true))
		}
	}
	isFirst = false
	for _, m := range r.members {
		if indirect(m.v).Kind() == reflect.String && !slices.Contains(proseMembers, m.name) && !r.isOmitted(m, used) && isLongValue(m.v.String()) {
			write(m.name, r.text(d, m.name, true))
		}
	}
}

// isNested reports whether a page shows a type below a heading of its own: records, lists of
// records, and JSON of any form.
func isNested(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return (t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]()) || t.Kind() == reflect.Map || t.Kind() == reflect.Interface
}

// writeNested writes a nested record, a list of records, or a JSON value.
func (r record) writeNested(d *markdown.Doc, level int, m member) {
	v := indirect(m.v)
	if !v.IsValid() || (v.Kind() != reflect.Struct && v.Len() == 0) {
		return
	}
	switch {
	case v.Kind() == reflect.Struct:
		writeRecord(d, level, addressable(v))
	case v.Kind() == reflect.Slice && isNested(v.Type()):
		d.Heading(level, r.label(m.name))
		writeTable(d, v, "")
	case v.Kind() == reflect.Map && v.Type().Elem().Kind() == reflect.Float64:
		d.Heading(level, r.label(m.name))
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			d.Field(key.String(), valueText(d, v.MapIndex(key), true))
		}
	default:
		quoteJSON(d, level, r.label(m.name), v.Interface())
	}
}

// quoteJSON writes a value as indented JSON below a heading; it omits nil.
func quoteJSON(d *markdown.Doc, level int, heading string, value any) {
	if value == nil {
		return
	}
	text, err := json.Marshal(value, json.Deterministic(true), jsontext.WithIndent("  "))
	if err == nil {
		d.Heading(level, heading)
		d.Quote(string(text))
	}
}

// writeItems writes a list of records as a table.
func writeItems[T any](d *markdown.Doc, items []T, noun string) {
	writeTable(d, reflect.ValueOf(items), noun)
}

// writeTable writes a list of records as a table, or that there are none. noun is what the
// list has, in the plural. It returns the names of the columns that do not fit.
func writeTable(d *markdown.Doc, items reflect.Value, noun string) (omitted []string) {
	if items.Len() == 0 {
		d.Line("No " + noun + ".")
		return nil
	}
	all := columnsOf(items.Type().Elem())
	records := make([]record, items.Len())
	for i := range records {
		records[i] = newRecord(addressable(items.Index(i)))
	}
	var columns []markdown.Column
	rows := make([][]markdown.Cell, len(records))
	hasFlex := false
	for _, c := range all {
		cells, filled := make([]markdown.Cell, len(rows)), false
		for i, r := range records {
			cells[i] = markdown.Cell{Text: r.text(d, c.member, false), Color: r.color(d, c.member)}
			filled = filled || cells[i].Text != ""
		}
		if c.optional && !filled {
			continue
		}
		isFlex := !hasFlex && slices.Contains(flexMembers, c.member)
		hasFlex = hasFlex || isFlex
		columns = append(columns, markdown.Column{Name: c.label, Flex: isFlex, Drop: c.drop})
		for i := range rows {
			rows[i] = append(rows[i], cells[i])
		}
	}
	if !hasFlex {
		columns[0].Flex = true
	}
	return d.Grid(columns, rows)
}

// flexMembers are the members whose column is shortened on a narrow terminal.
var flexMembers = []string{
	"title", "name", "question", "body", "text", "summary", "note", "reason", "label", "task.title", "displayName", "description", "permissions", "options", "record",
}

// column is a column of a table of records.
type column struct {
	member, label string
	// optional columns are omitted if no row has a value.
	optional bool
	// drop is Drop of markdown.Column.
	drop int
}

// columnsOf returns the columns of a table of records of type t.
func columnsOf(t reflect.Type) []column {
	spec := layoutOf(t).columns
	if spec == "" {
		spec = defaultColumns(t)
	}
	r := newRecord(reflect.New(t).Elem())
	var columns []column
	for word := range strings.FieldsSeq(spec) {
		word, optional := strings.CutSuffix(word, "?")
		name, label, _ := strings.Cut(word, "=")
		if label == "" {
			label = r.label(name[strings.LastIndexByte(name, '.')+1:])
		}
		columns = append(columns, column{member: name, label: strings.ReplaceAll(label, "_", " "), optional: optional})
	}
	rankColumns(columns, r.drop)
	return columns
}

// rankColumns sets the ranks in which a narrow terminal leaves columns out: ids first, then
// those that drop lists, then the others from the right. It never leaves out the first column
// and the one that is shortened.
func rankColumns(columns []column, drop string) {
	named := strings.Fields(drop)
	for j := range columns {
		c := &columns[j]
		at := slices.Index(named, c.member)
		switch {
		case j == 0 || slices.Contains(flexMembers, c.member):
		case strings.HasSuffix(c.label, "ID"):
			c.drop = 200 + j
		case at >= 0:
			c.drop = 200 - at
		default:
			c.drop = j
		}
	}
}

// maxDefaultColumns is the maximum number of columns before the id in a table without a
// layout.
const maxDefaultColumns = 6

// defaultColumns returns the columns of a type without a layout: its first short members,
// and the id in the end. The tenant and who last changed a record are on its page.
func defaultColumns(t reflect.Type) string {
	r := newRecord(reflect.New(t).Elem())
	var columns, last []string
	for _, m := range r.members {
		_, isReference := m.v.Interface().(*op.Reference)
		switch {
		case isReference, isNested(m.v.Type()), m.name == "tenantId", m.name == "updatedAt", slices.Contains(proseMembers, m.name), r.isDoer(m.name):
		case m.name == "id":
			last = []string{m.name}
		case len(columns) < maxDefaultColumns:
			columns = append(columns, m.name)
		}
	}
	return strings.Join(append(columns, last...), " ")
}

// writeSummary writes the members of a page of a list besides its items.
func writeSummary(d *markdown.Doc, out reflect.Value) {
	r := newRecord(out)
	for _, m := range r.members {
		if m.name == "items" || m.name == "nextCursor" {
			continue
		}
		if text := r.text(d, m.name, true); text != "" {
			d.Line(r.label(m.name) + ": " + text + ".")
		}
	}
}

// yesOrEmpty returns "yes" for true and "" for false.
func yesOrEmpty(value bool) string {
	if value {
		return "yes"
	}
	return ""
}

func formatNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
