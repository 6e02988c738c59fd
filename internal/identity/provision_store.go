package identity

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

// The functions in this file are used for seeding and provisioning. They run as the owner of
// the database, because no application role may write an integration_key.

// actorTypeOperator is the audit actor type of operator commands. They use the database's
// own credentials, so there is no user id.
const actorTypeOperator = "operator"

const ownerSQL = `
SELECT current_user::text AS name, row_security_active('audit.entries') AS bound,
       pg_has_role(current_user, @role, ` + postgres.SetRolePrivilegeSQL + `) AS settable,
       current_setting('server_version_num')::int AS server_version`

// ownerRow describes the current database role. Bound reports whether row-level security
// applies to it, Settable whether it can SET ROLE to the module's role.
type ownerRow struct {
	Name          string
	Bound         bool
	Settable      bool
	ServerVersion int
}

// runAsModuleRole runs f with the module's database role if row-level security applies to the
// owner, because the audit log and the outbox accept rows only from the modules' roles. A
// superuser is exempt.
func runAsModuleRole(ctx context.Context, tx pgx.Tx, f func() error) error {
	owner, err := postgres.One[ownerRow](ctx, tx, ownerSQL, postgres.Args{"role": postgres.RoleIdentity})
	if err != nil {
		return err
	}
	if !owner.Bound {
		return f()
	}
	if !owner.Settable {
		return fault.ForbiddenBecause(fmt.Sprintf("The database role %q cannot act as %s. Run `ptd migrate` with the same DIRECT_URL, or as a superuser: %s;",
			owner.Name, postgres.RoleIdentity, postgres.GrantSetRole(owner.ServerVersion, owner.Name, postgres.RoleIdentity)))
	}
	if _, err := tx.Exec(ctx, "SET LOCAL ROLE "+postgres.RoleIdentity); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "RESET ROLE")
	return err
}

const findTenantSQL = `SELECT id FROM identity.tenants WHERE slug = @slug`

func findTenant(ctx context.Context, q postgres.Querier, slug string) (id op.UUID, err error) {
	err = q.QueryRow(ctx, findTenantSQL, postgres.Args{"slug": slug}).Scan(&id)
	return id, err
}

const seedTenantSQL = `
INSERT INTO identity.tenants (id, office_id, slug, name, type, created_at, updated_at)
VALUES (@id, nullif(@office, '')::uuid, @slug, @name, @type, @now, @now)`

func seedTenant(ctx context.Context, q postgres.Querier, id op.UUID, in SeedTenant, now time.Time) error {
	_, err := q.Exec(ctx, seedTenantSQL, postgres.Args{
		"id": id, "office": string(in.Office), "slug": in.Slug, "name": in.Name, "type": in.Type, "now": now,
	})
	return err
}

const findOrganisationSQL = `SELECT id FROM identity.organisations WHERE tenant_id = @tenant AND lower(name) = lower(@name)`

func findOrganisation(ctx context.Context, q postgres.Querier, tenant op.UUID, name string) (id op.UUID, err error) {
	err = q.QueryRow(ctx, findOrganisationSQL, postgres.Args{"tenant": tenant, "name": name}).Scan(&id)
	return id, err
}

const seedOrganisationSQL = `
INSERT INTO identity.organisations (tenant_id, id, name, verification_status, created_at, updated_at)
VALUES (@tenant, @id, @name, 'VERIFIED', @now, @now)`

func seedOrganisation(ctx context.Context, q postgres.Querier, tenant, id op.UUID, name string, now time.Time) error {
	_, err := q.Exec(ctx, seedOrganisationSQL, postgres.Args{"tenant": tenant, "id": id, "name": name, "now": now})
	return err
}

const findUserSQL = `SELECT id FROM identity.users WHERE home_tenant_id = @tenant AND email_key = lower(@email)`

func findUser(ctx context.Context, q postgres.Querier, tenant op.UUID, email string) (id op.UUID, err error) {
	err = q.QueryRow(ctx, findUserSQL, postgres.Args{"tenant": tenant, "email": email}).Scan(&id)
	return id, err
}

// userRow is a user to insert. IntegrationKey is set for a SERVICE principal only.
type userRow struct {
	ID, Home       op.UUID
	Kind           string
	IntegrationKey string
	Email          string
	DisplayName    string
	PasswordHash   string
	Status         string
}

const seedUserSQL = `
INSERT INTO identity.users (id, home_tenant_id, principal_kind, integration_key, email, display_name, password_hash, status, created_at, updated_at)
VALUES (@id, @home, @kind, nullif(@integration_key, ''), @email, @display_name, nullif(@password_hash, ''), @status, @now, @now)`

func seedUserRow(ctx context.Context, q postgres.Querier, u userRow, now time.Time) error {
	_, err := q.Exec(ctx, seedUserSQL, postgres.Args{
		"id": u.ID, "home": u.Home, "kind": u.Kind, "integration_key": u.IntegrationKey, "email": u.Email, "display_name": u.DisplayName,
		"password_hash": u.PasswordHash, "status": u.Status, "now": now,
	})
	return err
}

const seedMembershipSQL = `
INSERT INTO identity.memberships (tenant_id, user_id, organisation_id, clearance, created_at, updated_at)
VALUES (@tenant, @user, nullif(@organisation, '')::uuid, nullif(@clearance, ''), @now, @now)
ON CONFLICT (tenant_id, user_id) DO NOTHING`

func seedMembership(ctx context.Context, q postgres.Querier, tenant, user, organisation op.UUID, clearance string, now time.Time) (created bool, err error) {
	tag, err := q.Exec(ctx, seedMembershipSQL, postgres.Args{
		"tenant": tenant, "user": user, "organisation": string(organisation), "clearance": clearance, "now": now,
	})
	return tag.RowsAffected() == 1, err
}

func findRole(ctx context.Context, q postgres.Querier, tenant op.UUID, name string) (grantingRole, error) {
	return postgres.One[grantingRole](ctx, q, selectRoleSQL+` AND r.name = @name`, postgres.Args{"tenant": tenant, "name": name})
}

const assignTenantWideSQL = `
INSERT INTO identity.role_assignments (tenant_id, id, user_id, role_id, scope, created_at)
VALUES (@tenant, @id, @user, @role, 'tenant', @now)
ON CONFLICT DO NOTHING`

func assignTenantWide(ctx context.Context, q postgres.Querier, tenant, user, role op.UUID, now time.Time) error {
	_, err := q.Exec(ctx, assignTenantWideSQL, postgres.Args{"tenant": tenant, "id": uid.New(), "user": user, "role": role, "now": now})
	return err
}

// provisionLockSQL serializes the runs for one tenant.
const provisionLockSQL = `SELECT disabled_at IS NULL FROM identity.tenants WHERE id = @tenant FOR UPDATE`

func lockForProvision(ctx context.Context, q postgres.Querier, tenant op.UUID) (enabled bool, err error) {
	err = q.QueryRow(ctx, provisionLockSQL, postgres.Args{"tenant": tenant}).Scan(&enabled)
	return enabled, err
}

const organisationExistsSQL = `SELECT EXISTS (SELECT 1 FROM identity.organisations WHERE tenant_id = @tenant AND id = @organisation)`

func organisationExists(ctx context.Context, q postgres.Querier, tenant, organisation op.UUID) (exists bool, err error) {
	err = q.QueryRow(ctx, organisationExistsSQL, postgres.Args{"tenant": tenant, "organisation": organisation}).Scan(&exists)
	return exists, err
}

// serviceRow is a SERVICE principal with its membership in its home tenant. Membership and
// Organisation are empty if it has none.
type serviceRow struct {
	ID           op.UUID
	Membership   string
	Organisation string
}

const findServiceSQL = `
SELECT u.id, coalesce(m.status, '') AS membership, coalesce(m.organisation_id::text, '') AS organisation
FROM identity.users u
LEFT JOIN identity.memberships m ON m.tenant_id = u.home_tenant_id AND m.user_id = u.id
WHERE u.home_tenant_id = @tenant AND u.integration_key = @integration_key`

func findService(ctx context.Context, q postgres.Querier, tenant op.UUID, key string) (serviceRow, error) {
	return postgres.One[serviceRow](ctx, q, findServiceSQL, postgres.Args{"tenant": tenant, "integration_key": key})
}

const moveMembershipSQL = `
UPDATE identity.memberships SET organisation_id = @organisation, updated_at = @now
WHERE tenant_id = @tenant AND user_id = @user`

func moveMembership(ctx context.Context, q postgres.Querier, tenant, user, organisation op.UUID, now time.Time) error {
	_, err := q.Exec(ctx, moveMembershipSQL, postgres.Args{"tenant": tenant, "user": user, "organisation": organisation, "now": now})
	return err
}

const deleteOtherAssignmentsSQL = `
DELETE FROM identity.role_assignments
WHERE tenant_id = @tenant AND user_id = @user AND NOT (role_id = @role AND scope = 'tenant')`

// deleteOtherAssignments deletes all assignments of a user except one tenant-wide role.
func deleteOtherAssignments(ctx context.Context, q postgres.Querier, tenant, user, role op.UUID) (int64, error) {
	tag, err := q.Exec(ctx, deleteOtherAssignmentsSQL, postgres.Args{"tenant": tenant, "user": user, "role": role})
	return tag.RowsAffected(), err
}

const hasTenantWideRoleSQL = `
SELECT EXISTS (SELECT 1 FROM identity.role_assignments
               WHERE tenant_id = @tenant AND user_id = @user AND role_id = @role AND scope = 'tenant')`

func hasTenantWideRole(ctx context.Context, q postgres.Querier, tenant, user, role op.UUID) (holds bool, err error) {
	err = q.QueryRow(ctx, hasTenantWideRoleSQL, postgres.Args{"tenant": tenant, "user": user, "role": role}).Scan(&holds)
	return holds, err
}

// agentRow is a user that is an agent or has an agent's address.
type agentRow struct {
	ID         op.UUID
	Kind       string
	Membership string
	HasRole    bool
}

// An agent's address has the form agent+<class>@<domain>.
const findAgentsSQL = `
SELECT u.id, u.principal_kind AS kind, coalesce(m.status, '') AS membership,
       EXISTS (SELECT 1 FROM identity.role_assignments a WHERE a.tenant_id = @tenant AND a.user_id = u.id) AS has_role
FROM identity.users u
LEFT JOIN identity.memberships m ON m.tenant_id = u.home_tenant_id AND m.user_id = u.id
WHERE u.home_tenant_id = @tenant AND u.status <> 'DELETED'
  AND (u.principal_kind = 'AGENT' OR (u.principal_kind = 'HUMAN' AND u.email ~* '^agent\+[^@+]+@[^@]+$'))
ORDER BY u.id
FOR UPDATE OF u`

func findAgents(ctx context.Context, q postgres.Querier, tenant op.UUID) ([]agentRow, error) {
	return postgres.Collect[agentRow](ctx, q, findAgentsSQL, postgres.Args{"tenant": tenant})
}

const convertToAgentSQL = `
UPDATE identity.users SET principal_kind = 'AGENT', password_hash = NULL, updated_at = @now
WHERE id = @user AND home_tenant_id = @tenant AND principal_kind = 'HUMAN'`

func convertToAgent(ctx context.Context, q postgres.Querier, tenant, user op.UUID, now time.Time) error {
	_, err := q.Exec(ctx, convertToAgentSQL, postgres.Args{"tenant": tenant, "user": user, "now": now})
	return err
}

const tenantSlugSQL = `SELECT slug FROM identity.tenants WHERE id = @tenant`

func tenantSlug(ctx context.Context, q postgres.Querier, tenant op.UUID) (slug string, err error) {
	err = q.QueryRow(ctx, tenantSlugSQL, postgres.Args{"tenant": tenant}).Scan(&slug)
	return slug, err
}
