package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
)

// BenchmarkRead reads one row by its primary key: as the owner without
// row-level security, as a module in a tenant, and as a module in a tenant with a check as
// large as that of the tenant context.
func BenchmarkRead(b *testing.B) {
	pool := newNotes(b, postgres.Config{MaxConns: 4})
	db := pgtest.New(b)
	owner := db.Owner(b)
	for _, sql := range []string{
		`CREATE TABLE wiki.notes (tenant_id uuid NOT NULL, id int NOT NULL, body text, PRIMARY KEY (tenant_id, id))`,
		`INSERT INTO wiki.notes VALUES ('` + tenantA + `', 1, 'of A'), ('` + tenantB + `', 1, 'of B')`,
	} {
		if _, err := owner.Exec(b.Context(), sql); err != nil {
			b.Fatal(err)
		}
	}
	check := &postgres.Check{SQL: `SELECT 1, true, 'STANDARD'`, Scan: func(rows pgx.Rows) error {
		rows.Next()
		return rows.Err()
	}}
	for _, c := range []struct {
		name string
		q    postgres.Querier
	}{
		{"bare pgx", owner.Raw()},
		{"owner pool", owner},
		{"tenant", pool.Read(tenantA, nil)},
		{"tenant and check", pool.Read(tenantA, check)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				var body string
				for pb.Next() {
					const sql = `SELECT body FROM wiki.notes WHERE tenant_id = $1 AND id = $2`
					if err := c.q.QueryRow(b.Context(), sql, tenantA, 1).Scan(&body); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
