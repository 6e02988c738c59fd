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

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
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
			t.Errorf("%s has no package comment: say what it owns and what it promises", p.path)
		}
	}
}

// A name that fits everything keeps nothing out.
func TestNoCatchAllPackages(t *testing.T) {
	t.Parallel()
	drawers := []string{
		"util", "utils", "common", "helper", "helpers", "model", "models", "misc", "shared", "lib", "base", "core",
		"handlers", "controllers", "repositories", "services", "types", "interfaces", "constants",
	}
	for _, p := range repo(t).packages {
		for _, file := range p.files {
			if name := strings.TrimSuffix(file.tree.Name.Name, "_test"); slices.Contains(drawers, name) {
				t.Errorf("%s: package %s says nothing of what it holds; name it after its idea", file.path, name)
			}
		}
		if name := filepath.Base(p.path); slices.Contains(drawers, name) {
			t.Errorf("folder %s says nothing of what it holds; name it after its idea", p.path)
		}
	}
}

// What runs before main runs in every test and every command, in an order that nobody wrote down.
func TestNoInit(t *testing.T) {
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

// The top of the repository is its table of contents.
func TestTopOfTheRepository(t *testing.T) {
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
		t.Errorf("%s at the top of the repository: there is a place for everything under the folders that are there", name)
	}
}

// notIgnored leaves out what .gitignore names. Outside a git work tree nothing is ignored.
func notIgnored(t *testing.T, root string, names []string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"check-ignore", "--"}, names...)...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return names // status 1: none is ignored; any other: git cannot tell
	}
	ignored := strings.Fields(string(out))
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(ignored, name) })
}

// long are the files that may be longer than the limit, each with its reason.
var long = map[string]string{}

// Who looks for something should find it by the name of the file, not by searching in it.
func TestFilesAreShort(t *testing.T) {
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
			t.Errorf("%s has %d lines, more than %d: would a reader look for two things there?", path, n, most)
		}
	}
	for path := range long {
		if lines[path] <= most {
			t.Errorf("%s has %d lines now: take it off the list of long files", path, lines[path])
		}
	}
}

// unfinished finds the usual marks; TODO alone is a category of task statuses.
var unfinished = regexp.MustCompile(`(?m)^(TODO|FIXME|XXX)\b|\b(TODO|FIXME|XXX)[:(]`)

// A test that is skipped is a promise that nobody checks.
func TestNothingIsSkippedOrLeftForLater(t *testing.T) {
	t.Parallel()
	for _, p := range repo(t).packages {
		for _, file := range p.files {
			if p.path == "internal/archtest" {
				continue // the words stand in the rule itself
			}
			for _, group := range file.tree.Comments {
				if mark := unfinished.FindString(group.Text()); mark != "" {
					t.Errorf("%s: %q in a comment: do it or write an issue", file.path, mark)
				}
			}
			ast.Inspect(file.tree, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if ok && file.test && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) && isIdent(sel.X, "t", "b", "f", "tb") {
					t.Errorf("%s skips a test: make its condition true instead", file.path)
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
