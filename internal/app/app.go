// Package app is the composition root: it assembles a process from all other packages and
// is the only one that imports them all. It contains no business logic.
//
// New connects and builds everything, or fails with one error that names the cause. Run
// serves until its context ends, drains requests, and stops the components in reverse
// order of their dependencies. Close releases the resources of New.
package app

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"parapet/docs"
	"parapet/internal/authz"
	"parapet/internal/clock"
	"parapet/internal/decisionlog"
	"parapet/internal/executor"
	"parapet/internal/httpapi"
	"parapet/internal/mcp"
	"parapet/internal/module"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/postgres/migrate"
	"parapet/internal/principal"
	"parapet/internal/telemetry"
	"parapet/internal/token"
)

// App is one server process.
type App struct {
	cfg           Config
	log           *slog.Logger
	pools         *pools
	engine        *authz.Engine
	decisions     *decisionlog.Log
	notifications *postgres.Notifications
	checker       *principal.Checker
	modules       []module.Module
	api           *httpapi.API
	operations    []op.Bound
	names         executor.NameCache
	listener      net.Listener
	registry      *prometheus.Registry
	// checkpoints counts the attempts to sign a checkpoint, by result.
	checkpoints *prometheus.CounterVec
	// tracer is nil if tracing is off.
	tracer *telemetry.Tracer
}

// New builds a process. It connects to the database, which must be running but may lack
// migrations; /readyz then returns 503.
func New(ctx context.Context, cfg Config, version string, log *slog.Logger) (_ *App, err error) {
	if invalid := CheckStart(cfg, nil); len(invalid) > 0 {
		return nil, invalid[0]
	}
	tokens, err := newKeyring(cfg)
	if err != nil {
		return nil, err
	}
	a := &App{cfg: cfg, log: log, registry: prometheus.NewRegistry(), checkpoints: newCheckpointCounter()}
	defer func() {
		if err != nil {
			a.Close()
		}
	}()
	var statementTracer pgx.QueryTracer
	if a.tracer, err = newTracer(ctx, cfg, version, log); err != nil {
		return nil, err
	}
	if a.tracer != nil {
		statementTracer = postgres.StatementTracer()
	}
	a.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if a.pools, err = openPools(ctx, cfg, statementTracer, ServingRoles()...); err != nil {
		return nil, err
	}
	a.decisions = decisionlog.New(decisionlog.Config{Pool: a.pools.byRole[postgres.RoleJobs], Log: log})
	if a.engine, err = authz.New(ctx, authz.Config{
		Source: policySource(cfg.PolicyDir), PublicKey: cfg.PolicyKey, OnReload: a.recordReload, Logger: log, Sink: newDecisionSink(cfg.DecisionLog, a.decisions),
	}); err != nil {
		return nil, policyError(cfg.PolicyDir, err)
	}
	if err = a.newChecker(tokens); err != nil {
		return nil, err
	}
	a.registry.MustRegister(newBuildInfo(version), newKeyCollector(a.pools.byRole[postgres.RoleJobs], clock.System{}))
	a.registry.MustRegister(newCollector(a), a.checkpoints, prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "parapet_tokens_previous_secret_total", Help: "Accepted tokens that API_KEY_JWT_SECRET_PREVIOUS verified.",
	}, func() float64 { return float64(tokens.PreviousSecretUses()) }))
	if a.modules, err = a.buildModules(ctx, tokens); err != nil {
		return nil, err
	}
	for _, m := range a.modules {
		for _, g := range m.Gauges {
			a.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: g.Name, Help: g.Help}, g.Value))
		}
	}
	for _, m := range a.served() {
		a.operations = append(a.operations, m.Operations...)
	}
	a.api, err = httpapi.New(httpapi.Config{
		Operations: a.operations, Off: a.disabledRoutes(), Auth: a.checker, Ready: a.checkReady, TrustedProxies: cfg.Proxies,
		Registry: a.registry, Log: log, Version: version, Documents: docs.FS, Tracer: a.tracer,
	})
	if err != nil {
		return nil, err
	}
	for _, m := range a.served() {
		for _, c := range m.Cron {
			a.api.MountCron(cfg.CronSecret, httpapi.Cron(c))
		}
	}
	if err = a.mountTools(version); err != nil {
		return nil, err
	}
	if a.listener, err = Listen(ctx, cfg); err != nil {
		return nil, err
	}
	return a, nil
}

// served returns the modules whose operations the process serves.
func (a *App) served() []module.Module {
	return slices.DeleteFunc(slices.Clone(a.modules), func(m module.Module) bool { return !slices.Contains(a.cfg.Modules, m.Name) })
}

// mountTools serves the operations as Model Context Protocol tools.
func (a *App) mountTools(version string) error {
	definitions := make([]*op.Operation, len(a.operations))
	for i, b := range a.operations {
		definitions[i] = b.Operation
	}
	tools, err := mcp.New(definitions, version, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	a.api.Mount("/mcp", "mcp", tools.HTTP(a.api))
	return nil
}

func (a *App) newChecker(tokens *token.Keyring) error {
	url, err := a.pools.url(postgres.RoleAuth)
	if err != nil {
		return err
	}
	a.notifications = postgres.NewNotifications(url, a.log)
	a.checker, err = principal.New(principal.Config{
		Pool: a.pools.byRole[postgres.RoleAuth], Tokens: tokens, Policies: a.engine, Log: a.log,
		CacheTTL: a.cfg.CheckTTL, CacheTTLMax: a.cfg.CheckTTLMax, Notifications: a.notifications,
	})
	return err
}

// disabledRoutes returns the routes of the modules that this process does not serve.
func (a *App) disabledRoutes() []httpapi.DisabledRoute {
	var off []httpapi.DisabledRoute
	for _, m := range a.modules {
		if slices.Contains(a.cfg.Modules, m.Name) {
			continue
		}
		message := fmt.Sprintf("The module %s is off on this server. The operator turns it on with PT_MODULES.", m.Name)
		for _, o := range m.Operations {
			off = append(off, httpapi.DisabledRoute{Method: o.Method, Path: o.Path, Message: message})
		}
		for _, c := range m.Cron {
			off = append(off, httpapi.DisabledRoute{Method: http.MethodGet, Path: c.Path, Message: message})
		}
	}
	return off
}

// deriveHashKey derives a key from a signing secret, so that all processes of the installation
// have the same key and it differs from the secret. Without a secret it returns nil.
func deriveHashKey(secret string) []byte {
	if secret == "" {
		return nil
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("parapet idempotency keys"))
	return mac.Sum(nil)
}

// checkReady returns nil if requests can be served: the database responds and has all
// migrations of this program, and policies are loaded.
func (a *App) checkReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	pending, err := migrate.Pending(ctx, a.pools.byRole[postgres.RoleIdentity])
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	if len(pending) > 0 {
		return fmt.Errorf("database: %d migrations are missing: run ptd migrate", len(pending))
	}
	if a.engine.Revision() == "" {
		return errors.New("policies: no policies are loaded")
	}
	return nil
}

// Operations returns the operations that the process serves.
func (a *App) Operations() []op.Bound { return a.operations }

// Engine returns the policy engine.
func (a *App) Engine() *authz.Engine { return a.engine }

// Handler returns the HTTP API, for callers with their own server.
func (a *App) Handler() http.Handler { return a.api }

// BaseURL returns the URL at which the process listens.
func (a *App) BaseURL() string { return "http://" + a.listener.Addr().String() }

// Run serves until ctx ends. It completes the requests in progress, then the background
// components write their remaining data and stop.
func (a *App) Run(ctx context.Context) error {
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	parts, background := errgroup.WithContext(background)
	parts.Go(func() error { a.checker.Run(background); return nil })
	parts.Go(func() error { a.notifications.Run(background); return nil })
	parts.Go(func() error { return a.runJobs(background) })
	parts.Go(func() error { a.reloadPolicies(background); return nil })
	a.log.InfoContext(ctx, "serving", slog.String("url", a.BaseURL()), slog.Any("modules", a.cfg.Modules), slog.String("policies", a.engine.Revision()))
	serve, cancel := context.WithCancel(ctx)
	defer cancel()
	// If a background component fails, stop the process.
	context.AfterFunc(background, cancel)
	for _, m := range a.served() {
		if m.EndWaits != nil {
			context.AfterFunc(serve, m.EndWaits)
		}
	}
	err := httpapi.Serve(serve, a.listener, a.api, a.cfg.Drain, a.log)
	stop()
	if partsErr := parts.Wait(); partsErr != nil && !errors.Is(partsErr, context.Canceled) {
		err = errors.Join(err, partsErr)
	}
	a.log.InfoContext(ctx, "stopped")
	return err
}

// Close closes the listener and the connections, and sends the remaining spans.
func (a *App) Close() {
	if a.listener != nil {
		_ = a.listener.Close()
	}
	if a.pools != nil {
		a.pools.close()
	}
	closeTracer(a.tracer, a.log)
}
