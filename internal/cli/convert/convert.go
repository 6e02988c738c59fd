// Package convert reads the exports of other trackers as import items: issues of GitHub,
// and CSV files of Jira. It reads the JSON Lines of pt export too.
//
// The same record of a source always becomes an item with the same id, so importing a
// newer export updates the tasks of an earlier one. What an item has no field for, such
// as comments, is kept as text in its description.
package convert

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/internal/contract/tracker"
)

// Format is the format of a file.
type Format string

// The formats.
const (
	JSONL  Format = "jsonl"
	GitHub Format = "github"
	Jira   Format = "jira"
)

// Formats returns the names of the formats.
func Formats() []string { return []string{string(JSONL), string(GitHub), string(Jira)} }

// Person is a person of the source. Either field can be empty.
type Person struct{ Name, Email string }

// Text returns the name of the person, else the address.
func (p Person) Text() string {
	if p.Name != "" {
		return p.Name
	}
	return p.Email
}

// Record is one record of a file.
type Record struct {
	// Line is the line on which the record starts, from 1.
	Line int
	Item tracker.ImportItem
	// Problem says why the record has no valid item; "" if it has one.
	Problem string
	// Category is the category of the item's status, if the source states it.
	Category string
	// Assignees are the people to whom the source has assigned the record.
	Assignees []Person

	source   string
	details  []string
	comments []comment
}

type comment struct{ author, date, text string }

// File is the content of a file.
type File struct {
	Records []Record
	// Skipped is the number of pull requests, which are not imported.
	Skipped int
}

// maxDescription is the maximum length of an item's description in characters.
const maxDescription = 100_000

// The maximum number of labels of an item, and their maximum length in characters.
const (
	maxLabels = 40
	maxLabel  = 50
)

// Detect returns the format of a file.
func Detect(data []byte) Format {
	data = trimBOM(data)
	switch start := bytes.TrimSpace(data); {
	case len(start) == 0:
		return JSONL
	case start[0] == '[':
		return GitHub
	case start[0] == '{':
		if hasMember(start, "number") {
			return GitHub
		}
		return JSONL
	}
	if header, err := readHeader(data); err == nil && header.has("summary") {
		return Jira
	}
	return JSONL
}

// hasMember reports whether data starts with a JSON object that has the member.
func hasMember(data []byte, name string) bool {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '{' {
		return false
	}
	for d.PeekKind() == '"' {
		tok, err := d.ReadToken()
		if err != nil {
			return false
		}
		if tok.String() == name {
			return true
		}
		if d.SkipValue() != nil {
			return false
		}
	}
	return false
}

// Read reads a file. Its error says why the whole file is unreadable; the problem of a
// single record is in its Problem.
func Read(format Format, data []byte) (*File, error) {
	data = trimBOM(data)
	switch format {
	case GitHub:
		return readGitHub(data)
	case Jira:
		return readJira(data)
	case JSONL:
		return readLines(data), nil
	default:
		return nil, fmt.Errorf("unknown format %q; allowed: %s", format, strings.Join(Formats(), ", "))
	}
}

func trimBOM(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\ufeff")) }

// Complete adds the text to the description that no field of the item can contain.
// unassigned are those of the assignees who cannot be assigned.
func (r *Record) Complete(unassigned []Person) {
	var details []string
	for _, p := range unassigned {
		details = append(details, "Assigned in "+r.source+" to "+oneLine(p.Text()))
	}
	details = append(details, r.details...)
	var b strings.Builder
	b.WriteString(r.Item.Description)
	separate := func(text string) {
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(text)
	}
	if len(details) > 0 {
		if b.Len() > 0 {
			separate("---")
		}
		separate("- " + strings.Join(details, "\n- "))
	}
	if len(r.comments) > 0 {
		separate("## Comments in " + r.source)
		for _, c := range r.comments {
			if by := strings.Trim(oneLine(c.author)+", "+c.date, ", "); by != "" {
				separate("**" + by + "**")
			}
			separate(c.text)
		}
	}
	r.Item.Description = truncate(b.String())
}

// truncate cuts a description that is too long.
func truncate(text string) string {
	if utf8.RuneCountInString(text) <= maxDescription {
		return text
	}
	const note = "\n\n(The rest of the text was too long for the import.)"
	runes := []rune(text)
	return string(runes[:maxDescription-len(note)]) + note
}

// addDetail adds a line with a value that is not empty.
func (r *Record) addDetail(name, value string) {
	if value = oneLine(value); value != "" {
		r.details = append(r.details, name+": "+value)
	}
}

// addLabel adds a label. A label that a task cannot have becomes text.
func (r *Record) addLabel(label string) {
	label = oneLine(label)
	switch {
	case label == "" || slices.Contains(r.Item.Labels, label):
	case utf8.RuneCountInString(label) > maxLabel || len(r.Item.Labels) == maxLabels:
		r.addDetail("Label", label)
	default:
		r.Item.Labels = append(r.Item.Labels, label)
	}
}

// link adds a dependency unless the item has it or it leads to the item itself.
func (r *Record) link(id, kind string) {
	d := tracker.ImportDependency{DependsOnID: id, Type: kind}
	if id != r.Item.ID && !slices.Contains(r.Item.Dependencies, d) {
		r.Item.Dependencies = append(r.Item.Dependencies, d)
	}
}

// cleanText returns a text as the service accepts it: valid UTF-8 without NUL, with \n as
// line end.
func cleanText(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\r\n", "\n")
	return strings.TrimSpace(strings.ReplaceAll(text, "\x00", ""))
}

// oneLine returns a text without control characters and repeated space.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || (r >= 0x7f && r < 0xa0) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	return strings.Join(strings.Fields(text), " ")
}

// parsePriority returns the priority for its usual names, or nil.
func parsePriority(name string) *int {
	levels := [][]string{
		{"highest", "blocker", "critical", "urgent", "p0"},
		{"high", "major", "p1"},
		{"medium", "normal", "p2"},
		{"low", "minor", "p3"},
		{"lowest", "trivial", "p4"},
	}
	for n, names := range levels {
		if slices.Contains(names, strings.ToLower(strings.TrimSpace(name))) {
			return &n
		}
	}
	return nil
}

// formatDate formats the time of a comment.
func formatDate(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// csvProblem returns the text and the line of an error in a CSV file. It returns 0 for
// an error that ends the file.
func csvProblem(err error) (problem string, line int) {
	var p *csv.ParseError
	if !errors.As(err, &p) {
		return "", 0
	}
	return "the CSV is malformed: " + p.Err.Error(), p.StartLine
}

// lineCounter converts increasing offsets of a text to lines, from 1.
type lineCounter struct {
	data         []byte
	offset, line int
}

func (l *lineCounter) at(offset int) int {
	offset = min(max(offset, l.offset), len(l.data))
	l.line += bytes.Count(l.data[l.offset:offset], []byte("\n"))
	l.offset = offset
	return l.line + 1
}
