package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"parapet/internal/admission"
	"parapet/internal/fault"
)

// Defaults of Config.
const (
	// acquireTimeout is how long a caller waits for a connection before it gets UNAVAILABLE.
	acquireTimeout = 2 * time.Second
	// DefaultLockTimeout is how long a statement of a transaction waits for a lock.
	// It is longer than the server's deadlock_timeout (1 s), so that the server reports a
	// deadlock before the lock timeout ends the statement.
	DefaultLockTimeout = 2 * time.Second
)

// Config configures a pool.
type Config struct {
	// URL is the database address, including the role (see RoleURL).
	URL string
	// MaxConns bounds the pool; zero means pgx's default (the greater of 4 and
	// the number of processors).
	MaxConns int32
	// AcquireTimeout is how long a caller waits for a connection; zero means two seconds.
	AcquireTimeout time.Duration
	// TenantConns limits the connections that one tenant uses at a time, and TenantQueue
	// limits how many of its callers wait for one. Zero means the defaults of
	// admission.NewLimits.
	TenantConns, TenantQueue int
	// LockTimeout limits how long a statement of a transaction waits for a lock; zero
	// means DefaultLockTimeout.
	LockTimeout time.Duration
	// TenantSetting selects the SQL that sets the tenant: SetConfig, or SetLocal on Citus.
	TenantSetting TenantSetting
	// Tracer traces every statement, if set.
	Tracer pgx.QueryTracer
}

// Pool is a connection pool for one LOGIN role. It changes no session-level setting,
// so it works behind a connection pooler in transaction mode.
// It is safe for concurrent use.
type Pool struct {
	pool      *pgxpool.Pool
	admission *admission.Queue
	wait      time.Duration
	setting   TenantSetting
	// lockTimeout is the value of the server's setting: milliseconds as text.
	lockTimeout string
	// account is charged for statements that run in no tenant. It is empty for the
	// server's own work.
	account string
}

// timestampsInUTC makes a connection return timestamps in UTC, whatever the time zone of this
// process.
var timestampsInUTC = &pgtype.Type{
	Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
}

// Open opens a pool and its first connection, so that a wrong address or role
// fails immediately. The error is not a fault; it is meant for the start-up log.
func Open(ctx context.Context, cfg Config) (*Pool, error) {
	pc, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		// The parser's message repeats the address but masks the password.
		return nil, fmt.Errorf("postgres: address: %w", err)
	}
	if cfg.MaxConns > 0 {
		pc.MaxConns = cfg.MaxConns
	}
	if cfg.Tracer != nil {
		pc.ConnConfig.Tracer = cfg.Tracer
	}
	if pc.ConnConfig.ConnectTimeout == 0 {
		pc.ConnConfig.ConnectTimeout = 10 * time.Second
	}
	if _, ok := pc.ConnConfig.RuntimeParams["application_name"]; !ok {
		pc.ConnConfig.RuntimeParams["application_name"] = "parapet"
	}
	pc.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		conn.TypeMap().RegisterType(timestampsInUTC)
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("postgres: open: %w", err)
	}
	p := &Pool{
		pool: pool, wait: acquireTimeout, setting: cfg.TenantSetting,
		admission:   admission.New(admission.NewLimits(int(pc.MaxConns), cfg.TenantConns, cfg.TenantQueue)),
		lockTimeout: formatMilliseconds(cfg.LockTimeout, DefaultLockTimeout),
	}
	if cfg.AcquireTimeout > 0 {
		p.wait = cfg.AcquireTimeout
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("postgres: connect as %s: %w", pc.ConnConfig.User, err)
	}
	return p, nil
}

// Close waits for the connections in use and closes all.
func (p *Pool) Close() { p.pool.Close() }

// formatMilliseconds formats a duration, or fallback if it is zero, as a value of a server
// setting.
func formatMilliseconds(d, fallback time.Duration) string {
	if d <= 0 {
		d = fallback
	}
	return strconv.FormatInt(max(d.Milliseconds(), 1), 10)
}

// ChargedTo returns a view of the pool that charges account for statements without a
// tenant: they count against its share of the connections. account is a tenant's id, or a
// name for callers whose tenant is not known yet. Other views treat such statements as
// system work, which has no share.
func (p *Pool) ChargedTo(account string) *Pool {
	view := *p
	view.account = account
	return &view
}

// Ping returns nil if the database responds. The readiness check uses it.
func (p *Pool) Ping(ctx context.Context) error {
	c, err := p.acquire(ctx, "", admission.Read)
	if err != nil {
		return err
	}
	defer c.Release()
	return MapError(c.Conn().Ping(ctx))
}

// Raw returns the pgx pool, for libraries that need one (River). It sets no tenant and
// applies no tenant limits.
func (p *Pool) Raw() *pgxpool.Pool { return p.pool }

// Stat returns the pool's statistics for metrics.
func (p *Pool) Stat() *pgxpool.Stat { return p.pool.Stat() }

// Admission returns the queue that shares the connections among tenants. Metrics read it.
func (p *Pool) Admission() *admission.Queue { return p.admission }

// conn is a connection and the admission slot that it uses.
type conn struct {
	pooled *pgxpool.Conn
	slot   *admission.Slot
}

// Conn returns the underlying connection.
func (c *conn) Conn() *pgx.Conn { return c.pooled.Conn() }

// Release returns the connection to the pool and frees the slot.
func (c *conn) Release() {
	c.pooled.Release()
	c.slot.Leave()
}

// Reason codes of UNAVAILABLE errors.
const (
	// ReasonTenantBusy: the tenant's own requests use its whole share of connections.
	ReasonTenantBusy = "TENANT_BUSY"
	// ReasonLocked: another transaction has locked the record.
	ReasonLocked = "RECORD_LOCKED"
	// ReasonReadOnly: the database accepts no changes.
	ReasonReadOnly = "DATABASE_READ_ONLY"
	// ReasonTimeout: the database did not respond before the deadline.
	ReasonTimeout = "DATABASE_TIMEOUT"
)

// acquire waits at most p.wait for a connection. It counts against the share of
// tenant, or of the pool's account if tenant is empty.
func (p *Pool) acquire(ctx context.Context, tenant string, lane admission.Lane) (*conn, error) {
	if tenant == "" {
		tenant = p.account
	}
	actx, cancel := context.WithTimeout(ctx, p.wait)
	defer cancel()
	slot, err := p.admission.Acquire(ctx, tenant, lane, p.wait)
	switch {
	case errors.Is(err, admission.ErrFull), errors.Is(err, admission.ErrShare):
		f := fault.Unavailable(fmt.Errorf("postgres: no connection in the %s lane: %w", lane, err)).WithReason(ReasonTenantBusy)
		f.Message = "Too many requests of this organisation are running or waiting (PT_TENANT_CONNS, PT_TENANT_QUEUE). Try again shortly."
		return nil, f
	case errors.Is(err, admission.ErrTimeout):
		return nil, poolFullError(tenant != p.account, fmt.Errorf("no connection in the %s lane: %w", lane, err))
	case err != nil:
		return nil, MapError(err)
	}
	c, err := p.pool.Acquire(actx)
	if err == nil {
		return &conn{c, slot}, nil
	}
	slot.Leave()
	if ctx.Err() != nil {
		return nil, MapError(ctx.Err())
	}
	return nil, poolFullError(tenant != p.account, fmt.Errorf("no connection within %s: %w", p.wait, err))
}

// poolFullError returns the error for a request that got no connection in time. The log names
// the setting. The response names it only for work in a tenant, which is done for an
// authenticated caller.
func poolFullError(inTenant bool, cause error) error {
	f := fault.Unavailable(fmt.Errorf("postgres: all connections are in use (PT_POOL_CONNS): %w", cause))
	if inTenant {
		f.Message = "All database connections of the server are in use. Try again shortly. The operator sets their number with PT_POOL_CONNS."
	}
	return f
}

// Query runs a statement in no tenant, for roles whose row-level security policies
// require none (parapet_auth, parapet_jobs). The connection is released when the rows
// are closed or read to their end.
func (p *Pool) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	c, err := p.acquire(ctx, "", admission.Read)
	if err != nil {
		return failedRows{err}, err
	}
	rows, err := c.Conn().Query(ctx, sql, args...)
	if err != nil {
		c.Release()
		return rows, err
	}
	return &releasingRows{Rows: rows, release: func() error { c.Release(); return nil }}, nil
}

// QueryRow runs a statement in no tenant and returns its first row.
func (p *Pool) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, err := p.Query(ctx, sql, args...)
	return firstRow{rows, err}
}

// Exec runs a statement in no tenant.
func (p *Pool) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	c, err := p.acquire(ctx, "", admission.Write)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	defer c.Release()
	return c.Conn().Exec(ctx, sql, args...)
}
