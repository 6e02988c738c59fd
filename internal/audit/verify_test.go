package audit_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parapet/internal/audit"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/uid"
)

// tamper runs SQL as a superuser with triggers and constraints removed, calls look with the
// report, and restores the entries.
func tamper(t *testing.T, db *pgtest.DB, owner *postgres.Pool, sql string, look func(audit.Report)) {
	t.Helper()
	ctx := t.Context()
	for _, prepare := range []string{
		`CREATE TABLE IF NOT EXISTS public.saved AS SELECT *, changes::text AS changes_text FROM audit.entries`,
		`CREATE TABLE IF NOT EXISTS public.saved_heads AS SELECT * FROM audit.heads`,
		`ALTER TABLE audit.entries DISABLE TRIGGER ALL`,
		`ALTER TABLE audit.entries DROP CONSTRAINT IF EXISTS entries_chain_is_the_tenants, DROP CONSTRAINT IF EXISTS entries_resource_id_check,
			DROP CONSTRAINT IF EXISTS entries_credential_kind_check,
			DROP CONSTRAINT IF EXISTS entries_credential_has_a_kind, DROP CONSTRAINT IF EXISTS entries_credential_is_hashed`,
		sql,
	} {
		if _, err := owner.Exec(ctx, prepare); err != nil {
			t.Fatalf("exec %s: %v", prepare, err)
		}
	}
	look(verify(t, db))
	for _, restore := range []string{
		`DELETE FROM audit.entries`, `DELETE FROM audit.heads`,
		`INSERT INTO audit.entries SELECT (s::audit.entries).* FROM (SELECT chain_id, seq, id, tenant_id, actor_id, on_behalf_of, actor_type, action, resource_type,
			resource_id, module, changes, correlation_id, created_at, classification, version, hash, credential_id, credential_kind FROM public.saved) s`,
		`INSERT INTO audit.heads SELECT * FROM public.saved_heads`,
	} {
		if _, err := owner.Exec(ctx, strings.Replace(restore, "(s::audit.entries).*", "s.*", 1)); err != nil {
			t.Fatalf("restore %s: %v", restore, err)
		}
	}
	if report := verify(t, db); len(report.Problems) > 0 {
		t.Fatalf("Verify after restoring: got problems %v, want none", report.Problems)
	}
}

func TestVerify_ReportsTheFirstBadRow(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, pool := db.Owner(t), db.Pool(t, postgres.RoleTracker)
	tenant, other := uid.New(), uid.New()
	for i := range 10 {
		e := entry(tenant, i)
		e.OnBehalfOf = uid.New()
		mustWrite(t, pool, tenant, e)
	}
	mustWrite(t, pool, other, entry(other, 1), entry(other, 2))
	bare := audit.Entry{Tenant: tenant, Action: "a.done", ResourceType: "b"} // number 11: all nullable columns are NULL
	mustWrite(t, pool, tenant, bare)

	at := func(set, seq string) string {
		return `UPDATE audit.entries SET ` + set + ` WHERE chain_id = '` + string(tenant) + `' AND seq = ` + seq
	}
	columns := map[string]string{
		"chain_id": "", // moves the row to another chain; covered below
		"seq":      "seq = 100", "id": "id = gen_random_uuid()", "tenant_id": "tenant_id = gen_random_uuid()", "actor_id": "actor_id = gen_random_uuid()",
		"on_behalf_of": "on_behalf_of = NULL", "actor_type": "actor_type = 'system'", "action": "action = 'task.read'",
		"resource_type": "resource_type = 'project'", "resource_id": "resource_id = '77'", "module": "module = 'wiki'",
		"changes": `changes = replace(changes::text, '"n":4', '"n":5')::json`, "correlation_id": "correlation_id = gen_random_uuid()",
		"created_at": "created_at = created_at + interval '1 microsecond'", "classification": "classification = NULL",
		"version": "version = 1", "hash": "hash = sha256('x')",
		"credential_id": "credential_id = gen_random_uuid()", "credential_kind": "credential_kind = 'session'",
	}
	names, err := postgres.CollectScalars[string](t.Context(), owner,
		`SELECT attname::text FROM pg_attribute WHERE attrelid = 'audit.entries'::regclass AND attnum > 0 AND NOT attisdropped`)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		set, ok := columns[name]
		if !ok {
			t.Errorf("column %s has no test case", name)
		}
		if set == "" {
			continue
		}
		tamper(t, db, owner, at(set, "5"), func(r audit.Report) { wantProblem(t, name, r, tenant, 5) })
	}
	fifth, err := postgres.CollectScalars[string](t.Context(), owner, `SELECT id::text FROM audit.entries WHERE chain_id = $1 AND seq = 5`, tenant)
	if err != nil || len(fifth) != 1 {
		t.Fatalf("id of entry 5: got %v, %v, want one", fifth, err)
	}
	tamper(t, db, owner, at(columns["action"], "5"), func(r audit.Report) {
		if len(r.Problems) != 1 || string(r.Problems[0].ID) != fifth[0] || !strings.Contains(r.Problems[0].String(), fifth[0]) {
			t.Errorf("Verify: got %v, want a problem that names row %s", r.Problems, fifth[0])
		}
	})

	chain := string(tenant)
	for name, c := range map[string]struct {
		sql string
		seq int64
	}{
		"changes reformatted":          {at(`changes = replace(changes::text, ':', ': ')::json`, "5"), 5},
		"changes with more digits":     {at(`changes = replace(changes::text, '1.5', '1.50000000000000000001')::json`, "5"), 5},
		"NULL becomes empty":           {at(`resource_id = ''`, "11"), 11},
		"NULL becomes null":            {at(`changes = 'null'`, "11"), 11},
		"unknown version":              {at(`version = 3`, "5"), 5},
		"credential added":             {at(`credential_id = gen_random_uuid(), credential_kind = 'session'`, "11"), 11},
		"credential removed":           {at(`credential_id = NULL, credential_kind = NULL`, "5"), 5},
		"no kind becomes empty":        {at(`credential_kind = ''`, "11"), 11},
		"older version":                {at(`version = 1, credential_id = NULL, credential_kind = NULL`, "5"), 5},
		"older version, no credential": {at(`version = 1`, "11"), 11},
		"no class becomes empty":       {at(`classification = ''`, "11"), 11},
		"tenant removed":               {at(`tenant_id = NULL`, "5"), 5},
		"infinite time":                {at(`created_at = 'infinity'`, "5"), 5},
		"row moved to another chain":   {`UPDATE audit.entries SET chain_id = gen_random_uuid() WHERE chain_id = '` + chain + `' AND seq = 5`, 5},
		"row removed":                  {`DELETE FROM audit.entries WHERE chain_id = '` + chain + `' AND seq = 5`, 5},
		"first row removed":            {`DELETE FROM audit.entries WHERE chain_id = '` + chain + `' AND seq = 1`, 1},
		"row removed and renumbered": {`WITH gone AS (DELETE FROM audit.entries WHERE chain_id = '` + chain + `' AND seq = 11)
			UPDATE audit.heads SET seq = 9 WHERE chain_id = '` + chain + `'`, 10},
		"rows swapped": {`UPDATE audit.entries e SET id = o.id, actor_id = o.actor_id, on_behalf_of = o.on_behalf_of, resource_id = o.resource_id, changes = o.changes,
			correlation_id = o.correlation_id, created_at = o.created_at, hash = o.hash
			FROM audit.entries o WHERE e.chain_id = '` + chain + `' AND o.chain_id = e.chain_id AND (e.seq, o.seq) IN ((5, 6), (6, 5))`, 5},
		"row copied to the end": {`INSERT INTO audit.entries SELECT chain_id, 12, gen_random_uuid(), tenant_id, actor_id, on_behalf_of, actor_type, action, resource_type,
			resource_id, module, changes, correlation_id, created_at, classification, version, hash, credential_id, credential_kind
			FROM audit.entries WHERE chain_id = '` + chain + `' AND seq = 11`, 12},
		"last rows removed": {`DELETE FROM audit.entries WHERE chain_id = '` + chain + `' AND seq > 7`, 8},
		"all rows removed":  {`DELETE FROM audit.entries WHERE chain_id = '` + chain + `'`, 1},
		"head removed":      {`DELETE FROM audit.heads WHERE chain_id = '` + chain + `'`, 12},
		"head set back":     {`UPDATE audit.heads SET seq = 7 WHERE chain_id = '` + chain + `'`, 8},
		"head hash changed": {`UPDATE audit.heads SET hash = sha256('x') WHERE chain_id = '` + chain + `'`, 11},
	} {
		tamper(t, db, owner, c.sql, func(r audit.Report) { wantProblem(t, name, r, tenant, c.seq) })
	}
}

// Entries written before credentials were recorded keep their hashes, and the chain
// continues with entries of the new version.
func TestVerify_AcceptsEntriesOfOldVersions(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, tenant := db.Owner(t), uid.New()
	previous := make([]byte, 32)
	for seq := range int64(3) {
		r := &audit.Record{
			Chain: tenant, Seq: seq + 1, ID: uid.New(), Tenant: tenant, Actor: uid.New(), ActorType: "user", Action: "task.updated",
			ResourceType: "task", Module: "tracker", Correlation: uid.New(), CreatedAt: time.Now().UTC().Truncate(time.Microsecond), Version: 1,
		}
		previous = r.Link(previous)
		err := owner.InTx(t.Context(), "", nil, func(tx *postgres.Tx) error {
			if _, err := tx.Exec(t.Context(), `INSERT INTO audit.heads VALUES ($1, $2, $3) ON CONFLICT (chain_id) DO UPDATE SET seq = $2, hash = $3`, tenant, r.Seq, previous); err != nil {
				return err
			}
			_, err := tx.Exec(t.Context(), `INSERT INTO audit.entries (chain_id, seq, id, tenant_id, actor_id, actor_type, action, resource_type, module, correlation_id, created_at, version, hash)
				VALUES ($1, $2, $3, $1, $4, $5, $6, $7, $8, $9, $10, 1, $11)`, tenant, r.Seq, r.ID, r.Actor, r.ActorType, r.Action, r.ResourceType, r.Module, r.Correlation, r.CreatedAt, previous)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	mustWrite(t, db.Pool(t, postgres.RoleTracker), tenant, entry(tenant, 4))
	mustWrite(t, db.Pool(t, postgres.RoleTracker), tenant, repeatEntry(entry(tenant, 5), audit.SmallBatch+1)...)
	if r := verify(t, db); len(r.Problems) > 0 || r.Entries != 3+1+audit.SmallBatch+1 {
		t.Fatalf("Verify of entries of two versions: got %+v, want %d entries and no problem", r, 3+1+audit.SmallBatch+1)
	}
	at := func(set, seq string) string { return `UPDATE audit.entries SET ` + set + ` WHERE seq = ` + seq }
	for name, c := range map[string]struct {
		sql string
		seq int64
	}{
		"credential added to an old entry":      {at(`credential_id = gen_random_uuid(), credential_kind = 'api_key'`, "2"), 2},
		"credential kind added to an old entry": {at(`credential_kind = 'api_key'`, "3"), 3},
		"old entry changed to the new version":  {at(`version = 2`, "2"), 2},
		"new entry changed to the old version":  {at(`version = 1, credential_id = NULL, credential_kind = NULL`, "4"), 4},
	} {
		tamper(t, db, owner, c.sql, func(r audit.Report) { wantProblem(t, name, r, tenant, c.seq) })
	}
}

func TestVerify_UnknownChain_ReportsProblem(t *testing.T) {
	t.Parallel()
	jobs := pgtest.New(t).Pool(t, postgres.RoleJobs)
	nowhere := uid.New()
	r, err := audit.Verify(t.Context(), jobs, nowhere, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantProblem(t, "no chain", r, nowhere, 1)
}

func wantProblem(t *testing.T, name string, r audit.Report, chain op.UUID, seq int64) {
	t.Helper()
	for _, p := range r.Problems {
		if p.Chain == chain {
			if p.Seq != seq || p.Message == "" || !strings.Contains(p.String(), string(chain)) {
				t.Errorf("%s: got %s, want entry %d", name, p, seq)
			}
			return
		}
	}
	t.Errorf("%s: got no problem of the chain: %v", name, r.Problems)
}

func TestVerifyCheckpoints_DetectsTruncatedAndRewrittenChain(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, pool, jobs := db.Owner(t), db.Pool(t, postgres.RoleTracker), db.Pool(t, postgres.RoleJobs)
	tenant, other := uid.New(), uid.New()
	for i := range 5 {
		mustWrite(t, pool, tenant, entry(tenant, i))
	}
	mustWrite(t, pool, other, entry(other, 1))
	secret, public, err := audit.NewCheckpointKey("parapet.example")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "audit-20261120T120000Z.checkpoint")
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	if err := audit.Checkpoint(t.Context(), jobs, secret, dir, now); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := audit.ReadCheckpoint(file, public)
	if err != nil || len(signed.Heads) != 2 || !signed.Time.Equal(now) {
		t.Fatalf("ReadCheckpoint: got %+v, %v, want two heads and the time %s", signed, err, now)
	}
	check := func() audit.Report {
		t.Helper()
		report, err := audit.VerifyCheckpoints(t.Context(), jobs, path, []string{public}, now, nil)
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	if r := check(); len(r.Problems) > 0 {
		t.Fatalf("VerifyCheckpoints: got problems %v, want none", r.Problems)
	}
	mustWrite(t, pool, tenant, entry(tenant, 6)) // a chain may grow
	if r := check(); len(r.Problems) > 0 || r.Entries != 7 {
		t.Fatalf("VerifyCheckpoints of a longer chain: got %+v, want 7 entries and no problem", r)
	}

	// The owner of the database removes the last entries and sets the head back: the chain
	// itself is valid.
	cut := `WITH gone AS (DELETE FROM audit.entries WHERE chain_id = '` + string(tenant) + `' AND seq > 4)
		UPDATE audit.heads h SET seq = 4, hash = (SELECT hash FROM audit.entries e WHERE e.chain_id = h.chain_id AND seq = 4) WHERE chain_id = '` + string(tenant) + `'`
	tamper(t, db, owner, cut, func(r audit.Report) {
		if len(r.Problems) > 0 {
			t.Errorf("Verify: got %v, want no problem", r.Problems)
		}
		wantProblem(t, "last rows removed", check(), tenant, 5)
	})
	// The whole chain is rewritten with other contents: it is valid in itself.
	for _, sql := range []string{`ALTER TABLE audit.entries DISABLE TRIGGER entries_immutable`,
		`DELETE FROM audit.entries WHERE chain_id = '` + string(tenant) + `'`, `DELETE FROM audit.heads WHERE chain_id = '` + string(tenant) + `'`} {
		if _, err := owner.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 6 {
		mustWrite(t, pool, tenant, entry(tenant, 100+i))
	}
	if r := verify(t, db); len(r.Problems) > 0 {
		t.Errorf("Verify of the rewritten chain: got %v, want no problem", r.Problems)
	}
	wantProblem(t, "rewritten", check(), tenant, 5)

	_, foreign, err := audit.NewCheckpointKey("parapet.example")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := audit.ReadCheckpoint(file, foreign); err == nil {
		t.Error("ReadCheckpoint with another key: got no error")
	}
	changed := []byte(strings.Replace(string(file), " 5 ", " 4 ", 1))
	if _, err := audit.ReadCheckpoint(changed, public); err == nil {
		t.Error("ReadCheckpoint of a changed file: got no error")
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("files: got %v, %v; want one", entries, err)
	}
	if err := audit.Checkpoint(t.Context(), jobs, "no key", dir, now); err == nil {
		t.Error("Checkpoint with an invalid key: got no error")
	}
}

func FuzzCheckpoint(f *testing.F) {
	const header = "parapet audit checkpoint v1\n2026-11-20T12:00:00Z\n"
	line := "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f 5 " + base64.StdEncoding.EncodeToString(make([]byte, 32)) + "\n"
	for _, text := range []string{header, header + line, header + line + line, header + "x 1 y\n", strings.Replace(header+line, " 5 ", " -5 ", 1), ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		signed, err := audit.ParseCheckpoint(text)
		if err != nil {
			return
		}
		for _, h := range signed.Heads {
			if h.Size < 0 || len(h.Hash) != 32 || len(h.Chain) != 36 {
				t.Fatalf("parseCheckpoint(%q): got %+v", text, h)
			}
		}
	})
}
