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
