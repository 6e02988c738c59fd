package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"parapet/internal/app"
)

// version is set when the program is linked.
var version = "dev"

type streams struct {
	in       io.Reader
	out, err io.Writer
}

// program is what every command needs.
type program struct {
	getenv func(string) string
	streams
	// understood is true once the command line is parsed: a later error is the command's.
	understood bool
}

// run carries out the command line and gives the exit code: 0 done, 1 a fault,
// 2 ended by a signal before it was done, 64 a command line or setting that can't be understood.
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
		fmt.Fprintf(s.err, "ptd: ended by a signal: %v\n", err)
		return 2
	}
	fmt.Fprintf(s.err, "ptd: %v\n", err)
	var setting *app.SettingError
	var usage *usageError
	if !p.understood || errors.As(err, &setting) || errors.As(err, &usage) {
		return 64
	}
	return 1
}

// usageError is of a flag's value that only the command can judge.
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

		PersistentPreRun: func(*cobra.Command, []string) { p.understood = true },
	}
	root.AddCommand(newServe(p), newDev(p), newMigrate(p), newAudit(p), newPolicy(p), newEvents(p), newOffice(p), newProvision(p), newSettings(p))
	return root
}

// config reads the environment.
func (p *program) config() (app.Config, error) {
	cfg, err := app.ReadConfig(p.getenv)
	if err == nil {
		cfg.Program, err = os.Executable()
	}
	return cfg, err
}

// directURL is the address of the database as its owner, which a command needs.
func directURL(cfg app.Config) (string, error) {
	if cfg.DirectURL == "" {
		return "", &app.SettingError{Name: "DIRECT_URL", Problem: "must be set to the address of the database as its owner"}
	}
	return cfg.DirectURL, nil
}

// logger writes to the error stream: JSON in production, text for people.
func (p *program) logger(c app.Config) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		level = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: level}
	if c.Production {
		return slog.New(slog.NewJSONHandler(p.err, options))
	}
	return slog.New(slog.NewTextHandler(p.err, options))
}

// override lets a flag beat a setting of the environment.
func (p *program) override(name, value string) {
	before := p.getenv
	p.getenv = func(n string) string {
		if n == name {
			return value
		}
		return before(n)
	}
}
