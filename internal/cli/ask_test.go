package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAsk_PromptsForWhatIsMissing(t *testing.T) {
	t.Parallel()
	editor := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\necho 'From the editor.' > \"$1\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args        []string
		stdin, want string
	}{
		{[]string{"create-task", "--project", apollo}, "\nWrite\n", `{"title":"Write"`},
		{[]string{"get-task"}, "APOLLO-17\n", "GET /api/projects/APOLLO/tasks/APOLLO-17 "},
		{[]string{"issue-key"}, "laptop\n", `"label":"laptop"`},
		{[]string{"transition-issue", "ISS-4"}, "2\n", `"IN_PROGRESS"`},
		{[]string{"comment", "APOLLO-17"}, "", `"body":"From the editor."`},
	} {
		s := serve(t, routes())
		w := environment{terminal: true, stdin: tc.stdin, env: map[string]string{"EDITOR": editor}}
		if got := invoke(t, s, w, tc.args...); !strings.Contains(strings.Join(s.requests, " ")+" ", tc.want) {
			t.Errorf("%v on a terminal: got %+v and %v, want %s", tc.args, got, s.requests, tc.want)
		}
	}
}

func TestAsk_NeverPromptsWithoutTerminal(t *testing.T) {
	t.Parallel()
	args := []string{"create-task", "--project", apollo}
	for name, tc := range map[string]struct {
		w    environment
		args []string
	}{
		"pipe": {environment{stdin: "Write\n"}, args},
		"JSON": {environment{terminal: true, stdin: "Write\n"}, append(args, "--json")},
		"CI":   {environment{terminal: true, stdin: "Write\n", env: map[string]string{"CI": "true"}}, args},
	} {
		s := serve(t, routes())
		if got := invoke(t, s, tc.w, tc.args...); got.code != ExitUsage || len(s.requests) != 0 || !strings.Contains(got.err, "--title is required") {
			t.Errorf("%s: got %+v and %v, want exit %d and no request", name, got, s.requests, ExitUsage)
		}
	}
}

func TestAsk_EndOfInputCancels(t *testing.T) {
	t.Parallel()
	s := serve(t, routes())
	if got := invoke(t, s, environment{terminal: true}, "create-task", "--project", apollo); got.code != ExitCancelled || len(s.requests) != 0 {
		t.Errorf("got %+v and %v, want exit %d and no request", got, s.requests, ExitCancelled)
	}
}
