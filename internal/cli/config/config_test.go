package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func env(m map[string]string) func(string) string { return func(k string) string { return m[k] } }

func TestDir_FollowsPrecedence(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"PT_CONFIG_DIR": "/p", "XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "/p"},
		{map[string]string{"XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "/x/pt"},
		{map[string]string{"XDG_CONFIG_HOME": "relative", "HOME": "/h"}, "/h/.config/pt"},
		{nil, ""},
	} {
		if got := Dir(env(tc.env)); got != tc.want {
			t.Errorf("%v: got %q, want %q", tc.env, got, tc.want)
		}
	}
}

func TestStore_CredentialsFileIsPrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "pt")
	s := NewStore(dir)
	if c, err := s.Credentials(); err != nil || len(c.Tokens) != 0 {
		t.Fatalf("missing directory: got %v, %v, want no tokens", c, err)
	}
	err := s.ChangeCredentials(func(c *Credentials) {
		c.Tokens["default"] = Credential{BaseURL: "http://localhost:3000", Token: "a.b.c"}
	})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, credentialsFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v, want 0600", info.Mode(), err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("mode %v, %v, want 0700", info.Mode(), err)
	}
	if s.Exposed() != "" {
		t.Fatal("Exposed with mode 0600: got a path, want none")
	}
	if c, err := s.Credentials(); err != nil || c.Tokens["default"].Token != "a.b.c" {
		t.Fatalf("credentials of profile default: got %v, %v, want the token a.b.c", c, err)
	}
	if err := os.Chmod(filepath.Join(dir, credentialsFile), 0o644); err != nil {
		t.Fatal(err)
	}
	if s.Exposed() == "" {
		t.Fatal("Exposed with mode 0644: got no path, want the path of the file")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.json.*")); len(left) > 0 {
		t.Fatalf("temporary files: got %v, want none", left)
	}
}

func TestStore_InvalidFileIsNotOverwritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, credentialsFile)
	if err := os.WriteFile(path, []byte(`{"version":1,"tokens":{"default":{"token":"secret.in.here`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := NewStore(dir)
	err := s.ChangeCredentials(func(*Credentials) {})
	if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "secret") {
		t.Fatalf("got %v, want an error that names the file and no token", err)
	}
	if text, _ := os.ReadFile(path); !strings.Contains(string(text), "secret.in.here") {
		t.Fatal("the invalid file was overwritten")
	}
}

func TestParseConfig_RejectsInvalidInput(t *testing.T) {
	t.Parallel()
	good := `{"version":1,"current":"work","profiles":{"work":{"baseUrl":"https://p.example.org","org":"o","project":"ACME"}}}`
	if c, err := ParseConfig([]byte(good)); err != nil || c.Profiles["work"].Project != "ACME" {
		t.Fatalf("valid file: got %+v, %v, want the project ACME", c, err)
	}
	for _, bad := range []string{
		``, `[]`, `null`, `{}`, `{"version":2}`, `{"version":1,"colour":true}`, `{"version":1,"version":1}`,
		`{"version":1,"current":"../x"}`, `{"version":1,"profiles":{"":{}}}`, `{"version":1,"profiles":{"w":{"token":"x"}}}`,
		`{"version":1,"profiles":{"w":{"baseUrl":"localhost"}}}`, `{"version":1}{}`,
	} {
		if c, err := ParseConfig([]byte(bad)); err == nil {
			t.Errorf("%s: got %+v, want an error", bad, c)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(`{"version":1,"current":"work","profiles":{"work":{"baseUrl":"https://p.example.org"}}}`))
	f.Add([]byte(`{"version":1,"tokens":{"a":{"baseUrl":"http://x","token":"t"}}}`))
	f.Add([]byte(`{"version":1`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := ParseConfig(text); err == nil {
			for name := range c.Profiles {
				if CheckProfile(name) != nil {
					t.Fatalf("got a profile with the invalid name %q, want an error", name)
				}
			}
		}
		secret := "s3cr3t-value"
		if _, err := ParseCredentials(append(text, secret...)); err != nil && strings.Contains(err.Error(), secret) {
			t.Fatalf("the error contains the content of the file: %v", err)
		}
	})
}
