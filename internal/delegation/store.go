package delegation

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/principal"
)

// ActiveReader provides the tracker's executor with the active delegations to a caller.
type ActiveReader struct{}

var _ executor.Delegations = ActiveReader{}

// Returns the active delegations to user $1 in tenant $2 as JSON text, with the
// current projects of each initiative; empty if there are none. The order is fixed, so
// that equal delegations have equal texts and fingerprints.
const activeDelegationsSQL = `
SELECT coalesce(json_agg(json_build_object(
           'id', d.id, 'delegator', d.delegator_id, 'scope', lower(d.scope), 'permissions', d.permissions,
           'projects', CASE d.scope
               WHEN 'PROJECT' THEN json_build_array(d.project_id)
               WHEN 'INITIATIVE' THEN (SELECT coalesce(json_agg(p.id ORDER BY p.id), '[]') FROM projects.projects p
                                       WHERE p.tenant_id = $2 AND p.initiative_id = d.initiative_id)
               ELSE '[]' END,
           'initiatives', CASE d.scope WHEN 'INITIATIVE' THEN json_build_array(d.initiative_id) ELSE '[]' END) ORDER BY d.id)::text, '') AS delegations
FROM projects.delegations d
WHERE d.tenant_id = $2 AND d.delegate_id = $1 AND d.revoked_at IS NULL AND d.starts_at <= now() AND d.ends_at > now()`

const fingerprintSQL = `SELECT CASE delegations WHEN '' THEN '' ELSE md5(delegations) END FROM (` + activeDelegationsSQL + `) f`

const activeDelegationListSQL = `SELECT CASE delegations WHEN '' THEN '' ELSE md5(delegations) END AS fingerprint, delegations FROM (` + activeDelegationsSQL + `) f`

// FingerprintSQL implements executor.Delegations.
func (ActiveReader) FingerprintSQL() string { return fingerprintSQL }

// Active implements executor.Delegations.
func (ActiveReader) Active(ctx context.Context, q postgres.Querier, tenant, user op.UUID) (principal.Delegations, error) {
	var found principal.Delegations
	var delegationsJSON string
	if err := q.QueryRow(ctx, activeDelegationListSQL, user, tenant).Scan(&found.Fingerprint, &delegationsJSON); err != nil || delegationsJSON == "" {
		return principal.Delegations{}, err
	}
	if err := json.Unmarshal([]byte(delegationsJSON), &found.Active); err != nil {
		return principal.Delegations{}, fmt.Errorf("delegation: %w", err)
	}
	return found, nil
}

// Type maps the policy attributes of a delegation to columns of the aliases
// d (delegation), p (its project) and i (its initiative). The delegator counts as its
// creator and the delegate as its owner.
var Type = authz.NewRecordType("delegation", authz.Attributes[Row]{
	Tenant:         authz.TenantColumn[Row]("d.tenant_id"),
	ID:             authz.NewAttribute("d.id", func(r *Row) string { return string(r.ID) }),
	Project:        authz.NewAttribute("d.project_id", func(r *Row) string { return string(postgres.ValueOrZero(r.ProjectID)) }),
	Organisation:   authz.NewAttribute("coalesce(p.organisation_id, i.organisation_id)", func(r *Row) string { return string(postgres.ValueOrZero(r.OrganisationID)) }),
	Creator:        authz.NewAttribute("d.delegator_id", func(r *Row) string { return string(r.DelegatorID) }),
	Owner:          authz.NewAttribute("d.delegate_id", func(r *Row) string { return string(r.DelegateID) }),
	Classification: authz.NewAttribute("coalesce(p.classification, i.classification, 'UNCLASSIFIED')", func(r *Row) string { return r.Classification }),
})

func delegationConstraints() postgres.Constraints {
	return postgres.Constraints{
		"delegations_not_to_oneself": fault.Validation("delegate", "The delegate must be another user than the delegator."),
		"delegations_times_in_order": fault.Validation("until", "until must be later than from."),
		"delegations_of_project":     fault.NotFound("project"),
		"delegations_of_initiative":  fault.NotFound("initiative"),
	}
}

// Row is a delegation with the organisation and classification of its
// project or initiative.
type Row struct {
	ID             op.UUID
	DelegatorID    op.UUID
	DelegateID     op.UUID
	Scope          string
	ProjectID      *op.UUID
	InitiativeID   *op.UUID
	Permissions    []string
	StartsAt       time.Time
	EndsAt         time.Time
	CreatedBy      op.UUID
	CreatedAt      time.Time
	RevokedAt      *time.Time
	RevokedBy      *op.UUID
	OrganisationID *op.UUID
	Classification string
}

// Select selects the delegations of a tenant as rows of Row. It ends with the comparison of
// the tenant.
const Select = `
SELECT d.id, d.delegator_id, d.delegate_id, d.scope, d.project_id, d.initiative_id, d.permissions, d.starts_at, d.ends_at,
       d.created_by, d.created_at, d.revoked_at, d.revoked_by,
       coalesce(p.organisation_id, i.organisation_id) AS organisation_id,
       coalesce(p.classification, i.classification, 'UNCLASSIFIED') AS classification
FROM projects.delegations d
LEFT JOIN projects.projects p ON p.tenant_id = d.tenant_id AND p.id = d.project_id
LEFT JOIN projects.initiatives i ON i.tenant_id = d.tenant_id AND i.id = d.initiative_id
WHERE d.tenant_id = `

const delegationSQL = Select + `@tenant AND d.id = @id`

const lockDelegationSQL = delegationSQL + ` FOR UPDATE OF d`

func loadDelegation(ctx context.Context, c *executor.Call, sql string, id op.UUID) (Row, error) {
	row, err := postgres.One[Row](ctx, c.DB, sql, postgres.Args{"tenant": c.Tenant, "id": id})
	if postgres.IsNoRows(err) {
		return row, fault.NotFound("delegation")
	}
	return row, err
}

// Serializes the creation of delegations to the same delegate, so that concurrent
// requests cannot exceed the limits.
const lockDelegateSQL = `SELECT pg_advisory_xact_lock(hashtextextended('parapet delegations ' || @tenant::text || ' ' || @delegate::text, 0))`

const countReceivedDelegationsSQL = `
SELECT count(*) FILTER (WHERE d.delegator_id = @delegator), count(*) FROM projects.delegations d
WHERE d.tenant_id = @tenant AND d.delegate_id = @delegate AND d.revoked_at IS NULL AND d.ends_at > @now`

// countReceivedDelegations counts the delegate's scheduled and active delegations. It
// locks the delegate, so that the count does not change until the transaction ends.
func countReceivedDelegations(ctx context.Context, c *executor.Call, r *Row) (authz.Received, error) {
	var received authz.Received
	if _, err := c.DB.Exec(ctx, lockDelegateSQL, postgres.Args{"tenant": c.Tenant, "delegate": r.DelegateID}); err != nil {
		return received, err
	}
	err := c.DB.QueryRow(ctx, countReceivedDelegationsSQL, postgres.Args{
		"tenant": c.Tenant, "delegator": r.DelegatorID, "delegate": r.DelegateID, "now": c.Now,
	}).Scan(&received.FromDelegator, &received.Total)
	return received, err
}

const insertDelegationSQL = `
INSERT INTO projects.delegations (tenant_id, id, delegator_id, delegate_id, scope, project_id, initiative_id, permissions,
                                  starts_at, ends_at, created_by, created_at)
VALUES (@tenant, @id, @delegator, @delegate, @scope, @project, @initiative, @permissions, @starts, @ends, @by, @now)`

func insertDelegationRow(ctx context.Context, c *executor.Call, r *Row) error {
	_, err := c.DB.Exec(ctx, insertDelegationSQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "delegator": r.DelegatorID, "delegate": r.DelegateID, "scope": r.Scope, "project": r.ProjectID,
		"initiative": r.InitiativeID, "permissions": r.Permissions, "starts": r.StartsAt, "ends": r.EndsAt, "by": r.CreatedBy, "now": r.CreatedAt,
	})
	return postgres.MapError(err, delegationConstraints())
}

const revokeDelegationSQL = `
UPDATE projects.delegations SET revoked_at = @now, revoked_by = @by
WHERE tenant_id = @tenant AND id = @id AND revoked_at IS NULL`

func revokeDelegationRow(ctx context.Context, c *executor.Call, r *Row) error {
	r.RevokedAt, r.RevokedBy = &c.Now, &c.Actor.UserID
	_, err := c.DB.Exec(ctx, revokeDelegationSQL, postgres.Args{"tenant": c.Tenant, "id": r.ID, "now": c.Now, "by": c.Actor.UserID})
	return err
}

// resource converts the delegation to policy input.
func (r *Row) resource(tenant op.UUID) authz.Resource {
	return Type.Resource(string(tenant), r)
}

// toDelegation converts the row to the API type, with its state at the given time.
func (r *Row) toDelegation(now time.Time) *contract.Delegation {
	d := &contract.Delegation{
		ID: r.ID, DelegatorID: r.DelegatorID, DelegateID: r.DelegateID, Scope: r.Scope, ProjectID: postgres.ValueOrZero(r.ProjectID),
		InitiativeID: postgres.ValueOrZero(r.InitiativeID), Permissions: r.Permissions, From: r.StartsAt, Until: r.EndsAt,
		State: contract.DelegationActive, CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt, RevokedBy: postgres.ValueOrZero(r.RevokedBy),
	}
	switch {
	case r.RevokedAt != nil:
		d.State, d.RevokedAt = contract.DelegationRevoked, r.RevokedAt
	case now.Before(r.StartsAt):
		d.State = contract.DelegationScheduled
	case !now.Before(r.EndsAt):
		d.State = contract.DelegationExpired
	}
	return d
}
