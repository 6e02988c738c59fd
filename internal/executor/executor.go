// Package executor owns the one wrapper around every operation: live tenant context,
// transaction in the tenant, load, decision, the business rule, and one commit
// that holds the change, its audit entries and its events.
//
// It promises that no handler runs for a caller whose membership or tenant is
// not live at that moment, that no handler of a Permitted operation gets past a
// decision that is not an allow, and that a change without its audit entry and
// its event does not exist. A handler holds its business rule and nothing else.
package executor

import (
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

// Principals gives a principal anew when the grants of its tenant or the
// delegations that it received have changed.
type Principals interface {
	Refresh(ctx context.Context, p *principal.Principal, live principal.Live) (*principal.Principal, error)
}

// changeListener is what Principals may be as well: told at once what this process has
// changed, which the database's notice tells the others a moment later. So who
// revokes a credential finds it refused with the very next request.
type changeListener interface {
	Changed(resourceType string, id op.UUID)
}

// Engine is what the executor asks of the policies.
type Engine interface {
	authz.Decider
	Revision() string
	RecordList(actor *authz.Subject, permission, module, requestID string, f authz.Filter)
}

// Config is what a module's executor is made of.
type Config struct {
	// Module is the module's name, which policies and audit entries know it by.
	Module     string
	Pool       *postgres.Pool
	Engine     Engine
	Principals Principals
	Clock      clock.Clock
	Log        *slog.Logger
	// HashKey is a secret of the installation: requests that named an
	// idempotency key are remembered by a hash with it.
	HashKey []byte
	// PreviousHashKey is the secret before, while it is being replaced; nil is none.
	PreviousHashKey []byte
	// Timeout is the deadline of a call, from its first wait for a connection to its
	// commit; zero means none. A call that waits for something else to happen has it
	// for each look at the database.
	Timeout time.Duration
	// Delegations finds what callers may do on behalf of others; nil in a module
	// that nothing is delegated in.
	Delegations Delegations
}

// Delegations is where a module keeps them.
type Delegations interface {
	// FingerprintSQL is a statement that gives the fingerprint of the delegations in
	// force of the user $1 in the tenant $2, which is empty where there are none. It
	// travels with every statement, so that one that ends, or begins, is felt at once.
	FingerprintSQL() string
	// Active reads them with their fingerprint.
	Active(ctx context.Context, q postgres.Querier, tenant, user op.UUID) (principal.Delegations, error)
}

// Module executes the operations of one module: every operation is bound through it.
type Module struct {
	cfg Config
	// contextSQL is what every statement is checked by.
	contextSQL string
}

// New returns the executor of a module.
func New(cfg Config) *Module {
	fingerprint := `SELECT ''`
	if cfg.Delegations != nil {
		fingerprint = cfg.Delegations.FingerprintSQL()
	}
	return &Module{cfg: cfg, contextSQL: `SELECT c.*, (` + fingerprint + `) FROM (` + TenantContextSQL + `) c`}
}

// Call is one operation under way, as its handler sees it.
type Call struct {
	// Actor is the caller; nil in a Public operation alone.
	Actor  *principal.Principal
	Tenant op.UUID
	// Now is the moment of the call: all that it writes carries the same.
	Now time.Time
	// DB runs statements in the tenant: a Reader for reads, the transaction for
	// changes.
	DB postgres.Querier
	// Tx is the transaction of a change; nil in a read.
	Tx *postgres.Tx

	module    *Module
	operation *op.Operation
	checked   bool
	// decided is what the operation's own permission was decided about.
	decided *authz.Resource
	// requested names the record that the request is for, as the request does.
	requested authz.Resource
	// delegatorID is whose authority the operation needed, where the caller's own did not
	// do.
	delegatorID op.UUID
	records
	// otherTenants is what the call records in other tenants.
	otherTenants map[op.UUID]*records
}

// errStale says that the tenant's grants, or the delegations, are not those the
// principal was made with: what was decided on the way must be decided anew.
var errStale = errors.New("executor: the grants have changed")

// attempts bounds how often a call starts anew because grants change under it.
const attempts = 4

// TenantContextSQL reads the live state of one user in one tenant.
const TenantContextSQL = `SELECT membership_status, tenant_enabled, tenant_type, grants_revision FROM identity.tenant_context($1, $2)`

// tenantState is what a call's statements found to be so.
type tenantState struct {
	revision              int64
	delegationFingerprint string
}

// tenantCheck travels with the call's statements and refuses a tenant context that is
// not live. It remembers the live revision for a refresh.
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
			c.checked = true
			if found.revision != c.Actor.Revision || (c.module.cfg.Delegations != nil && found.delegationFingerprint != c.Actor.DelegationFingerprint) {
				return errStale
			}
			return nil
		},
	}
}

// refresh gives the principal anew for what was found to be live.
func (m *Module) refresh(ctx context.Context, p *principal.Principal, found tenantState) (*principal.Principal, error) {
	now := principal.Live{Revision: found.revision}
	if found.delegationFingerprint != "" && m.cfg.Delegations != nil {
		var err error
		// Read anew, with their own fingerprint: they may have changed once more.
		if now.Delegations, err = m.cfg.Delegations.Active(ctx, m.cfg.Pool.Read(string(p.Tenant), nil), p.Tenant, p.UserID); err != nil {
			return nil, postgres.MapError(err)
		}
	}
	return m.cfg.Principals.Refresh(ctx, p, now)
}

// run carries out one attempt after the other until the principal's permissions
// are those that the database holds at the moment of the call.
func (m *Module) run(ctx context.Context, o *op.Operation, f func(ctx context.Context, c *Call) error) error {
	p := principal.From(ctx)
	if p == nil || p.Subject == nil {
		return fault.Unauthorized()
	}
	ctx, cancel := m.deadline(ctx, o)
	defer cancel()
	for range attempts {
		found := tenantState{p.Revision, p.DelegationFingerprint}
		c := &Call{Actor: p, Tenant: p.Tenant, Now: m.cfg.Clock.Now(), module: m, operation: o}
		err := errStale
		if p.Subject.Revision() == m.cfg.Engine.Revision() {
			if o.Effect.Changes() {
				err = m.change(ctx, c, &found, f)
			} else {
				err = m.read(ctx, c, &found, f)
			}
		}
		if isRetryable(err) && ctx.Err() == nil {
			// The database gave way to another transaction: nothing of this one
			// is there, so it can begin again.
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
	return fault.Unavailable(fmt.Errorf("executor: %s: it kept colliding with other changes", o.Name))
}

// bulkFactor is how many times as long as others a bulk operation may take.
const bulkFactor = 3

// deadline bounds a call, so that a database that does not answer is answered for.
func (m *Module) deadline(ctx context.Context, o *op.Operation) (context.Context, context.CancelFunc) {
	switch {
	case m.cfg.Timeout <= 0:
		return context.WithCancel(ctx)
	case o.Bulk:
		return context.WithTimeout(ctx, bulkFactor*m.cfg.Timeout)
	default:
		return context.WithTimeout(ctx, m.cfg.Timeout)
	}
}

// isRetryable tells a deadlock and a failed serialization from other errors (SQLSTATE
// class 40).
func isRetryable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40P01" || pg.Code == "40001")
}

// read runs a handler whose every statement carries the check. A handler that
// ran none, because it was refused before or needs none, is checked at its end,
// so that no answer rests on a tenant context or on grants that are not live.
func (m *Module) read(ctx context.Context, c *Call, found *tenantState, f func(context.Context, *Call) error) error {
	reader := m.cfg.Pool.Read(string(c.Tenant), c.tenantCheck(found))
	c.DB = reader
	err := f(principal.With(ctx, c.Actor), c)
	if fault.HasCode(postgres.MapError(err), fault.CodeUnavailable) {
		// There is no connection, or no time: the check would wait for the same.
		return err
	}
	if !c.checked {
		if _, cerr := reader.Exec(ctx, `SELECT 1`); cerr != nil {
			return cerr
		}
	}
	return err
}

// change runs a handler in one transaction that holds the change, its audit
// entries and its events, or nothing.
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
	if err := f(principal.With(ctx, c.Actor), c); err != nil {
		return err
	}
	if err := c.commit(ctx); err != nil {
		return err
	}
	c.notifyListener()
	return nil
}

// notifyListener tells this process at once what the call has changed.
func (c *Call) notifyListener() {
	if h, ok := c.module.cfg.Principals.(changeListener); ok {
		for _, n := range c.auditEntries {
			h.Changed(n.ResourceType, op.UUID(n.ResourceID))
		}
	}
}

// Decide asks whether the caller may do with the resource what permission
// names. A nil error is an allow. What the caller may not know of does not
// exist for it.
func (c *Call) Decide(ctx context.Context, permission string, r authz.Resource) error {
	d, err := c.module.cfg.Engine.Decide(ctx, authz.Input{
		Permission: permission, Effect: c.effect(), Module: c.module.cfg.Module,
		Actor: c.Actor.Subject, Resource: r, RequestID: op.RequestID(ctx),
	})
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

// rememberDelegator remembers on whose behalf something was allowed: by the operation's own
// permission, or else by the first that needed another's.
func (c *Call) rememberDelegator(b *authz.OnBehalf, permission string) {
	if b != nil && (c.delegatorID == "" || permission == c.operation.Permission) {
		c.delegatorID = op.UUID(b.Delegator)
	}
}

// grantableName is the name that a refusal gives for a permission: one that can be
// granted.
func (c *Call) grantableName(permission string) string {
	if permission == c.operation.Permission {
		return c.operation.Grant
	}
	return permission
}

// Filter gives the condition on rows that the caller may see by permission.
func (c *Call) Filter(ctx context.Context, permission string, columns *authz.Columns) (authz.Filter, error) {
	return c.module.cfg.Engine.Filter(ctx, permission, c.Actor.Subject, columns)
}

// Evaluate evaluates one of the special policy entry points.
func (c *Call) Evaluate(ctx context.Context, q authz.CustomDecision) (authz.Verdict, error) {
	v, err := c.module.cfg.Engine.Evaluate(ctx, authz.InRequest(op.RequestID(ctx), q))
	c.rememberDelegator(v.OnBehalfOf, "")
	return v, err
}

// requirePermission refuses a caller who has the operation's permission in no scope at all.
// The refusal is a decision like any other, so that the decision log has it. It names
// the record that was requested, of which nothing else is known: it was not loaded.
func (c *Call) requirePermission(ctx context.Context) error {
	permission := c.operation.Permission
	if permission == "" || c.Actor.Subject.Holds(permission) {
		return nil
	}
	r := c.requested
	r.Tenant, r.Classification = string(c.Tenant), unclassified
	err := c.Decide(ctx, permission, r)
	if err == nil {
		// The two answers of the policies contradict each other.
		return fault.Forbidden(c.grantableName(permission))
	}
	return err
}

// requireCaveats refuses a token whose caveats leave no room for an operation that needs no
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

// effect is the operation's effect in the policies' words.
func (c *Call) effect() authz.Effect {
	if c.operation.Effect.Changes() {
		return authz.Write
	}
	return authz.Read
}

// unclassified is the tier of what has no classification.
const unclassified = "UNCLASSIFIED"

// SubjectIn gives the caller as a subject of another tenant, as if the same
// credential asked there by x-act-as-org. revision is that tenant's.
func (c *Call) SubjectIn(ctx context.Context, tenant op.UUID, revision int64) (*authz.Subject, error) {
	there := *c.Actor
	there.Tenant = tenant
	p, err := c.module.cfg.Principals.Refresh(ctx, &there, principal.Live{Revision: revision})
	if err != nil {
		return nil, err
	}
	return p.Subject, nil
}
