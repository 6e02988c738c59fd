package main

import (
	"context"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"parapet/internal/cli"
	"parapet/internal/clock"
)

// version is set when the program is linked.
var version = "dev"

// grace is how long a command that was told to end may take to say what it did.
const grace = 500 * time.Millisecond

type streams struct {
	in       io.Reader
	out, err io.Writer
}

// run carries out the command line and gives the exit code. When ctx ends it
// ends too, even where a command waits for input.
func run(ctx context.Context, args []string, getenv func(string) string, s streams) int {
	dir, err := os.Getwd()
	if err != nil {
		dir = "" // a folder that is gone tells no project
	}
	p := cli.Program{
		Streams: cli.Streams{
			In: s.in, Out: s.out, Err: s.err,
			InTerminal: terminal(s.in), OutTerminal: terminal(s.out), ErrTerminal: terminal(s.err),
			Width: width(s.out), ReadSecret: func(ctx context.Context) (string, error) { return readSecret(ctx, s.in) },
		},
		Getenv: getenv, Version: version, Clock: clock.System{}, Dir: dir,
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
	case <-time.After(grace):
		return cli.ExitCancelled
	}
}

func terminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func width(stream any) int {
	f, ok := stream.(*os.File)
	if !ok {
		return 0
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return w
}

// readSecret reads a line from the terminal without showing it. When ctx ends
// the terminal shows again what is typed.
func readSecret(ctx context.Context, in io.Reader) (string, error) {
	f, ok := in.(*os.File)
	if !ok {
		return "", os.ErrInvalid
	}
	fd := int(f.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	type line struct {
		text []byte
		err  error
	}
	read := make(chan line, 1)
	go func() {
		text, err := term.ReadPassword(fd)
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		return string(l.text), l.err
	case <-ctx.Done():
		if err := term.Restore(fd, before); err != nil {
			return "", err
		}
		return "", ctx.Err()
	}
}
