package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/dev"
	"parapet/internal/postgres/pgtest"
)

// TestAgentRun_ExecutesCommandAndIsScored assigns a task to a synthetic agent: the
// operator's command executes it without access to the server's secrets, and the cron
// route scores the run. Without a command the run stays queued.
func TestAgentRun_ExecutesCommandAndIsScored(t *testing.T) {
	t.Parallel()
	c := seededTemplate.New(t)
	p, info := devServer(t, c.DataDir, c.Environ()...)
	acme, _ := findUser(t, info, "admin@acme.example")
	var agent dev.User
	for _, u := range acme.Users {
		if u.PrincipalKind == "AGENT" && u.Status == "ACTIVE" {
			agent = u
		}
	}
	manager := login(t, info, info.BaseURL, "project-manager@acme.example")
	var project struct{ ID string }
	manager.requireStatus(201, "POST", "/api/projects", map[string]any{"name": "Agents", "startDate": "2027-01-01"}).decode(t, &project)
	assignment := map[string]any{"title": "Sort the bolts", "assignee": agent.ID}
	// The tenant is not in AGENT_EXECUTION_TENANT_ALLOWLIST yet.
	manager.requireStatus(400, "POST", "/api/projects/"+project.ID+"/tasks", assignment)
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}

	allowed := "AGENT_EXECUTION_TENANT_ALLOWLIST=" + string(acme.ID)
	p, info = devServer(t, c.DataDir, append(c.Environ(), allowed)...)
	manager = login(t, info, info.BaseURL, "project-manager@acme.example")
	manager.requireStatus(201, "POST", "/api/projects/"+project.ID+"/tasks", assignment)
	type run struct {
		ID, Status, Note, Summary, Error string
		Attempts                         int
		Score                            *float64
	}
	only := func() run {
		t.Helper()
		var page struct{ Items []run }
		manager.requireStatus(200, "GET", "/api/runs?projectId="+project.ID, nil).decode(t, &page)
		if len(page.Items) != 1 {
			t.Fatalf("got %d runs, want 1", len(page.Items))
		}
		return page.Items[0]
	}
	conn, err := pgx.Connect(t.Context(), info.DirectURL)
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Eventually(t, time.Minute, "the job of the run is inserted", func() bool {
		var n int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM river.river_job WHERE queue = 'agents' AND state = 'available'`).Scan(&n)
		return err == nil && n == 1
	})
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := only(); r.Status != "QUEUED" || !strings.Contains(r.Note, "PT_AGENT_COMMAND") {
		t.Errorf("run without a command: got %+v, want QUEUED", r)
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}

	seen := filepath.Join(t.TempDir(), "seen")
	script := filepath.Join(t.TempDir(), "agent")
	text := "#!/bin/sh\ncat >" + seen + "\nenv >>" + seen + "\necho '{\"status\":\"SUCCEEDED\",\"summary\":\"Sorted.\"}'\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	_, info = devServer(t, c.DataDir, append(c.Environ(), allowed, "PT_AGENT_COMMAND="+script, "RUN_SCORING_TENANT_ALLOWLIST="+string(acme.ID)+":1")...)
	manager = login(t, info, info.BaseURL, "project-manager@acme.example")
	for end := time.Now().Add(60 * time.Second); only().Status != "SUCCEEDED"; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the run was not executed: %+v", only())
		}
	}
	if r := only(); r.Summary != "Sorted." || r.Attempts != 1 || r.Note != "" {
		t.Errorf("run: got %+v, want the summary Sorted. after one attempt and no note", r)
	}
	read, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(read), `"title":"Sort the bolts"`) || !strings.Contains(string(read), `"lessons":{"found":false,"lessons":[]}`) {
		t.Errorf("input of the command: got %s, want the title of the task and no lessons", read)
	}
	for _, secret := range []string{info.APIKeyJWTSecret, info.CronSecret, "DATABASE_URL", "PT_AGENT_COMMAND"} {
		if strings.Contains(string(read), secret) {
			t.Error("environment of the command: contains a setting of the server")
		}
	}

	cron := &client{t: t, base: info.BaseURL}
	const route = "/api/cron/run-scores/process"
	cron.requireStatus(http.StatusUnauthorized, "GET", route, nil)
	manager.requireStatus(http.StatusUnauthorized, "GET", route, nil)
	cron.token = info.CronSecret
	cron.requireStatus(200, "GET", route, nil)
	if r := only(); r.Score == nil || *r.Score <= 0 || *r.Score > 1 {
		t.Errorf("run: got %+v, want a score", r)
	}
}

// TestAgentRun_KilledServer_EndsAllProcesses kills ptd while a command runs that has started a daemon in its
// own session. Both must have ended before the next ptd starts an attempt.
func TestAgentRun_KilledServer_EndsAllProcesses(t *testing.T) {
	t.Parallel()
	c, seen := seededTemplate.New(t), t.TempDir()
	// The daemon closes its descriptors and writes its process id; the command waits.
	script := filepath.Join(t.TempDir(), "agent")
	text := "#!/bin/sh\nset -e\n" +
		"setsid sh -c 'setsid sh -c \"echo \\$\\$ >" + seen + "/new; mv " + seen + "/new " + seen + "/daemon; exec sleep 300\" </dev/null >/dev/null 2>&1 & exit 0'\n" +
		"sleep 300\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	p, info := devServer(t, c.DataDir, c.Environ()...)
	acme, _ := findUser(t, info, "admin@acme.example")
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	env := append(c.Environ(), "AGENT_EXECUTION_TENANT_ALLOWLIST="+string(acme.ID), "PT_AGENT_COMMAND="+script)
	p, info = devServer(t, c.DataDir, env...)
	var agent dev.User
	for _, u := range acme.Users {
		if u.PrincipalKind == "AGENT" && u.Status == "ACTIVE" {
			agent = u
		}
	}
	manager := login(t, info, info.BaseURL, "project-manager@acme.example")
	var project struct{ ID string }
	manager.requireStatus(201, "POST", "/api/projects", map[string]any{"name": "Killed", "startDate": "2027-01-01"}).decode(t, &project)
	manager.requireStatus(201, "POST", "/api/projects/"+project.ID+"/tasks", map[string]any{"title": "Sort the nuts", "assignee": agent.ID})
	daemon := 0
	for end := time.Now().Add(60 * time.Second); daemon == 0; time.Sleep(10 * time.Millisecond) {
		if id, err := os.ReadFile(filepath.Join(seen, "daemon")); err == nil {
			if daemon, err = strconv.Atoi(strings.TrimSpace(string(id))); err != nil {
				t.Fatal(err)
			}
		}
		if time.Now().After(end) {
			t.Fatal("the command did not start")
		}
	}
	t.Cleanup(func() { _ = syscall.Kill(daemon, syscall.SIGKILL) })
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.done <- <-p.done
	killed := time.Now()
	for isRunning(daemon) {
		if time.Since(killed) > 20*time.Second {
			t.Fatal("a process of the command runs after ptd was killed")
		}
		time.Sleep(time.Millisecond)
	}
	t.Logf("from kill -9 of ptd to the end of the command's last descendant: %s", time.Since(killed).Round(time.Millisecond))
}

// isRunning reports whether a process runs and is not a zombie.
func isRunning(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(text), ") Z ")
}
