package identity_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	contract "parapet/internal/contract/identity"
	"parapet/internal/fault"
	"parapet/internal/identity"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/uid"
)

// The owner of a managed database is not a superuser, so row-level security applies to it.
// Seeding and provisioning must work anyway.
func TestProvision_AsOwnerSubjectToRowLevelSecurity(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	role := "owner_" + strings.ReplaceAll(string(uid.Random()), "-", "")[:12]
	r.exec(`CREATE ROLE ` + role + ` LOGIN NOINHERIT`)
	t.Cleanup(func() {
		super := queryValue[string](r, `SELECT current_user::text`)
		r.exec(`REASSIGN OWNED BY ` + role + ` TO ` + super + `; DROP OWNED BY ` + role + `; DROP ROLE ` + role)
	})
	r.exec(`GRANT USAGE, CREATE ON SCHEMA identity, audit, events TO ` + role)
	r.exec(`DO $$ DECLARE t record; BEGIN
		FOR t IN SELECT schemaname, tablename FROM pg_tables WHERE schemaname IN ('identity', 'audit', 'events') LOOP
			EXECUTE format('ALTER TABLE %I.%I OWNER TO ` + role + `', t.schemaname, t.tablename);
		END LOOP;
	END $$`)
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, r.db.RoleURL(role))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	// Without the grant that `ptd migrate` makes, the error contains the GRANT statement.
	seedTenant := func(tx pgx.Tx) error {
		s := &identity.Seeder{Tx: tx, Catalogue: r.engine.Catalogue(), Passwords: r.passwords, Now: r.clock.Now()}
		_, err := s.EnsureTenant(ctx, identity.SeedTenant{Slug: "early", Name: "Early", Type: "STANDARD"})
		return err
	}
	grant := `GRANT parapet_identity TO "` + role + `"`
	if err := pgx.BeginFunc(ctx, conn, seedTenant); !fault.HasCode(err, fault.CodeForbidden) || !strings.Contains(err.Error(), grant) {
		t.Errorf("owner without the grant: got %v, want FORBIDDEN with the GRANT statement", err)
	}
	r.exec(grant)
	var managed testTenant
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		s := &identity.Seeder{Tx: tx, Catalogue: r.engine.Catalogue(), Passwords: r.passwords, Now: r.clock.Now()}
		var err error
		if managed.id, err = s.EnsureTenant(ctx, identity.SeedTenant{Slug: "managed", Name: "Managed", Type: "STANDARD"}); err != nil {
			return err
		}
		if managed.organisation, err = s.EnsureOrganisation(ctx, managed.id, "Managed"); err != nil {
			return err
		}
		_, err = s.EnsureUser(ctx, identity.SeedUser{
			Tenant: managed.id, Organisation: managed.organisation, Email: "a@managed.example", DisplayName: "A", Kind: "HUMAN", Password: testPassword, Roles: []string{"Admin"},
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &identity.Provisioner{Policies: r.engine, Clock: r.clock}
	first, err := p.Run(ctx, conn, managed.id, managed.organisation)
	if err != nil || !first.Changed() {
		t.Fatalf("first run: got %+v, %v, want changes", first, err)
	}
	second, err := p.Run(ctx, conn, managed.id, managed.organisation)
	if err != nil || second.Changed() {
		t.Fatalf("second run: got %+v, %v, want no changes", second, err)
	}
	if n := queryValue[int](r, `SELECT count(*) FROM audit.entries WHERE tenant_id = $1`, managed.id); n < 5 {
		t.Errorf("got %d audit entries, want at least 5", n)
	}
	r.login("a@managed.example")
}

// Issuing a key waits for a concurrent change of the grants and then fails, because the
// grants no longer match the profile.
func TestIssueServiceKey_WhenGrantsChangeConcurrently_ReturnsConflict(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	user := r.provision(r.acme)["multi-llm-review"]
	admin := r.login("admin@acme.example")
	ctx := t.Context()
	change, err := r.owner.Begin(ctx, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer change.Rollback()
	_, err = change.Exec(ctx, `INSERT INTO identity.role_grants (tenant_id, role_id, permission)
		SELECT tenant_id, role_id, 'task.delete' FROM identity.role_assignments WHERE user_id = $1`, user)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	var issueErr error
	group.Go(func() {
		_, issueErr = r.call("issue-service-key", request{token: admin, body: body(fields{"label": "ci", "targetUserId": user})})
	})
	pgtest.Eventually(t, time.Minute, "issue-service-key waits for the change", func() bool {
		return queryValue[int](r, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = $1 AND wait_event_type = 'Lock'`, postgres.RoleIdentity) == 1
	})
	if err := change.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if !fault.HasCode(issueErr, fault.CodeConflict) {
		t.Errorf("issue-service-key: got %v, want CONFLICT", issueErr)
	}
	if n := queryValue[int](r, `SELECT count(*) FROM identity.api_keys`); n != 0 {
		t.Errorf("got %d keys, want none", n)
	}
}

func TestRevokeKey_ConcurrentRevocationsAreRecordedOnce(t *testing.T) {
	t.Parallel()
	r := newFixture(t, fixtureOptions{})
	user := r.provision(r.acme)["multi-llm-review"]
	admin := r.login("admin@acme.example")
	k := must[contract.IssuedKey](r, "issue-service-key", request{token: admin, body: body(fields{"label": "ci", "targetUserId": user})})
	var group sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		group.Go(func() {
			_, errs[i] = r.call("revoke-key", request{
				token: admin, path: map[string]string{"keyId": string(k.ID)}, query: map[string][]string{"serviceOwned": {"true"}}, body: body(fields{"reason": "rotated"}),
			})
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	if n := queryValue[int](r, `SELECT count(*) FROM audit.entries WHERE action = 'api_key.revoked'`); n != 1 {
		t.Errorf("got %d audit entries, want 1", n)
	}
}
