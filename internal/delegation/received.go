package delegation

import (
	"context"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// ReceivedReader implements contract.Delegations for other modules. It only needs
// a pool, so that a process that does not run the tracker module can use it too.
type ReceivedReader struct{ Pool *postgres.Pool }

var _ contract.Delegations = ReceivedReader{}

const currentAndFutureReceivedSQL = `
SELECT d.id, d.permissions, d.scope, coalesce(d.project_id::text, '') AS project_id,
       d.delegator_id AS delegator, d.starts_at AS "from", d.ends_at AS until
FROM projects.delegations d
WHERE d.tenant_id = @tenant AND d.delegate_id = @user AND d.revoked_at IS NULL AND d.ends_at > now()
ORDER BY d.id`

// Received implements the contract's Delegations.
func (r ReceivedReader) Received(ctx context.Context, tenant, user op.UUID) ([]contract.ReceivedDelegation, error) {
	list, err := postgres.Collect[contract.ReceivedDelegation](ctx, r.Pool.Read(string(tenant), nil), currentAndFutureReceivedSQL,
		postgres.Args{"tenant": tenant, "user": user})
	return list, postgres.MapError(err)
}
