package main

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"parapet/internal/cli"
	"parapet/internal/clock"
)

// version is the version of pt. The linker sets it.
var version = "dev"

// gracePeriod is how long a cancelled command may take to print its result.
const gracePeriod = 500 * time.Millisecond

type streams struct {
	in       io.Reader
	out, err io.Writer
}

// run executes the command line and returns the exit code. It returns when ctx ends, even
// if a command waits for input.
func run(ctx context.Context, args []string, getenv func(string) string, s streams, i *interrupts) int {
	dir, err := os.Getwd()
	if err != nil {
		dir = "" // without a directory, there is no default project
	}
	columns, lines := size(s.out)
	p := cli.Program{
		Streams: cli.Streams{
			In: s.in, Out: s.out, Err: s.err,
			InTerminal: isTerminal(s.in), OutTerminal: isTerminal(s.out), ErrTerminal: isTerminal(s.err),
			Width: columns, Height: lines, ReadSecret: func(ctx context.Context, prompt string) (string, error) { return readSecret(ctx, s, prompt) },
		},
		Getenv: getenv, Version: version, Clock: clock.System{}, Zone: time.Local, Dir: dir, IgnoreInterrupt: i.ignore,
	}
	done := make(chan int, 1)
	go func() { done <- p.Run(ctx, args) }()
	select {
	case code := <-done:
		return code
	case <-ctx.Done():
	}
	select {
	case code := <-done:
		return code
	case <-time.After(gracePeriod):
		return cli.ExitCancelled
	}
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// size returns the size of a terminal in columns and lines, or zeros if stream is not a
// terminal.
func size(stream any) (columns, lines int) {
	f, ok := stream.(*os.File)
	if !ok {
		return 0, 0
	}
	columns, lines, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, lines
}

// readSecret prints the prompt and reads a line from the terminal without echoing it. It
// returns io.EOF after Ctrl-C or Ctrl-D. When it returns, the terminal is as before.
//
// It does not use term.ReadPassword, which ignores Ctrl-D.
func readSecret(ctx context.Context, s streams, prompt string) (secret string, err error) {
	f, ok := s.in.(*os.File)
	if !ok {
		return "", os.ErrInvalid
	}
	fd := int(f.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, term.Restore(fd, before)) }()
	if _, err := io.WriteString(s.err, prompt); err != nil {
		return "", err
	}
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1)
	go func() {
		text, err := term.NewTerminal(secretInput{f, io.Discard}, "").ReadPassword("")
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		return l.text, l.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// secretInput reads single bytes, so that the rest of the input stays for the next reader.
type secretInput struct {
	io.Reader
	io.Writer
}

func (s secretInput) Read(p []byte) (int, error) { return s.Reader.Read(p[:min(1, len(p))]) }
