package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// writeEditor writes an editor: a shell script that gets the path of the text as $1.
func writeEditor(t *testing.T, script string) map[string]string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"EDITOR": path}
}

func TestEditor_TextBecomesFieldOfRequest(t *testing.T) {
	t.Parallel()
	const write, more = `echo "Two lines.\n" > "$1"; echo "Of text." >> "$1"`, `echo "And more." >> "$1"`
	const present = "# Not a heading\\n\u009b31m and \ufeffmore"
	for name, tc := range map[string]struct {
		command, editor string
		isPipe          bool
		code            int
		// want is in the last request. If it is empty, nothing may change.
		want, err string
	}{
		"create":               {"create-task --project APOLLO --title Do --editor", write, false, ExitDone, `"description":"Two lines.\n\nOf text."`, ""},
		"required text":        {"create-comment APOLLO-17 -e", write, false, ExitDone, `"body":"Two lines.\n\nOf text."`, ""},
		"update":               {"update-task APOLLO-17 --editor", more, false, ExitDone, `{"description":"` + present + `\nAnd more."}`, ""},
		"update with a flag":   {"update-task APOLLO-17 --progress 60 -e", more, false, ExitDone, `"progress":60`, ""},
		"record without GET":   {"update-comment " + keyID + " -e", write, false, ExitDone, `"body":"Two lines.`, ""},
		"unchanged":            {"update-task APOLLO-17 --progress 60 --editor", "", false, ExitCancelled, "", "Cancelled."},
		"empty":                {"update-task APOLLO-17 --editor", `: > "$1"`, false, ExitCancelled, "", "Cancelled."},
		"nothing written":      {"create-task --project APOLLO --title Do --editor", "", false, ExitCancelled, "", "Cancelled."},
		"Ctrl-C in the editor": {"create-task --project APOLLO --title Do --editor", write + "\nkill -INT $$", false, ExitCancelled, "", "Cancelled."},
		"editor fails":         {"create-task --project APOLLO --title Do --editor", "exit 3", false, ExitUsage, "", "exit status 3; set VISUAL or EDITOR"},
		"text given twice":     {"create-task --project APOLLO --title Do --editor --description Text", write, false, ExitUsage, "", "use either --editor or --description"},
		"pipe":                 {"create-task --project APOLLO --title Do --editor", write, true, ExitUsage, "", "--editor needs a terminal"},
		"no long text":         {"list-tasks APOLLO --editor", write, false, ExitUsage, "", "unknown flag --editor"},
	} {
		s := serve(t, routes())
		s.replies["PATCH /api/comments/"+keyID] = s.replies["POST /api/comments"]
		got := invoke(t, s, environment{terminal: !tc.isPipe, env: writeEditor(t, tc.editor)}, strings.Fields(tc.command)...)
		changes := strings.Join(s.requests, "\n")
		changes = changes[strings.LastIndex("\n"+changes, "\n"):]
		if strings.HasPrefix(changes, "GET ") {
			changes = ""
		}
		if got.code != tc.code || !strings.Contains(got.err, tc.err) || !strings.Contains(changes, tc.want) || (tc.want == "" && changes != "") {
			t.Errorf("%s: got %+v and the change %q, want exit %d, the request %q and the error %q", name, got, changes, tc.code, tc.want, tc.err)
		}
	}
}

// draftOf returns the text that pt saved after an error, and removes its file.
func draftOf(t *testing.T, got runResult) string {
	t.Helper()
	_, path, _ := strings.Cut(strings.TrimSuffix(got.err, ".\n"), "Your text is in ")
	draft, err := os.ReadFile(path)
	if err != nil {
		t.Errorf("got %+v, want the file with the text: %v", got, err)
		return ""
	}
	if err := os.Remove(path); err != nil {
		t.Error(err)
	}
	return string(draft)
}

func TestEditor_TextIsSavedIfRequestFails(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]reply{"POST /api/projects/" + apollo + "/tasks": errorReply(403, "FORBIDDEN", "Not here.", "")})
	w := environment{terminal: true, env: writeEditor(t, `echo Hours of work. > "$1"`)}
	got := invoke(t, s, w, "create-task", "--project", apollo, "--title", "Do", "--editor")
	if draft := draftOf(t, got); got.code != ExitForbidden || draft != "Hours of work.\n" {
		t.Errorf("got %+v and the draft %q, want the text", got, draft)
	}
}

func TestEditor_ConcurrentChangeIsNotOverwritten(t *testing.T) {
	t.Parallel()
	var reads, writes atomic.Int64
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			writes.Add(1)
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, fmt.Sprintf(`{%s,"description":"Version %d"}`, taskSummary, reads.Add(1)))
	}))
	defer h.Close()
	w := environment{terminal: true, env: writeEditor(t, `echo Mine. >> "$1"`)}
	got := invoke(t, &service{t: t, url: h.URL}, w, "update-task", "APOLLO-17", "--editor")
	if draft := draftOf(t, got); got.code != ExitConflict || writes.Load() != 0 || draft != "Version 1\nMine.\n" || !strings.Contains(got.err, "Somebody else changed the description") {
		t.Errorf("got %+v, %d writes and the draft %q, want a conflict and no write", got, writes.Load(), draft)
	}
}
