package convert

import (
	"encoding/csv"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"parapet/internal/contract/tracker"
)

// read reads a file in its detected format and completes its records as if no person were
// known.
func read(t *testing.T, want Format, data string) *File {
	t.Helper()
	format := Detect([]byte(data))
	if format != want {
		t.Fatalf("format: got %s, want %s", format, want)
	}
	f, err := Read(format, []byte(data))
	if err != nil {
		t.Fatalf("read: got %v, want a file", err)
	}
	for i := range f.Records {
		f.Records[i].Complete(f.Records[i].Assignees)
	}
	return f
}

// encode returns the records as JSON, one in each line, with the line of the file.
func encode(t *testing.T, f *File) string {
	t.Helper()
	var b strings.Builder
	for _, r := range f.Records {
		text, err := json.Marshal(r.Item, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%d %s %s%s\n", r.Line, text, r.Category, r.Problem)
	}
	return b.String()
}

const ghList = `[
  {"number":7,"title":"Crash\u0007 on start","body":"It crashes.\r\n\r\nAlways.","state":"OPEN","url":"https://github.com/Acme/Rocket/issues/7",
   "labels":[{"name":"bug"},{"name":"priority: high"},{"name":"` + "0123456789012345678901234567890123456789012345678901" + `"}],
   "assignees":[{"login":"lin","name":"Lin Chen"},{"login":"bob","name":""}],"author":{"login":"ada"},"milestone":{"title":"1.0"},
   "createdAt":"2026-01-02T03:04:05Z","comments":[{"author":{"login":"bob"},"body":"Same here.","createdAt":"2026-01-03T00:00:00Z"}]},
  {"number":8,"title":"Won't do","state":"CLOSED","stateReason":"NOT_PLANNED","closedAt":"2026-02-01T00:00:00Z","url":"https://github.com/Acme/Rocket/issues/8"},
  {"number":9,"title":"A pull request","state":"OPEN","url":"https://github.com/Acme/Rocket/pull/9"},
  {"title":"No number"},
  {"number":"x","title":"Wrong type"},
  7
]`

func TestGitHub_ConvertsIssueList(t *testing.T) {
	t.Parallel()
	f := read(t, GitHub, ghList)
	want := `2 {"id":"github:acme/rocket#7","title":"Crash on start","description":"It crashes.\n\nAlways.\n\n---\n\n- Assigned in GitHub to Lin Chen\n- Assigned in GitHub to bob\n- Label: 0123456789012345678901234567890123456789012345678901\n- GitHub: https://github.com/Acme/Rocket/issues/7\n- Author: ada\n- Milestone: 1.0\n\n## Comments in GitHub\n\n**bob, 2026-01-03 00:00**\n\nSame here.","status":"open","priority":1,"issue_type":"bug","labels":["bug","priority: high"],"created_at":"2026-01-02T03:04:05Z"} 
6 {"id":"github:acme/rocket#8","title":"Won't do","description":"- GitHub: https://github.com/Acme/Rocket/issues/8","status":"not planned","closed_at":"2026-02-01T00:00:00Z"} CANCELLED
8 {"id":"","title":""} the issue has no number; export it with gh issue list --json number,title,…
9 {"id":"","title":""} the record is not an issue as gh prints it: the field /number has another type
10 {"id":"","title":""} the record must be an object with the fields of an issue
`
	if got := encode(t, f); got != want || f.Skipped != 1 {
		t.Errorf("got %d skipped and\n%s\nwant 1 skipped and\n%s", f.Skipped, got, want)
	}
}

func TestGitHub_APIAndListGiveSameID(t *testing.T) {
	t.Parallel()
	const api = `{"url":"https://api.github.com/repos/Acme/Rocket/issues/7","html_url":"https://github.com/Acme/Rocket/issues/7","id":99,"number":7,"title":"Crash","state":"closed",
"state_reason":"completed","labels":["p0",{"name":"x"}],"user":{"login":"ada"},"comments":3,"milestone":null,"type":{"name":"Feature"},"created_at":"2026-01-02T03:04:05Z",
"parent_issue_url":"https://api.github.com/repos/Acme/Rocket/issues/3"}
{"number":10,"title":"PR","pull_request":{"url":"x"}}`
	want := `1 {"id":"github:acme/rocket#7","title":"Crash","description":"- GitHub: https://github.com/Acme/Rocket/issues/7\n- Author: ada","status":"closed","priority":0,"issue_type":"feature","labels":["p0","x"],"created_at":"2026-01-02T03:04:05Z","dependencies":[{"depends_on_id":"github:acme/rocket#3","type":"parent-child"}]} 
`
	for name, data := range map[string]string{"stream of objects": api, "pages": "[[" + strings.Replace(api, "}\n{", "},\n{", 1) + "]]", "with a BOM": "\ufeff" + api} {
		f := read(t, GitHub, data)
		if got := encode(t, f); got != want || f.Skipped != 1 {
			t.Errorf("%s: got %d skipped and\n%s\nwant 1 skipped and\n%s", name, f.Skipped, got, want)
		}
	}
}

const jiraCSV = `Summary,Issue key,Issue id,Issue Type,Status,Status Category,Priority,Assignee,Reporter,Created,Resolved,Labels,Labels,Description,Comment,Comment,Parent,Sprint,Sprint,Original Estimate,Custom field (Story Points),Custom field (Epic Link),Outward issue link (Blocks),Inward issue link (Blocks),Outward issue link (Relates),Inward issue link (Relates),Due date
Launch,HW-1,1001,Epic,In Progress,In Progress,Highest,,Ada,02/Jan/26 3:04 PM,,,,,,,,,,,,,,,,,
"Build, then ""test""",HW-2,1002,Story,Selected,To Do,Odd,lin@acme.example,Ada,2026-01-02 15:04,someday,one,two,"Line 1
Line 2","03/Jan/26 1:00 PM;bob;First
second",plain text,,Sprint 1,Sprint 2,5400,3.0,HW-1,HW-3,HW-9,HW-3,,31/Jan/26
Weld,HW-3,1003,Sub-task,Done,Done,Low,Bob,,,03/Jan/26 3:04 PM,,,,,,1002,,,,,,HW-77,,,HW-2,
,HW-4
No key,,
`

func TestJira_ConvertsCSVWithRepeatedColumns(t *testing.T) {
	t.Parallel()
	want := `2 {"id":"jira:HW-1","title":"Launch","description":"- Jira: HW-1\n- Reporter: Ada","status":"In Progress","priority":0,"issue_type":"epic","created_at":"2026-01-02T15:04:00Z"} IN_PROGRESS
3 {"id":"jira:HW-2","title":"Build, then \"test\"","description":"Line 1\nLine 2\n\n---\n\n- Assigned in Jira to lin@acme.example\n- Jira: HW-2\n- Priority: Odd\n- Resolved: someday\n- Reporter: Ada\n- Sprint: Sprint 1, Sprint 2\n- Original Estimate: 1h30m\n- Story Points: 3.0\n- Due date: 31/Jan/26\n\n## Comments in Jira\n\n**bob, 2026-01-03 13:00**\n\nFirst\nsecond\n\nplain text","status":"Selected","issue_type":"feature","labels":["one","two"],"created_at":"2026-01-02T15:04:00Z","dependencies":[{"depends_on_id":"jira:HW-1","type":"parent-child"},{"depends_on_id":"jira:HW-9","type":"blocks"},{"depends_on_id":"jira:HW-3","type":"relates"}]} TODO
6 {"id":"jira:HW-3","title":"Weld","description":"- Assigned in Jira to Bob\n- Jira: HW-3\n- Blocks: HW-77","status":"Done","priority":3,"issue_type":"task","closed_at":"2026-01-03T15:04:00Z","dependencies":[{"depends_on_id":"jira:HW-2","type":"parent-child"},{"depends_on_id":"jira:HW-2","type":"blocks"}]} DONE
7 {"id":"jira:HW-4","title":"","issue_type":""} the issue has no summary
8 {"id":"","title":""} the issue has no key
`
	want = strings.Replace(want, `"title":"","issue_type":""`, `"title":""`, 1)
	for name, data := range map[string]string{
		"commas": jiraCSV, "CRLF": strings.ReplaceAll(jiraCSV, "\n", "\r\n"),
		"semicolons": strings.NewReplacer(",", ";", `"Build, then`, `"Build, then`).Replace(strings.ReplaceAll(jiraCSV, "03/Jan/26 1:00 PM;bob;First", "03/Jan/26 1:00 PM;bob;First")),
	} {
		got := encode(t, read(t, Jira, data))
		if name == "semicolons" {
			got = strings.ReplaceAll(got, "Build; then", "Build, then")
		}
		if got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestRead_UnreadableFileIsError(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		format     Format
		data, want string
	}{
		{GitHub, "[\n{]", "line 2: the file is not valid JSON"},
		{GitHub, "[", "not valid JSON"},
		{Jira, "Title,Key\n", `no column "Summary"`},
		{Jira, "Summary,Key\n", `no column "Issue key"`},
		{Jira, "", "not a CSV export"},
		{"xml", "", `unknown format "xml"; allowed: jsonl, github, jira`},
	} {
		if _, err := Read(tc.format, []byte(tc.data)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s %q: got %v, want an error with %q", tc.format, tc.data, err, tc.want)
		}
	}
}

func TestDetect_RecognizesFormats(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]Format{
		"": JSONL, "  \n": JSONL, `{"id":"x","title":"y"}`: JSONL, `{"title":"x","number":3}`: GitHub, "[]": GitHub, "\n[{}]": GitHub,
		"Summary,Issue key\n": Jira, "\ufeffIssue key;Summary\n": Jira, "not json": JSONL, "a,b\n": JSONL, `{"id":`: JSONL,
	} {
		if got := Detect([]byte(data)); got != want {
			t.Errorf("%q: got %s, want %s", data, got, want)
		}
	}
}

func TestComplete_TruncatesLongDescription(t *testing.T) {
	t.Parallel()
	r := Record{source: "Jira", Item: tracker.ImportItem{Description: strings.Repeat("ä", maxDescription)}}
	r.Complete([]Person{{Name: "Bob"}})
	if n := utf8.RuneCountInString(r.Item.Description); n > maxDescription || n < maxDescription-200 || !strings.HasSuffix(r.Item.Description, "too long for the import.)") {
		t.Errorf("description: got %d characters that end in %q, want at most %d that end in a note", n, r.Item.Description[len(r.Item.Description)-60:], maxDescription)
	}
}

// checkFile checks what the service requires of every item, and that reading is
// repeatable.
func checkFile(t *testing.T, format Format, data []byte) {
	t.Helper()
	f, err := Read(format, data)
	if err != nil {
		return
	}
	again, err := Read(format, data)
	if err != nil || !reflect.DeepEqual(f.Records, again.Records) {
		t.Fatalf("reading the file again: got other records or %v", err)
	}
	lines := strings.Count(string(data), "\n") + 1
	for i := range f.Records {
		r := &f.Records[i]
		if r.Line < 1 || r.Line > lines {
			t.Fatalf("record %d: line %d of a file with %d lines", i, r.Line, lines)
		}
		if r.Problem != "" || format == JSONL {
			continue
		}
		r.Complete(r.Assignees)
		text, err := json.Marshal(r.Item)
		if err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		var item tracker.ImportItem
		if err := json.Unmarshal(text, &item); err != nil || item.Problem() != "" {
			t.Fatalf("record %d: the service rejects %s: %v %s", i, text, err, item.Problem())
		}
		if item.ID == "" || strings.TrimSpace(item.Title) == "" || utf8.RuneCountInString(item.ID) > 200 || utf8.RuneCountInString(item.Description) > maxDescription ||
			utf8.RuneCountInString(item.IssueType) > 40 || slices.ContainsFunc(item.Labels, func(l string) bool { return l == "" || utf8.RuneCountInString(l) > maxLabel }) {
			t.Fatalf("record %d: the service rejects %s", i, text)
		}
	}
}

func FuzzReadLines(f *testing.F) {
	f.Add([]byte("{\"id\":\"a\",\"title\":\"A\"}\n\n{}\n[1]\nnull\n"))
	f.Add([]byte("{\"id\":\"a\",\"title\":\"\\u0000\"}\r\n\xff"))
	f.Fuzz(func(t *testing.T, data []byte) { checkFile(t, JSONL, data) })
}

func FuzzReadGitHub(f *testing.F) {
	f.Add([]byte(ghList))
	f.Add([]byte(`{"number":1,"title":"\u0000","labels":[null,"",1],"comments":7}`))
	f.Fuzz(func(t *testing.T, data []byte) { checkFile(t, GitHub, data) })
}

func FuzzReadJira(f *testing.F) {
	f.Add([]byte(jiraCSV))
	f.Add([]byte("Summary;Issue key;Labels\nx\x00;A-1;\"a\nb\"\n\"open;"))
	f.Fuzz(func(t *testing.T, data []byte) { checkFile(t, Jira, data) })
}

// TestJira_AnyTextInCellsStaysText is a property: a text in the cells of a file never
// becomes another field or another record.
func TestJira_AnyTextInCellsStaysText(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"a,b", `"quoted"`, "two\nlines", "- list\n---\n# Comments", "a;b;c", "=1+1", "\u202eabc", "x\x00y"} {
		var b strings.Builder
		w := csv.NewWriter(&b)
		err := w.WriteAll([][]string{{"Summary", "Issue key", "Description", "Sprint", "Labels"}, {value + " s", "A-1", value, value, "l"}, {"Next", "A-2", "", "", ""}})
		if err != nil {
			t.Fatal(err)
		}
		f := read(t, Jira, b.String())
		if len(f.Records) != 2 || f.Records[0].Item.ID != "jira:A-1" || f.Records[1].Item.Title != "Next" || !slices.Equal(f.Records[0].Item.Labels, []string{"l"}) {
			t.Errorf("%q: got %s, want two issues with the label l", value, encode(t, f))
		}
		if want := cleanText(value); !strings.HasPrefix(f.Records[0].Item.Description, want+"\n\n---") {
			t.Errorf("%q: got the description %q, want it to start with %q", value, f.Records[0].Item.Description, want)
		}
	}
}
