// Package dev runs the product with its own database, for demos and for programs that
// drive it: an embedded PostgreSQL in a data folder, migrated and with seeded tenants, and
// the same server as `ptd serve`.
//
// Everything that it creates is in the data folder. The next start on the folder has the
// same ids and passwords. It stops everything that it started, including the database.
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

// Options configure Start.
type Options struct {
	// DataDir is the data folder. It is created if needed.
	DataDir string
	// Getenv reads the settings; they work as in `ptd serve`.
	Getenv  func(string) string
	Version string
	Log     *slog.Logger
	// Program is the path of ptd, which is also the supervisor of agent commands.
	Program string
}

// Dev is a running server with its database.
type Dev struct {
	app      *app.App
	database *embedded.Server
	info     Info
	// lock prevents other processes from using the data folder.
	lock *filelock.Lock
}

const database = "parapet"

// Start starts the database and the server. When it returns, requests are accepted.
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
	stored, err := loadSecrets(o.DataDir)
	if err != nil {
		return nil, err
	}
	settings := map[string]string{"API_KEY_JWT_SECRET": stored.APIKeyJWTSecret, "CRON_SECRET": stored.CronSecret}
	// Environment variables take precedence over the secrets of the folder.
	getenv := func(name string) string {
		if v := o.Getenv(name); v != "" {
			return v
		}
		return settings[name]
	}
	cfg, err := app.ReadConfig(getenv)
	if err == nil {
		// Creating a cluster takes seconds, so check the settings first.
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
	tenants, err := seed(ctx, cfg, o.DataDir, stored)
	if err != nil {
		return nil, fmt.Errorf("seed: %w", err)
	}
	if d.app, err = app.New(ctx, cfg, o.Version, o.Log); err != nil {
		return nil, err
	}
	d.info, err = newInfo(cfg, d.app.BaseURL(), tenants)
	return d, err
}

// Seed migrates and seeds the database, writes its secrets into the data folder, and
// closes everything.
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

// newInfo returns the Info of a configuration.
func newInfo(cfg app.Config, baseURL string, tenants []Tenant) (Info, error) {
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

// App returns the server.
func (d *Dev) App() *app.App { return d.app }

// Info returns what a program needs to drive the server.
func (d *Dev) Info() Info { return d.info }

// Run serves until ctx or the database ends.
func (d *Dev) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if d.database != nil && d.database.Owned() {
		ended := errors.New("the database server ended")
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

// Close stops the database and releases the resources of Start.
func (d *Dev) Close() {
	if d.app != nil {
		d.app.Close()
	}
	if d.database != nil {
		// The end of ctx must not kill the database.
		_ = d.database.Close(context.Background())
	}
	_ = d.lock.Release()
}
