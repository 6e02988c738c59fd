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

func TestRun_ReturnsExitCode(t *testing.T) {
	t.Parallel()
	getenv := func(string) string { return "" }
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"version"}, getenv, streams{strings.NewReader(""), &out, &errs}); code != 0 || out.String() != "pt "+version+"\n" {
		t.Fatalf("pt version: got exit code %d and output %q", code, out.String())
	}
	if code := run(t.Context(), []string{"nonsense"}, getenv, streams{strings.NewReader(""), &out, &errs}); code != cli.ExitUsage {
		t.Fatalf("unknown command: got exit code %d, want %d", code, cli.ExitUsage)
	}
}

func TestRun_CancelEndsCommandThatWaitsForInput(t *testing.T) {
	t.Parallel()
	in, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	start := time.Now()
	code := run(ctx, []string{"auth", "login", "--with-token"}, func(string) string { return "" }, streams{in, io.Discard, io.Discard})
	if code != cli.ExitCancelled || time.Since(start) > 5*time.Second {
		t.Fatalf("got exit code %d after %s, want %d immediately", code, time.Since(start), cli.ExitCancelled)
	}
}
