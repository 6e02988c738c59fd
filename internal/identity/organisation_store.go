package identity

import (
	"context"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

const selectOrganisationSQL = `
SELECT o.id, o.tenant_id, o.name, o.type, o.verification_status, o.created_at, o.updated_at
FROM identity.organisations o
WHERE o.tenant_id = @tenant`

func selectOrganisation(ctx context.Context, q postgres.Querier, tenant, id op.UUID, lock bool) (contract.Organisation, error) {
	sql := selectOrganisationSQL + ` AND o.id = @id`
	if lock {
		sql += ` FOR UPDATE`
	}
	o, err := postgres.One[contract.Organisation](ctx, q, sql, postgres.Args{"tenant": tenant, "id": id})
	if postgres.IsNoRows(err) {
		return o, fault.NotFound("organisation")
	}
	return o, err
}

const organisationsWhereSQL = `
  AND (@search = '' OR position(lower(@search) IN lower(o.name)) > 0)
  AND (@type = '' OR o.type = @type)
  AND (@verification = '' OR o.verification_status = @verification)
  AND (@after_id = '' OR (lower(left(o.name, 60)), o.id) > (lower(@after), nullif(@after_id, '')::uuid))
  AND `

func selectOrganisations(
	ctx context.Context, q postgres.Querier, tenant op.UUID, in *contract.ListOrganisationsIn, after string, afterID op.UUID, f authz.Filter,
) ([]contract.Organisation, error) {
	items, err := postgres.Collect[contract.Organisation](ctx, q,
		selectOrganisationSQL+organisationsWhereSQL+f.SQL()+` ORDER BY lower(left(o.name, 60)), o.id LIMIT @limit`,
		withFilterArgs(postgres.Args{
			"tenant": tenant, "search": in.Search, "type": in.Type, "verification": in.VerificationStatus,
			"after": after, "after_id": afterID, "limit": in.Limit + 1,
		}, f))
	return items, err
}

const insertOrganisationSQL = `
INSERT INTO identity.organisations (tenant_id, id, name, type, verification_status, created_at, updated_at)
VALUES (@tenant, @id, @name, @type, @verification, @now, @now)`

func insertOrganisation(ctx context.Context, q postgres.Querier, o contract.Organisation) error {
	_, err := q.Exec(ctx, insertOrganisationSQL, postgres.Args{
		"tenant": o.TenantID, "id": o.ID, "name": o.Name, "type": o.Type, "verification": o.VerificationStatus, "now": o.CreatedAt,
	})
	return postgres.MapError(err, constraints)
}

const writeOrganisationSQL = `
UPDATE identity.organisations SET name = @name, type = @type, verification_status = @verification, updated_at = @now
WHERE tenant_id = @tenant AND id = @id`

func writeOrganisation(ctx context.Context, q postgres.Querier, o contract.Organisation) error {
	_, err := q.Exec(ctx, writeOrganisationSQL, postgres.Args{
		"tenant": o.TenantID, "id": o.ID, "name": o.Name, "type": o.Type, "verification": o.VerificationStatus, "now": o.UpdatedAt,
	})
	return postgres.MapError(err, constraints)
}
