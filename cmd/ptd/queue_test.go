package main

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// operate runs ptd against the database and returns its output and exit code.
func operate(t *testing.T, databaseURL, line string) (string, int) {
	t.Helper()
	cmd := exec.Command(binary, strings.Fields(line)...)
	cmd.Env = []string{"DATABASE_URL=" + databaseURL}
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// untilOutput repeats a command until it succeeds and done accepts its output.
func untilOutput(t *testing.T, databaseURL, line string, done func(out string) bool) string {
	t.Helper()
	var out string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var code int
		if out, code = operate(t, databaseURL, line); code == 0 && done(out) {
			return out
		}
	}
	t.Fatalf("ptd %s: still got %s", line, out)
	return ""
}

func TestEvents_ListAndReplay(t *testing.T) {
	t.Parallel()
	_, info := seededServer(t)
	const list = "events list --type directory.user.* --limit 1"
	isDelivered := func(out string) bool { return strings.HasSuffix(out, "\t0 pending, 0 parked\n") }
	columns := strings.Split(untilOutput(t, info.DatabaseURL, list, isDelivered), "\t")
	if len(columns) != 6 || !strings.HasPrefix(columns[3], "directory.user.") || !strings.HasPrefix(columns[4], "user:") {
		t.Fatalf("ptd %s: got %q, want one event about a user", list, columns)
	}
	event := columns[2]
	for _, c := range []struct {
		line, want string
		code       int
	}{
		{"events replay " + event + " --subscriber notifications", event + " is in the queue of notifications\n", 0},
		{"events replay " + event + " --subscriber nosuch", "it must be one of: ", 64},
		{"events replay 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --subscriber notifications", "there is no delivered event 018f3c5e", 1},
		{"events replay x --subscriber notifications", "must be a UUID", 64},
		{"events list --tenant x", "must be a UUID", 64},
		{"events list --record nosuch", "", 0},
	} {
		if out, code := operate(t, info.DatabaseURL, c.line); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("ptd %s: got exit code %d, %s; want %d and %q", c.line, code, out, c.code, c.want)
		}
	}
	untilOutput(t, info.DatabaseURL, list, isDelivered)
}

func TestJobs_ListRetryCancel(t *testing.T) {
	t.Parallel()
	_, info := seededServer(t)
	const list = "jobs list --state completed --limit 1"
	out := untilOutput(t, info.DatabaseURL, list, func(out string) bool { return out != "" })
	columns := strings.Split(strings.TrimSuffix(out, "\n"), "\t")
	if len(columns) != 8 || columns[3] != "completed" {
		t.Fatalf("ptd %s: got %q, want one completed job", list, columns)
	}
	job := columns[0]
	for _, c := range []struct {
		line, want string
		code       int
	}{
		{"jobs retry " + job, job + "\t" + columns[1] + "\t", 0},
		{"jobs cancel " + job, job + "\t" + columns[1] + "\t", 0},
		{"jobs retry 999999999", "there is no job 999999999", 1},
		{"jobs cancel first", "must be a whole number", 64},
		{"jobs list --state done", "unknown state \"done\"; allowed: ", 1},
		{"jobs list --limit 0", "--limit must be", 64},
	} {
		if out, code := operate(t, info.DatabaseURL, c.line); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("ptd %s: got exit code %d, %s; want %d and %q", c.line, code, out, c.code, c.want)
		}
	}
}
