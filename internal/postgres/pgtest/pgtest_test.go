package pgtest_test

import (
	"testing"

	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
)

func TestNew_ClonesAreSeparate(t *testing.T) {
	t.Parallel()
	a, b := pgtest.New(t), pgtest.New(t)
	if _, err := a.Owner(t).Exec(t.Context(), `CREATE TABLE only_here (id int)`); err != nil {
		t.Fatal(err)
	}
	var exists bool
	const sql = `SELECT to_regclass('public.only_here') IS NOT NULL`
	if err := b.Owner(t).QueryRow(t.Context(), sql).Scan(&exists); err != nil {
		t.Fatal(err)
	}
	if exists {
		t.Fatal("a table created in one clone exists in the other")
	}
}

func TestTx_RunsAsRoleInTenant(t *testing.T) {
	t.Parallel()
	const tenant = "0190a000-0000-7000-8000-000000000001"
	tx := pgtest.Tx(t, postgres.RoleTracker, tenant)
	var role, got string
	err := tx.QueryRow(t.Context(), `SELECT current_user, current_setting('app.tenant_id')`).Scan(&role, &got)
	if err != nil {
		t.Fatal(err)
	}
	if role != postgres.RoleTracker || got != tenant {
		t.Fatalf("Tx: got role %s in tenant %s, want %s in %s", role, got, postgres.RoleTracker, tenant)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		pgtest.New(b)
	}
}
