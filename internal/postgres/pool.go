package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"parapet/internal/fault"
)

// acquireTimeout is how long a caller waits for a connection before it is told
// to come back.
const acquireTimeout = 2 * time.Second

// Config is what a pool is opened with.
type Config struct {
	// URL is the address with the role in it (see RoleURL).
	URL string
	// MaxConns bounds the pool; zero means pgx's default (the greater of 4 and
	// the number of processors).
	MaxConns int32
	// MinConns are kept open while idle; zero means none.
	MinConns int32
	// AcquireTimeout replaces the two seconds that a caller waits for a
	// connection, when positive.
	AcquireTimeout time.Duration
	// TenantSetting is SetConfig, or SetLocal for Citus.
	TenantSetting TenantSetting
	// Tracer sees every statement (pgx.QueryTracer and its relatives), when set.
	Tracer pgx.QueryTracer
}

// Pool holds the connections of one LOGIN role. It sets nothing for the length
// of a session, so that it works behind a transaction-mode connection pooler.
// It is safe for concurrent use.
type Pool struct {
	pool    *pgxpool.Pool
	wait    time.Duration
	setting TenantSetting
}

// Open makes a pool and its first connection, so that a wrong address or role
// shows at once. The error is plain: it belongs in the start-up log.
func Open(ctx context.Context, cfg Config) (*Pool, error) {
	pc, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		// The parser's own text repeats the address, but masks the password.
		return nil, fmt.Errorf("postgres: address: %w", err)
	}
	if cfg.MaxConns > 0 {
		pc.MaxConns = cfg.MaxConns
	}
	if cfg.MinConns > 0 {
		pc.MinConns = cfg.MinConns
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
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("postgres: open: %w", err)
	}
	p := &Pool{pool: pool, wait: acquireTimeout, setting: cfg.TenantSetting}
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

// Ping tells whether the database answers; the readiness check uses it.
func (p *Pool) Ping(ctx context.Context) error {
	c, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	return MapError(c.Ping(ctx))
}

// Raw is the pgx pool itself, for libraries that want one (River). It knows
// nothing of tenants.
func (p *Pool) Raw() *pgxpool.Pool { return p.pool }

// Stat gives the pool's numbers for metrics.
func (p *Pool) Stat() *pgxpool.Stat { return p.pool.Stat() }

// acquire waits a bounded time for a connection.
func (p *Pool) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	actx, cancel := context.WithTimeout(ctx, p.wait)
	defer cancel()
	c, err := p.pool.Acquire(actx)
	if err == nil {
		return c, nil
	}
	if ctx.Err() != nil {
		return nil, MapError(ctx.Err())
	}
	return nil, fault.Unavailable(fmt.Errorf("postgres: no connection within %s: %w", p.wait, err))
}

// Query runs a statement in no tenant, for roles whose policies do not ask for
// one (parapet_auth, parapet_jobs). The connection goes back when the rows are
// closed or read to their end.
func (p *Pool) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	c, err := p.acquire(ctx)
	if err != nil {
		return failedRows{err}, err
	}
	rows, err := c.Query(ctx, sql, args...)
	if err != nil {
		c.Release()
		return rows, err
	}
	return &heldRows{Rows: rows, release: func() error { c.Release(); return nil }}, nil
}

// QueryRow runs a statement in no tenant and gives its first row.
func (p *Pool) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, err := p.Query(ctx, sql, args...)
	return firstRow{rows, err}
}

// Exec runs a statement in no tenant.
func (p *Pool) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	c, err := p.acquire(ctx)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	defer c.Release()
	return c.Exec(ctx, sql, args...)
}
