package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPoliciesAreReloaded changes a rule of a running server: a set with a fault
// is refused and the present one stays, a good one takes effect.
func TestPoliciesAreReloaded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, folder := range []string{"policies", "policytests"} {
		if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(filepath.Join("..", "..", folder))); err != nil {
			t.Fatal(err)
		}
	}
	p, info := devServer(t, t.TempDir(), "PT_POLICY_DIR="+dir)
	manager := login(t, info, info.BaseURL, "project-manager@acme.example")
	manager.must(200, "GET", "/api/projects", nil)
	roles := filepath.Join(dir, "policies", "parapet", "access", "access.rego")
	text, err := os.ReadFile(roles)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(roles, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	until := func(metric string) {
		t.Helper()
		for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(100 * time.Millisecond) {
			if strings.Contains(string(manager.must(200, "GET", "/metrics", nil).body), metric) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("no %s\n%s", metric, p.err.String())
			}
		}
	}
	// It compiles, and its own tests say that it allows too much.
	write(strings.Replace(string(text), "default allow := false", "default allow := true", 1))
	until(`parapet_policy_reloads_total{result="refused"} 1`)
	manager.must(200, "GET", "/api/projects", nil)
	manager.must(403, "POST", "/api/roles", map[string]any{"name": "Mine", "permissions": []string{}})
	write(string(text) + "\n# The same rules once more.\n")
	until(`parapet_policy_reloads_total{result="taken"} 1`)
	manager.must(200, "GET", "/api/projects", nil)
	manager.must(403, "POST", "/api/roles", map[string]any{"name": "Mine", "permissions": []string{}})
}
