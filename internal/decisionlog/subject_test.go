package decisionlog_test

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"parapet/internal/authz"
	"parapet/internal/decisionlog"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/uid"
)

func snapshot(document string) *authz.SubjectSnapshot {
	return &authz.SubjectSnapshot{Digest: sha256.Sum256([]byte(document)), Document: []byte(document)}
}

func countSubjects(t *testing.T, q postgres.Querier) (n int) {
	t.Helper()
	if err := q.QueryRow(t.Context(), `SELECT count(*) FROM audit.decision_subjects`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestLog_StoresSubjectOncePerTenantAndDigest(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, reader := db.Owner(t), db.Pool(t, postgres.RoleIdentity)
	ownTenant, other := uid.New(), uid.New()
	shared, unshared := snapshot(`{"subject":{"id":"shared"}}`), snapshot(`{"subject":{"id":"alone"}}`)
	l := decisionlog.New(decisionlog.Config{Pool: db.Pool(t, postgres.RoleJobs), Batch: 4})
	for n := range 20 {
		r := record(ownTenant, n)
		r.Credential = authz.CredentialID{Kind: authz.TokenSession, ID: string(uid.New())}
		r.Subject = shared
		if n == 7 {
			r.Subject = unshared
		}
		l.Record(r)
	}
	foreign := record(other, 99)
	foreign.Subject = shared
	l.Record(foreign)
	withoutSubject := record(ownTenant, 100)
	l.Record(withoutSubject)
	writeQueued(t, l)
	process := decisionlog.New(decisionlog.Config{Pool: db.Pool(t, postgres.RoleJobs)})
	again := record(other, 101)
	again.Subject = shared
	process.Record(again)
	writeQueued(t, process)
	if n := countSubjects(t, owner); n != 3 || l.Dropped()+process.Dropped() != 0 {
		t.Fatalf("got %d subjects, %d and %d records dropped; want 2 subjects of one tenant and 1 of another", n, l.Dropped(), process.Dropped())
	}
	if n := countSubjects(t, reader.Read(string(ownTenant), nil)); n != 2 {
		t.Errorf("subjects visible to the tenant: got %d, want 2", n)
	}
	lines, _, err := decisionlog.List(t.Context(), reader.Read(string(ownTenant), nil), ownTenant, decisionlog.Filter{}, "", 50)
	if err != nil || len(lines) != 21 {
		t.Fatalf("List: got %d lines, %v, want 21", len(lines), err)
	}
	for _, line := range lines {
		e, err := decisionlog.Get(t.Context(), reader.Read(string(ownTenant), nil), ownTenant, line.ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := shared
		switch line.RequestID {
		case "request-7":
			want = unshared
		case "request-100":
			want = nil
		}
		got := e.Subject()
		if (got == nil) != (want == nil) || got != nil && (got.Digest != want.Digest || !bytes.Equal(got.Document, want.Document) || got.Verify() != nil) {
			t.Errorf("%s: got subject %+v, want %+v", line.RequestID, got, want)
		}
		// Another tenant does not find the record, whichever tenant it passes.
		for _, in := range []op.UUID{ownTenant, other} {
			if _, err := decisionlog.Get(t.Context(), reader.Read(string(other), nil), in, line.ID, nil); !postgres.IsNoRows(err) {
				t.Errorf("Get by another tenant with tenant %s: got %v, want no rows", in, err)
			}
		}
	}
}

// Only parapet_jobs inserts and deletes subjects, and no role updates them.
func TestSubjects_OnlyJobsRoleInsertsAndDeletes(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	tenant := uid.New()
	l := decisionlog.New(decisionlog.Config{Pool: db.Pool(t, postgres.RoleJobs)})
	r := record(tenant, 1)
	r.Subject = snapshot(`{}`)
	l.Record(r)
	writeQueued(t, l)
	const (
		insert = `INSERT INTO audit.decision_subjects (tenant_id, digest, document) SELECT gen_random_uuid(), sha256('{ }'), '{ }'`
		update = `UPDATE audit.decision_subjects SET document = '{"subject":{}}'`
		remove = `DELETE FROM audit.decision_subjects`
		read   = `SELECT document FROM audit.decision_subjects`
	)
	for role, forbidden := range map[string][]string{
		postgres.RoleIdentity: {insert, update, remove}, postgres.RoleTracker: {insert, update, remove, read},
		postgres.RoleAuth: {insert, update, remove, read}, postgres.RoleJobs: {update, read},
	} {
		for _, sql := range forbidden {
			if _, err := db.Pool(t, role).Exec(t.Context(), sql); err == nil || !strings.Contains(err.Error(), "permission denied") {
				t.Errorf("%s as %s: got %v, want permission denied", sql, role, err)
			}
		}
	}
	for name, sql := range map[string]string{
		"document with another digest":    `INSERT INTO audit.decision_subjects (tenant_id, digest, document) SELECT gen_random_uuid(), sha256('{}'), '{ }'`,
		"subject that a record refers to": remove,
	} {
		if _, err := db.Pool(t, postgres.RoleJobs).Exec(t.Context(), sql); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func TestPrune_DeletesSubjectsThatNoRecordNames(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, jobs, tenant := db.Owner(t), db.Pool(t, postgres.RoleJobs), uid.New()
	now := time.Now()
	l := decisionlog.New(decisionlog.Config{Pool: jobs})
	put := func(age time.Duration, s *authz.SubjectSnapshot) {
		r := record(tenant, 1)
		r.Time, r.Subject = now.Add(-age), s
		l.Record(r)
	}
	old, kept := snapshot(`{"subject":"old"}`), snapshot(`{"subject":"kept"}`)
	put(48*time.Hour, old)
	put(48*time.Hour, kept)
	put(time.Hour, kept)
	writeQueued(t, l)
	// The subjects are as old as their first record.
	if _, err := owner.Exec(t.Context(), `UPDATE audit.decision_subjects SET stored_at = $1`, now.Add(-48*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if n, err := decisionlog.Prune(t.Context(), jobs, now.Add(-24*time.Hour)); err != nil || n != 3 {
		t.Errorf("Prune: got %d rows, %v; want 2 records and 1 subject", n, err)
	}
	var left []byte
	if err := owner.QueryRow(t.Context(), `SELECT digest FROM audit.decision_subjects`).Scan(&left); err != nil || !bytes.Equal(left, kept.Digest[:]) {
		t.Errorf("remaining subject: got %x, %v, want %x", left, err, kept.Digest)
	}
	// The log remembers the deleted subject as stored. The next record must store it again.
	put(0, old)
	writeQueued(t, l)
	if n := countSubjects(t, owner); n != 2 || l.Written() != 4 || l.Dropped() != 0 {
		t.Errorf("got %d subjects, %d records written, %d dropped; want 2, 4 and 0", n, l.Written(), l.Dropped())
	}
}

// The owner of the database can change a snapshot after removing its constraint.
func TestGet_ReportsAChangedSubject(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, tenant := db.Owner(t), uid.New()
	l := decisionlog.New(decisionlog.Config{Pool: db.Pool(t, postgres.RoleJobs)})
	r := record(tenant, 1)
	r.Subject = snapshot(`{"subject":{"grants":{"task.update":{"tenant":false}}}}`)
	l.Record(r)
	writeQueued(t, l)
	const change = `UPDATE audit.decision_subjects SET document = replace(document::text, 'false', 'true')::json`
	if _, err := owner.Exec(t.Context(), change); err == nil {
		t.Error("UPDATE with the constraint: got no error")
	}
	if _, err := owner.Exec(t.Context(), `ALTER TABLE audit.decision_subjects DROP CONSTRAINT decision_subjects_digest_is_the_documents`); err != nil {
		t.Fatal(err)
	}
	if _, err := owner.Exec(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	q := db.Pool(t, postgres.RoleIdentity).Read(string(tenant), nil)
	lines, _, err := decisionlog.List(t.Context(), q, tenant, decisionlog.Filter{}, "", 1)
	if err != nil || len(lines) != 1 {
		t.Fatal(len(lines), err)
	}
	e, err := decisionlog.Get(t.Context(), q, tenant, lines[0].ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Subject().Verify(); err == nil || !strings.Contains(err.Error(), r.Subject.Digest.String()) {
		t.Errorf("Verify: got %v, want an error with the digest", err)
	}
	if _, err := e.Recorded().RegoInput(); err == nil {
		t.Error("RegoInput of a changed subject: got no error")
	}
}
