package audit_test

import (
	"testing"
	"time"

	"parapet/internal/audit"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/uid"
)

func TestVerifyTail_DetectsChangesOfTheNewestEntries(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, pool, jobs := db.Owner(t), db.Pool(t, postgres.RoleTracker), db.Pool(t, postgres.RoleJobs)
	tenant, other := uid.New(), uid.New()
	for i := range 10 {
		mustWrite(t, pool, tenant, entry(tenant, i))
	}
	mustWrite(t, pool, other, entry(other, 1))
	tail := func(entries int64, limit time.Duration) audit.TailReport {
		t.Helper()
		report, err := audit.VerifyTail(t.Context(), jobs, entries, limit, audit.CheckpointFolder{}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	if got := tail(4, time.Minute); got.Chains != 2 || got.Entries != 5 || len(got.Problems) != 0 || got.Unverified != 0 {
		t.Errorf("unchanged chains: got %+v, want 5 entries of 2 chains", got)
	}
	if got := tail(100, time.Minute); got.Entries != 11 || len(got.Problems) != 0 {
		t.Errorf("more entries than the chains have: got %+v, want all 11", got)
	}
	if got := tail(4, 0); got.Chains != 0 || got.Unverified != 2 {
		t.Errorf("no time: got %+v, want 2 chains left out", got)
	}
	where := ` WHERE chain_id = '` + string(tenant) + `' AND seq = `
	for _, c := range []struct {
		name, sql string
		entries   int64
		found     int64 // 0: not found
	}{
		{"a new entry changed", `UPDATE audit.entries SET action = 'task.read'` + where + `8`, 4, 8},
		{"the oldest verified entry changed", `UPDATE audit.entries SET action = 'task.read'` + where + `7`, 4, 7},
		{"an older entry changed", `UPDATE audit.entries SET action = 'task.read'` + where + `3`, 4, 0},
		{"a new entry removed", `DELETE FROM audit.entries` + where + `9`, 4, 9},
		{"the entry before the verified ones removed", `DELETE FROM audit.entries` + where + `6`, 4, 6},
		{"the last entry removed", `DELETE FROM audit.entries` + where + `10`, 4, 10},
		{"head moved back", `UPDATE audit.heads SET seq = 9 WHERE chain_id = '` + string(tenant) + `'`, 4, 10},
	} {
		tamper(t, db, owner, c.sql, func(audit.Report) {
			got := tail(c.entries, time.Minute)
			switch {
			case c.found == 0 && len(got.Problems) != 0:
				t.Errorf("%s: got %v, want no problem", c.name, got.Problems)
			case c.found != 0 && (len(got.Problems) != 1 || got.Problems[0].Seq != c.found || got.Problems[0].Chain != tenant):
				t.Errorf("%s: got %v, want a problem of entry %d", c.name, got.Problems, c.found)
			}
		})
	}
}
