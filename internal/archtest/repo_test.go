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
	path string // relative to the root of the repository, with slashes
	test bool
	tree *ast.File
	text []byte
}

// imports returns the imports of the file.
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

// pkg is a folder with Go files, named by its path in the module: "internal/op".
type pkg struct {
	path  string
	files []source
}

// repository is the parsed repository. It is read once and not modified.
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

// read parses every Go file of the main module, without nested modules.
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
			return skipDir(root, path, entry.Name())
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

// skipDir returns fs.SkipDir for a directory that contains no code of this module.
func skipDir(root, path, name string) error {
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

// isWithin reports whether the path equals one of the prefixes or is below one.
func isWithin(path string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		return path == prefix || strings.HasPrefix(path, prefix+"/")
	})
}

// local returns the path of an import in this module, or "".
func local(path string) string {
	rest, ok := strings.CutPrefix(path, module+"/")
	if !ok {
		return ""
	}
	return rest
}

// isStandard reports whether an import is in the standard library: its first element contains
// no dot.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return first != module && !strings.Contains(first, ".")
}

// readFile returns the content of a file. name is relative to the root of the repository, with
// slashes.
func readFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repo(t).root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
