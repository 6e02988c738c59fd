package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"parapet/internal/dev"
	"parapet/internal/dev/devtest"
)

// binary is the path of ptd, which the tests of this package run as a process.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "ptd-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "ptd")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Stderr = os.Stderr
	code := 1
	if err := build.Run(); err == nil {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// process is a running ptd process.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	err  bytes.Buffer
	done chan error
}

func start(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(binary, args...), done: make(chan error, 1)}
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	p.cmd.Stdout, p.cmd.Stderr = io.Discard, &p.err
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		select {
		case <-p.done:
		case <-time.After(20 * time.Second):
		}
	})
	return p
}

// stop sends SIGTERM and waits for the end of the process.
func (p *process) stop() error {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	select {
	case err := <-p.done:
		p.done <- err
		return err
	case <-time.After(60 * time.Second):
		p.t.Fatal("ptd did not end after SIGTERM")
		return nil
	}
}

// seededTemplate is a database that `ptd dev` has seeded, for tests that do not test the first
// start.
var seededTemplate = devtest.NewTemplate(func(ctx context.Context, dataDir string, getenv func(string) string) error {
	return dev.Seed(ctx, dev.Options{DataDir: dataDir, Getenv: getenv, Version: "test", Log: slog.New(slog.DiscardHandler)})
})

// seededServer starts `ptd dev` on a copy of the seeded database.
func seededServer(t *testing.T, env ...string) (*process, dev.Info) {
	t.Helper()
	c := seededTemplate.New(t)
	return devServer(t, c.DataDir, append(c.Environ(), env...)...)
}

// devServer starts `ptd dev` on a folder and waits for its info file.
func devServer(t *testing.T, dir string, env ...string) (*process, dev.Info) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "info.json")
	p := start(t, env, "dev", "--port", "0", "--data-dir", dir, "--info-file", file)
	for deadline := time.Now().Add(90 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		text, err := os.ReadFile(file)
		if err == nil {
			var info dev.Info
			if err := json.Unmarshal(text, &info); err != nil {
				t.Fatalf("info file: got incomplete content: %v: %s", err, text)
			}
			if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
				t.Fatalf("info file: got mode %v, want 0600", st.Mode())
			}
			return p, info
		}
		select {
		case err := <-p.done:
			p.done <- err
			t.Fatalf("ptd dev ended: %v\n%s", err, p.err.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("info file: not written\n%s", p.err.String())
		}
	}
}

// client sends requests with the credential of a user or an API key.
type client struct {
	t           *testing.T
	base, token string
	headers     map[string]string
}

type answer struct {
	status int
	body   []byte
}

func (a answer) decode(t *testing.T, out any) {
	t.Helper()
	if err := json.Unmarshal(a.body, out); err != nil {
		t.Fatalf("decode response: %v: %s", err, a.body)
	}
}

type envelope struct {
	Error struct{ Code, Message, Reason, Field, Permission, RequestID string }
}

func (a answer) decodeError(t *testing.T) envelope {
	t.Helper()
	var e envelope
	a.decode(t, &e)
	return e
}

func (c *client) do(method, path string, in any) answer {
	c.t.Helper()
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			c.t.Fatal(err)
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(context.WithoutCancel(c.t.Context()), method, c.base+path, body)
	if err != nil {
		c.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	for k, v := range c.headers {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatalf("request %s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer{resp.StatusCode, text}
}

// requireStatus sends a request and requires this status.
func (c *client) requireStatus(status int, method, path string, in any) answer {
	c.t.Helper()
	a := c.do(method, path, in)
	if a.status != status {
		c.t.Fatalf("%s %s: got %d %s, want %d", method, path, a.status, a.body, status)
	}
	return a
}

func findUser(t *testing.T, info dev.Info, email string) (dev.Tenant, dev.User) {
	t.Helper()
	for _, tenant := range info.Tenants {
		if !strings.HasSuffix(email, "@"+tenant.Slug+".example") {
			continue
		}
		for _, u := range tenant.Users {
			if u.Email == email {
				return tenant, u
			}
		}
	}
	t.Fatalf("no seeded user %s", email)
	return dev.Tenant{}, dev.User{}
}

func login(t *testing.T, info dev.Info, base, email string) *client {
	t.Helper()
	_, u := findUser(t, info, email)
	if u.Password == nil {
		t.Fatalf("%s has no password", email)
	}
	c := &client{t: t, base: base}
	var out struct{ Token, TenantID string }
	c.requireStatus(200, "POST", "/api/auth/login", map[string]any{"email": email, "password": *u.Password}).decode(t, &out)
	c.token = out.Token
	return c
}
