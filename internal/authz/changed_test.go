package authz_test

import (
	"parapet/internal/authz"

	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"parapet/policies"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

// change returns a copy of the policies with a changed file. It replaces every occurrence of
// old; an empty old replaces the complete file.
func change(t testing.TB, name, old, with string) fs.FS {
	t.Helper()
	changed := fstest.MapFS{}
	err := fs.WalkDir(policies.FS, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(policies.FS, path)
		changed[path] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text := with
	if old != "" {
		before := ""
		if file := changed[name]; file != nil {
			before = string(file.Data)
		}
		if !strings.Contains(before, old) {
			t.Fatalf("%s does not contain %q", name, old)
		}
		text = strings.ReplaceAll(before, old, with)
	}
	changed[name] = &fstest.MapFile{Data: []byte(text)}
	return changed
}

// testSource returns the tests of a source: one Rego file.
func testSource(text string) fs.FS {
	return fstest.MapFS{
		"rego/only_test.rego":   &fstest.MapFile{Data: []byte(text)},
		"tables/none/data.yaml": &fstest.MapFile{Data: []byte("cases: []\n")},
	}
}

// passingTests returns tests that pass with any policies.
func passingTests() fs.FS { return testSource("package only_test\n\ntest_passes if true\n") }

// testsOf returns the Rego tests and the decision tables of one policy package.
func testsOf(t testing.TB, name string) fs.FS {
	t.Helper()
	all, files := authz.Embedded().Tests, fstest.MapFS{}
	for _, path := range []string{"rego/" + name + "_test.rego", "tables/" + name + "/data.yaml"} {
		text, err := fs.ReadFile(all, path)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = &fstest.MapFile{Data: text}
	}
	return files
}
