package identity_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"parapet/internal/postgres"
)

func codeOf(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// Authorization depends on integration_key: no role can write it, and no UPDATE can change it,
// not even the owner's, nor one that sets the same value.
func TestIntegrationKeyIsImmutable(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	user := r.provision(r.acme)["spec-wiki-sync"]
	ctx := t.Context()
	for _, value := range []string{`'multi-llm-review'`, `integration_key`, `NULL`, `DEFAULT`} {
		_, err := r.owner.Exec(ctx, `UPDATE identity.users SET integration_key = `+value+` WHERE id = $1`, user)
		if err == nil || !strings.Contains(err.Error(), "integration_key is immutable") {
			t.Errorf("owner setting %s: got %v, want an error", value, err)
		}
	}
	for _, role := range []string{postgres.RoleIdentity, postgres.RoleAuth, postgres.RoleJobs, postgres.RoleTracker} {
		pool := r.db.Pool(t, role)
		for _, sql := range []string{
			`UPDATE identity.users SET integration_key = 'x'`,
			`INSERT INTO identity.users (id, home_tenant_id, principal_kind, integration_key, email, display_name) VALUES (gen_random_uuid(), '` + string(r.acme.id) + `', 'SERVICE', 'x', 'x@x.example', 'x')`,
		} {
			err := pool.InTx(ctx, string(r.acme.id), nil, func(tx *postgres.Tx) error { _, err := tx.Exec(ctx, sql); return err })
			if codeOf(err) != "42501" {
				t.Errorf("role %s: %s: got %v, want 42501", role, sql, err)
			}
		}
	}
	// The module cannot insert a SERVICE principal without an integration key either.
	err := r.db.Pool(t, postgres.RoleIdentity).InTx(ctx, string(r.acme.id), nil, func(tx *postgres.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO identity.users (id, home_tenant_id, principal_kind, email, display_name) VALUES (gen_random_uuid(), $1, 'SERVICE', 'x@x.example', 'x')`, r.acme.id)
		return err
	})
	if codeOf(err) != "23514" {
		t.Errorf("SERVICE principal without an integration key: got %v, want 23514", err)
	}
}

func TestDatabaseRoles_LackPrivileges(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	ctx := t.Context()
	for role, statements := range map[string][]string{
		postgres.RoleIdentity: {
			`SELECT password_hash FROM identity.users`, `SELECT * FROM identity.users`, `UPDATE identity.users SET principal_kind = 'AGENT'`,
			`UPDATE identity.users SET home_tenant_id = id`, `DELETE FROM identity.users`, `DELETE FROM identity.api_keys`, `UPDATE identity.api_keys SET expires_at = now()`,
			`UPDATE identity.api_keys SET last_used_at = now()`, `UPDATE identity.roles SET kind = 'GLOBAL'`, `UPDATE identity.tenants SET type = 'PROGRAMME_OFFICE'`,
			`UPDATE identity.tenants SET office_id = NULL`, `DELETE FROM identity.tenants`, `DELETE FROM identity.memberships`, `TRUNCATE identity.sessions`,
		},
		postgres.RoleAuth: {
			`UPDATE identity.users SET status = 'ACTIVE'`, `UPDATE identity.api_keys SET revoked_at = NULL`, `INSERT INTO identity.role_grants (tenant_id, role_id, permission) VALUES (gen_random_uuid(), gen_random_uuid(), 'x')`,
			`UPDATE identity.sessions SET expires_at = now()`, `UPDATE identity.memberships SET status = 'ACTIVE'`, `TRUNCATE identity.users`,
		},
		postgres.RoleJobs: {
			`SELECT password_hash FROM identity.users`, `UPDATE identity.api_keys SET revoked_at = now()`, `SELECT * FROM identity.sessions`, `DELETE FROM identity.api_keys`,
		},
		postgres.RoleTracker: {
			`SELECT id FROM identity.tenants`, `SELECT id FROM identity.users`, `SELECT user_id FROM identity.memberships`, `SELECT jti FROM identity.api_keys`,
			`SELECT identity.clearance_rank('SECRET')`, `SELECT identity.is_member(gen_random_uuid())`,
		},
	} {
		pool := r.db.Pool(t, role)
		for _, sql := range statements {
			err := pool.InTx(ctx, string(r.acme.id), nil, func(tx *postgres.Tx) error { _, err := tx.Exec(ctx, sql); return err })
			if codeOf(err) != "42501" {
				t.Errorf("role %s: %s: got %v, want 42501", role, sql, err)
			}
		}
	}
}

// Row-level security alone isolates tenants: statements without a tenant condition see the
// rows of the current tenant only, or none.
func TestRowLevelSecurityIsolatesTenants(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	r.provision(r.acme)
	r.provision(r.globex)
	r.login("admin@acme.example")
	r.login("admin@globex.example")
	ctx := t.Context()
	pool := r.db.Pool(t, postgres.RoleIdentity)
	count := func(tenant, sql string) (n int) {
		if err := pool.Read(tenant, nil).QueryRow(ctx, sql).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, table := range []string{"organisations", "memberships", "roles", "role_grants", "role_assignments", "sessions"} {
		sql := `SELECT count(*) FROM identity.` + table
		if n := count("", sql); n != 0 {
			t.Errorf("%s: got %d rows without a tenant, want 0", table, n)
		}
		if n := count(string(r.acme.id), sql); n == 0 {
			t.Errorf("%s: got no rows of the own tenant", table)
		}
		if n := count(string(r.acme.id), sql+` WHERE tenant_id <> '`+string(r.acme.id)+`'`); n != 0 {
			t.Errorf("%s: got %d rows of another tenant, want 0", table, n)
		}
	}
	if n := count(string(r.acme.id), `SELECT count(*) FROM identity.users WHERE home_tenant_id <> '`+string(r.acme.id)+`'`); n != 0 {
		t.Errorf("got %d users of another tenant, want 0", n)
	}
	// A member with another home tenant is visible but cannot be changed.
	r.exec(`INSERT INTO identity.memberships (tenant_id, user_id) VALUES ($1, $2)`, r.acme.id, r.globex.people["member"])
	if n := count(string(r.acme.id), `SELECT count(*) FROM identity.users WHERE home_tenant_id <> '`+string(r.acme.id)+`'`); n != 1 {
		t.Errorf("got %d users of another tenant, want the one member", n)
	}
	err := pool.InTx(ctx, string(r.acme.id), nil, func(tx *postgres.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, r.globex.people["member"])
		if err == nil && tag.RowsAffected() != 0 {
			t.Error("UPDATE of a user of another home tenant: got a changed row")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	err = pool.InTx(ctx, string(r.acme.id), nil, func(tx *postgres.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO identity.memberships (tenant_id, user_id) VALUES ($1, $2)`, r.globex.id, r.acme.people["member"])
		return err
	})
	if codeOf(err) != "42501" {
		t.Errorf("INSERT for another tenant: got %v, want 42501", err)
	}
}

func TestClearanceFunctions_RankAndCompareTiers(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	for i, tier := range []string{"UNCLASSIFIED", "INTERNAL", "RESTRICTED", "CONFIDENTIAL", "SECRET"} {
		if n := queryValue[int](r, `SELECT identity.clearance_rank($1)`, tier); n != i {
			t.Errorf("clearance_rank(%s) = %d", tier, n)
		}
	}
	for _, unknown := range []any{"", "secret", "TOP SECRET", "SECRET ", nil} {
		if n := queryValue[int](r, `SELECT identity.clearance_rank($1::text)`, unknown); n != -1 {
			t.Errorf("clearance_rank(%v) = %d, want -1", unknown, n)
		}
		if queryValue[bool](r, `SELECT identity.may_read('UNCLASSIFIED', $1::text)`, unknown) {
			t.Errorf("may_read('UNCLASSIFIED', %v) = true, want false", unknown)
		}
	}
	if !queryValue[bool](r, `SELECT identity.may_read('ODD', 'UNCLASSIFIED')`) || queryValue[bool](r, `SELECT identity.may_read(NULL, 'SECRET')`) {
		t.Error("may_read: want an unknown classification to be readable and a missing one not")
	}
	if queryValue[bool](r, `SELECT identity.may_read('SECRET', 'CONFIDENTIAL')`) || !queryValue[bool](r, `SELECT identity.may_read('CONFIDENTIAL', 'SECRET')`) {
		t.Error("may_read: want SECRET to require more clearance than CONFIDENTIAL")
	}
}

func TestTenantContext_ReturnsStatusAndRevision(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	ctx := t.Context()
	pool := r.db.Pool(t, postgres.RoleTracker)
	read := func() (status string, enabled bool, kind string, revision int64, err error) {
		err = pool.QueryRow(ctx, `SELECT * FROM identity.tenant_context($1, $2)`, r.acme.people["member"], r.acme.id).Scan(&status, &enabled, &kind, &revision)
		return
	}
	status, enabled, kind, revision, err := read()
	if err != nil || status != "ACTIVE" || !enabled || kind != "STANDARD" {
		t.Errorf("tenant_context: got %s, %v, %s, %v", status, enabled, kind, err)
	}
	for _, change := range []string{
		`UPDATE identity.memberships SET clearance = 'SECRET' WHERE user_id = $1`,
		`INSERT INTO identity.roles (tenant_id, id, name) SELECT home_tenant_id, gen_random_uuid(), 'New' FROM identity.users WHERE id = $1`,
		`INSERT INTO identity.role_grants (tenant_id, role_id, permission) SELECT tenant_id, id, 'x' FROM identity.roles WHERE name = 'New' AND tenant_id = (SELECT home_tenant_id FROM identity.users WHERE id = $1)`,
		`INSERT INTO identity.role_assignments (tenant_id, id, user_id, role_id, scope) SELECT tenant_id, gen_random_uuid(), $1, id, 'tenant' FROM identity.roles WHERE name = 'New' AND tenant_id = (SELECT home_tenant_id FROM identity.users WHERE id = $1)`,
		`DELETE FROM identity.role_assignments WHERE user_id = $1`,
	} {
		r.exec(change, r.acme.people["member"])
		_, _, _, next, err := read()
		if err != nil || next <= revision {
			t.Errorf("%s: got revision %d after %d, %v, want a higher one", change, next, revision, err)
		}
		revision = next
	}
	r.exec(`UPDATE identity.tenants SET disabled_at = now() WHERE id = $1`, r.acme.id)
	if _, enabled, _, _, _ := read(); enabled {
		t.Error("disabled tenant: got enabled = true")
	}
}

func TestTenantConstraints_CheckLocalesAndCurrency(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	for sql, ok := range map[string]bool{
		`default_locale = 'de-DE', enabled_locales = '{en-US,de-DE}'`:     true,
		`default_locale = 'it-IT', enabled_locales = '{en-US,de-DE}'`:     false,
		`default_locale = 'en', enabled_locales = '{en}'`:                 false,
		`enabled_locales = '{}'`:                                          false,
		`enabled_locales = '{en-US,NULL}'`:                                false,
		`enabled_locales = NULL`:                                          false,
		`default_locale = 'en-US', enabled_locales = '{{en-US},{en-GB}}'`: false,
		`currency = 'usd'`:                                                false,
	} {
		_, err := r.owner.Exec(t.Context(), `UPDATE identity.tenants SET `+sql+` WHERE id = $1`, r.globex.id)
		if (err == nil) != ok {
			t.Errorf("%s: got error %v, want allowed = %t", sql, err, ok)
		}
	}
}
