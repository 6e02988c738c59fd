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

	"parapet/internal/contract"
	"parapet/internal/contract/identity"
	"parapet/internal/op"
)

var update = flag.Bool("update", false, "regenerate the snapshots")

func operations() []*op.Operation {
	return contract.Operations()
}

func newServer(t *testing.T) *Server {
	t.Helper()
	s, err := New(operations(), "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bytesPerToken is a conservative estimate. Common tokenizers have 3.6 to 4.3 bytes per
// token for such JSON schemas.
const bytesPerToken = 3.5

// The list of tools uses up the context of the client's model.
func TestDefaultToolset_HasFewToolsAndTokens(t *testing.T) {
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
		t.Errorf("got %d tools with %.0f tokens, want at most 20 tools and fewer than 8,000 tokens", len(list.Tools), tokens)
	}
	if !slices.IsSortedFunc(list.Tools, func(a, b *sdk.Tool) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the tools are not sorted by name")
	}
	for _, name := range defaultOperations {
		if !slices.ContainsFunc(list.Tools, func(d *sdk.Tool) bool { return d.Name == strings.ReplaceAll(name, "-", "_") }) {
			t.Errorf("the default toolset contains %s, which is not a tool", name)
		}
	}
}

// idempotentPosts are the operations with the method POST that change nothing if they are
// repeated.
var idempotentPosts = []string{"add-dependency", "answer-decision", "bind-repo", "cancel-decision", "promote-issue", "restore-page"}

func TestTools_HaveAnnotationsToolsetAndDescription(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	sets := map[string]bool{}
	for _, set := range Toolsets() {
		sets[set.Name] = true
	}
	used := map[string]bool{Default: true, All: true}
	for _, o := range operations() {
		tool := s.tools[o.ToolName()]
		hidden := o.Secret || o.Access == op.Public || o.Name == "logout"
		if (tool == nil) != hidden {
			t.Errorf("%s: got exposed %v, want %v", o.Name, tool != nil, !hidden)
		}
		if tool == nil {
			continue
		}
		used[tool.toolset] = true
		a := tool.definition.Annotations
		if a == nil || a.DestructiveHint == nil || a.OpenWorldHint == nil || a.ReadOnlyHint != (o.Effect == op.Read) || *a.DestructiveHint != (o.Effect == op.Destroy) || *a.OpenWorldHint {
			t.Errorf("%s: got annotations %+v, want those of the effect %s", o.Name, a, o.Effect)
		}
		if a != nil && a.IdempotentHint != (o.Method != http.MethodPost || slices.Contains(idempotentPosts, o.Name)) {
			t.Errorf("%s: got idempotentHint %v", o.Name, a.IdempotentHint)
		}
		if o.Effect == op.Read && o.Method != http.MethodGet {
			t.Errorf("%s has the effect read: got method %s, want GET", o.Name, o.Method)
		}
		if !sets[tool.toolset] {
			t.Errorf("%s is in the toolset %s, which is not listed", o.Name, tool.toolset)
		}
		if tool.toolset == "directory" && o.Module != identity.Module {
			t.Errorf("%s is in the fallback toolset directory; add %s to pathToolsets", o.Name, o.Path)
		}
		if len(tool.definition.Description) > 1000 || !strings.HasSuffix(tool.definition.Description, ".") {
			t.Errorf("%s: description %q must have at most 1000 bytes and end with a period", o.Name, tool.definition.Description)
		}
	}
	for name := range sets {
		if !used[name] {
			t.Errorf("the toolset %s is empty", name)
		}
	}
}

// A model would trust a field with user-generated text that is not marked.
func TestContracts_MarkUserGeneratedTextAsUntrusted(t *testing.T) {
	t.Parallel()
	for _, o := range operations() {
		if !isExposed(o) {
			continue
		}
		marked := untrustedPaths(o.Out)
		schema, err := o.OutputSchema()
		if err != nil {
			t.Fatal(err)
		}
		texts(schema, "", func(path, name string) {
			if slices.Contains([]string{"title", "description", "question", "body", "text", "note", "reason", "label"}, name) && !marked[path] && !serviceTexts[o.Name+" "+name] {
				t.Errorf("%s: the doc tag of the output member %s must contain %q", o.Name, path, untrustedMark)
			}
		})
	}
}

// texts calls f for every member of a schema that is free text.
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

// serviceTexts are the members whose text the service itself generates.
var serviceTexts = map[string]bool{
	"permissions description": true, "get-access description": true, "list-permissions description": true, "list-event-types description": true, "get-event-type description": true, "import-items reason": true, "list-decisions reason": true,
	"list-runs note": true, "get-run note": true,
}

// The snapshots show reviewers every change of a tool definition.
func TestTools_MatchSnapshots(t *testing.T) {
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
		}{tool.toolset, tool.isDefault, tool.definition}, "", "  ")
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
			t.Errorf("%s differs from %s (%v); regenerate with go test ./internal/mcp -run TestTools_MatchSnapshots -update\n%s", name, path, err, text)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != len(s.tools) {
		t.Errorf("got %d snapshots for %d tools (%v); -update removes obsolete ones", len(files), len(s.tools), err)
	}
}
