package mcp

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parapet/internal/contract/identity"
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

var update = flag.Bool("update", false, "write the snapshots anew")

func operations() []*op.Operation {
	return slices.Concat(identity.Operations(), tracker.Operations())
}

func newServer(t *testing.T) *Server {
	t.Helper()
	s, err := New(operations(), "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bytesPerToken turns bytes of JSON into tokens. Tokenizers in use give 3.6 to
// 4.3 bytes a token for schemas like these; 3.5 errs on the long side.
const bytesPerToken = 3.5

// What a client's model reads before its first word must leave it room to work.
func TestTheDefaultListIsShort(t *testing.T) {
	t.Parallel()
	c := connect(t, newServer(t), &fake{}, View{}, nil, "")
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(list.Tools)
	if err != nil {
		t.Fatal(err)
	}
	tokens := float64(len(text)) / bytesPerToken
	t.Logf("%d tools, %d bytes, %.0f tokens", len(list.Tools), len(text), tokens)
	if len(list.Tools) > 20 || tokens >= 8000 {
		t.Errorf("%d tools of %.0f tokens, want at most 20 under 8,000", len(list.Tools), tokens)
	}
	if !slices.IsSortedFunc(list.Tools, func(a, b *sdk.Tool) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the tools are not in the order of their names")
	}
	for _, name := range standard {
		if !slices.ContainsFunc(list.Tools, func(d *sdk.Tool) bool { return d.Name == strings.ReplaceAll(name, "-", "_") }) {
			t.Errorf("the default toolset names %s, which is no tool", name)
		}
	}
}

func TestEveryToolTellsWhatItDoes(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	sets := map[string]bool{}
	for _, set := range Toolsets() {
		sets[set.Name] = true
	}
	used := map[string]bool{Default: true, All: true}
	for _, o := range operations() {
		tool := s.tools[o.ToolName()]
		hides := o.Secret || o.Access == op.Public || o.Name == "logout"
		if (tool == nil) != hides {
			t.Errorf("%s: is it a tool? %v; it gives a secret or has to do with a session: %v", o.Name, tool != nil, hides)
		}
		if tool == nil {
			continue
		}
		used[tool.toolset] = true
		a := tool.definition.Annotations
		if a == nil || a.DestructiveHint == nil || a.OpenWorldHint == nil || a.ReadOnlyHint != (o.Effect == op.Read) || *a.DestructiveHint != (o.Effect == op.Destroy) || *a.OpenWorldHint {
			t.Errorf("%s: annotations %+v", o.Name, a)
		}
		if o.Effect == op.Read && o.Method != http.MethodGet {
			t.Errorf("%s reads by %s", o.Name, o.Method)
		}
		if !sets[tool.toolset] {
			t.Errorf("%s is in the toolset %s, which is not listed", o.Name, tool.toolset)
		}
		if tool.toolset == "directory" && o.Module != identity.Module {
			t.Errorf("%s is in the toolset directory by default: give %s a place", o.Name, o.Path)
		}
		if len(tool.definition.Description) > 1000 || !strings.HasSuffix(tool.definition.Description, ".") {
			t.Errorf("%s: the description %q", o.Name, tool.definition.Description)
		}
	}
	for name := range sets {
		if !used[name] {
			t.Errorf("no tool is in the toolset %s", name)
		}
	}
}

// A field of free text that is not marked would reach a model as if the service
// had written it.
func TestTextsOfPeopleAreMarked(t *testing.T) {
	t.Parallel()
	for _, o := range operations() {
		if !availableTools(o) {
			continue
		}
		marked := untrustedPaths(o.Out)
		schema, err := o.OutputSchema()
		if err != nil {
			t.Fatal(err)
		}
		texts(schema, "", func(path, name string) {
			if slices.Contains([]string{"title", "description", "question", "body", "text", "note", "reason", "label"}, name) && !marked[path] && !ours[o.Name+" "+name] {
				t.Errorf("%s: the member %s of its answer is not said to be untrusted text", o.Name, path)
			}
		})
	}
}

// texts calls f with every member of a schema that is free text.
func texts(s *jsonschema.Schema, path string, f func(path, name string)) {
	if s == nil {
		return
	}
	texts(s.Items, path+"[]", f)
	for name, p := range s.Properties {
		if p.Type == "string" && p.Enum == nil && p.Format == "" {
			f(join(path, name), name)
		}
		texts(p, join(path, name), f)
	}
}

// ours are members that the service itself writes.
var ours = map[string]bool{
	"permissions description": true, "list-permissions description": true, "import-items reason": true, "list-decisions reason": true,
	"list-runs note": true, "get-run note": true,
}

// Each tool as clients see it: a change of one is a change that a reviewer sees.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	dir := filepath.Join("testdata", "tools")
	if *update {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, tool := range s.tools {
		text, err := json.MarshalIndent(struct {
			Toolset  string    `json:"toolset"`
			Standard bool      `json:"standard"`
			Tool     *sdk.Tool `json:"tool"`
		}{tool.toolset, tool.standard, tool.definition}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name+".json")
		if *update {
			if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(bytes.TrimSpace(want), text) {
			t.Errorf("%s is not as in %s (%v): go test ./internal/mcp -run TestSnapshots -update\n%s", name, path, err, text)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != len(s.tools) {
		t.Errorf("%d snapshots of %d tools (%v): -update takes away those of tools that are gone", len(files), len(s.tools), err)
	}
}
