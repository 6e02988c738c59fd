package cli

import (
	"strings"
	"testing"
)

const requestPath = "/api/projects/" + apollo + "/tasks/APOLLO-17/decision-requests"

// decisionReply is a decision request with two options.
func decisionReply(id, status, more string) string {
	return `{"id":"` + id + `","projectId":"` + apollo + `","taskId":"` + taskID + `","taskKey":"APOLLO-17","question":"Which granite?","options":["Grey granite","Red granite"],` +
		`"status":"` + status + `","raisedBy":"` + worker + `","createdAt":"2026-11-20T08:00:00Z"` + more + `}`
}

func TestAnswer_FindsOpenRequestAndOption(t *testing.T) {
	t.Parallel()
	open := decisionReply(keyID, "open", "")
	red := decisionReply(keyID, "answered", `,"answer":"Red granite","chosenOptionIndex":1`)
	for _, tc := range []struct {
		name, requests, answered string
		args                     []string
		code                     int
		want                     string // the body of the answer, or a part of the error
	}{
		{"text of an option", open, red, []string{"red GRANITE"}, ExitDone, `{"chosenOptionIndex":1}`},
		{"part of one option", open, red, []string{"red"}, ExitDone, `{"chosenOptionIndex":1}`},
		{"number", open, red, []string{"1"}, ExitDone, `{"chosenOptionIndex":1}`},
		{"free text", open, strings.ReplaceAll(red, "Red granite\",\"chosen", "blue\",\"chosen"), []string{"blue", "--free-text"}, ExitDone, `{"answer":"blue"}`},
		{"free text with spaces", open, strings.ReplaceAll(red, "Red granite\",\"chosen", "blue\",\"chosen"), []string{" blue ", "--free-text"}, ExitDone, `{"answer":" blue "}`},
		{"part with spaces", open, red, []string{" red "}, ExitDone, `{"chosenOptionIndex":1}`},
		{"standard input", open, red, []string{"-"}, ExitDone, `{"chosenOptionIndex":1}`},
		{"part of two options", open, red, []string{"granite"}, ExitUsage, `"granite" matches several options: 0 "Grey granite", 1 "Red granite"`},
		{"no option", open, red, []string{"blue"}, ExitUsage, `"blue" is not an option; the options are: 0 "Grey granite"`},
		{"number of no option", open, red, []string{"2"}, ExitUsage, `"2" is not an option`},
		{"no request", "", red, []string{"red"}, ExitNotFound, "APOLLO-17 has no open decision request."},
		{"two requests", open + "," + decisionReply(org, "open", ""), red, []string{"red"}, ExitConflict, "answer-decision and --request-id"},
		{"answered by somebody else", open, red, []string{"grey"}, ExitConflict, "your answer was not recorded"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, map[string]reply{"GET " + requestPath: okReply(`{"items":[` + tc.requests + `]}`), "POST " + requestPath + "/" + keyID + "/answer": okReply(tc.answered)})
			got := invoke(t, s, environment{stdin: "Red granite\n"}, append([]string{"answer", "APOLLO-17"}, tc.args...)...)
			if got.code != tc.code {
				t.Fatalf("got %+v, want exit %d", got, tc.code)
			}
			if !strings.Contains(strings.Join(s.bodies, " ")+got.err, tc.want) {
				t.Errorf("got the bodies %v and %s, want %s", s.bodies, got.err, tc.want)
			}
		})
	}
}

func TestDailyCommands_SendRequest(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"comment", "APOLLO-17", "Done."}, `POST /api/comments {"taskId":"APOLLO-17","body":"Done."}`},
		{[]string{"comment", "APOLLO-17", "-"}, `POST /api/comments {"taskId":"APOLLO-17","body":"From the input."}`},
		{[]string{"search", "flight", "plan", "--mine", "--due-before", "+2w"}, "GET /api/tasks?assignee=me&dueBefore=2026-12-04&limit=50&search=flight+plan"},
		{[]string{"search", "--project", "APOLLO", "--label", "stone", "--mine", "plan"}, "GET /api/tasks?assignee=me&label=stone&limit=50&projectId=APOLLO&search=plan"},
		{[]string{"search", "--project", "APOLLO", "--open", "--created-by", "me"}, "GET /api/tasks?createdBy=me&limit=50&open=true&projectId=APOLLO"},
		{[]string{"search", "--project", "APOLLO", "--ready", "--limit", "5"}, "GET /api/tasks?limit=5&projectId=APOLLO&ready=true"},
		{[]string{"list-tasks", "APOLLO", "--mine", "--sort", "DUE"}, "GET /api/projects/APOLLO/tasks?assignee=me&limit=50&sort=due"},
	} {
		s := serve(t, routes())
		if got := invoke(t, s, environment{stdin: "From the input.\n"}, tc.args...); len(s.requests) != 1 || s.requests[0] != tc.want {
			t.Errorf("%v: got %+v and %v, want %s", tc.args, got, s.requests, tc.want)
		}
	}
}

func TestInbox_SaysHowToAnswer(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]string{`"F-1","J-2"`: "Answer: pt answer APOLLO-17 <option>", "": `Answer: pt answer APOLLO-17 "your text"`} {
		s := serve(t, map[string]reply{"GET /api/inbox": okReply(`{"decisions":{"items":[{"taskKey":"APOLLO-17","question":"Which?","options":[` + options + `]}],"hasMore":false}}`)})
		if got := invoke(t, s, environment{}, "inbox"); !strings.Contains(got.out, want) {
			t.Errorf("options %s: got\n%s\nwant %s", options, got.out, want)
		}
	}
}

func dailyGoldens() goldenGroup {
	return goldenGroup{
		routes: map[string]reply{
			"GET /api/projects/" + apollo + "/tasks/APOLLO-19/decision-requests":                       okReply(`{"items":[` + decisionReply(keyID, "open", "") + `]}`),
			"POST /api/projects/" + apollo + "/tasks/APOLLO-19/decision-requests/" + keyID + "/answer": okReply(decisionReply(keyID, "answered", `,"answer":"Red granite","chosenOptionIndex":1`)),
			"GET /api/inbox": okReply(`{"decisions":{"items":[` + decisionReply(keyID, "open", "") + `],"hasMore":false},"reviews":{"items":[],"hasMore":false},"assigned":{"items":[{` + taskSummary + `}],"hasMore":true}}`),
			"GET /api/tasks": okReply(`{"items":[{` + taskSummary + `}]}`),
		},
		cases: []goldenCase{
			{"answer", []string{"answer", "APOLLO-19", "red"}, environment{}},
			{"comment", []string{"comment", "APOLLO-17", "Done."}, environment{}},
			{"status", []string{"status"}, environment{env: map[string]string{"PT_PROJECT": "APOLLO"}}},
			{"status-unbound", []string{"status"}, environment{}},
			{"inbox", []string{"inbox", "--limit", "2"}, environment{}},
			{"search", []string{"search", "flight", "plan", "--mine"}, environment{}},
			{"search-tasks", []string{"search-tasks", "--search", "flight", "--open"}, environment{}},
		},
	}
}

func TestStatus_ShowsProblemOfDefaultProject(t *testing.T) {
	t.Parallel()
	all := routes()
	all["GET /api/inbox"] = okReply(`{}`)
	for project, want := range map[string]string{
		"ghost": `- Project: none; "ghost": There is no such project. (PT_PROJECT)`,
		"lunar": `- Project: none; "lunar": The hint fits more than one project. (PT_PROJECT)`,
	} {
		w := environment{env: map[string]string{"PT_PROJECT": project}}
		if got := invoke(t, serve(t, all), w, "status"); got.code != ExitDone || !strings.Contains(got.out, want) || !strings.Contains(got.out, "- Waiting for you: nothing") {
			t.Errorf("%s: got %+v, want the page with %s", project, got, want)
		}
		if got := invoke(t, serve(t, all), w, "status", "--json"); got.code != ExitDone || !strings.Contains(got.out, `"projectSource":"PT_PROJECT","projectProblem":"`) {
			t.Errorf("%s with --json: got %+v, want the problem", project, got)
		}
	}
	all["GET /api/projects/find"] = errorReply(500, "INTERNAL_ERROR", "Failed.", "")
	if got := invoke(t, serve(t, all), environment{env: map[string]string{"PT_PROJECT": "APOLLO"}}, "status"); got.code == ExitDone {
		t.Errorf("internal error: got %+v, want an error", got)
	}
}

func TestInbox_ShowsActiveKeysThatExpireSoon(t *testing.T) {
	t.Parallel()
	key := func(label, expiry, more string) string {
		return `{"id":"` + keyID + `","label":"` + label + `","kind":"PERSONAL","expiry":"` + expiry + `"` + more + `}`
	}
	all := routes()
	all["GET /api/inbox"] = okReply(`{}`)
	all["GET /api/auth/api-keys"] = okReply(`{"items":[` + key("soon", "2026-12-01T00:00:00Z", "") + `,` + key("later", "2027-01-01T00:00:00Z", "") + `,` +
		key("expired", "2026-11-01T00:00:00Z", "") + `,` + key("revoked", "2026-12-01T00:00:00Z", `,"revokedAt":"2026-11-19T00:00:00Z"`) + `]}`)
	got := invoke(t, serve(t, all), environment{}, "inbox")
	if !strings.Contains(got.out, "Keys that expire soon (1)") || !strings.Contains(got.out, "| soon |") || !strings.Contains(got.out, "No decisions, reviews or tasks wait for you.") {
		t.Errorf("got %+v, want only the key soon", got)
	}
	all["GET /api/auth/api-keys"] = errorReply(403, "FORBIDDEN", "No.", "")
	if got := invoke(t, serve(t, all), environment{}, "inbox"); got.code != ExitDone || got.err != "" || strings.Contains(got.out, "Keys") {
		t.Errorf("without permission to list keys: got %+v, want an inbox without keys", got)
	}
}
