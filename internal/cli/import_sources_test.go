package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"parapet/internal/contract/tracker"
)

// sourceService is a fake of the operations that an import from another tracker uses: it
// rejects unknown statuses as the service does.
type sourceService struct {
	mu       sync.Mutex
	statuses []tracker.Status
	items    []tracker.ImportItem
	assigned []string
	updates  []string
	requests []string
}

func (s *sourceService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	var reply any
	switch {
	case r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/tasks/"):
		s.assigned = append(s.assigned, string(body))
		if strings.Contains(string(body), taskID) {
			w.WriteHeader(http.StatusForbidden)
			reply = map[string]any{"error": map[string]any{"code": "FORBIDDEN", "message": "No clearance.", "requestId": "r"}}
			break
		}
		reply = map[string]any{}
	case r.Method == http.MethodPatch:
		s.updates = append(s.updates, string(body))
		var in struct{ CustomStatuses []tracker.Status }
		if err := json.Unmarshal(body, &in); err != nil {
			panic(err)
		}
		s.statuses = in.CustomStatuses
		reply = map[string]any{"customStatuses": s.statuses}
	case strings.HasSuffix(r.URL.Path, "/import"):
		reply = s.importItems(body)
	case r.URL.Path == "/api/people":
		reply = map[string]any{"items": []map[string]any{
			{"id": worker, "email": "lin@acme.example", "emailVerified": true, "displayName": "Lin Chen"},
			{"id": taskID, "email": "low@acme.example", "emailVerified": true, "displayName": "Low Clearance"},
			{"id": keyID, "email": "a@acme.example", "emailVerified": true, "displayName": "Same Name"},
			{"id": org, "email": "b@acme.example", "emailVerified": true, "displayName": "Same Name"},
			{"id": apollo, "email": "boss@acme.example", "emailVerified": false, "displayName": "chief@acme.example"},
		}}
	default:
		reply = map[string]any{"id": apollo, "prefix": "APOLLO", "customStatuses": s.statuses}
	}
	text, err := json.Marshal(reply)
	if err != nil {
		panic(err)
	}
	w.Write(text)
}

func (s *sourceService) importItems(body []byte) any {
	var in struct{ Items []tracker.ImportItem }
	if err := json.Unmarshal(body, &in); err != nil {
		panic(err)
	}
	out := tracker.ImportItemsOut{Linked: 2, SubTasks: 1, Waiting: 3}
	for i, item := range in.Items {
		r := tracker.ImportResult{Index: i, ID: item.ID, Outcome: tracker.OutcomeCreated, TaskID: taskID}
		isKnown := strings.Contains(" open in_progress hooked closed ", " "+item.Status+" ") || item.Status == ""
		for _, st := range s.statuses {
			isKnown = isKnown || st.Name == item.Status
		}
		if isKnown {
			out.Created++
			s.items = append(s.items, item)
		} else {
			out.Failed++
			r.Outcome, r.Reason = tracker.OutcomeFailed, fmt.Sprintf("unknown status %q", item.Status)
		}
		out.Results = append(out.Results, r)
	}
	return out
}

func startSource(t *testing.T) (*sourceService, *service) {
	t.Helper()
	s := &sourceService{statuses: []tracker.Status{{Name: "TODO", Category: "TODO"}, {Name: "IN_PROGRESS", Category: "IN_PROGRESS"}, {Name: "DONE", Category: "DONE"}, {Name: "CANCELLED", Category: "CANCELLED"}}}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return s, &service{t: t, url: h.URL}
}

func writeSource(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// statusesOf returns the statuses of the imported items, separated by commas.
func (s *sourceService) statusesOf() string {
	var all []string
	for _, item := range s.items {
		all = append(all, item.Status)
	}
	return strings.Join(all, ",")
}

func TestImport_MapsStatuses(t *testing.T) {
	t.Parallel()
	const lines = `{"id":"1","title":"A","status":"open"}
{"id":"2","title":"B","status":"pinned"}
{"id":"3","title":"C","status":"Pinned"}
{"id":"4","title":"D","status":"In Progress"}
{"id":"5","title":"E","status":"Waiting for review"}`
	const jira = "Summary,Issue key,Status,Status Category\nA,A-1,Selected,To Do\nB,A-2,Shipped,Done\nC,A-3,In Progress,In Progress\n"
	for _, tc := range []struct {
		name     string
		w        environment
		text     string
		args     []string
		code     int
		statuses string
		want     []string
	}{
		{"mapped and unknown", environment{}, lines, []string{"--map-status", "PINNED=todo"}, ExitError, "open,TODO,TODO,IN_PROGRESS", []string{
			"The project has no status \"Waiting for review\" (1 item). Add --map-status \"Waiting for review\"=STATUS or --create-statuses; its statuses: TODO, IN_PROGRESS, DONE, CANCELLED\n",
			"- pinned: TODO (2 items)\n", "- In Progress: IN_PROGRESS (1 item)\n", "## Failed lines by cause\n\n- unknown status \"Waiting for review\": 1 (line 5)\n",
		}},
		{"standard status mapped", environment{}, lines, []string{"--map-status", "open=DONE", "--map-status", "pinned=closed", "--map-status", "waiting for review=DONE"}, ExitDone, "DONE,closed,closed,IN_PROGRESS,DONE", nil},
		{"target does not exist", environment{}, lines, []string{"--map-status", "pinned=Nowhere"}, ExitUsage, "", []string{`the project has no status "Nowhere"; its statuses: TODO, IN_PROGRESS, DONE, CANCELLED`}},
		{"malformed", environment{}, lines, []string{"--map-status", "pinned"}, ExitUsage, "", []string{`--map-status "pinned" must have the form FROM=TO`}},
		{"two targets", environment{}, lines, []string{"--map-status", "pinned=TODO", "--map-status", "Pinned=DONE"}, ExitUsage, "", []string{`two targets for "Pinned"`}},
		{"created", environment{}, lines, []string{"--create-statuses"}, ExitDone, "open,pinned,pinned,IN_PROGRESS,Waiting for review", []string{"- pinned: pinned (2 items, created)\n"}},
		{"category of the source", environment{}, jira, nil, ExitDone, "TODO,DONE,IN_PROGRESS", []string{"- Selected: TODO (1 item)\n"}},
		{"prompt", environment{terminal: true, stdin: "nowhere\ndone\n+\n"}, lines, nil, ExitDone, "open,DONE,DONE,IN_PROGRESS,Waiting for review", []string{
			"The project has no status \"pinned\" (2 items).", "Status to use, or + to create it [TODO]: ", `The project has no status "nowhere".`,
		}},
		{"prompt with the default", environment{terminal: true, stdin: "\n\n"}, jira, nil, ExitDone, "TODO,DONE,IN_PROGRESS", []string{"[DONE]: "}},
		{"prompt without an answer", environment{terminal: true, stdin: "\n"}, jira, nil, ExitCancelled, "", nil},
		{"no prompt with JSON", environment{terminal: true}, lines, []string{"--json"}, ExitError, "open,IN_PROGRESS", nil},
		{"no prompt in CI", environment{terminal: true, env: map[string]string{"CI": "1"}}, lines, nil, ExitError, "open,IN_PROGRESS", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			fake, s := startSource(t)
			got := invoke(t, s, tc.w, append([]string{"import", apollo, writeSource(t, "file", tc.text)}, tc.args...)...)
			if got.code != tc.code || fake.statusesOf() != tc.statuses {
				t.Fatalf("got exit %d with the statuses %s, want exit %d with %s\n%s%s", got.code, fake.statusesOf(), tc.code, tc.statuses, got.out, got.err)
			}
			for _, want := range tc.want {
				if !tc.w.terminal && !strings.Contains(got.out+got.err, want) || tc.w.terminal && !strings.Contains(got.err, want) {
					t.Errorf("output does not contain %q:\n%s%s", want, got.out, got.err)
				}
			}
		})
	}
}

func TestImport_CreatedStatusFollowsItsCategory(t *testing.T) {
	t.Parallel()
	fake, s := startSource(t)
	got := invoke(t, s, environment{}, "import", apollo, writeSource(t, "f", `{"id":"1","title":"A","status":"Being tested, QA"}
{"id":"2","title":"B","status":"pinned"}
{"id":"3","title":"C","status":"won't do"}`), "--create-statuses")
	want := `{"customStatuses":[{"name":"TODO","category":"TODO"},{"name":"pinned","category":"TODO"},{"name":"IN_PROGRESS","category":"IN_PROGRESS"},{"name":"DONE","category":"DONE"},{"name":"CANCELLED","category":"CANCELLED"},{"name":"won't do","category":"CANCELLED"},{"name":"Being tested, QA","category":"REVIEW"}]}`
	if got.code != ExitDone || len(fake.updates) != 1 || fake.updates[0] != want {
		t.Fatalf("got %+v with the updates %v, want %s", got, fake.updates, want)
	}
}

func TestImport_AssignsKnownPeopleAndKeepsOthersAsText(t *testing.T) {
	t.Parallel()
	fake, s := startSource(t)
	path := writeSource(t, "jira.csv", `Summary,Issue key,Status,Assignee
A,A-1,TODO,lin@acme.example
B,A-2,TODO,lin chen
C,A-3,TODO,Same Name
D,A-4,TODO,Somebody Else
E,A-5,TODO,Low Clearance
F,A-6,TODO,
G,A-7,TODO,boss@acme.example
H,A-8,TODO,chief@acme.example
`)
	got := invoke(t, s, environment{}, "import", apollo, path, "--jq", "[.data.assigned, .data.format, .data.subTasks, .data.dependencies, (.data.unknownPeople | map(.name))]")
	if got.code != ExitDone || got.out != `[2,"jira",1,3,["Same Name","Somebody Else","boss@acme.example","chief@acme.example","Low Clearance"]]`+"\n" {
		t.Fatalf("got %+v, want 2 assigned tasks and 5 unknown people", got)
	}
	want := `{"assignee":"` + worker + `"}`
	if len(fake.assigned) != 3 || fake.assigned[0] != want || fake.assigned[1] != want {
		t.Errorf("assignments: got %v, want two of Lin and one that is denied", fake.assigned)
	}
	for i, text := range []string{"- Jira: A-1", "- Jira: A-2", "- Assigned in Jira to Same Name\n- Jira: A-3", "- Assigned in Jira to Somebody Else\n- Jira: A-4"} {
		if d := fake.items[i].Description; d != text {
			t.Errorf("description of %s: got %q, want %q", fake.items[i].ID, d, text)
		}
	}
}

func TestImport_GitHubIssuesFromStandardInput(t *testing.T) {
	t.Parallel()
	fake, s := startSource(t)
	const issues = `[{"number":1,"title":"A","state":"OPEN"},{"number":2,"title":"B","state":"CLOSED","stateReason":"NOT_PLANNED"},{"number":3,"title":"C","pull_request":{}}]`
	got := invoke(t, s, environment{stdin: issues}, "import", apollo, "-")
	if got.code != ExitDone || fake.statusesOf() != "open,CANCELLED" || !strings.Contains(got.out, "- Pull requests skipped: 1\n") || !strings.Contains(got.out, "- not planned: CANCELLED (1 item)\n") {
		t.Fatalf("got %+v with the statuses %s, want an open and a cancelled item and one pull request", got, fake.statusesOf())
	}
	if wrong := invoke(t, s, environment{stdin: issues}, "import", apollo, "-", "--format", "jira"); wrong.code != ExitUsage || !strings.Contains(wrong.err, "CSV") {
		t.Errorf("import with a wrong --format: got %+v, want exit %d with the reason", wrong, ExitUsage)
	}
}

func TestImport_GroupsFailuresByCause(t *testing.T) {
	t.Parallel()
	_, s := startSource(t)
	text := strings.Repeat("not json\n", 7) + strings.Repeat(`{"id":"x","title":"X","status":"odd"}`+"\n", 2)
	path := writeSource(t, "f.jsonl", text)
	got := invoke(t, s, environment{}, "import", apollo, path)
	if got.code != ExitError || !strings.Contains(got.out, "- the line must be one valid JSON object: 7 (lines 1, 2, 3, 4, 5, …)\n- unknown status \"odd\": 2 (lines 8, 9)\n") {
		t.Fatalf("got %+v, want two causes with their lines", got)
	}
	if n := strings.Count(got.err, "the line must be"); n != maxLinesOfCause {
		t.Errorf("messages: got %d for the first cause, want %d", n, maxLinesOfCause)
	}
	asJSON := invoke(t, s, environment{}, "import", apollo, path, "--jq", "[(.data.causes | map(.count)), (.data.failures | length)]")
	if asJSON.out != "[[7,2],9]\n" {
		t.Errorf("causes: got %s, want [[7,2],9]", asJSON.out)
	}
}
