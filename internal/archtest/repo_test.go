package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "parapet"

// source is one parsed Go file.
type source struct {
	path string // from the root of the repository, with slashes
	test bool
	tree *ast.File
	text []byte
}

// imports lists what the file imports.
func (s source) imports() []string {
	var paths []string
	for _, spec := range s.tree.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// pkg is a folder with Go in it, named by its path in the module: "internal/op".
type pkg struct {
	path  string
	files []source
}

// repository is read once: every test only looks at it.
type repository struct {
	root     string
	fset     *token.FileSet
	packages []pkg
}

var load = sync.OnceValues(read)

func repo(t *testing.T) repository {
	t.Helper()
	r, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// read parses every Go file of the main module; nested modules are not part of the product.
func read() (repository, error) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return repository{}, err
	}
	r := repository{root: root, fset: token.NewFileSet()}
	byPath := map[string]*pkg{}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return enter(root, path, entry.Name())
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		tree, err := parser.ParseFile(r.fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		dir := filepath.ToSlash(filepath.Dir(rel))
		if byPath[dir] == nil {
			byPath[dir] = &pkg{path: dir}
		}
		byPath[dir].files = append(byPath[dir].files, source{
			path: rel, test: strings.HasSuffix(rel, "_test.go"), tree: tree, text: text,
		})
		return nil
	})
	if err != nil {
		return repository{}, err
	}
	for _, p := range byPath {
		r.packages = append(r.packages, *p)
	}
	slices.SortFunc(r.packages, func(a, b pkg) int { return strings.Compare(a.path, b.path) })
	return r, nil
}

func enter(root, path, name string) error {
	if path == root {
		return nil
	}
	if name == "testdata" || name == "bin" || name == "dist" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

// within tells whether path is one of the prefixes or lies under one.
func within(path string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		return path == prefix || strings.HasPrefix(path, prefix+"/")
	})
}

// local is the path of an import inside the module, or "" for any other import.
func local(path string) string {
	rest, ok := strings.CutPrefix(path, module+"/")
	if !ok {
		return ""
	}
	return rest
}

// standard tells whether an import is of the standard library: its first part has no dot.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return first != module && !strings.Contains(first, ".")
}
