package cli

import (
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
