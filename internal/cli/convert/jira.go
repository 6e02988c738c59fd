package convert

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"parapet/internal/contract/tracker"
)

// header maps the name of a column, in lower case, to its positions. Jira repeats the
// column of a field that has several values.
type header struct {
	names     []string
	positions map[string][]int
	separator rune
}

func (h *header) has(name string) bool { return len(h.positions[name]) > 0 }

// readHeader reads the first row. Jira separates columns with a comma or a semicolon.
func readHeader(data []byte) (*header, error) {
	h := &header{positions: map[string][]int{}, separator: ','}
	first, _, _ := bytes.Cut(data, []byte("\n"))
	if bytes.Count(first, []byte(";")) > bytes.Count(first, []byte(",")) {
		h.separator = ';'
	}
	row, err := newCSVReader(bytes.NewReader(data), h.separator).Read()
	if err != nil {
		return nil, err
	}
	h.names = row
	for i, name := range row {
		name = strings.ToLower(oneLine(name))
		h.positions[name] = append(h.positions[name], i)
	}
	return h, nil
}

func newCSVReader(r io.Reader, separator rune) *csv.Reader {
	c := csv.NewReader(r)
	c.Comma, c.FieldsPerRecord, c.LazyQuotes = separator, -1, true
	return c
}

// row is a row of a CSV file.
type row struct {
	*header
	fields []string
}

// all returns the values of a column that are not empty.
func (r row) all(name string) []string {
	var values []string
	for _, i := range r.positions[name] {
		if i < len(r.fields) && strings.TrimSpace(r.fields[i]) != "" {
			values = append(values, r.fields[i])
		}
	}
	return values
}

// one returns the first value of the first of the columns that has one.
func (r row) one(names ...string) string {
	for _, name := range names {
		if values := r.all(name); len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

// The columns that become fields of the item, and those that say nothing about the work.
// All other columns with a value become text in the description.
var convertedColumns = columnSet(`summary|issue key|issue id|issue type|status|status category|priority|assignee|created|resolved|labels|description|comment|parent|parent key|
	parent id|parent summary|epic link|custom field (epic link)|epic name|custom field (epic name)|epic link summary|assignee id|reporter id|creator id|creator|updated|last viewed|
	project key|project name|project type|project lead|project lead id|project description|project url|votes|watchers|watchers id|work ratio|log work|attachment|security level|
	custom field (rank)|custom field (development)|status category changed|custom field ([chart] date of first response)|custom field ([chart] time in status)`)

func columnSet(list string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.SplitSeq(list, "|") {
		set[strings.TrimSpace(name)] = true
	}
	return set
}

// readJira reads a CSV export of Jira.
func readJira(data []byte) (*File, error) {
	h, err := readHeader(data)
	if err != nil {
		return nil, fmt.Errorf("the file is not a CSV export of Jira: %w", err)
	}
	for _, name := range []string{"Summary", "Issue key"} {
		if !h.has(strings.ToLower(name)) {
			return nil, fmt.Errorf("the CSV file has no column %q; export all fields from Jira", name)
		}
	}
	f := &File{}
	c := newCSVReader(bytes.NewReader(data), h.separator)
	keys := map[string]string{}
	var rows []row
	for first := true; ; first = false {
		fields, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			problem, line := csvProblem(err)
			f.Records = append(f.Records, Record{Line: line, Problem: problem})
			rows = append(rows, row{})
			continue
		}
		if first {
			continue
		}
		line, _ := c.FieldPos(0)
		r := row{h, fields}
		keys[strings.TrimSpace(r.one("issue id"))] = strings.TrimSpace(r.one("issue key"))
		f.Records, rows = append(f.Records, Record{Line: line, source: "Jira"}), append(rows, r)
	}
	delete(keys, "")
	known := map[string]int{}
	for i := range rows {
		if rows[i].header != nil {
			rows[i].convert(&f.Records[i], keys)
			known[f.Records[i].Item.ID] = i
		}
	}
	for i := range rows {
		if rows[i].header != nil && f.Records[i].Problem == "" {
			rows[i].link(f, i, known)
		}
	}
	return f, nil
}

// jiraID returns the ID of the item for the key of an issue.
func jiraID(key string) string { return "jira:" + strings.ToUpper(oneLine(key)) }

func (r row) convert(into *Record, keys map[string]string) {
	key := oneLine(r.one("issue key"))
	switch {
	case key == "":
		into.Problem = "the issue has no key"
		return
	case len(key) > 100:
		into.Problem = "the key of the issue is longer than 100 characters"
		return
	}
	into.Item = tracker.ImportItem{
		ID: jiraID(key), Title: oneLine(r.one("summary")), Description: cleanText(r.one("description")), Status: oneLine(r.one("status")),
		IssueType: typeOf(r.one("issue type")), Priority: parsePriority(r.one("priority")),
	}
	if into.Item.Title == "" {
		into.Problem = "the issue has no summary"
		return
	}
	into.Category = categoryOf(r.one("status category"))
	into.addDetail("Jira", key)
	if p := r.one("priority"); into.Item.Priority == nil {
		into.addDetail("Priority", p)
	}
	into.Item.CreatedAt = into.time("Created", r.one("created"))
	into.Item.ClosedAt = into.time("Resolved", r.one("resolved"))
	for _, name := range r.all("assignee") {
		into.Assignees = append(into.Assignees, personOf(name))
	}
	for _, labels := range r.all("labels") {
		for label := range strings.FieldsSeq(labels) {
			into.addLabel(label)
		}
	}
	for _, text := range r.all("comment") {
		into.comments = append(into.comments, commentOf(text))
	}
	for _, parent := range []string{r.one("parent key"), r.one("parent", "parent id"), r.one("custom field (epic link)", "epic link")} {
		if key := issueKey(parent, keys); key != "" {
			into.link(jiraID(key), tracker.LinkParentChild)
		}
	}
	r.addOtherColumns(into)
}

// issueKey returns the key that a cell contains, for a key or the number of an issue of the
// file, or "".
func issueKey(cell string, keys map[string]string) string {
	cell = strings.TrimSpace(cell)
	if key := keys[cell]; key != "" {
		return key
	}
	project, number, ok := strings.Cut(cell, "-")
	if _, err := strconv.Atoi(number); !ok || err != nil || project == "" || len(cell) > 100 {
		return ""
	}
	return cell
}

// addOtherColumns adds the values of the other columns as text: the sprint, the time
// fields, the custom fields and so on.
func (r row) addOtherColumns(into *Record) {
	seen := map[string]bool{}
	for _, column := range r.names {
		name := strings.ToLower(oneLine(column))
		if name == "" || seen[name] || convertedColumns[name] || isLinkColumn(name) {
			continue
		}
		seen[name] = true
		title := oneLine(column)
		if inner, ok := strings.CutPrefix(title, "Custom field ("); ok {
			title = strings.TrimSuffix(inner, ")")
		}
		values := r.all(name)
		if isDuration(name) {
			for i := range values {
				values[i] = formatSeconds(values[i])
			}
		}
		for i := range values {
			values[i] = oneLine(values[i])
		}
		into.addDetail(title, strings.Join(values, ", "))
	}
}

func isLinkColumn(name string) bool {
	return strings.HasPrefix(name, "inward issue link (") || strings.HasPrefix(name, "outward issue link (")
}

// isDuration reports whether a column has seconds.
func isDuration(name string) bool {
	switch strings.TrimPrefix(strings.TrimPrefix(name, "σ "), "sum ") {
	case "original estimate", "remaining estimate", "time spent":
		return true
	default:
		return false
	}
}

// formatSeconds formats a number of seconds: 5400 is 1h30m.
func formatSeconds(text string) string {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	if err != nil {
		return text
	}
	return strings.TrimSuffix((time.Duration(n) * time.Second).String(), "0s")
}

// link adds the links between issues. An issue that blocks another one becomes a
// dependency of that other one, if the file contains it.
func (r row) link(f *File, at int, known map[string]int) {
	from := &f.Records[at]
	done := map[string]bool{}
	for _, column := range r.names {
		name := strings.ToLower(oneLine(column))
		if done[name] || !isLinkColumn(name) {
			continue
		}
		done[name] = true
		direction, kind, _ := strings.Cut(strings.TrimSuffix(name, ")"), " issue link (")
		for _, cell := range r.all(name) {
			key := issueKey(cell, nil)
			if key == "" {
				from.addDetail("Link ("+kind+")", cell)
				continue
			}
			other, isKnown := known[jiraID(key)]
			switch {
			case kind == "blocks" && direction == "inward":
				from.link(jiraID(key), tracker.LinkBlocks)
			case kind == "blocks" && isKnown && f.Records[other].Problem == "":
				f.Records[other].link(from.Item.ID, tracker.LinkBlocks)
			case kind == "blocks":
				from.addDetail("Blocks", key)
			case direction == "outward" || !isKnown:
				from.link(jiraID(key), linkKind(kind))
			}
		}
	}
}

// linkKind returns the type of a plain link, which has at most 50 characters.
func linkKind(kind string) string {
	kind = strings.ReplaceAll(kind, " ", "-")
	if runes := []rune(kind); len(runes) > 45 {
		kind = string(runes[:45])
	}
	if kind == "" || kind == tracker.LinkParentChild || kind == tracker.LinkBlocks {
		return "jira-" + kind
	}
	return kind
}

// personOf returns the person that a cell names: a name, an account or an address.
func personOf(cell string) Person {
	cell = oneLine(cell)
	if strings.Contains(cell, "@") && !strings.Contains(cell, " ") {
		return Person{Email: cell}
	}
	return Person{Name: cell}
}

// commentOf splits a comment, which Jira exports as date;author;text.
func commentOf(cell string) comment {
	parts := strings.SplitN(cell, ";", 3)
	if len(parts) == 3 && parseTime(parts[0]) != nil {
		return comment{oneLine(parts[1]), formatDate(parseTime(parts[0])), cleanText(parts[2])}
	}
	return comment{text: cleanText(cell)}
}

// categoryOf returns the category of a status for Jira's category.
func categoryOf(name string) string {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "to do", "new":
		return tracker.CategoryTodo
	case "in progress", "indeterminate":
		return tracker.CategoryInProgress
	case "done":
		return tracker.CategoryDone
	default:
		return ""
	}
}

// time parses a time. It keeps a time in an unknown format as text.
func (r *Record) time(name, text string) *time.Time {
	t := parseTime(text)
	if t == nil {
		r.addDetail(name, text)
	}
	return t
}

// parseTime parses a time in one of the formats that Jira uses by default, or returns nil.
// Without a zone it is in UTC, because the export does not say the zone of the user.
func parseTime(text string) *time.Time {
	text = strings.TrimSpace(text)
	for _, format := range []string{
		"02/Jan/06 3:04 PM", "2/Jan/06 3:04 PM", "02/Jan/06 15:04", "02/Jan/2006 3:04 PM", "02/Jan/06", "2006-01-02 15:04", "2006-01-02 15:04:05",
		"2006-01-02T15:04:05.000-0700", time.RFC3339, "02.01.2006 15:04", "02.01.06 15:04", "2006-01-02",
	} {
		if t, err := time.Parse(format, text); err == nil && t.Year() >= 1970 && t.Year() < 10000 {
			return &t
		}
	}
	return nil
}
