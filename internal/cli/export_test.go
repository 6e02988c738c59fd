package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parapet/internal/cli/convert"
)

func TestExport_ReplacesFileAtomically(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "backlog.jsonl")
	if err := os.WriteFile(name, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := routes()
	second := "GET " + projectPath + "/export?cursor=bmV4dA&limit=200"
	secondPage := all[second]
	all[second] = errorReply(500, "INTERNAL", "Something went wrong on the server.", "")
	s := serve(t, all)
	if got := invoke(t, s, environment{}, "export", apollo, name); got.code != ExitError {
		t.Fatalf("export whose second page fails: got %+v, want exit %d", got, ExitError)
	}
	files, err := os.ReadDir(dir)
	if text, readErr := os.ReadFile(name); err != nil || readErr != nil || string(text) != "before\n" || len(files) != 1 {
		t.Fatalf("after a failed export: got %q, files %v, %v, want the previous content and one file", text, files, err)
	}
	all[second] = secondPage
	s = serve(t, all)
	got := invoke(t, s, environment{}, "export", apollo, name)
	if got.code != ExitDone || got.out != "" || !strings.Contains(got.err, "2 items written to") {
		t.Fatalf("export to a file: got %+v, want exit %d, no output and the number of items as a message", got, ExitDone)
	}
	text, err := os.ReadFile(name)
	if err != nil || strings.Count(string(text), "\n") != 2 || !strings.HasPrefix(string(text), `{"id":"a-1",`) {
		t.Fatalf("exported file: got %q, %v, want two items", text, err)
	}
	// Import must be able to read the file.
	file, err := convert.Read(convert.JSONL, text)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range file.Records {
		if r.Problem != "" || r.Item.ID == "" {
			t.Errorf("import of the exported file: got %+v, want a valid item", r)
		}
	}
}
