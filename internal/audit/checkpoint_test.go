package audit_test

import (
	"errors"
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

// signing has a database with two chains and a folder of checkpoints.
type signing struct {
	t              *testing.T
	db             *pgtest.DB
	owner, jobs    *postgres.Pool
	dir            string
	secret, public string
	tenant, other  op.UUID
	now            time.Time
}

func newSigning(t *testing.T) *signing {
	t.Helper()
	db := pgtest.New(t)
	s := &signing{
		t: t, db: db, owner: db.Owner(t), jobs: db.Pool(t, postgres.RoleJobs), dir: t.TempDir(),
		tenant: uid.New(), other: uid.New(), now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
	}
	var err error
	if s.secret, s.public, err = audit.NewCheckpointKey("parapet.example"); err != nil {
		t.Fatal(err)
	}
	s.write(s.other, 2)
	return s
}

func (s *signing) write(tenant op.UUID, n int) {
	s.t.Helper()
	for i := range n {
		mustWrite(s.t, s.db.Pool(s.t, postgres.RoleTracker), tenant, entry(tenant, i))
	}
}

// sign signs a checkpoint one hour after the previous one.
func (s *signing) sign() error {
	s.t.Helper()
	s.now = s.now.Add(time.Hour)
	return audit.Checkpoint(s.t.Context(), s.jobs, s.secret, s.dir, s.now)
}

func (s *signing) mustSign() {
	s.t.Helper()
	if err := s.sign(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *signing) files() []string {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, "*"))
	if err != nil {
		s.t.Fatal(err)
	}
	return files
}

func (s *signing) verify(dir string, keys ...string) audit.Report {
	s.t.Helper()
	r, err := audit.VerifyCheckpoints(s.t.Context(), s.jobs, dir, keys, s.now, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *signing) exec(statements ...string) {
	s.t.Helper()
	for _, sql := range append([]string{`ALTER TABLE audit.entries DISABLE TRIGGER entries_immutable`}, statements...) {
		if _, err := s.owner.Exec(s.t.Context(), strings.ReplaceAll(sql, "$tenant", "'"+string(s.tenant)+"'")); err != nil {
			s.t.Fatalf("exec %s: %v", sql, err)
		}
	}
}

// In the first three cases the rewritten chain is valid in itself, so only the last
// checkpoint reveals the manipulation.
func TestCheckpoint_ManipulatedChain_ReturnsVerificationError(t *testing.T) {
	t.Parallel()
	const head = `UPDATE audit.heads h SET (seq, hash) = (SELECT seq, hash FROM audit.entries e WHERE e.chain_id = h.chain_id ORDER BY seq DESC LIMIT 1) WHERE chain_id = $tenant`
	for _, c := range []struct {
		name  string
		spoil func(s *signing)
		says  string
	}{
		{"last entries removed", func(s *signing) { s.exec(`DELETE FROM audit.entries WHERE chain_id = $tenant AND seq > 4`, head) }, "missing: the checkpoint of"},
		{"chain rewritten", func(s *signing) {
			s.exec(`DELETE FROM audit.entries WHERE chain_id = $tenant`, `DELETE FROM audit.heads WHERE chain_id = $tenant`)
			s.write(s.tenant, 9)
		}, "it differs from the entry in the checkpoint of"},
		{"chain removed", func(s *signing) {
			s.exec(`DELETE FROM audit.entries WHERE chain_id = $tenant`, `DELETE FROM audit.heads WHERE chain_id = $tenant`)
		}, "missing: the checkpoint of"},
		{"last entries replaced", func(s *signing) {
			s.exec(`DELETE FROM audit.entries WHERE chain_id = $tenant AND seq > 4`, head)
			s.write(s.tenant, 5)
		}, "it differs from the entry in the checkpoint of"},
		{"entry changed", func(s *signing) {
			s.exec(`UPDATE audit.entries SET action = 'task.read' WHERE chain_id = $tenant AND seq = 2`)
		}, "entry 2"},
		{"new entry changed", func(s *signing) {
			s.write(s.tenant, 3)
			s.exec(`UPDATE audit.entries SET action = 'task.read' WHERE chain_id = $tenant AND seq = 7`)
		}, "entry 7"},
		{"last checkpoint changed", func(s *signing) {
			file := s.files()[1]
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(strings.Replace(string(text), " 5 ", " 4 ", 1)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "not signed with this key"},
		{"last checkpoint signed with another key", func(s *signing) {
			var err error
			if s.secret, _, err = audit.NewCheckpointKey("parapet.example"); err != nil {
				t.Fatal(err)
			}
		}, "not signed with this key"},
		{"old checkpoint renamed to be the last", func(s *signing) {
			if err := os.Rename(s.files()[0], filepath.Join(s.dir, "audit-20261120T143000Z.checkpoint")); err != nil {
				t.Fatal(err)
			}
		}, "its name does not match its signed time"},
		{"clock set back", func(s *signing) { s.now = s.now.Add(-3 * time.Hour) }, "in the future"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSigning(t)
			s.mustSign()
			s.write(s.tenant, 5)
			s.mustSign()
			c.spoil(s)
			before := s.files()
			for range 2 { // the second attempt must find the same, because the first signed nothing
				err := s.sign()
				var broken *audit.VerificationError
				if !errors.As(err, &broken) || !strings.Contains(err.Error(), c.says) {
					t.Fatalf("Checkpoint: got %v, want a VerificationError that contains %q", err, c.says)
				}
			}
			if after := s.files(); len(after) != len(before) {
				t.Errorf("Checkpoint: got files %v, want %v", after, before)
			}
		})
	}
}

func TestCheckpoint_GrowingChain_IsSigned(t *testing.T) {
	t.Parallel()
	s := newSigning(t)
	for n := range 4 {
		s.write(s.tenant, n)
		s.mustSign()
	}
	if r := s.verify(s.dir, s.public); len(r.Problems) > 0 || r.Checkpoints != 4 || r.Entries != 8 {
		t.Fatalf("VerifyCheckpoints: got %+v, want 4 checkpoints, 8 entries and no problem", r)
	}
	if err := audit.Checkpoint(t.Context(), s.jobs, s.secret, filepath.Join(s.dir, "none"), s.now); err == nil {
		t.Error("Checkpoint in a missing folder: got no error")
	}
}

// Every checkpoint of a folder is verified, not only the last.
func TestVerifyCheckpoints_VerifiesEveryFileOfAFolder(t *testing.T) {
	t.Parallel()
	s := newSigning(t)
	s.mustSign()
	s.write(s.tenant, 5)
	s.mustSign()
	s.write(s.tenant, 5)
	s.mustSign()
	names := s.files()
	_, foreign, err := audit.NewCheckpointKey("parapet.example")
	if err != nil {
		t.Fatal(err)
	}
	copied := func(change func(dir string)) string {
		dir := t.TempDir()
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		change(dir)
		return dir
	}
	at := func(dir string, i int) string { return filepath.Join(dir, filepath.Base(names[i])) }
	rename := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	// other has a checkpoint of another history, signed with the same key.
	other := newSigning(t)
	other.secret, other.tenant, other.now = s.secret, s.tenant, s.now.Add(-90*time.Minute)
	other.write(s.tenant, 7)
	other.mustSign()
	for name, c := range map[string]struct {
		dir  string
		keys []string
		says []string
	}{
		"unchanged":          {copied(func(string) {}), []string{s.public}, nil},
		"keys of a rotation": {copied(func(string) {}), []string{foreign, s.public}, nil},
		"other files in the folder": {copied(func(dir string) {
			if err := os.WriteFile(filepath.Join(dir, "README"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}), []string{s.public}, nil},
		"one checkpoint missing": {copied(func(dir string) { _ = os.Remove(at(dir, 1)) }), []string{s.public}, nil},
		"another key":            {copied(func(string) {}), []string{foreign}, []string{"12", "13", "14"}},
		"one checkpoint changed": {copied(func(dir string) {
			if err := os.WriteFile(at(dir, 1), []byte("parapet audit checkpoint v1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}), []string{s.public}, []string{filepath.Base(names[1]) + ": audit: the checkpoint was not signed with this key"}},
		"two checkpoints swapped": {copied(func(dir string) {
			rename(at(dir, 0), filepath.Join(dir, "x"))
			rename(at(dir, 2), at(dir, 0))
			rename(filepath.Join(dir, "x"), at(dir, 2))
		}), []string{s.public}, []string{"its name does not match its signed time", "is not after that of", "fewer than the"}},
		"folder with a checkpoint's name": {copied(func(dir string) {
			if err := os.Mkdir(filepath.Join(dir, "audit-20261120T160000Z.checkpoint"), 0o700); err != nil {
				t.Fatal(err)
			}
		}), []string{s.public}, []string{"it could not be read"}},
		"checkpoint of another history": {copied(func(dir string) {
			text, err := os.ReadFile(other.files()[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(other.files()[0])), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}), []string{s.public}, []string{"the chain is missing", "it differs from the entry in the checkpoint of"}},
	} {
		r := s.verify(c.dir, c.keys...)
		text := ""
		for _, p := range r.Problems {
			text += p.String() + "\n"
		}
		if (len(r.Problems) > 0) != (len(c.says) > 0) {
			t.Errorf("%s: got problems %s, want %q", name, text, c.says)
		}
		for _, part := range c.says {
			if !strings.Contains(text, part) {
				t.Errorf("%s: got problems %s, want %q", name, text, part)
			}
		}
	}
	// The signing clock was ahead.
	early := s.now.Add(-time.Minute)
	if r, err := audit.VerifyCheckpoints(t.Context(), s.jobs, s.dir, []string{s.public}, early, nil); err != nil || len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Message, "in the future") {
		t.Errorf("VerifyCheckpoints of a future checkpoint: got %+v, %v, want one problem that says so", r, err)
	}
	for name, path := range map[string]string{"an empty folder": t.TempDir(), "no folder": filepath.Join(s.dir, "none")} {
		if _, err := audit.VerifyCheckpoints(t.Context(), s.jobs, path, []string{s.public}, s.now, nil); err == nil {
			t.Errorf("VerifyCheckpoints of %s: got no error", name)
		}
	}
	if _, err := audit.VerifyCheckpoints(t.Context(), s.jobs, s.dir, []string{"no key"}, s.now, nil); err == nil {
		t.Error("VerifyCheckpoints with an invalid key: got no error")
	}
	// After entries were removed, the oldest checkpoint that no longer matches is reported.
	s.exec(`DELETE FROM audit.entries WHERE chain_id = $tenant AND seq > 4`,
		`UPDATE audit.heads h SET seq = 4, hash = (SELECT hash FROM audit.entries e WHERE e.chain_id = h.chain_id AND seq = 4) WHERE chain_id = $tenant`)
	r := s.verify(s.dir, s.public)
	if len(r.Problems) != 1 || r.Problems[0].Seq != 5 || r.Problems[0].File != filepath.Base(names[1]) {
		t.Errorf("VerifyCheckpoints: got %v, want one problem that names %s", r.Problems, names[1])
	}
}
