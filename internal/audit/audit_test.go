package audit_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"parapet/internal/audit"
	"parapet/internal/events"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/uid"
)

func entry(tenant op.UUID, n int) audit.Entry {
	tier := "INTERNAL"
	return audit.Entry{
		Tenant: tenant, Actor: uid.New(), Action: "task.updated", ResourceType: "task", ResourceID: fmt.Sprint(n), Module: "tracker",
		Changes: map[string]any{"n": n, "title": "größer <&> \u2028", "list": []any{1.5, nil, true}}, Classification: &tier,
		CredentialID: uid.New(), CredentialKind: "api_key",
	}
}

func write(ctx context.Context, pool *postgres.Pool, tenant op.UUID, list ...audit.Entry) error {
	return pool.InTx(ctx, string(tenant), nil, func(tx *postgres.Tx) error { return audit.Append(ctx, tx, list) })
}

func mustWrite(tb testing.TB, pool *postgres.Pool, tenant op.UUID, list ...audit.Entry) {
	tb.Helper()
	if err := write(tb.Context(), pool, tenant, list...); err != nil {
		tb.Fatal(err)
	}
}

func verify(tb testing.TB, db *pgtest.DB) audit.Report {
	tb.Helper()
	report, err := audit.Verify(tb.Context(), db.Pool(tb, postgres.RoleJobs), "", nil)
	if err != nil {
		tb.Fatal(err)
	}
	return report
}

func TestAppend_SmallAndLargeBatchesVerify(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	pool, auth := db.Pool(t, postgres.RoleTracker), db.Pool(t, postgres.RoleAuth)
	first, second := uid.New(), uid.New()
	for _, n := range []int{1, audit.SmallBatch, audit.SmallBatch + 1, 1, 4321, 2} {
		var list []audit.Entry
		for i := range n {
			list = append(list, entry(first, i))
		}
		mustWrite(t, pool, first, list...)
	}
	mustWrite(t, pool, second, audit.Entry{Tenant: second, Action: "a.done", ResourceType: "b"})
	mustWrite(t, auth, "", audit.Entry{Action: "login.failed", ResourceType: "account"})
	mustWrite(t, auth, second, entry(second, 1), audit.Entry{Action: "login.failed", ResourceType: "account"})
	var progress int64
	report, err := audit.Verify(t.Context(), db.Pool(t, postgres.RoleJobs), "", func(n int64) { progress = n })
	want := int64(1 + audit.SmallBatch + audit.SmallBatch + 1 + 1 + 4321 + 2 + 1 + 1 + 2)
	if err != nil || len(report.Problems) > 0 || report.Chains != 3 || report.Entries != want || progress != want {
		t.Fatalf("Verify: got %+v, %v, progress %d; want %d entries in three chains", report, err, progress, want)
	}
	one, err := audit.Verify(t.Context(), db.Pool(t, postgres.RoleJobs), second, nil)
	if err != nil || one.Chains != 1 || one.Entries != 2 || len(one.Problems) > 0 {
		t.Fatalf("Verify of one chain: got %+v, %v, want one valid chain with 2 entries", one, err)
	}
	defaults, err := postgres.CollectScalars[string](t.Context(), db.Owner(t),
		`SELECT actor_type || '|' || module || '|' || (correlation_id IS NOT NULL)::text || '|' || (actor_id IS NULL)::text || '|' || (changes IS NULL)::text
		 FROM audit.entries WHERE action = 'a.done'`)
	if err != nil || !reflect.DeepEqual(defaults, []string{"user|system|true|true|true"}) {
		t.Errorf("stored defaults: got %v, %v, want actor type user, module system, a correlation id, no actor and no changes", defaults, err)
	}
}

// Any text is stored unchanged as classification, by small and large batches.
func TestAppend_AcceptsAnyClassification(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	pool, tenant := db.Pool(t, postgres.RoleIdentity), uid.New()
	tiers := []string{"", " ", "UNCLASSIFIED", "unclassified", "UNCLASSIFIED ", "COSMIC", "größer", "null", "a\"b\\c\n", "'; --", strings.Repeat("x", 5000)}
	var list []audit.Entry
	for i, tier := range tiers {
		e := entry(tenant, i)
		e.Classification = &tier
		mustWrite(t, pool, tenant, e)
		list = append(list, e)
	}
	mustWrite(t, pool, tenant, list...)
	if r := verify(t, db); len(r.Problems) > 0 || r.Entries != int64(2*len(tiers)) {
		t.Fatalf("Verify: got %+v, want %d entries and no problem", r, 2*len(tiers))
	}
	lines, _, err := audit.List(t.Context(), pool.Read(string(tenant), nil), tenant, "true", nil, audit.Page{Limit: 100})
	if err != nil || len(lines) != 2*len(tiers) {
		t.Fatalf("List: got %d lines, %v, want %d", len(lines), err, 2*len(tiers))
	}
	for i, l := range lines {
		want := tiers[len(tiers)-1-i%len(tiers)]
		if l.Classification == nil || *l.Classification != want {
			t.Errorf("line %d: got classification %v, want %q", i, l.Classification, want)
		}
	}
	for _, bad := range []string{"\x00", "\xff"} {
		e := entry(tenant, 0)
		e.Classification = &bad
		if err := write(t.Context(), pool, tenant, e); err == nil {
			t.Errorf("classification %q: got no error", bad)
		}
	}
}

func TestAppend_ConcurrentWritersKeepChainValid(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	tenant := uid.New()
	const writers, each = 6, 25
	pools := []*postgres.Pool{db.Pool(t, postgres.RoleTracker), db.Pool(t, postgres.RoleIdentity)}
	var running sync.WaitGroup
	errs := make(chan error, writers*each)
	for w := range writers {
		running.Go(func() {
			for i := range each {
				list := make([]audit.Entry, 1+(i+w)%3)
				if i%10 == 0 {
					list = make([]audit.Entry, audit.SmallBatch+3)
				}
				for j := range list {
					list[j] = entry(tenant, j)
				}
				if err := write(t.Context(), pools[w%2], tenant, list...); err != nil {
					errs <- err
				}
			}
		})
	}
	running.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	report := verify(t, db)
	if len(report.Problems) > 0 || report.Entries < writers*each {
		t.Fatalf("Verify after concurrent writes: got %+v, want at least %d entries and no problem", report, writers*each)
	}
}

func TestAppend_InvalidEntryFailsTheTransaction(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	pool, owner := db.Pool(t, postgres.RoleTracker), db.Owner(t)
	tenant := uid.New()
	if _, err := owner.Exec(t.Context(), `CREATE TABLE public.changed (n integer); GRANT INSERT ON public.changed TO parapet_tracker`, nil...); err != nil {
		t.Fatal(err)
	}
	bad := map[string]audit.Entry{
		"another tenant":     entry(uid.New(), 1),
		"no tenant":          {Action: "a.done", ResourceType: "b"},
		"no action":          {Tenant: tenant, ResourceType: "b"},
		"no resource type":   {Tenant: tenant, Action: "a.done"},
		"NUL":                {Tenant: tenant, Action: "a\x00", ResourceType: "b"},
		"invalid UTF-8":      {Tenant: tenant, Action: "a\xff", ResourceType: "b"},
		"changes not JSON":   {Tenant: tenant, Action: "a.done", ResourceType: "b", Changes: make(chan int)},
		"NUL in changes":     {Tenant: tenant, Action: "a.done", ResourceType: "b", Changes: "\x00"},
		"inexact number":     {Tenant: tenant, Action: "a.done", ResourceType: "b", Changes: int64(1)<<53 + 1},
		"upper-case UUID":    {Tenant: tenant, Action: "a.done", ResourceType: "b", Actor: op.UUID(strings.ToUpper(string(uid.New())))},
		"zero tenant":        {Tenant: audit.NoTenant, Action: "a.done", ResourceType: "b"},
		"no credential kind": {Tenant: tenant, Action: "a.done", ResourceType: "b", CredentialID: uid.New()},
		"no credential id":   {Tenant: tenant, Action: "a.done", ResourceType: "b", CredentialKind: "session"},
		"unknown kind":       {Tenant: tenant, Action: "a.done", ResourceType: "b", CredentialID: uid.New(), CredentialKind: "cookie"},
		"actor is no UUID":   {Tenant: tenant, Action: "a.done", ResourceType: "b", Actor: "someone"},
	}
	for name, e := range bad {
		for _, list := range [][]audit.Entry{{entry(tenant, 1), e}, append(make([]audit.Entry, 0), repeatEntry(e, audit.SmallBatch+1)...)} {
			err := pool.InTx(t.Context(), string(tenant), nil, func(tx *postgres.Tx) error {
				if _, err := tx.Exec(t.Context(), `INSERT INTO public.changed VALUES (1)`); err != nil {
					t.Fatal(err)
				}
				return audit.Append(t.Context(), tx, list)
			})
			if err == nil {
				t.Errorf("%s: got no error", name)
			}
		}
	}
	var n int
	if err := owner.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM public.changed) + (SELECT count(*) FROM audit.entries)`).Scan(&n); err != nil || n != 0 {
		t.Errorf("rows of failed transactions: got %d, %v; want 0", n, err)
	}
}

func repeatEntry(e audit.Entry, n int) []audit.Entry {
	list := make([]audit.Entry, n)
	for i := range list {
		list[i] = e
	}
	return list
}

// A transaction that is rolled back after the entry was linked leaves the chain unchanged.
func TestAppend_RollbackLeavesNoGap(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	pool, tenant := db.Pool(t, postgres.RoleTracker), uid.New()
	mustWrite(t, pool, tenant, entry(tenant, 1))
	for range 3 {
		err := pool.InTx(t.Context(), string(tenant), nil, func(tx *postgres.Tx) error {
			if err := audit.Append(t.Context(), tx, repeatEntry(entry(tenant, 2), 3)); err != nil {
				t.Fatal(err)
			}
			return errors.New("no")
		})
		if err == nil {
			t.Fatal("InTx: got no error")
		}
	}
	mustWrite(t, pool, tenant, entry(tenant, 3))
	if report := verify(t, db); len(report.Problems) > 0 || report.Entries != 2 {
		t.Fatalf("Verify after a rollback: got %+v, want 2 entries and no problem", report)
	}
}

func TestCritical_EntryAndEventShareTheTransaction(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	pool, owner, tenant := db.Pool(t, postgres.RoleIdentity), db.Owner(t), uid.New()
	e := entry(tenant, 1)
	e.Correlation = uid.New()
	stored, event := audit.NewCriticalEntry(e)
	for _, fail := range []bool{true, false} {
		err := pool.InTx(t.Context(), string(tenant), nil, func(tx *postgres.Tx) error {
			if err := events.Append(t.Context(), tx, []events.Event{event}); err != nil {
				return err
			}
			if err := audit.Append(t.Context(), tx, []audit.Entry{stored}); err != nil {
				return err
			}
			if fail {
				return errors.New("no")
			}
			return nil
		})
		if (err != nil) != fail {
			t.Fatal(err)
		}
	}
	var n int
	err := owner.QueryRow(t.Context(), `SELECT count(*) FROM audit.entries e JOIN events.outbox o ON o.aggregate_id = e.id::text AND o.type = 'audit.entry.created'
		AND o.tenant_id = e.tenant_id AND o.correlation_id = e.correlation_id AND o.actor_id = e.actor_id AND o.payload->'resource'->>'action' = e.action AND NOT o.payload->'resource' ? 'changes'`).Scan(&n)
	if err != nil || n != 1 {
		t.Fatalf("pairs of entry and event: got %d, %v, want 1", n, err)
	}
}

func TestEntries_AreImmutable(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	tenant, owner := uid.New(), db.Owner(t)
	mustWrite(t, db.Pool(t, postgres.RoleTracker), tenant, entry(tenant, 1))
	statements := []string{
		`UPDATE audit.entries SET action = 'x'`, `UPDATE audit.entries SET action = action WHERE false`,
		`DELETE FROM audit.entries`, `TRUNCATE audit.entries`, `DELETE FROM audit.entries WHERE false`,
		`INSERT INTO audit.entries SELECT * FROM audit.entries ON CONFLICT (chain_id, seq) DO UPDATE SET action = 'x'`,
	}
	for _, sql := range statements {
		for _, replica := range []string{"origin", "replica"} {
			err := owner.InTx(t.Context(), "", nil, func(tx *postgres.Tx) error {
				if _, err := tx.Exec(t.Context(), `SET LOCAL session_replication_role = `+replica); err != nil {
					t.Fatal(err)
				}
				_, err := tx.Exec(t.Context(), sql)
				return err
			})
			if err == nil || !strings.Contains(err.Error(), "audit entries are immutable") {
				t.Errorf("owner, session_replication_role %s, %s: got %v", replica, sql, err)
			}
		}
	}
	for _, role := range []string{postgres.RoleIdentity, postgres.RoleTracker, postgres.RoleCatalog, postgres.RoleWiki, postgres.RoleAuth, postgres.RoleJobs} {
		pool := db.Pool(t, role)
		for _, sql := range append(statements, `TRUNCATE audit.heads`, `DELETE FROM audit.heads`, `UPDATE audit.heads SET chain_id = gen_random_uuid()`) {
			err := pool.InTx(t.Context(), string(tenant), nil, func(tx *postgres.Tx) error {
				_, err := tx.Exec(t.Context(), sql)
				return err
			})
			if err == nil || !strings.Contains(err.Error(), "permission denied") {
				t.Errorf("%s, %s: got %v, want permission denied", role, sql, err)
			}
		}
	}
}

// The database rejects invalid entries that a role inserts without this package.
func TestEntries_DatabaseRejectsInvalidInserts(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	tenant := uid.New()
	pool := db.Pool(t, postgres.RoleWiki)
	mustWrite(t, pool, tenant, entry(tenant, 1), entry(tenant, 2))
	insert := func(chain, tenant, seq, at string) string {
		return fmt.Sprintf(`INSERT INTO audit.entries (chain_id, seq, id, tenant_id, action, resource_type, created_at, version, hash)
			VALUES (%s, %s, gen_random_uuid(), %s, 'a.done', 'b', %s, 1, sha256('x'))`, chain, seq, tenant, at)
	}
	ownID := "'" + string(tenant) + "'"
	foreignID := "'" + string(uid.New()) + "'"
	head := func(seq string) string {
		return `UPDATE audit.heads SET hash = sha256('x'), seq = ` + seq + `; `
	}
	good := head("3") + insert(ownID, ownID, "3", "now()")
	for name, c := range map[string]struct{ sql, want string }{
		"another tenant":      {head("3") + insert(foreignID, foreignID, "3", "now()"), "row-level security"},
		"no tenant":           {head("3") + insert("'"+string(audit.NoTenant)+"'", "NULL", "3", "now()"), "row-level security"},
		"chain is not tenant": {head("3") + insert(ownID, foreignID, "3", "now()"), "entries_chain_is_the_tenants"},
		"time in the past":    {head("3") + insert(ownID, ownID, "3", "now() - interval '1 hour'"), "row-level security"},
		"time in the future":  {head("3") + insert(ownID, ownID, "3", "now() + interval '1 hour'"), "row-level security"},
		"after a gap":         {head("3") + insert(ownID, ownID, "4", "now()"), "appended at the head"},
		"head not updated":    {insert(ownID, ownID, "3", "now()"), "appended at the head"},
		"duplicate":           {insert(ownID, ownID, "2", "now()"), "duplicate key"},
	} {
		err := pool.InTx(t.Context(), string(tenant), nil, func(tx *postgres.Tx) error {
			for sql := range strings.SplitSeq(c.sql, "; ") {
				if _, err := tx.Exec(t.Context(), sql); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	// Each case above differs from this valid insert in one value.
	err := pool.InTx(t.Context(), string(tenant), nil, func(tx *postgres.Tx) error {
		for sql := range strings.SplitSeq(good, "; ") {
			if _, err := tx.Exec(t.Context(), sql); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error("valid insert:", err)
	}
}

func TestEntries_VisibleToIdentityInOwnTenantOnly(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	ownTenant, other := uid.New(), uid.New()
	tracker := db.Pool(t, postgres.RoleTracker)
	mustWrite(t, tracker, ownTenant, entry(ownTenant, 1))
	mustWrite(t, tracker, other, entry(other, 1))
	for _, c := range []struct {
		role   string
		tenant op.UUID
		want   int
	}{{postgres.RoleIdentity, ownTenant, 1}, {postgres.RoleIdentity, "", 0}, {postgres.RoleIdentity, uid.New(), 0}, {postgres.RoleJobs, "", 2}} {
		var n int
		err := db.Pool(t, c.role).Read(string(c.tenant), nil).QueryRow(t.Context(), `SELECT count(*) FROM audit.entries`).Scan(&n)
		if err != nil || n != c.want {
			t.Errorf("%s in tenant %q: got %d visible entries, %v; want %d", c.role, c.tenant, n, err, c.want)
		}
	}
	if err := tracker.Read(string(ownTenant), nil).QueryRow(t.Context(), `SELECT count(*) FROM audit.entries`).Scan(new(int)); err == nil {
		t.Error("parapet_tracker: SELECT on audit.entries: got no error")
	}
}

func TestList_FiltersAndPages(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	ownTenant, other := uid.New(), uid.New()
	pool := db.Pool(t, postgres.RoleIdentity)
	var list []audit.Entry
	for i := range 25 {
		e := entry(ownTenant, i)
		if i%2 == 0 {
			e.Classification = nil
		}
		list = append(list, e)
	}
	mustWrite(t, pool, ownTenant, list...)
	mustWrite(t, pool, other, entry(other, 99))
	where, args := `e.classification IS NULL AND e.resource_type = @type`, map[string]any{"type": "task"}
	var got []string
	cursor := ""
	for range 10 {
		lines, next, err := audit.List(t.Context(), pool.Read(string(ownTenant), nil), ownTenant, where, args, audit.Page{Cursor: cursor, Limit: 5})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lines {
			got = append(got, *l.ResourceID)
		}
		if next == "" {
			break
		}
		cursor = next
	}
	if want := []string{"24", "22", "20", "18", "16", "14", "12", "10", "8", "6", "4", "2", "0"}; !reflect.DeepEqual(got, want) {
		t.Errorf("List: got %v, want %v", got, want)
	}
	for _, bad := range []string{"x", "AAAA", cursor + "A", strings.Repeat("A", 5000)} {
		if _, _, err := audit.List(t.Context(), pool.Read(string(ownTenant), nil), ownTenant, "true", nil, audit.Page{Cursor: bad, Limit: 5}); !fault.HasCode(err, fault.CodeValidation) {
			t.Errorf("List with cursor %.20q: got %v, want VALIDATION", bad, err)
		}
	}
	if _, _, err := audit.List(t.Context(), pool.Read(string(other), nil), other, "true", nil, audit.Page{Cursor: cursor, Limit: 5}); !fault.HasCode(err, fault.CodeValidation) {
		t.Errorf("List with a cursor of another tenant: got %v, want VALIDATION", err)
	}
	// After an entry, oldest first.
	for _, after := range []int{0, 7, 25, 1000} {
		var seqs, want []int64
		for seq := int64(after) + 1; seq <= 25; seq++ {
			want = append(want, seq)
		}
		page := audit.Page{After: &after, Limit: 5}
		for {
			lines, next, err := audit.List(t.Context(), pool.Read(string(ownTenant), nil), ownTenant, "true", nil, page)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range lines {
				seqs = append(seqs, l.Seq)
			}
			if page.Cursor = next; next == "" {
				break
			}
		}
		if !reflect.DeepEqual(seqs, want) {
			t.Errorf("List after %d: got %v, want %v", after, seqs, want)
		}
	}
	after := 1
	if _, _, err := audit.List(t.Context(), pool.Read(string(ownTenant), nil), ownTenant, "true", nil, audit.Page{Cursor: cursor, After: &after, Limit: 5}); !fault.HasCode(err, fault.CodeValidation) {
		t.Errorf("List with a cursor of the other order: got %v, want VALIDATION", err)
	}
}
