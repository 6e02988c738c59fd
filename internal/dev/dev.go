// Package dev runs the product on a database of its own, for trying and for
// driving it from programs: an embedded Postgres in a data folder, migrated, with
// seeded tenants, and the same server that `ptd serve` is.
//
// It promises that everything it makes lies in the data folder; that a second
// start on the folder finds the same ids and passwords; and that it ends what it
// started, the database too.
package dev

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"parapet/internal/app"
	"parapet/internal/filelock"
	"parapet/internal/postgres"
	"parapet/internal/postgres/embedded"
)

// Options say what to run.
type Options struct {
	// DataDir holds all that is kept. It is created.
	DataDir string
	// Getenv reads the settings; they work as in `ptd serve`.
	Getenv  func(string) string
	Version string
	Log     *slog.Logger
	// Program is the path of ptd, which supervises the commands of agents.
	Program string
}

// Dev is a running server with its database.
type Dev struct {
	app      *app.App
	database *embedded.Server
	info     Info
	// lock keeps other processes from the data folder.
	lock *filelock.Lock
}

const database = "parapet"

// Start brings everything up: when it returns, requests are accepted.
func Start(ctx context.Context, o Options) (_ *Dev, err error) {
	if err := os.MkdirAll(o.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	d := &Dev{}
	defer func() {
		if err != nil {
			d.Close()
		}
	}()
	if d.lock, err = lockFolder(o.DataDir); err != nil {
		return nil, err
	}
	kept, err := loadSecrets(o.DataDir)
	if err != nil {
		return nil, err
	}
	settings := map[string]string{"API_KEY_JWT_SECRET": kept.APIKeyJWTSecret, "CRON_SECRET": kept.CronSecret}
	// What is set comes before what the folder holds.
	getenv := func(name string) string {
		if v := o.Getenv(name); v != "" {
			return v
		}
		return settings[name]
	}
	cfg, err := app.ReadConfig(getenv)
	if err == nil {
		// Creating a cluster takes seconds: what would stop the server is found first.
		err = app.Preflight(ctx, cfg)
	}
	if err != nil {
		return nil, err
	}
	if o.Getenv("DATABASE_URL") == "" {
		if err := d.startDatabase(ctx, o, settings); err != nil {
			return nil, err
		}
	} else if o.Getenv("DIRECT_URL") == "" {
		return nil, &app.SettingError{Name: "DIRECT_URL", Problem: "must be set if DATABASE_URL is set, because ptd dev migrates and seeds as the database's owner"}
	}
	if cfg, err = app.ReadConfig(getenv); err != nil {
		return nil, err
	}
	cfg.MailToLog = true
	if cfg.PublicURL == "" {
		cfg.PublicURL = "http://" + net.JoinHostPort(cfg.Host, strconv.Itoa(cfg.Port))
	}
	cfg.Program = o.Program
	if _, err := app.Migrate(ctx, cfg); err != nil {
		return nil, err
	}
	tenants, err := seed(ctx, cfg, o.DataDir, kept)
	if err != nil {
		return nil, fmt.Errorf("seed: %w", err)
	}
	if d.app, err = app.New(ctx, cfg, o.Version, o.Log); err != nil {
		return nil, err
	}
	d.info, err = describe(cfg, d.app.BaseURL(), tenants)
	return d, err
}

// Seed migrates and seeds the database, writes what belongs to it into the data
// folder, and closes everything.
func Seed(ctx context.Context, o Options) error {
	d, err := Start(ctx, o)
	if err != nil {
		return err
	}
	d.Close()
	return nil
}

func (d *Dev) startDatabase(ctx context.Context, o Options, settings map[string]string) error {
	var err error
	d.database, err = embedded.Start(ctx, embedded.Options{Dir: filepath.Join(o.DataDir, "postgres"), Log: o.Log, Binaries: o.Getenv("PT_POSTGRES_BIN")})
	if err != nil {
		return err
	}
	if err := d.database.CreateDatabase(ctx, database); err != nil {
		return err
	}
	settings["DATABASE_URL"] = d.database.URL(database, postgres.RoleApp)
	settings["DIRECT_URL"] = d.database.URL(database, d.database.Superuser())
	return nil
}

// describe makes the info of a configuration.
func describe(cfg app.Config, baseURL string, tenants []Tenant) (Info, error) {
	info := Info{
		BaseURL: baseURL, DatabaseURL: cfg.DatabaseURL, DirectURL: cfg.DirectURL, ModuleURLs: map[string]string{},
		APIKeyJWTSecret: cfg.JWTSecret, CronSecret: cfg.CronSecret, Tenants: tenants,
	}
	for _, m := range app.AllModules() {
		url, err := postgres.RoleURL(cfg.DatabaseURL, "parapet_"+m, cfg.DBRoleSecret)
		if err != nil {
			return info, err
		}
		info.ModuleURLs[m] = url
	}
	return info, nil
}

// App is the server.
func (d *Dev) App() *app.App { return d.app }

// Info is what a program needs to drive the server.
func (d *Dev) Info() Info { return d.info }

// Run serves until ctx ends or the database does.
func (d *Dev) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if d.database != nil && d.database.Owned() {
		ended := errors.New("the database has ended")
		go func() {
			select {
			case <-d.database.Done():
				cancel(ended)
			case <-ctx.Done():
			}
		}()
		err := d.app.Run(ctx)
		if errors.Is(context.Cause(ctx), ended) {
			err = errors.Join(ended, err)
		}
		return err
	}
	return d.app.Run(ctx)
}

// Close ends the database and gives back what Start took.
func (d *Dev) Close() {
	if d.app != nil {
		d.app.Close()
	}
	if d.database != nil {
		// The end of the program is no reason to kill the database.
		_ = d.database.Close(context.Background())
	}
	_ = d.lock.Release()
}
