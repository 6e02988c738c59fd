package archtest

import (
	"bytes"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestPackages_HavePackageComment(t *testing.T) {
	t.Parallel()
	for _, p := range repo(t).packages {
		documented := false
		for _, file := range p.files {
			if file.tree.Doc == nil {
				continue
			}
			text := file.tree.Doc.Text()
			if strings.HasPrefix(text, "Package "+file.tree.Name.Name+" ") || strings.HasPrefix(text, "Command ") {
				documented = true
			} else if !strings.HasPrefix(file.tree.Doc.List[0].Text, "//go:") {
				t.Errorf("%s: the package comment does not begin with %q", file.path, "Package "+file.tree.Name.Name)
			}
		}
		if !documented {
			t.Errorf("%s has no package comment: describe its purpose and its guarantees", p.path)
		}
	}
}

// TestPackages_HaveSpecificNames rejects names such as util, which attract unrelated code.
func TestPackages_HaveSpecificNames(t *testing.T) {
	t.Parallel()
	drawers := []string{
		"util", "utils", "common", "helper", "helpers", "model", "models", "misc", "shared", "lib", "base", "core",
		"handlers", "controllers", "repositories", "services", "types", "interfaces", "constants",
	}
	for _, p := range repo(t).packages {
		for _, file := range p.files {
			if name := strings.TrimSuffix(file.tree.Name.Name, "_test"); slices.Contains(drawers, name) {
				t.Errorf("%s: package name %s is too general; name the package after its purpose", file.path, name)
			}
		}
		if name := filepath.Base(p.path); slices.Contains(drawers, name) {
			t.Errorf("folder name %s is too general; name the folder after its purpose", p.path)
		}
	}
}

// TestPackages_HaveNoInit: init functions run in every test and every command, in an
// implicit order.
func TestPackages_HaveNoInit(t *testing.T) {
	t.Parallel()
	for _, p := range repo(t).packages {
		for _, file := range p.files {
			for _, decl := range file.tree.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					t.Errorf("%s has an init function: pass the dependency instead", file.path)
				}
			}
		}
	}
}

// TestRepository_RootContainsOnlyListedEntries keeps the root of the repository small.
func TestRepository_RootContainsOnlyListedEntries(t *testing.T) {
	t.Parallel()
	allowed := []string{
		".ci", ".git", ".github", "cmd", "docs", "internal", "jobs", "migrations", "policies", "policytests",
		".editorconfig", ".gitattributes", ".gitignore", ".golangci.yml", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "SECURITY.md", "go.mod", "go.sum",
	}
	r := repo(t)
	entries, err := os.ReadDir(r.root)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		if name := entry.Name(); !slices.Contains(allowed, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	for _, name := range notIgnored(t, r.root, names) {
		t.Errorf("%s is in the root of the repository: move it into an existing folder", name)
	}
}

// notIgnored removes the names that .gitignore lists. Outside a git work tree it returns all
// names.
func notIgnored(t *testing.T, root string, names []string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"check-ignore", "--"}, names...)...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return names // status 1: none is ignored; otherwise git failed
	}
	ignored := strings.Fields(string(out))
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(ignored, name) })
}

// long lists files that may exceed the limit, each with its reason.
var long = map[string]string{}

// TestFiles_AreShort: readers should find code by the name of its file.
func TestFiles_AreShort(t *testing.T) {
	t.Parallel()
	const most = 500
	r := repo(t)
	lines := map[string]int{}
	for _, p := range r.packages {
		for _, file := range p.files {
			if !ast.IsGenerated(file.tree) {
				lines[file.path] = bytes.Count(file.text, []byte("\n"))
			}
		}
	}
	for _, folder := range []string{"policies", "policytests"} {
		rego, err := filepath.Glob(filepath.Join(r.root, folder, "*.rego"))
		if err != nil {
			t.Fatal(err)
		}
		deeper, err := filepath.Glob(filepath.Join(r.root, folder, "*", "*.rego"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range append(rego, deeper...) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			rel, err := filepath.Rel(r.root, path)
			if err != nil {
				t.Fatal(err)
			}
			lines[filepath.ToSlash(rel)] = bytes.Count(text, []byte("\n"))
		}
	}
	for path, n := range lines {
		if _, ok := long[path]; n > most && !ok {
			t.Errorf("%s has %d lines, want at most %d: split it by topic", path, n, most)
		}
	}
	for path := range long {
		if lines[path] <= most {
			t.Errorf("%s has only %d lines: remove it from the list of long files", path, lines[path])
		}
	}
}

// unfinished matches the usual marks. TODO alone is also a category of task statuses.
var unfinished = regexp.MustCompile(`(?m)^(TODO|FIXME|XXX)\b|\b(TODO|FIXME|XXX)[:(]`)

// TestFiles_ContainNoSkipsOrTODOs rejects skipped tests and comments about unfinished work.
func TestFiles_ContainNoSkipsOrTODOs(t *testing.T) {
	t.Parallel()
	for _, p := range repo(t).packages {
		for _, file := range p.files {
			if p.path == "internal/archtest" {
				continue // this file contains the words
			}
			for _, group := range file.tree.Comments {
				if mark := unfinished.FindString(group.Text()); mark != "" {
					t.Errorf("%s: %q in a comment: do it or write an issue", file.path, mark)
				}
			}
			ast.Inspect(file.tree, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if ok && file.test && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) && isIdent(sel.X, "t", "b", "f", "tb") {
					t.Errorf("%s skips a test: set up its condition instead", file.path)
				}
				return true
			})
		}
	}
}

func isIdent(x ast.Expr, names ...string) bool {
	id, ok := x.(*ast.Ident)
	return ok && slices.Contains(names, id.Name)
}
