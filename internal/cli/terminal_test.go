package cli

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestOutput_TerminalShowsRelativeTimesAndTotalBelowTable(t *testing.T) {
	t.Parallel()
	s := serve(t, routes())
	w := environment{terminal: true, width: 80, env: map[string]string{"NO_COLOR": "1"}}
	got := invoke(t, s, w, "list-comments", "--task", taskID)
	if !strings.Contains(got.out, "19 days ago") || !strings.Contains(got.out, "Columns that do not fit: ID, Edited.") {
		t.Errorf("on a terminal: got\n%s\nwant relative times and the column that does not fit", got.out)
	}
	if lines := strings.Split(strings.TrimSpace(got.out), "\n"); !strings.HasPrefix(lines[0], "Written") || strings.Contains(got.err, "--cursor") {
		t.Errorf("on a terminal: got\n%s%s\nwant the table first and no cursor", got.err, got.out)
	}
	absolute := invoke(t, s, w, "list-comments", "--task", taskID, "--time", "absolute")
	pipe := invoke(t, s, environment{}, "list-comments", "--task", taskID, "--time", "relative")
	for _, out := range []string{absolute.out, pipe.out} {
		if strings.Contains(out, " ago") || !strings.Contains(out, " UTC") {
			t.Errorf("--time absolute and a pipe: got\n%s\nwant absolute times", out)
		}
	}
	if got := invoke(t, s, w, "list-projects", "--time", "soon"); got.code != ExitUsage || !strings.Contains(got.err, "relative or absolute") {
		t.Errorf("--time soon: got %+v, want a usage error", got)
	}
}

func TestOutput_ListFooterSaysHowToGetMore(t *testing.T) {
	t.Parallel()
	s := serve(t, routes())
	w := environment{terminal: true, width: 120, env: map[string]string{"NO_COLOR": "1"}}
	if got := invoke(t, s, w, "list-projects"); !strings.HasSuffix(got.out, "1 project shown, and there are more: use --all, or --limit up to 200.\n") {
		t.Errorf("first of several pages: got\n%s\nwant how to get more in the last line", got.out)
	}
	if got := invoke(t, s, w, "list-projects", "--all"); !strings.HasSuffix(got.out, "2 projects.\n") {
		t.Errorf("all pages: got\n%s\nwant the total in the last line", got.out)
	}
	if got := invoke(t, s, environment{}, "list-projects"); strings.Contains(got.out, "shown") || !strings.Contains(got.err, "--cursor bmV4dA") {
		t.Errorf("in a pipe: got %+v, want the cursor on stderr", got)
	}
}

func TestOutput_MarkdownIsRenderedOnTerminalAndPrintedInPipe(t *testing.T) {
	t.Parallel()
	body := `{` + taskSummary + `,"description":"# Goal\n\nDo **it** with [me](https://example.org/&#27;x).\n\u001b[31m"}`
	s := serve(t, map[string]reply{"GET /api/projects/" + apollo + "/tasks/APOLLO-17": okReply(body)})
	got := invoke(t, s, environment{terminal: true, width: 80}, "get-task", "APOLLO-17")
	if !strings.Contains(got.out, "\x1b[1mGoal\x1b[0m") || !strings.Contains(got.out, "\x1b[1mit\x1b[0m") || strings.Contains(got.out, "**") {
		t.Errorf("on a terminal: got %q, want rendered Markdown", got.out)
	}
	if strings.Contains(got.out, "\x1b[31m\n") || strings.Contains(got.out, "\x1bx") || !strings.Contains(got.out, `\x1b[31m`) {
		t.Errorf("on a terminal: got %q, want escaped control characters", got.out)
	}
	if got := invoke(t, s, environment{}, "get-task", "APOLLO-17"); !strings.Contains(got.out, "> # Goal\n>\n> Do **it** with [me]") {
		t.Errorf("in a pipe: got\n%s\nwant the source of the description", got.out)
	}
}

func TestOutput_LongerThanScreenIsShownInPager(t *testing.T) {
	t.Parallel()
	s := serve(t, routes())
	pager := map[string]string{"PT_PAGER": "sed s/^/paged:/", "NO_COLOR": "1"}
	for name, tc := range map[string]struct {
		w    environment
		args []string
		want bool
	}{
		"long":        {environment{terminal: true, width: 80, height: 5, env: pager}, nil, true},
		"long JSON":   {environment{terminal: true, width: 80, height: 5, env: pager}, []string{"--json"}, true},
		"short":       {environment{terminal: true, width: 80, height: 100, env: pager}, nil, false},
		"--no-pager":  {environment{terminal: true, width: 80, height: 5, env: pager}, []string{"--no-pager"}, false},
		"cat":         {environment{terminal: true, width: 80, height: 5, env: map[string]string{"PT_PAGER": "cat", "PAGER": pager["PT_PAGER"]}}, nil, false},
		"PAGER":       {environment{terminal: true, width: 80, height: 5, env: map[string]string{"PAGER": pager["PT_PAGER"]}}, nil, true},
		"no such one": {environment{terminal: true, width: 80, height: 5, env: map[string]string{"PT_PAGER": "/nonexistent/pager"}}, nil, false},
		"pipe":        {environment{height: 5, env: pager}, nil, false},
		"JSON pipe":   {environment{height: 5, env: pager}, []string{"--json"}, false},
	} {
		got := invoke(t, s, tc.w, append([]string{"get-task", "APOLLO-17"}, tc.args...)...)
		if got.code != ExitDone || !strings.Contains(got.out, "APOLLO-17") || strings.HasPrefix(got.out, "paged:") != tc.want {
			t.Errorf("%s: got exit code %d and\n%s\nwant a pager: %v", name, got.code, got.out, tc.want)
		}
	}
}

func TestOutput_SecretIsNotShownInPager(t *testing.T) {
	t.Parallel()
	s := serve(t, routes())
	w := environment{terminal: true, width: 80, height: 2, env: map[string]string{"PT_PAGER": "sed s/^/paged:/", "NO_COLOR": "1"}}
	for _, args := range [][]string{
		{"issue-key", "--label", "ci"}, {"issue-key", "--label", "ci", "--json"}, {"api", "POST", "/api/auth/api-keys", "--field", "label=ci"},
	} {
		if got := invoke(t, s, w, args...); !strings.Contains(got.out, "the.new.token") || strings.Contains(got.out, "paged:") {
			t.Errorf("%v: got %+v, want the token without a pager", args, got)
		}
	}
}

func TestOutput_PagerThatFailsAtOnceLosesNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, routes())
	w := environment{terminal: true, width: 80, height: 5, env: map[string]string{"NO_COLOR": "1", "PATH": os.Getenv("PATH")}}
	for pager, want := range map[string]bool{"false": true, "sed --no-such-option": true, "sh -c 'less": true, "true": false} {
		w.env["PT_PAGER"] = pager
		if got := invoke(t, s, w, "get-task", "APOLLO-17"); got.code != ExitDone || strings.Contains(got.out, "APOLLO-17") != want {
			t.Errorf("%s: got %+v, want the output: %v", pager, got, want)
		}
	}
}

// The text is larger than the buffer of a pipe, so pt still writes when the pager ends.
func TestOutput_PagerThatClosesItsInputEarlyIsSuccess(t *testing.T) {
	t.Parallel()
	body := `{` + taskSummary + `,"description":"` + strings.Repeat("many words ", 20_000) + `"}`
	s := serve(t, map[string]reply{"GET /api/projects/" + apollo + "/tasks/APOLLO-17": okReply(body)})
	w := environment{terminal: true, width: 80, height: 5, env: map[string]string{"NO_COLOR": "1", "PATH": os.Getenv("PATH"), "PT_PAGER": "sed -n 1{p;q;}"}}
	got := invoke(t, s, w, "get-task", "APOLLO-17", "--json")
	if got.code != ExitDone || got.err != "" || strings.Count(got.out, "\n") != 1 {
		t.Errorf("got exit code %d, %d lines and the errors %q, want the first line", got.code, strings.Count(got.out, "\n"), got.err)
	}
}

func TestGetTask_ShowsLatestComments(t *testing.T) {
	t.Parallel()
	var items []string
	for i := range 20 { // the newest first
		items = append(items, `{"id":"`+taskID+`","projectId":"`+apollo+`","taskId":"`+taskID+`","body":"Comment **`+strconv.Itoa(23-i)+`**","authorId":"`+worker+`","author":`+workerJSON+`,"edited":false,"createdAt":"2026-11-20T11:00:00Z","updatedAt":"2026-11-20T11:00:00Z"}`)
	}
	task := "GET /api/projects/" + apollo + "/tasks/APOLLO-17"
	s := serve(t, map[string]reply{
		task: okReply(taskJSON),
		"GET /api/comments?limit=20&sort=newest&taskId=APOLLO-17": okReply(`{"items":[` + strings.Join(items, ",") + `],"nextCursor":"bmV4dA"}`),
	})
	got := invoke(t, s, environment{terminal: true, width: 80, env: map[string]string{"NO_COLOR": "1"}}, "get-task", "APOLLO-17")
	if len(s.requests) != 2 {
		t.Errorf("requests: got %v, want the task and its latest comments", s.requests)
	}
	if !strings.Contains(got.out, "The latest 20; older ones are not shown.") || !strings.Contains(got.out, `, 1 hour ago`) || strings.Contains(got.out, "Comment **3**") || !strings.HasSuffix(got.out, "Comment **23**\n") {
		t.Errorf("got\n%s%s\nwant the latest 20 comments", got.out, got.err)
	}
	if got := invoke(t, serve(t, map[string]reply{task: okReply(taskJSON)}), environment{}, "get-task", "APOLLO-17"); got.code != ExitDone || !strings.Contains(got.out, "# APOLLO-17") || !strings.Contains(got.err, "The page is not complete: ") {
		t.Errorf("comments that cannot be read: got %+v, want the task and a note", got)
	}
	s = serve(t, map[string]reply{task: okReply(taskJSON)})
	if got := invoke(t, s, environment{}, "get-task", "APOLLO-17", "--json"); got.code != ExitDone || len(s.requests) != 1 {
		t.Errorf("with --json: got %+v and requests %v, want one request", got, s.requests)
	}
}
