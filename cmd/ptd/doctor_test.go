package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// runDoctor runs ptd doctor and returns its output and exit code.
func runDoctor(t *testing.T, env []string, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"doctor"}, args...)...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	var text bytes.Buffer
	cmd.Stdout = &text
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return text.String(), cmd.ProcessState.ExitCode()
}

func TestDoctor_ReportsARunningServer(t *testing.T) {
	t.Parallel()
	_, info := seededServer(t)
	env := []string{"DATABASE_URL=" + info.DatabaseURL, "API_KEY_JWT_SECRET=" + info.APIKeyJWTSecret, "PORT=" + info.BaseURL[strings.LastIndex(info.BaseURL, ":")+1:]}
	table, code := runDoctor(t, env, "--full")
	if code != 0 || strings.Contains(table, "problem") || !strings.HasPrefix(table, "STATUS") {
		t.Errorf("exit code %d, want 0 and no problem:\n%s", code, table)
	}
	for _, text := range []string{"serves 127.0.0.1:", "verified every entry", "parapet_jobs can log in"} {
		if !strings.Contains(table, text) {
			t.Errorf("the table does not contain %q:\n%s", text, table)
		}
	}
	text, code := runDoctor(t, append(env, "PT_LOG_LEVEL=loud", "PT_TENANT_QUEUE=none"), "--json")
	var out struct {
		Findings []struct{ Check, Status, Result, Remedy string }
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("output of --json: %v\n%s", err, text)
	}
	problems := 0
	for _, f := range out.Findings {
		if f.Status == "problem" {
			problems++
			if f.Remedy == "" {
				t.Errorf("finding %+v has no remedy", f)
			}
		}
	}
	if code != 1 || problems != 2 {
		t.Errorf("exit code %d and %d problems, want 1 and 2:\n%s", code, problems, text)
	}
}
