package convert

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parapet/internal/contract/tracker"
)

// githubIssue is an issue as gh issue list --json and the REST API (gh api) print it. The
// names with underscores are those of the API.
type githubIssue struct {
	Number       int            `json:"number"`
	Title        string         `json:"title"`
	Body         string         `json:"body"`
	State        string         `json:"state"`
	Reason       string         `json:"stateReason"`
	ReasonAPI    string         `json:"state_reason"`
	URL          string         `json:"url"`
	HTMLURL      string         `json:"html_url"`
	ParentURL    string         `json:"parent_issue_url"`
	Labels       []githubName   `json:"labels"`
	Assignees    []githubUser   `json:"assignees"`
	Author       githubUser     `json:"author"`
	User         githubUser     `json:"user"`
	Milestone    *githubName    `json:"milestone"`
	Type         *githubName    `json:"type"`
	IssueType    *githubName    `json:"issueType"`
	Comments     githubComments `json:"comments"`
	CreatedAt    *time.Time     `json:"createdAt"`
	ClosedAt     *time.Time     `json:"closedAt"`
	CreatedAtAPI *time.Time     `json:"created_at"`
	ClosedAtAPI  *time.Time     `json:"closed_at"`
	PullRequest  jsontext.Value `json:"pull_request"`
	IsPull       bool           `json:"isPullRequest"`
}

type githubUser struct {
	Login string `json:"login"`
	Name  string `json:"name"`
	Email string `json:"email"`
}

// text returns the name of the user, else the login.
func (u githubUser) text() string {
	if u.Name != "" {
		return u.Name
	}
	return u.Login
}

// githubName is a label, a milestone or an issue type: an object with a name or a title,
// or only the name.
type githubName string

// UnmarshalJSON accepts a string and an object.
func (n *githubName) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		var name string
		err := json.Unmarshal(text, &name)
		*n = githubName(name)
		return err
	}
	var object struct {
		Name  string `json:"name"`
		Title string `json:"title"`
	}
	err := json.Unmarshal(text, &object)
	*n = githubName(object.Name + object.Title)
	return err
}

// githubComments are the comments of an issue. The API gives only their number.
type githubComments []struct {
	Author    githubUser `json:"author"`
	Body      string     `json:"body"`
	CreatedAt *time.Time `json:"createdAt"`
}

// UnmarshalJSON accepts a list and a number.
func (c *githubComments) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] != '[' {
		*c = nil
		return nil
	}
	type list githubComments
	return json.Unmarshal(text, (*list)(c))
}

// readGitHub reads JSON: issues, lists of issues, and lists of lists, as gh api --paginate
// --slurp prints them.
func readGitHub(data []byte) (*File, error) {
	f := &File{}
	lines := &lineCounter{data: data}
	d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	for {
		switch kind := d.PeekKind(); kind {
		case '[', ']':
			if _, err := d.ReadToken(); err != nil {
				return nil, jsonError(lines, d, err)
			}
		default:
			value, err := d.ReadValue()
			if errors.Is(err, io.EOF) {
				return f, nil
			}
			if err != nil {
				return nil, jsonError(lines, d, err)
			}
			f.addIssue(value, lines.at(int(d.InputOffset())-len(value)))
		}
	}
}

func jsonError(lines *lineCounter, d *jsontext.Decoder, err error) error {
	offset := d.InputOffset()
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		offset = syntax.ByteOffset
	}
	return fmt.Errorf("line %d: the file is not valid JSON: %w", lines.at(int(offset)), err)
}

func (f *File) addIssue(value jsontext.Value, line int) {
	var issue githubIssue
	r := Record{Line: line, source: "GitHub"}
	switch err := json.Unmarshal(value, &issue, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); {
	case value.Kind() != '{':
		r.Problem = "the record must be an object with the fields of an issue"
	case err != nil:
		r.Problem = "the record is not an issue as gh prints it"
		var semantic *json.SemanticError
		if errors.As(err, &semantic) && semantic.JSONPointer != "" {
			r.Problem += ": the field " + string(semantic.JSONPointer) + " has another type"
		}
	case issue.isPullRequest():
		f.Skipped++
		return
	case issue.Number <= 0:
		r.Problem = "the issue has no number; export it with gh issue list --json number,title,…"
	case strings.TrimSpace(issue.Title) == "":
		r.Item.ID, r.Problem = issue.id(), "the issue has no title; export it with gh issue list --json number,title,…"
	default:
		issue.convert(&r)
	}
	f.Records = append(f.Records, r)
}

var (
	githubURL    = regexp.MustCompile(`^https?://[^/]+/(?:api/v3/)?(?:repos/)?([^/\s]+/[^/\s]+)/(issues|pull|pulls)/([0-9]+)`)
	priorityName = regexp.MustCompile(`(?i)^(?:priority|prio)\s*[:/ -]\s*(.+)$`)
)

func (i *githubIssue) isPullRequest() bool {
	m := githubURL.FindStringSubmatch(i.address())
	return i.IsPull || (i.PullRequest != nil && i.PullRequest.Kind() != 'n') || (m != nil && m[2] != "issues")
}

// address returns the URL of the issue's page. The API has its own URL in url.
func (i *githubIssue) address() string {
	if i.HTMLURL != "" {
		return i.HTMLURL
	}
	return i.URL
}

// id returns the ID of the item: github:<owner>/<repository>#<number>, or github#<number>
// if the export has no URL.
func (i *githubIssue) id() string {
	if m := githubURL.FindStringSubmatch(i.address()); m != nil && len(m[1]) <= 150 {
		return "github:" + strings.ToLower(oneLine(m[1])) + "#" + strconv.Itoa(i.Number)
	}
	return "github#" + strconv.Itoa(i.Number)
}

func (i *githubIssue) convert(r *Record) {
	r.Item = tracker.ImportItem{
		ID: i.id(), Title: oneLine(i.Title), Description: cleanText(i.Body), Status: "open",
		CreatedAt: firstTime(i.CreatedAt, i.CreatedAtAPI), ClosedAt: firstTime(i.ClosedAt, i.ClosedAtAPI),
	}
	if strings.EqualFold(i.State, "closed") {
		r.Item.Status = "closed"
		switch strings.ToLower(i.Reason + i.ReasonAPI) {
		case "not_planned", "duplicate":
			r.Item.Status, r.Category = "not planned", tracker.CategoryCancelled
		}
	}
	for _, t := range []*githubName{i.Type, i.IssueType} {
		if t != nil {
			r.Item.IssueType = typeOf(string(*t))
		}
	}
	for _, label := range i.Labels {
		r.addLabel(string(label))
		name := strings.ToLower(string(label))
		if m := priorityName.FindStringSubmatch(name); m != nil {
			name = m[1]
		} else if len(name) != 2 {
			// Only p0 to p4 mean a priority without the word.
			name = ""
		}
		if p := parsePriority(name); p != nil && r.Item.Priority == nil {
			r.Item.Priority = p
		}
		if t := typeOf(string(label)); r.Item.IssueType == "" && (t == "bug" || t == "feature" || t == "epic") {
			r.Item.IssueType = t
		}
	}
	for _, a := range i.Assignees {
		r.Assignees = append(r.Assignees, Person{Name: a.text(), Email: a.Email})
	}
	if m := githubURL.FindStringSubmatch(i.ParentURL); m != nil {
		if number, err := strconv.Atoi(m[3]); err == nil {
			r.link("github:"+strings.ToLower(m[1])+"#"+strconv.Itoa(number), tracker.LinkParentChild)
		}
	}
	r.addDetail("GitHub", i.address())
	r.addDetail("Author", i.Author.text()+i.User.text())
	if i.Milestone != nil {
		r.addDetail("Milestone", string(*i.Milestone))
	}
	for _, c := range i.Comments {
		r.comments = append(r.comments, comment{c.Author.text(), formatDate(c.CreatedAt), cleanText(c.Body)})
	}
}

func firstTime(times ...*time.Time) *time.Time {
	for _, t := range times {
		if t != nil {
			return t
		}
	}
	return nil
}

// typeOf returns the type of an item for the name of a type in another tracker. It returns
// an unknown name as it is, in lower case.
func typeOf(name string) string {
	switch name = strings.ToLower(oneLine(name)); name {
	case "task", "sub-task", "subtask":
		return "task"
	case "bug", "defect":
		return "bug"
	case "feature", "enhancement", "story", "user story", "new feature", "improvement":
		return "feature"
	default:
		if runes := []rune(name); len(runes) > 40 {
			return string(runes[:40])
		}
		return name
	}
}
