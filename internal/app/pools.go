package app

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/postgres"
)

// jobsLockTimeout is longer than a subscriber may hold its delivery lock.
const jobsLockTimeout = time.Minute

// pools has a connection pool for each LOGIN role that the process uses.
type pools struct {
	cfg    Config
	byRole map[string]*postgres.Pool
	// tracer traces statements; nil if tracing is off.
	tracer pgx.QueryTracer
}

func openPools(ctx context.Context, cfg Config, tracer pgx.QueryTracer, roles ...string) (*pools, error) {
	p := &pools{cfg: cfg, byRole: map[string]*postgres.Pool{}, tracer: tracer}
	for _, role := range roles {
		if _, err := p.open(ctx, role); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

func (p *pools) open(ctx context.Context, role string) (*postgres.Pool, error) {
	if pool := p.byRole[role]; pool != nil {
		return pool, nil
	}
	url, err := p.url(role)
	if err != nil {
		return nil, err
	}
	setting := postgres.SetConfig
	if p.cfg.Citus {
		setting = postgres.SetLocal
	}
	lockTimeout := p.cfg.LockTimeout
	if role == postgres.RoleJobs {
		// Background jobs can wait longer, because no request waits for them.
		lockTimeout = jobsLockTimeout
	}
	pool, err := postgres.Open(ctx, postgres.Config{
		URL: url, MaxConns: int32(min(p.cfg.PoolConns, 1000)), TenantConns: p.cfg.TenantConns, TenantQueue: p.cfg.TenantQueue,
		LockTimeout: lockTimeout, TenantSetting: setting, Tracer: p.tracer,
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the database as %s: %w", role, err)
	}
	p.byRole[role] = pool
	return pool, nil
}

// url returns DATABASE_URL with another role.
func (p *pools) url(role string) (string, error) {
	url, err := postgres.RoleURL(p.cfg.DatabaseURL, role, p.cfg.DBRoleSecret)
	if err != nil {
		return "", &SettingError{"DATABASE_URL", "must be the address of a PostgreSQL database"}
	}
	return url, nil
}

func (p *pools) close() {
	for _, pool := range p.byRole {
		pool.Close()
	}
}
