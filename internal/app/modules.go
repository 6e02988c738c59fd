package app

import (
	"context"
	"fmt"

	"parapet/internal/agentcmd"
	"parapet/internal/agentrun"
	"parapet/internal/authz"
	"parapet/internal/catalog"
	"parapet/internal/clock"
	"parapet/internal/contract"
	contractcatalog "parapet/internal/contract/catalog"
	contractidentity "parapet/internal/contract/identity"
	contracttracker "parapet/internal/contract/tracker"
	contractwiki "parapet/internal/contract/wiki"
	"parapet/internal/delegation"
	"parapet/internal/executor"
	"parapet/internal/identity"
	"parapet/internal/lessons"
	"parapet/internal/mail"
	"parapet/internal/module"
	"parapet/internal/password"
	"parapet/internal/postgres"
	"parapet/internal/token"
	"parapet/internal/tracker"
	"parapet/internal/webhook"
	"parapet/internal/wiki"
)

// moduleSpec says how to build a module of the product.
type moduleSpec struct {
	name string
	role string
	// names returns the names of the module's records, which every module's executor knows.
	names func(*postgres.Pool) executor.Names
	// build builds the module. The identity module is built before the others, because they
	// look up people and organisations in it.
	build func(ctx context.Context, b *builder, pool *postgres.Pool) (module.Module, error)
}

// moduleSpecs lists the modules of the product. A new module needs only an entry here.
func moduleSpecs() []moduleSpec {
	return []moduleSpec{
		{contractidentity.Module, postgres.RoleIdentity, identity.Names, buildIdentity},
		{contracttracker.Module, postgres.RoleTracker, tracker.Names, buildTracker},
		{contractcatalog.Module, postgres.RoleCatalog, catalog.Names, buildCatalog},
		{contractwiki.Module, postgres.RoleWiki, wiki.Names, buildWiki},
	}
}

// builder holds what several modules need.
type builder struct {
	*App
	tokens    *token.Keyring
	names     []executor.Names
	directory contractidentity.Directory
}

// buildModules builds all modules of the product. A process runs the background work of all
// of them, because it may be the one that dispatches the events of all processes.
func (a *App) buildModules(ctx context.Context, tokens *token.Keyring) ([]module.Module, error) {
	b := &builder{App: a, tokens: tokens}
	for _, spec := range moduleSpecs() {
		b.names = append(b.names, spec.names(a.pools.byRole[spec.role]))
	}
	var modules []module.Module
	for _, spec := range moduleSpecs() {
		m, err := spec.build(ctx, b, a.pools.byRole[spec.role])
		if err != nil {
			return nil, fmt.Errorf("module %s: %w", spec.name, err)
		}
		m.Name = spec.name
		modules = append(modules, m)
	}
	return modules, nil
}

func buildIdentity(_ context.Context, b *builder, pool *postgres.Pool) (module.Module, error) {
	hasher, err := password.New(password.MinParams(), 0)
	if err != nil {
		return module.Module{}, err
	}
	sender, err := b.newMailSender()
	if err != nil {
		return module.Module{}, err
	}
	service, err := identity.New(identity.Deps{
		Operations:   b.Operations,
		EventModules: contract.Modules(),
		Pool:         pool,
		// The tenant of a login is not known yet, so all logins share one account.
		Auth:     b.pools.byRole[postgres.RoleAuth].ChargedTo("login"),
		Executor: b.newExecutor(contractidentity.Module, pool, nil), Policies: b.engine, Tokens: b.tokens, Passwords: hasher,
		Log: b.log, AuthProvider: b.cfg.AuthProvider, AgentTenants: b.cfg.AgentTenants, DecisionLogOff: b.cfg.DecisionLog == "off",
		Keys: authz.KeySettings{
			MaxAdminDays: intOrZero(b.cfg.AdminTTLDays), MaxUserDays: intOrZero(b.cfg.UserTTLDays), MaxActivePersonal: b.cfg.MaxPersonalKeys,
		},
		Delegations: delegation.ReceivedReader{Pool: b.pools.byRole[postgres.RoleTracker]}, Mail: sender, PublicURL: b.cfg.PublicURL,
	})
	if err != nil {
		return module.Module{}, err
	}
	b.directory = service
	webhooks, err := b.newWebhooks(pool)
	if err != nil {
		return module.Module{}, err
	}
	return module.Join(service.Module(), webhooks.Module()), nil
}

// newWebhooks builds the webhooks, which belong to the identity module.
func (b *builder) newWebhooks(pool *postgres.Pool) (*webhook.Service, error) {
	var types []string
	for _, m := range contract.Modules() {
		for _, e := range m.Events() {
			types = append(types, e.Name)
		}
	}
	return webhook.New(webhook.Deps{
		Executor: b.newExecutor(contractidentity.Module, pool, nil), Pool: pool, Jobs: b.pools.byRole[postgres.RoleJobs],
		Policies: b.engine, Principals: b.checker, Log: b.log, EventTypes: types,
		Secret: b.cfg.JWTSecret, PreviousSecret: b.cfg.JWTPrevious, AllowedNetworks: b.cfg.WebhookNetworks,
	})
}

func buildTracker(ctx context.Context, b *builder, pool *postgres.Pool) (module.Module, error) {
	return tracker.New(tracker.Deps{
		Executor: b.newExecutor(contracttracker.Module, pool, delegation.ActiveReader{}), Directory: b.directory, Notifications: b.notifications,
		Jobs: b.pools.byRole[postgres.RoleJobs], DuplicateCheckDisabled: !b.cfg.DuplicateCheck,
		Agent: b.newAgentCommand(ctx), Scoring: b.cfg.ScoringTenants, Log: b.log,
		FindLessons: lessons.New(lessons.Config{BaseURL: b.cfg.WikiURL, Tokens: b.cfg.WikiTokens, Prefix: b.cfg.LessonPrefix, Log: b.log}).Find,
	}).Module(), nil
}

func buildCatalog(_ context.Context, b *builder, pool *postgres.Pool) (module.Module, error) {
	return catalog.New(catalog.Deps{Executor: b.newExecutor(contractcatalog.Module, pool, nil), Directory: b.directory}).Module(), nil
}

func buildWiki(_ context.Context, b *builder, pool *postgres.Pool) (module.Module, error) {
	return wiki.New(b.newExecutor(contractwiki.Module, pool, nil)), nil
}

func (b *builder) newExecutor(name string, pool *postgres.Pool, delegations executor.Delegations) *executor.Module {
	return executor.New(executor.Config{
		Module: name, Pool: pool, Engine: b.engine, Principals: b.checker, Clock: clock.System{}, Log: b.log, HashKey: deriveHashKey(b.cfg.JWTSecret), PreviousHashKey: deriveHashKey(b.cfg.JWTPrevious),
		Delegations: delegations, Timeout: b.cfg.RequestTimeout, Names: b.names, NameCache: &b.App.names,
	})
}

// newMailSender returns the mail sender for the settings: a mail server, the log (for `ptd dev`),
// or nil.
func (b *builder) newMailSender() (mail.Sender, error) {
	switch {
	case b.cfg.SMTPURL != "":
		sender, err := mail.NewSMTP(b.cfg.SMTPURL, b.cfg.MailFrom)
		if err != nil {
			return nil, &SettingError{"PT_SMTP_URL", err.Error()}
		}
		return sender, nil
	case b.cfg.MailToLog:
		return mail.Log{Logger: b.log}, nil
	default:
		return nil, nil //nolint:nilnil // nil means that mail is not configured
	}
}

// newAgentCommand returns the command that executes agent runs, or nil if none is configured.
func (b *builder) newAgentCommand(ctx context.Context) agentrun.Command {
	if len(b.cfg.AgentCommand) == 0 {
		if len(b.cfg.AgentTenants) > 0 {
			b.log.InfoContext(ctx, "agent runs stay queued because PT_AGENT_COMMAND is not set")
		}
		return nil
	}
	return agentcmd.New(b.cfg.AgentCommand, b.cfg.AgentTimeout, b.cfg.AgentEnv).WithSupervisor(b.cfg.Program)
}

func intOrZero(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}
