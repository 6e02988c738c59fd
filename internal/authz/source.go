package authz

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/util"

	"parapet/policies"
	"parapet/policytests"
)

// Source is a set of policies with its tests.
type Source struct {
	// Policies contains the folders parapet, schemas and capabilities, like the folder
	// policies of the repository.
	Policies fs.FS
	// Tests contains the folders rego (tests) and tables (their data), like the folder
	// policytests of the repository.
	Tests fs.FS
	// Signature contains the file SignatureFile. It is nil if the set is not signed.
	Signature fs.FS
}

// Embedded returns the source that is part of the program.
func Embedded() Source { return Source{Policies: policies.FS, Tests: policytests.FS} }

// Dir returns a source on disk: a folder that contains the folders policies and policytests.
func Dir(root string) Source {
	return Source{
		Policies: os.DirFS(filepath.Join(root, "policies")),
		Tests:    os.DirFS(filepath.Join(root, "policytests")),

		Signature: os.DirFS(root),
	}
}

// files is the parsed content of a source.
type files struct {
	modules      map[string]*ast.Module
	raw          map[string][]byte
	data         map[string]any
	schemas      *ast.SchemaSet
	capabilities *ast.Capabilities
	revision     string
}

const (
	rulesFolder      = "parapet"
	schemasFolder    = "schemas"
	testsFolder      = "rego"
	tablesFolder     = "tables"
	capabilitiesFile = "capabilities/opa.json"
)

// contents maps file names to their content. Each file is read once, so the verified files
// are the ones that are compiled and tested.
type contents struct {
	policies, tests map[string][]byte
}

func (s Source) read() (*contents, error) {
	if s.Policies == nil {
		return nil, fmt.Errorf("authz: the source must contain policies")
	}
	c := &contents{}
	var err error
	if c.policies, err = readTree(s.Policies, rulesFolder, schemasFolder, capabilitiesFile); err != nil {
		return nil, err
	}
	if s.Tests != nil {
		c.tests, err = readTree(s.Tests, testsFolder, tablesFolder)
	}
	return c, err
}

// readTree reads every file in the roots.
func readTree(fsys fs.FS, roots ...string) (map[string][]byte, error) {
	tree := map[string][]byte{}
	for _, root := range roots {
		err := fs.WalkDir(fsys, root, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			tree[name], err = readRegular(fsys, name, maxPolicyFile)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("authz: %w", err)
		}
	}
	return tree, nil
}

// maxPolicyFile limits the size of a file, in bytes.
const maxPolicyFile = 16 << 20

// readRegular reads a regular file of at most limit bytes. Other files are rejected, because
// opening a pipe can block forever and a device may have no end. A symbolic link to a
// regular file is accepted.
func readRegular(fsys fs.FS, name string, limit int64) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	file, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	return text, err
}

// revision returns a hash of the names and contents of the policy files.
func (c *contents) revision() string {
	hash := sha256.New()
	hash.Write(c.policies[capabilitiesFile])
	for _, name := range slices.Sorted(maps.Keys(c.policies)) {
		if name == capabilitiesFile {
			continue
		}
		fmt.Fprintf(hash, "%s\x00%d\x00", name, len(c.policies[name]))
		hash.Write(c.policies[name])
	}
	return hex.EncodeToString(hash.Sum(nil))[:16]
}

// parse parses rules, data, schemas and capabilities.
func (c *contents) parse() (*files, error) {
	f := &files{
		modules: map[string]*ast.Module{},
		raw:     map[string][]byte{},
		data:    map[string]any{},
		schemas: ast.NewSchemaSet(),
	}
	var err error
	if f.capabilities, err = ast.LoadCapabilitiesJSON(bytes.NewReader(c.policies[capabilitiesFile])); err != nil {
		return nil, fmt.Errorf("authz: %s: %w", capabilitiesFile, err)
	}
	for _, name := range slices.Sorted(maps.Keys(c.policies)) {
		if name == capabilitiesFile {
			continue
		}
		text := c.policies[name]
		if strings.HasPrefix(name, schemasFolder+"/") {
			err = f.addSchema(name, text)
		} else {
			err = f.add(name, text)
		}
		if err != nil {
			return nil, err
		}
	}
	f.revision = c.revision()
	return f, nil
}

// add adds a Rego module or a data file. The folder of a data file is its path in data.
func (f *files) add(name string, text []byte) error {
	switch path.Ext(name) {
	case ".rego":
		module, err := ast.ParseModuleWithOpts(name, string(text), ast.ParserOptions{
			ProcessAnnotation: true,
			RegoVersion:       ast.RegoV1,
			Capabilities:      f.capabilities,
		})
		if err != nil {
			return fmt.Errorf("authz: %w", err)
		}
		f.modules[name], f.raw[name] = module, text
	case ".yaml", ".yml", ".json":
		var value any
		if err := util.Unmarshal(text, &value); err != nil {
			return fmt.Errorf("authz: %s: %w", name, err)
		}
		return merge(f.data, strings.Split(path.Dir(name), "/"), value, name)
	}
	return nil
}

// merge adds the value at the path. Two files must not define the same key.
func merge(into map[string]any, at []string, value any, name string) error {
	for _, key := range at {
		if key == "." {
			continue
		}
		next, ok := into[key].(map[string]any)
		if !ok {
			if _, taken := into[key]; taken {
				return fmt.Errorf("authz: %s: %q contains data of another file", name, key)
			}
			next = map[string]any{}
			into[key] = next
		}
		into = next
	}
	object, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("authz: %s: a data file must contain an object", name)
	}
	for key, v := range object {
		if _, taken := into[key]; taken {
			return fmt.Errorf("authz: %s: %q is also defined in another file", name, key)
		}
		into[key] = v
	}
	return nil
}

func (f *files) addSchema(name string, text []byte) error {
	var schema any
	if err := json.Unmarshal(text, &schema); err != nil {
		return fmt.Errorf("authz: %s: %w", name, err)
	}
	ref := ast.Ref{ast.SchemaRootDocument}
	for _, part := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(name, schemasFolder+"/"), path.Ext(name)), "/") {
		ref = append(ref, ast.StringTerm(part))
	}
	f.schemas.Put(ref, schema)
	return nil
}

// addTests adds the tests of a source to its policies.
func (f *files) addTests(tests map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		if err := f.add(name, tests[name]); err != nil {
			return err
		}
	}
	return nil
}

// compile compiles the modules in strict mode and checks their types.
func (f *files) compile() (*ast.Compiler, error) {
	compiler := ast.NewCompiler().
		WithCapabilities(f.capabilities).
		WithStrict(true).
		WithSchemas(f.schemas).
		WithUseTypeCheckAnnotations(true).
		WithDefaultRegoVersion(ast.RegoV1)
	compiler.Compile(f.modules)
	if compiler.Failed() {
		return nil, fmt.Errorf("authz: %w", compiler.Errors)
	}
	return compiler, nil
}
