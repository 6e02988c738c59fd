package main

import (
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

func waitReady(t *testing.T, base string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		resp, err := http.Get(base + "/readyz")
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not become ready: %v", base, err)
		}
	}
}

// TestServe_InvalidSettings_PrintsOneLine expects one line that names the setting.
func TestServe_InvalidSettings_PrintsOneLine(t *testing.T) {
	t.Parallel()
	good := map[string]string{"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none", "API_KEY_JWT_SECRET": strings.Repeat("x", 32)}
	for _, c := range []struct{ name, value string }{
		{"API_KEY_JWT_SECRET", "short"},
		{"API_KEY_JWT_SECRET", ""},
		{"API_KEY_JWT_SECRET_PREVIOUS", "short"},
		{"API_KEY_JWT_SECRET_PREVIOUS", strings.Repeat("x", 32)},
		{"DATABASE_URL", ""},
		{"PORT", "70000"},
		{"PORT", "http"},
		{"PT_MODULES", "identity,payments"},
		{"AUTH_PROVIDER", "oidc"},
		{"API_KEY_TTL_MAX_ADMIN_DAYS", "366"},
		{"API_KEY_TTL_MAX_USER_DAYS", "0"},
		{"PRINCIPAL_CHECK_CACHE_TTL_MS", "soon"},
		{"AGENT_EXECUTION_TENANT_ALLOWLIST", "acme"},
		{"PT_TRUSTED_PROXIES", "proxy"},
		{"PT_HOST", "localhost:3000"},
	} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(binary, "serve")
			cmd.Env = []string{"PATH=/usr/bin:/bin"}
			for k, v := range good {
				if k == c.name {
					v = c.value
				}
				if v != "" {
					cmd.Env = append(cmd.Env, k+"="+v)
				}
			}
			if _, known := good[c.name]; !known {
				cmd.Env = append(cmd.Env, c.name+"="+c.value)
			}
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatal("ptd serve started, want an error")
			}
			text := strings.TrimSpace(string(out))
			if !strings.Contains(text, c.name) || strings.Contains(text, "\n") {
				t.Errorf("want one line that names %s, got: %s", c.name, text)
			}
			if strings.HasPrefix(c.name, "API_KEY_JWT_SECRET") && c.value != "" && strings.Contains(text, c.value) {
				t.Errorf("the error message contains the secret: %s", text)
			}
		})
	}
}
