package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"parapet/internal/app"
	"parapet/internal/telemetry"
)

// version is set by the linker.
var version = "dev"

type streams struct {
	in       io.Reader
	out, err io.Writer
}

// program has the environment and streams that every command needs.
type program struct {
	getenv func(string) string
	streams
	// commandParsed is set once the command line is parsed; later errors have another exit code.
	commandParsed bool
}

// run executes the command line and returns the exit code: 0 success, 1 failure, 2 interrupted
// by a signal, 64 invalid command line or setting.
func run(ctx context.Context, args []string, getenv func(string) string, s streams) int {
	p := &program{getenv: getenv, streams: s}
	root := newRoot(p)
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if ctx.Err() != nil {
		fmt.Fprintf(s.err, "ptd: interrupted by a signal: %v\n", err)
		return 2
	}
	fmt.Fprintf(s.err, "ptd: %v\n", err)
	var setting *app.SettingError
	var usage *usageError
	if !p.commandParsed || errors.As(err, &setting) || errors.As(err, &usage) {
		return 64
	}
	return 1
}

// usageError is an invalid flag value that a command detected.
type usageError struct{ error }

func newRoot(p *program) *cobra.Command {
	root := &cobra.Command{
		Use:           "ptd",
		Short:         "The Parapet server: policy-as-code authorization with a work tracker on top",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		PersistentPreRun: func(*cobra.Command, []string) { p.commandParsed = true },
	}
	root.AddCommand(newServe(p), newDev(p), newMigrate(p), newAudit(p), newPolicy(p), newEvents(p), newJobs(p), newOffice(p), newProvision(p), newSettings(p), newDoctor(p))
	return root
}

// config reads the settings from the environment.
func (p *program) config() (app.Config, error) {
	cfg, err := app.ReadConfig(p.getenv)
	if err == nil {
		cfg.Program, err = os.Executable()
	}
	return cfg, err
}

// directURL returns the address of the database as its owner, or an error if it is not set.
func directURL(cfg app.Config) (string, error) {
	if cfg.DirectURL == "" {
		return "", &app.SettingError{Name: "DIRECT_URL", Problem: "must be set to the address of the database as its owner"}
	}
	return cfg.DirectURL, nil
}

// logger returns a logger on the error stream. Unless PT_LOG_FORMAT sets the format, it writes
// text for people if the stream is a terminal and NODE_ENV is not production, and JSON otherwise.
func (p *program) logger(c app.Config) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		level = slog.LevelInfo
	}
	if c.LogFormat == "text" || (c.LogFormat == "" && !c.Production && isTerminal(p.err)) {
		return slog.New(telemetry.NewTerminalHandler(p.err, level))
	}
	return slog.New(slog.NewJSONHandler(p.err, &slog.HandlerOptions{Level: level}))
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// override replaces a setting of the environment by a flag's value.
func (p *program) override(name, value string) {
	before := p.getenv
	p.getenv = func(n string) string {
		if n == name {
			return value
		}
		return before(n)
	}
}
