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
	contractidentity "parapet/internal/contract/identity"
	contracttracker "parapet/internal/contract/tracker"
	"parapet/internal/decisionlog"
	"parapet/internal/executor"
	"parapet/internal/httpapi"
	"parapet/internal/identity"
	"parapet/internal/mail"
	"parapet/internal/mcp"
	"parapet/internal/op"
	"parapet/internal/password"
	"parapet/internal/postgres"
	"parapet/internal/postgres/migrate"
	"parapet/internal/principal"
	"parapet/internal/telemetry"
	"parapet/internal/token"
	"parapet/internal/tracker"
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
	identity      *identity.Service
	tracker       *tracker.Service
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
	if a.operations, err = a.buildModules(ctx, tokens); err != nil {
		return nil, err
	}
	a.api, err = httpapi.New(httpapi.Config{
		Operations: a.operations, Off: disabledRoutes(cfg.Modules), Auth: a.checker, Ready: a.checkReady, TrustedProxies: cfg.Proxies,
		Registry: a.registry, Log: log, Version: version, Documents: docs.FS, Tracer: a.tracer,
	})
	if err != nil {
		return nil, err
	}
	if a.tracker != nil {
		a.api.MountCron(cfg.CronSecret, httpapi.Cron{
			Name: "cron run-scores", Path: "/api/cron/run-scores/process",
			Run: func(ctx context.Context) (any, error) { return a.tracker.ScoreRuns(ctx) },
		})
	}
	if err = a.mountTools(version); err != nil {
		return nil, err
	}
	if a.listener, err = Listen(ctx, cfg); err != nil {
		return nil, err
	}
	return a, nil
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
func disabledRoutes(modules []string) []httpapi.DisabledRoute {
	var off []httpapi.DisabledRoute
	for _, o := range slices.Concat(contractidentity.Operations(), contracttracker.Operations()) {
		if !slices.Contains(modules, o.Module) {
			message := fmt.Sprintf("The module %s is off on this server. The operator turns it on with PT_MODULES.", o.Module)
			off = append(off, httpapi.DisabledRoute{Method: o.Method, Path: o.Path, Message: message})
		}
	}
	return off
}

// buildModules builds the modules that this process serves and returns their operations. The
// identity module is always built, because the others use its directory.
func (a *App) buildModules(ctx context.Context, tokens *token.Keyring) ([]op.Bound, error) {
	hasher, err := password.New(password.MinParams(), 0)
	if err != nil {
		return nil, err
	}
	sender, err := a.newMailSender()
	if err != nil {
		return nil, err
	}
	trackerPool := a.pools.byRole[postgres.RoleTracker]
	names := []executor.Names{identity.Names(a.pools.byRole[postgres.RoleIdentity]), tracker.Names(trackerPool)}
	a.identity, err = identity.New(identity.Deps{
		Operations: a.Operations,
		Pool:       a.pools.byRole[postgres.RoleIdentity],
		// The tenant of a login is not known yet, so all logins share one account.
		Auth:     a.pools.byRole[postgres.RoleAuth].ChargedTo("login"),
		Executor: a.newExecutor(contractidentity.Module, a.pools.byRole[postgres.RoleIdentity], nil, names), Policies: a.engine, Tokens: tokens, Passwords: hasher,
		Log: a.log, AuthProvider: a.cfg.AuthProvider, AgentTenants: a.cfg.AgentTenants, DecisionLogOff: a.cfg.DecisionLog == "off",
		Keys: authz.KeySettings{
			MaxAdminDays: intOrZero(a.cfg.AdminTTLDays), MaxUserDays: intOrZero(a.cfg.UserTTLDays), MaxActivePersonal: a.cfg.MaxPersonalKeys,
		},
		Delegations: tracker.ReceivedDelegations{Pool: trackerPool}, Mail: sender, PublicURL: a.cfg.PublicURL,
	})
	if err != nil {
		return nil, err
	}
	var operations []op.Bound
	if slices.Contains(a.cfg.Modules, contractidentity.Module) {
		operations = append(operations, a.identity.Operations()...)
	}
	if slices.Contains(a.cfg.Modules, contracttracker.Module) {
		a.tracker = tracker.New(tracker.Deps{
			Executor: a.newExecutor(contracttracker.Module, trackerPool, tracker.Delegations{}, names), Directory: a.identity, Notifications: a.notifications,
			Jobs: a.pools.byRole[postgres.RoleJobs], DuplicateCheckDisabled: !a.cfg.DuplicateCheck,
			Agent: a.newAgentCommand(ctx), Scoring: a.cfg.ScoringTenants, Log: a.log,
		})
		operations = append(operations, a.tracker.Operations()...)
	}
	return operations, nil
}

// newMailSender returns the mail sender for the settings: a mail server, the log (for `ptd dev`),
// or nil.
func (a *App) newMailSender() (mail.Sender, error) {
	switch {
	case a.cfg.SMTPURL != "":
		sender, err := mail.NewSMTP(a.cfg.SMTPURL, a.cfg.MailFrom)
		if err != nil {
			return nil, &SettingError{"PT_SMTP_URL", err.Error()}
		}
		return sender, nil
	case a.cfg.MailToLog:
		return mail.Log{Logger: a.log}, nil
	default:
		return nil, nil //nolint:nilnil // nil means that mail is not configured
	}
}

func intOrZero(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

func (a *App) newExecutor(module string, pool *postgres.Pool, delegations executor.Delegations, names []executor.Names) *executor.Module {
	return executor.New(executor.Config{
		Module: module, Pool: pool, Engine: a.engine, Principals: a.checker, Clock: clock.System{}, Log: a.log, HashKey: deriveHashKey(a.cfg.JWTSecret), PreviousHashKey: deriveHashKey(a.cfg.JWTPrevious),
		Delegations: delegations, Timeout: a.cfg.RequestTimeout, Names: names, NameCache: &a.names,
	})
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
	if a.tracker != nil {
		context.AfterFunc(serve, a.tracker.EndWaits)
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
