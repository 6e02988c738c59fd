// Thousands of evaluations by one goroutine, which the race detector makes ten times slower.
//go:build !race

package authz_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"parapet/internal/authz"
	"parapet/policies"
)

// TestReload_RequiresOperatorSignature changes the signed files, the key and the signature.
func TestReload_RequiresOperatorSignature(t *testing.T) {
	t.Parallel()
	secret, public, err := authz.NewSigningKey("policies.example")
	if err != nil {
		t.Fatal(err)
	}
	otherSecret, _, err := authz.NewSigningKey("policies.example")
	if err != nil {
		t.Fatal(err)
	}
	sign := func(key string, policies fs.FS, tests fs.FS) fs.FS {
		signature, _, err := authz.Sign(authz.Source{Policies: policies, Tests: tests}, key)
		if err != nil {
			t.Fatal(err)
		}
		return fstest.MapFS{authz.SignatureFile: &fstest.MapFile{Data: signature}}
	}
	e := newEngine(t, authz.Config{PublicKey: public})
	good := sign(secret, policies.FS, passingTests())
	data, err := fs.ReadFile(good, authz.SignatureFile)
	if err != nil {
		t.Fatal(err)
	}
	renamed := fstest.MapFS{authz.SignatureFile: &fstest.MapFile{Data: []byte(strings.Replace(string(data), "parapet policy set v1", "parapet policy set v2", 1))}}
	added := changedPolicies(t, nil).(fstest.MapFS)
	added["parapet/extra/extra.rego"] = &fstest.MapFile{Data: []byte("package parapet.extra\n")}
	for name, c := range map[string]struct {
		source authz.Source
		want   string
	}{
		"no signature":                   {authz.Source{Policies: policies.FS, Tests: passingTests()}, "is not signed"},
		"no signature file":              {authz.Source{Policies: policies.FS, Tests: passingTests(), Signature: fstest.MapFS{}}, "has no policies.sig"},
		"another key":                    {authz.Source{Policies: policies.FS, Tests: passingTests(), Signature: sign(otherSecret, policies.FS, passingTests())}, "is not signed by the key policies.example"},
		"a changed text":                 {authz.Source{Policies: policies.FS, Tests: passingTests(), Signature: renamed}, "is not signed by the key policies.example"},
		"an empty signature":             {authz.Source{Policies: policies.FS, Tests: passingTests(), Signature: fstest.MapFS{authz.SignatureFile: &fstest.MapFile{}}}, "is not signed by the key"},
		"a changed rule":                 {authz.Source{Policies: changedPolicies(t, [][3]string{{accessRego, "allow if {", "allow if {\n\n"}}), Tests: passingTests(), Signature: good}, `"policies/parapet/access/access.rego" was added or changed`},
		"an added rule":                  {authz.Source{Policies: added, Tests: passingTests(), Signature: good}, `"policies/parapet/extra/extra.rego" was added or changed`},
		"other tests":                    {authz.Source{Policies: policies.FS, Tests: testSource("package only_test\n\ntest_other if true\n"), Signature: good}, `"policytests/rego/only_test.rego" was added or changed`},
		"a removed test":                 {authz.Source{Policies: policies.FS, Tests: passingTests(), Signature: sign(secret, policies.FS, authz.Embedded().Tests)}, "after signing"},
		"a huge signature":               {authz.Source{Policies: policies.FS, Tests: passingTests(), Signature: fstest.MapFS{authz.SignatureFile: &fstest.MapFile{Data: make([]byte, 2<<20)}}}, "is larger than"},
		"a signature that is not a note": {authz.Source{Policies: policies.FS, Tests: passingTests(), Signature: fstest.MapFS{authz.SignatureFile: &fstest.MapFile{Data: []byte("hello\n")}}}, "is not signed by the key"},
	} {
		if err := e.Reload(t.Context(), c.source); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, at reload: got error %v, want %q", name, err, c.want)
		}
		if _, err := authz.New(t.Context(), authz.Config{Source: c.source, PublicKey: public}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, at start: got error %v, want %q", name, err, c.want)
		}
	}
	if err := e.Reload(t.Context(), authz.Source{Policies: policies.FS, Tests: passingTests(), Signature: good}); err != nil {
		t.Errorf("signed set: got %v, want no error", err)
	}
}
