package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// TenantSetting selects the SQL that sets the tenant.
type TenantSetting int

const (
	// SetConfig calls set_config with the tenant as a bound argument: one
	// prepared statement for all tenants. Use it with a single PostgreSQL server.
	SetConfig TenantSetting = iota
	// SetLocal sends SET LOCAL with the tenant as a literal inside an explicit
	// transaction. It is the only form that Citus passes to its workers.
	SetLocal
)

const (
	setTenantSQL = `SELECT set_config('app.tenant_id', $1, true), set_config('idle_in_transaction_session_timeout', '8s', true)`
	// The last columns return whether the server is read-only and, if requested, the
	// transaction's id.
	setTransactionSQL = `SELECT set_config('app.tenant_id', $1, true), set_config('idle_in_transaction_session_timeout', '8s', true),
       set_config('lock_timeout', $2, true), current_setting('transaction_read_only'),
       CASE WHEN $3::boolean AND current_setting('transaction_read_only') = 'off' THEN pg_current_xact_id()::text ELSE '' END`
	readOnlySQL      = `SELECT current_setting('transaction_read_only')`
	setTenantReadSQL = `SELECT set_config('app.tenant_id', $1, true), set_config('transaction_read_only', 'on', true)`
)

// IdleTimeout is how long a transaction may wait for its client's next statement.
// After it the server ends the transaction and releases its locks, so a paused process
// blocks others no longer than this.
const IdleTimeout = 8 * time.Second

// SetTenant sets the tenant of the transaction tx until it ends. Only this function and the
// batches of this package set the tenant. An empty tenant means no tenant: row-level
// security then shows no rows.
func SetTenant(ctx context.Context, tx pgx.Tx, tenant string) error {
	return setTenant(ctx, tx, tenant, SetConfig)
}

func setTenant(ctx context.Context, tx pgx.Tx, tenant string, setting TenantSetting) error {
	if err := checkTenant(tenant); err != nil {
		return err
	}
	if setting == SetLocal {
		_, err := tx.Exec(ctx, setLocalSQL(tenant), pgx.QueryExecModeSimpleProtocol)
		return err
	}
	_, err := tx.Exec(ctx, setTenantSQL, tenant)
	return err
}

// setLockTimeoutSQL returns the statement that sets the lock timeout. lockTimeout is a
// number, so it needs no quoting.
func (p *Pool) setLockTimeoutSQL() string { return "SET LOCAL lock_timeout = '" + p.lockTimeout + "'" }

// QueueTenant queues a change of the transaction's tenant, which applies to the
// statements queued after it.
func (t *Tx) QueueTenant(batch *pgx.Batch, tenant string) error {
	if err := checkTenant(tenant); err != nil {
		return err
	}
	if t.setting == SetLocal {
		batch.Queue(fmt.Sprintf("SET LOCAL app.tenant_id = '%s'", tenant))
		return nil
	}
	batch.Queue(setTenantSQL, tenant)
	return nil
}

// setLocalSQL returns the statements that set the tenant. SET takes no arguments, so the
// text contains the tenant; checkTenant has verified that it is a UUID or empty.
func setLocalSQL(tenant string) string {
	return fmt.Sprintf("SET LOCAL idle_in_transaction_session_timeout = '8s'; SET LOCAL citus.propagate_set_commands = 'local'; SET LOCAL app.tenant_id = '%s'", tenant)
}

// checkTenant returns an error unless tenant is a UUID or empty. A malformed tenant is a
// programming error and must not become SQL or a cast error in a policy.
func checkTenant(tenant string) error {
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
