package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"parapet/internal/cli"
)

func TestRunGivesTheExitCode(t *testing.T) {
	t.Parallel()
	getenv := func(string) string { return "" }
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"version"}, getenv, streams{strings.NewReader(""), &out, &errs}); code != 0 || out.String() != "pt "+version+"\n" {
		t.Fatalf("exit %d, %q", code, out.String())
	}
	if code := run(t.Context(), []string{"nonsense"}, getenv, streams{strings.NewReader(""), &out, &errs}); code != cli.ExitUsage {
		t.Fatalf("exit %d, want %d", code, cli.ExitUsage)
	}
}

// A command that waits for input which never comes must still end.
func TestRunEndsWhileItWaitsForInput(t *testing.T) {
	t.Parallel()
	in, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	begun := time.Now()
	code := run(ctx, []string{"auth", "login", "--with-token"}, func(string) string { return "" }, streams{in, io.Discard, io.Discard})
	if code != cli.ExitCancelled || time.Since(begun) > 5*time.Second {
		t.Fatalf("exit %d after %s, want %d at once", code, time.Since(begun), cli.ExitCancelled)
	}
}
