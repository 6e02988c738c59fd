package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"parapet/internal/cli"
)

func TestRun_ReturnsExitCode(t *testing.T) {
	t.Parallel()
	getenv := func(string) string { return "" }
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"version"}, getenv, streams{strings.NewReader(""), &out, &errs}, &interrupts{}); code != 0 || out.String() != "pt "+version+"\n" {
		t.Fatalf("pt version: got exit code %d and output %q", code, out.String())
	}
	if code := run(t.Context(), []string{"nonsense"}, getenv, streams{strings.NewReader(""), &out, &errs}, &interrupts{}); code != cli.ExitUsage {
		t.Fatalf("unknown command: got exit code %d, want %d", code, cli.ExitUsage)
	}
}

// signalingReader calls started when a read begins.
type signalingReader struct {
	io.Reader
	started func()
}

func (r signalingReader) Read(p []byte) (int, error) {
	r.started()
	return r.Reader.Read(p)
}

func TestRun_CancelEndsCommandThatWaitsForInput(t *testing.T) {
	t.Parallel()
	in, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// The read blocks until the test ends.
	code := run(ctx, []string{"auth", "login", "--with-token"}, func(string) string { return "" }, streams{signalingReader{in, cancel}, io.Discard, io.Discard}, &interrupts{})
	if code != cli.ExitCancelled {
		t.Fatalf("got exit code %d, want %d", code, cli.ExitCancelled)
	}
}
