package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/authz"
)

// TestReload_AcceptsSignedSetsThatKeepTheInvariants changes a policy rule of a running server
// that requires signatures. An unsigned set, and a signed one that violates an
// invariant, are rejected and the active set stays; a valid one becomes active. Every
// reload has a critical audit entry in the chain without a tenant.
func TestReload_AcceptsSignedSetsThatKeepTheInvariants(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "policies"), os.DirFS(filepath.Join("..", "..", "policies"))); err != nil {
		t.Fatal(err)
	}
	// The set's only test always passes, so the invariants must reject the set.
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("policytests/rego/only_test.rego", "package only_test\n\ntest_passes if true\n")
	write("policytests/tables/none/data.yaml", "cases: []\n")
	key := filepath.Join(t.TempDir(), "policy.key")
	public := strings.TrimSpace(strings.TrimPrefix(runPTD(t, 0, "policy", "keygen", "policies.example", key), "PT_POLICY_KEY="))
	runPTD(t, 1, "policy", "keygen", "policies.example", key) // never overwrites a key
	runPTD(t, 1, "policy", "check", "--public-key", public, dir)
	runPTD(t, 0, "policy", "sign", "--key-file", key, dir)
	runPTD(t, 0, "policy", "check", "--public-key", public, dir)

	p, info := seededServer(t, "PT_POLICY_DIR="+dir, "PT_POLICY_KEY="+public)
	manager := login(t, info, info.BaseURL, "project-manager@acme.example")
	reload := func(metric string) {
		t.Helper()
		if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(100 * time.Millisecond) {
			if strings.Contains(string(manager.requireStatus(200, "GET", "/metrics", nil).body), metric) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("no %s\n%s", metric, p.err.String())
			}
		}
		manager.requireStatus(200, "GET", "/api/projects", nil)
		manager.requireStatus(403, "POST", "/api/roles", map[string]any{"name": "Mine", "permissions": []string{}})
	}

	const rule = "policies/parapet/access/access.rego"
	text, err := os.ReadFile(filepath.Join(dir, rule))
	if err != nil {
		t.Fatal(err)
	}
	// The changed rule allows everything to every user of the tenant.
	before, after, _ := strings.Cut(string(text), "allow if {\n\t_in_tenant\n")
	_, after, _ = strings.Cut(after, "}\n")
	write(rule, before+"allow if {\n\t_in_tenant\n}\n"+after)
	reload(`parapet_policy_reloads_total{result="refused"} 1`)
	if out := runPTD(t, 1, "policy", "sign", "--key-file", key, dir); !strings.Contains(out, "invariant ") {
		t.Errorf("ptd policy sign: %s", out)
	}
	secret, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	signature, _, err := authz.Sign(authz.Dir(dir), strings.TrimSpace(string(secret)))
	if err != nil {
		t.Fatal(err)
	}
	write(authz.SignatureFile, string(signature))
	reload(`parapet_policy_reloads_total{result="refused"} 2`)
	if out := serveOnce(t, info.DatabaseURL, dir, public); !strings.HasPrefix(out, "ptd: setting PT_POLICY_DIR: ") || !strings.Contains(out, "invariant ") || strings.Count(out, "\n") != 1 {
		t.Errorf("serve with a set that violates an invariant: got %s, want one line that names it", out)
	}
	write(rule, string(text)+"\n# The same rules once more.\n")
	runPTD(t, 0, "policy", "sign", "--key-file", key, dir)
	reload(`parapet_policy_reloads_total{result="taken"} 1`)

	conn, err := pgx.Connect(t.Context(), info.DirectURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `
		SELECT concat_ws(' ', e.actor_type, e.action, e.changes->>'before' <> e.changes->>'after', e.changes->>'after' = e.resource_id, e.changes->>'signer',
		       e.changes->>'trigger', e.changes->>'problem' LIKE '%after signing%', e.changes->>'invariant' <> '', o.type)
		FROM audit.entries e
		LEFT JOIN events.outbox o ON o.aggregate_id = e.id::text
		WHERE e.chain_id = '00000000-0000-0000-0000-000000000000' AND e.resource_type = 'policy_set' ORDER BY e.seq`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	want := []string{
		"system policy.rejected t t  SIGHUP t f audit.entry.created",
		"system policy.rejected t t policies.example SIGHUP f t audit.entry.created",
		"system policy.reloaded t t policies.example SIGHUP audit.entry.created",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("audit entries: got %q, %v, want %q", got, err, want)
	}
}

// runPTD runs a command, requires the exit code, and returns the output.
func runPTD(t *testing.T, code int, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != code {
		t.Fatalf("ptd %s: got exit code %d, want %d: %s", strings.Join(args, " "), cmd.ProcessState.ExitCode(), code, out)
	}
	return string(out)
}

// serveOnce starts a server that must fail to start, and returns the output.
func serveOnce(t *testing.T, databaseURL, policies, public string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, "serve", "--port", "0")
	cmd.Env = []string{
		"PATH=/usr/bin:/bin", "DATABASE_URL=" + databaseURL, "API_KEY_JWT_SECRET=" + strings.Repeat("s", 40),
		"PT_POLICY_DIR=" + policies, "PT_POLICY_KEY=" + public,
	}
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 64 {
		return fmt.Sprintf("exit code %d: %s", code, out)
	}
	return string(out)
}
