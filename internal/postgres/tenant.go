package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// TenantSetting says how the tenant travels to the server.
type TenantSetting int

const (
	// SetConfig calls set_config with the tenant as a bound argument: one
	// prepared statement for all tenants. The way for one Postgres server.
	SetConfig TenantSetting = iota
	// SetLocal sends SET LOCAL with the tenant as a literal inside an explicit
	// transaction: the only form that Citus carries to its workers.
	SetLocal
)

const (
	sqlSetTenant = `SELECT set_config('app.tenant_id', $1, true), set_config('idle_in_transaction_session_timeout', '8s', true)`
	// The last columns tell whether the server accepts changes, and the transaction's
	// id if it is asked for.
	sqlSetTransaction = `SELECT set_config('app.tenant_id', $1, true), set_config('idle_in_transaction_session_timeout', '8s', true),
       set_config('lock_timeout', $2, true), current_setting('transaction_read_only'),
       CASE WHEN $3::boolean AND current_setting('transaction_read_only') = 'off' THEN pg_current_xact_id()::text ELSE '' END`
	sqlReadOnly      = `SELECT current_setting('transaction_read_only')`
	sqlSetTenantRead = `SELECT set_config('app.tenant_id', $1, true), set_config('transaction_read_only', 'on', true)`
)

// IdleTimeout is how long a transaction may wait for its client's next statement.
// Then the server ends it and frees its locks, so that a process that is paused in
// a transaction blocks others for no longer than this.
const IdleTimeout = 8 * time.Second

// SetTenant makes tenant the tenant of the transaction tx until it ends. It is
// the one function that does so outside this package's own batches. The empty
// string means no tenant: then row-level security shows no row of any.
func SetTenant(ctx context.Context, tx pgx.Tx, tenant string) error {
	return setTenant(ctx, tx, tenant, SetConfig)
}

func setTenant(ctx context.Context, tx pgx.Tx, tenant string, how TenantSetting) error {
	if err := validTenant(tenant); err != nil {
		return err
	}
	if how == SetLocal {
		_, err := tx.Exec(ctx, setLocalSQL(tenant), pgx.QueryExecModeSimpleProtocol)
		return err
	}
	_, err := tx.Exec(ctx, sqlSetTenant, tenant)
	return err
}

// setLockTimeoutSQL is the setting as a statement of its own; lockTimeout is a
// number.
func (p *Pool) setLockTimeoutSQL() string { return "SET LOCAL lock_timeout = '" + p.lockTimeout + "'" }

// QueueTenant puts a change of the transaction's tenant into a batch, for what
// follows it in the batch.
func (t *Tx) QueueTenant(batch *pgx.Batch, tenant string) error {
	if err := validTenant(tenant); err != nil {
		return err
	}
	if t.setting == SetLocal {
		batch.Queue(fmt.Sprintf("SET LOCAL app.tenant_id = '%s'", tenant))
		return nil
	}
	batch.Queue(sqlSetTenant, tenant)
	return nil
}

// setLocalSQL writes the tenant into the statement, since SET takes no
// arguments; validTenant has made sure that it is a UUID or nothing.
func setLocalSQL(tenant string) string {
	return fmt.Sprintf("SET LOCAL idle_in_transaction_session_timeout = '8s'; SET LOCAL citus.propagate_set_commands = 'local'; SET LOCAL app.tenant_id = '%s'", tenant)
}

// validTenant refuses what is not a UUID: a malformed tenant is a mistake of
// the program, and must not become SQL or a cast error in a policy.
func validTenant(tenant string) error {
	if tenant == "" {
		return nil
	}
	if len(tenant) != 36 {
		return fmt.Errorf("postgres: tenant %q is not a UUID", tenant)
	}
	if err := uuid.Validate(tenant); err != nil {
		return fmt.Errorf("postgres: tenant %q is not a UUID", tenant)
	}
	return nil
}
