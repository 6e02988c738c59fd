package cli

import (
	"fmt"
	"slices"
	"strings"

	"parapet/internal/cli/markdown"
	"parapet/internal/op"
)

// importOut is the output of pt import.
type importOut struct {
	ProjectID op.UUID `json:"projectId"`
	Format    string  `json:"format"`
	Lines     int     `json:"lines"`
	Created   int     `json:"created"`
	Updated   int     `json:"updated"`
	Unchanged int     `json:"unchanged"`
	Failed    int     `json:"failed"`
	// Skipped is the number of pull requests.
	Skipped int `json:"skipped"`
	// Linked is the number of tasks that got an epic or a parent; SubTasks are those with
	// a parent.
	Linked   int `json:"linked"`
	SubTasks int `json:"subTasks"`
	// Dependencies are the new dependencies between tasks, Links the other links of new and
	// changed items.
	Dependencies int             `json:"dependencies"`
	Links        int             `json:"links"`
	Assigned     int             `json:"assigned"`
	Seconds      float64         `json:"seconds"`
	Complete     bool            `json:"complete"`
	Statuses     []mappedStatus  `json:"statuses,omitempty"`
	People       []unknownPerson `json:"unknownPeople,omitempty"`
	Causes       []failureCause  `json:"causes,omitempty"`
	Failures     []failedInput   `json:"failures"`
}

// mappedStatus is a status of the file that has another name in the project.
type mappedStatus struct {
	From    string `json:"from"`
	To      string `json:"to"`
	Items   int    `json:"items"`
	Created bool   `json:"created"`
}

// unknownPerson is a person of the file who could not be assigned.
type unknownPerson struct {
	Name  string `json:"name"`
	Items int    `json:"items"`
}

// failedInput is a record that was not imported.
type failedInput struct {
	Line   int    `json:"line"`
	ID     string `json:"id,omitempty"`
	Reason string `json:"reason"`
}

// failureCause is a reason for which records were not imported, with the first lines.
type failureCause struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
	Lines  []int  `json:"lines"`
}

// The maximum number of lines that the summary names for a cause, and of causes and people
// that the page lists. The JSON contains all causes and people.
const (
	maxLinesOfCause = 5
	maxSummaryRows  = 20
)

// causesOf groups failures by their reason, the most frequent first.
func causesOf(failures []failedInput) []failureCause {
	index := map[string]int{}
	var causes []failureCause
	for _, f := range failures {
		i, ok := index[f.Reason]
		if !ok {
			i = len(causes)
			index[f.Reason] = i
			causes = append(causes, failureCause{Reason: f.Reason})
		}
		c := &causes[i]
		if c.Count++; len(c.Lines) < maxLinesOfCause {
			c.Lines = append(c.Lines, f.Line)
		}
	}
	slices.SortStableFunc(causes, func(a, b failureCause) int { return b.Count - a.Count })
	return causes
}

func (out *importOut) markdown(d *markdown.Doc) {
	title := "Import"
	if !out.Complete {
		title = "Import (incomplete; run the command again to continue)"
	}
	d.Heading(1, title)
	for _, f := range []struct {
		name       string
		n          int
		isOptional bool
	}{
		{"Lines", out.Lines, false},
		{"Created", out.Created, false},
		{"Updated", out.Updated, false},
		{"Unchanged", out.Unchanged, false},
		{"Failed", out.Failed, false},
		{"Pull requests skipped", out.Skipped, true},
		{"Linked to an epic or parent", out.Linked, false},
		{"Sub-tasks", out.SubTasks, false},
		{"Dependencies", out.Dependencies, false},
		{"Other links", out.Links, false},
		{"Assigned", out.Assigned, true},
	} {
		if f.n > 0 || !f.isOptional {
			d.Field(f.name, fmt.Sprint(f.n))
		}
	}
	d.Field("Seconds", fmt.Sprintf("%.2f", out.Seconds))
	if len(out.Statuses) > 0 {
		d.Heading(2, "Statuses")
		for _, s := range out.Statuses {
			note := ""
			if s.Created {
				note = ", created"
			}
			d.Field(s.From, fmt.Sprintf("%s (%s%s)", s.To, countOf(s.Items, "items"), note))
		}
	}
	if len(out.People) > 0 {
		d.Heading(2, "People who are not assigned")
		for _, p := range out.People[:min(len(out.People), maxSummaryRows)] {
			d.Field(p.Name, countOf(p.Items, "items"))
		}
		writeMore(d, len(out.People))
	}
	if len(out.Causes) > 0 {
		d.Heading(2, "Failed lines by cause")
		for _, c := range out.Causes[:min(len(out.Causes), maxSummaryRows)] {
			lines := strings.Trim(strings.ReplaceAll(fmt.Sprint(c.Lines), " ", ", "), "[]")
			if c.Count > len(c.Lines) {
				lines += ", …"
			}
			noun := "line "
			if c.Count > 1 {
				noun = "lines "
			}
			d.Field(c.Reason, fmt.Sprintf("%d (%s%s)", c.Count, noun, lines))
		}
		writeMore(d, len(out.Causes))
	}
}

// writeMore writes how many rows the page omits.
func writeMore(d *markdown.Doc, n int) {
	if n > maxSummaryRows {
		d.Line(fmt.Sprintf("%d more; --json lists all.", n-maxSummaryRows))
	}
}
