package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// The test uses its own binary.
func TestRun_WritesBillNextToTheBinary(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ptx")
	if err := os.WriteFile(path, content, 0o700); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{path}, &out); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path + ".cdx.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc document
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Format != "CycloneDX" || doc.Metadata.Component.Name != "ptx" || len(doc.Metadata.Component.Hashes) != 1 {
		t.Errorf("bill: got %s, want one of ptx", text)
	}
	if len(doc.Components) == 0 || doc.Components[0].Name != "std" {
		t.Errorf("bill lacks the standard library: %s", text)
	}
}

func TestBill_ListsReplacementsAndEscapesVersions(t *testing.T) {
	t.Parallel()
	doc := newBill("ptd", "00", &debug.BuildInfo{GoVersion: "go1.26.1", Deps: []*debug.Module{
		{Path: "example.org/a", Version: "v2.0.0+incompatible"},
		{Path: "example.org/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/c", Version: "v1.0.1"}},
	}})
	var got []string
	for _, c := range doc.Components {
		got = append(got, c.PURL)
	}
	want := "pkg:golang/std@1.26.1 pkg:golang/example.org/a@v2.0.0%2Bincompatible pkg:golang/example.org/c@v1.0.1"
	if strings.Join(got, " ") != want {
		t.Errorf("bill: got %v, want %s", got, want)
	}
}

func TestRun_RejectsFilesThatAreNotGoBinaries(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{path}, &bytes.Buffer{}); err == nil {
		t.Error("run with a text file: got no error")
	}
	if err := run(t.Context(), nil, &bytes.Buffer{}); err == nil {
		t.Error("run without arguments: got no error")
	}
}
