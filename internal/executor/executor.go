// Package executor runs every operation: it checks the tenant context, opens the
// transaction, loads the resource, evaluates the policies, calls the handler, and
// commits the change together with its audit entries and events.
//
// Guarantees:
//   - No handler runs for a caller whose membership or tenant is not active at that time.
//   - No handler of a Permitted operation proceeds unless the policies allow it.
//   - A change, its audit entries and its events are committed together or not at all.
//
// A handler contains the business rule only.
package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"parapet/internal/authz"
	"parapet/internal/clock"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/principal"
)

// Principals rebuilds a principal after the grants of its tenant or the delegations
// that it received have changed.
type Principals interface {
	Refresh(ctx context.Context, p *principal.Principal, live principal.LiveState) (*principal.Principal, error)
}

// cacheInvalidator is an optional interface of Principals. The executor calls it right
// after a commit, so that this process rejects a revoked credential on the next request.
// Other processes learn of the change from the database's notification.
type cacheInvalidator interface {
	Invalidate(resourceType string, id op.UUID)
}

// Engine is the part of the policy engine that the executor uses.
type Engine interface {
	authz.Decider
	Revision() string
	OwnFilter(ctx context.Context, permission string, actor *authz.Subject, columns *authz.Columns) (authz.Filter, error)
	RecordList(actor *authz.Subject, permission, module, requestID string, f authz.Filter)
}

// Config configures the executor of a module.
type Config struct {
	// Module is the module's name in policies and audit entries.
	Module     string
	Pool       *postgres.Pool
	Engine     Engine
	Principals Principals
	Clock      clock.Clock
	Log        *slog.Logger
	// HashKey is a secret of the installation. It keys the hash that is stored for each
	// request with an idempotency key.
	HashKey []byte
	// PreviousHashKey is the replaced secret during a rotation; nil if there is none.
	PreviousHashKey []byte
	// Timeout is the deadline of a call, from waiting for a connection to the commit;
	// zero means none. A call that waits for another event has this deadline for each of
	// its database queries.
	Timeout time.Duration
	// Delegations reads the delegations that callers received; nil in a module without
	// delegations.
	Delegations Delegations
	// Names are the names of the records of all modules, for names in place of ids in
	// inputs and for references in outputs.
	Names []Names
	// NameCache is shared by the modules of a process; nil gives the module its own.
	NameCache *NameCache
}

// Delegations reads the active delegations of a user.
type Delegations interface {
	// FingerprintSQL returns a SELECT for the fingerprint of the active delegations of
	// user $1 in tenant $2; the fingerprint is empty if there are none. It is evaluated
	// with every statement, so a new or ended delegation takes effect immediately.
	FingerprintSQL() string
	// Active returns the active delegations with their fingerprint.
	Active(ctx context.Context, q postgres.Querier, tenant, user op.UUID) (principal.Delegations, error)
}

// Module executes the operations of one module. Every operation must be bound to it.
type Module struct {
	cfg Config
	// contextSQL checks the tenant context; it is sent with every statement.
	contextSQL string
	names      *NameCache
}

// New returns the executor of a module.
func New(cfg Config) *Module {
	fingerprint := `SELECT ''`
	if cfg.Delegations != nil {
		fingerprint = cfg.Delegations.FingerprintSQL()
	}
	return &Module{cfg: cfg, names: cmp.Or(cfg.NameCache, &NameCache{}), contextSQL: `SELECT c.*, (` + fingerprint + `) FROM (` + TenantContextSQL + `) c`}
}

// Call is one execution of an operation. Handlers receive it.
type Call struct {
	// Actor is the caller. It is nil in RunAsSystem.
	Actor  *principal.Principal
	Tenant op.UUID
	// Now is the time of the call. Everything that the call writes has this timestamp.
	Now time.Time
	// DB runs statements in the tenant: a Reader for reads, the transaction for changes.
	DB postgres.Querier
	// Tx is the transaction of a change; nil for a read.
	Tx *postgres.Tx

	module        *Module
	operation     *op.Operation
	tenantChecked bool
	// decidedResource is the resource for which the operation's permission was allowed.
	decidedResource *authz.Resource
	// input is the request's input. A denial before anything is loaded names the record in it.
	input any
	// sent is what the client sent, before names were replaced by ids. It is set only for a
	// change with an idempotency key.
	sent op.Wire
	// names are the ids that replaced the names in the input, in the order of its fields.
	names []op.UUID
	// delegatorID is the user whose delegation allowed the operation; empty if the
	// caller's own permissions were sufficient.
	delegatorID op.UUID
	// changes holds what the call records in its tenant, otherTenants what it records in others.
	changes      []Change
	otherTenants map[op.UUID][]Change
}

// errStale means that the tenant's grants or the caller's delegations have changed since
// the principal was built. The call must be retried with a refreshed principal.
var errStale = errors.New("executor: the grants have changed")

// maxAttempts bounds how often a call is retried.
const maxAttempts = 4

// TenantContextSQL selects the current state of user $1 in tenant $2.
const TenantContextSQL = `SELECT membership_status, tenant_enabled, tenant_type, grants_revision FROM identity.tenant_context($1, $2)`

// tenantState is the state that the statements of a call have read.
type tenantState struct {
	revision              int64
	delegationFingerprint string
}

// tenantCheck returns a check that runs with each statement of the call and rejects a
// tenant context that is not active. It stores the current revision for a refresh.
func (c *Call) tenantCheck(found *tenantState) *postgres.Check {
	return &postgres.Check{
		SQL:  c.module.contextSQL,
		Args: []any{c.Actor.UserID, c.Tenant},
		Scan: func(rows pgx.Rows) error {
			if !rows.Next() {
				if err := rows.Err(); err != nil {
					return err
				}
				return fault.ForbiddenTenant()
			}
			var status, tenantType string
			var enabled bool
			if err := rows.Scan(&status, &enabled, &tenantType, &found.revision, &found.delegationFingerprint); err != nil {
				return err
			}
			if status != "ACTIVE" || !enabled {
				return fault.ForbiddenTenant()
			}
			c.tenantChecked = true
			if found.revision != c.Actor.Revision || (c.module.cfg.Delegations != nil && found.delegationFingerprint != c.Actor.DelegationFingerprint) {
				return errStale
			}
			return nil
		},
	}
}

// refresh rebuilds the principal for the tenant state that was found.
func (m *Module) refresh(ctx context.Context, p *principal.Principal, found tenantState) (*principal.Principal, error) {
	state := principal.LiveState{Revision: found.revision}
	if found.delegationFingerprint != "" && m.cfg.Delegations != nil {
		var err error
		// The fingerprint that was found may be outdated already. Active returns the
		// delegations with their current fingerprint.
		if state.Delegations, err = m.cfg.Delegations.Active(ctx, m.cfg.Pool.Read(string(p.Tenant), nil), p.Tenant, p.UserID); err != nil {
			return nil, postgres.MapError(err)
		}
	}
	return m.cfg.Principals.Refresh(ctx, p, state)
}

// run executes f until the principal's permissions match those in the database.
func (m *Module) run(ctx context.Context, o *op.Operation, f func(ctx context.Context, c *Call) error) error {
	return m.runIn(ctx, o, o.Effect.Changes(), f)
}

// runIn is like run. If change is false, f runs without a transaction and must not change
// data.
func (m *Module) runIn(ctx context.Context, o *op.Operation, change bool, f func(ctx context.Context, c *Call) error) error {
	p := principal.FromContext(ctx)
	if p == nil || p.Subject == nil {
		return fault.Unauthorized()
	}
	ctx, cancel := m.withTimeout(ctx, o)
	defer cancel()
	for range maxAttempts {
		if e := explanationFrom(ctx); e != nil {
			e.reset()
		}
		found := tenantState{p.Revision, p.DelegationFingerprint}
		c := &Call{Actor: p, Tenant: p.Tenant, Now: m.cfg.Clock.Now(), module: m, operation: o}
		err := errStale
		if p.Subject.Revision() == m.cfg.Engine.Revision() {
			if change {
				err = m.change(ctx, c, &found, f)
			} else {
				err = m.read(ctx, c, &found, f)
			}
		}
		if isRetryable(err) && ctx.Err() == nil {
			// The database aborted this transaction in favour of another one, so
			// nothing was written and the call can be retried.
			continue
		}
		if !errors.Is(err, errStale) {
			return postgres.MapError(err)
		}
		fresh, err := m.refresh(ctx, p, found)
		if err != nil {
			return err
		}
		p = fresh
	}
	return fault.Unavailable(fmt.Errorf("executor: operation %s: gave up after %d attempts because of concurrent changes", o.Name, maxAttempts))
}

// bulkFactor multiplies the timeout for bulk operations.
const bulkFactor = 3

// withTimeout limits the time of a call: the caller gets an error if the database does not
// respond.
func (m *Module) withTimeout(ctx context.Context, o *op.Operation) (context.Context, context.CancelFunc) {
	switch {
	case m.cfg.Timeout <= 0:
		return context.WithCancel(ctx)
	case o.Bulk:
		return context.WithTimeout(ctx, bulkFactor*m.cfg.Timeout)
	default:
		return context.WithTimeout(ctx, m.cfg.Timeout)
	}
}

// isRetryable reports whether err is a deadlock or a serialization failure (SQLSTATE
// class 40).
func isRetryable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40P01" || pg.Code == "40001")
}

// read runs a handler with a tenant check on every statement. If the handler ran no
// statement, the check runs afterwards, so that no response depends on an outdated
// tenant context or outdated grants.
func (m *Module) read(ctx context.Context, c *Call, found *tenantState, f func(context.Context, *Call) error) error {
	reader := m.cfg.Pool.Read(string(c.Tenant), c.tenantCheck(found))
	c.DB = reader
	err := f(principal.NewContext(ctx, c.Actor), c)
	if fault.HasCode(postgres.MapError(err), fault.CodeUnavailable) {
		// There is no connection or no time left, so the check would fail as well.
		return err
	}
	if !c.tenantChecked {
		if _, checkErr := reader.Exec(ctx, `SELECT 1`); checkErr != nil {
			return checkErr
		}
	}
	return err
}

// change runs a handler in one transaction with the change, its audit entries and its
// events.
func (m *Module) change(ctx context.Context, c *Call, found *tenantState, f func(context.Context, *Call) error) error {
	begin := m.cfg.Pool.Begin
	if c.operation.Bulk {
		begin = m.cfg.Pool.BeginBulk
	}
	tx, err := begin(ctx, string(c.Tenant), c.tenantCheck(found))
	if err != nil {
		return err
	}
	defer tx.Rollback()
	c.DB, c.Tx = tx, tx
	if err := f(principal.NewContext(ctx, c.Actor), c); err != nil {
		return err
	}
	if err := c.commit(ctx); err != nil {
		return err
	}
	c.invalidateCaches()
	return nil
}

// invalidateCaches drops the cached data of this process that the call has changed.
func (c *Call) invalidateCaches() {
	c.module.names.changed(c.changes)
	if cache, ok := c.module.cfg.Principals.(cacheInvalidator); ok {
		for i := range c.changes {
			cache.Invalidate(c.changes[i].Type, c.changes[i].ID)
		}
	}
}

// Decide evaluates whether the caller has the permission for the resource. It returns
// nil if it is allowed, NOT_FOUND if the resource is not visible to the caller, and
// otherwise a denial with its reasons.
func (c *Call) Decide(ctx context.Context, permission string, r authz.Resource) error {
	d, err := c.module.cfg.Engine.Decide(ctx, authz.Input{
		Permission: permission, Effect: c.effect(), Module: c.module.cfg.Module,
		Actor: c.Actor.Subject, Resource: r, RequestID: op.RequestID(ctx),
	})
	if e := explanationFrom(ctx); e != nil {
		e.record(permission, r, d)
	}
	switch {
	case err == nil && d.Allow:
		c.rememberDelegator(d.OnBehalfOf, permission)
		return nil
	case d.Hidden:
		return fault.NotFound(r.Type)
	case err != nil:
		return fault.Denied(c.grantableName(permission), d.Explained).WithCause(err)
	default:
		return fault.Denied(c.grantableName(permission), d.Explained)
	}
}

// rememberDelegator stores the delegator if a delegation allowed the permission. If the call
// uses several permissions, the delegator of the operation's own permission takes
// precedence, then the first one.
func (c *Call) rememberDelegator(b *authz.OnBehalf, permission string) {
	if b != nil && (c.delegatorID == "" || permission == c.operation.Permission) {
		c.delegatorID = op.UUID(b.Delegator)
	}
}

// grantableName returns the permission name that a denial shows: one that can be
// granted.
func (c *Call) grantableName(permission string) string {
	if permission == c.operation.Permission {
		return c.operation.Grant
	}
	return permission
}

// Filter returns the condition for the rows that the caller may see with the permission.
func (c *Call) Filter(ctx context.Context, permission string, columns *authz.Columns) (authz.Filter, error) {
	return c.module.cfg.Engine.Filter(ctx, permission, c.Actor.Subject, columns)
}

// Evaluate evaluates one of the special policy entry points.
func (c *Call) Evaluate(ctx context.Context, q authz.CustomDecision) (authz.Verdict, error) {
	v, err := c.module.cfg.Engine.Evaluate(ctx, authz.InRequest(op.RequestID(ctx), q))
	c.rememberDelegator(v.OnBehalfOf, "")
	return v, err
}

// requirePermission denies a caller who holds the operation's permission in no scope. The
// policies evaluate the denial, so it appears in the decision log. Because the resource is
// not loaded, the log contains only what the request says about it.
func (c *Call) requirePermission(ctx context.Context) error {
	permission := c.operation.Permission
	if permission == "" || c.Actor.Subject.Holds(permission) {
		return nil
	}
	r := requestedResource(c.operation, c.input)
	r.Tenant, r.Classification = string(c.Tenant), defaultClassification
	err := c.Decide(ctx, permission, r)
	if err == nil {
		// The policies contradict the subject: they allow a permission that it does not hold.
		return fault.Forbidden(c.grantableName(permission))
	}
	return err
}

// requireCaveats denies a token whose caveats exclude an operation that requires no
// permission.
func (c *Call) requireCaveats(ctx context.Context) error {
	v, err := c.Evaluate(ctx, authz.AuthenticatedAccess{Actor: c.Actor.Subject, Effect: c.effect(), Module: c.module.cfg.Module})
	switch {
	case err == nil && v.Allow:
		return nil
	case err != nil:
		return fault.ForbiddenTenant().WithCause(err)
	default:
		return fault.Denied("", v.Explained)
	}
}

// effect returns the operation's effect as the policies name it.
func (c *Call) effect() authz.Effect {
	if c.operation.Effect.Changes() {
		return authz.Write
	}
	return authz.Read
}

// defaultClassification is the classification of records that have none.
const defaultClassification = "UNCLASSIFIED"

// SubjectInTenant returns the caller's subject in another tenant, as if the request had
// named that tenant in x-act-as-org. revision is the revision of that tenant.
func (c *Call) SubjectInTenant(ctx context.Context, tenant op.UUID, revision int64) (*authz.Subject, error) {
	actor := *c.Actor
	actor.Tenant = tenant
	p, err := c.module.cfg.Principals.Refresh(ctx, &actor, principal.LiveState{Revision: revision})
	if err != nil {
		return nil, err
	}
	return p.Subject, nil
}
