package decisionlog_test

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"parapet/internal/authz"
	"parapet/internal/decisionlog"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/uid"
)

func record(tenant op.UUID, n int) authz.DecisionRecord {
	return authz.DecisionRecord{
		Time: time.Now(), Tenant: string(tenant), Actor: string(uid.New()), Rule: "allow", Permission: "task.update", Module: "tracker",
		Input: authz.MaskedInput{Effect: "write", Resource: &authz.MaskedResource{Type: "task"}}, Allow: n%2 == 0,
		Reasons: []string{"missing_permission", fmt.Sprint(n)}, Revision: "r1", RequestID: fmt.Sprint("request-", n),
	}
}

// writeQueued writes the queued records: Run writes them before it returns.
func writeQueued(t *testing.T, l *decisionlog.Log) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	l.Run(ctx)
}

func TestLog_WritesRecordsThatListAndPruneFind(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	ownTenant, other := uid.New(), uid.New()
	l := decisionlog.New(decisionlog.Config{Pool: db.Pool(t, postgres.RoleJobs), Batch: 3})
	for n := range 10 {
		l.Record(record(ownTenant, n))
	}
	l.Record(record(other, 99))
	l.Record(record("", 100))
	writeQueued(t, l)
	if l.Written() != 12 || l.Dropped() != 0 {
		t.Fatalf("got %d records written and %d dropped, want 12 and 0", l.Written(), l.Dropped())
	}
	reader := db.Pool(t, postgres.RoleIdentity)
	list := func(tenant op.UUID, f decisionlog.Filter, cursor string, limit int) ([]string, string) {
		t.Helper()
		lines, next, err := decisionlog.List(t.Context(), reader.Read(string(tenant), nil), tenant, f, cursor, limit)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, l := range lines {
			ids = append(ids, l.RequestID)
			if len(l.Reasons) != 2 || l.Rule != "allow" || string(l.Input) != `{"effect":"write","resource":{"type":"task"}}` {
				t.Errorf("List: got line %+v", l)
			}
		}
		return ids, next
	}
	first, next := list(ownTenant, decisionlog.Filter{}, "", 6)
	second, end := list(ownTenant, decisionlog.Filter{}, next, 6)
	if len(first) != 6 || len(second) != 4 || end != "" || first[0] != "request-9" || second[3] != "request-0" {
		t.Errorf("List: got pages %v and %v, want requests 9 to 4 and 3 to 0", first, second)
	}
	yes := true
	if got, _ := list(ownTenant, decisionlog.Filter{Allow: &yes, Permission: "task.update"}, "", 3); !reflect.DeepEqual(got, []string{"request-8", "request-6", "request-4"}) {
		t.Errorf("List by permission and result: got %v, want requests 8, 6 and 4", got)
	}
	if got, _ := list(ownTenant, decisionlog.Filter{RequestID: "request-7"}, "", 3); len(got) != 1 {
		t.Errorf("List by request: got %v, want one record", got)
	}
	if got, _ := list(other, decisionlog.Filter{}, "", 50); len(got) != 1 {
		t.Errorf("List of another tenant: got %v, want its own record", got)
	}
	for _, cursor := range []string{next, "x", "AAAA"} {
		if _, _, err := decisionlog.List(t.Context(), reader.Read(string(other), nil), other, decisionlog.Filter{}, cursor, 5); !fault.HasCode(err, fault.CodeValidation) {
			t.Errorf("List with cursor %q: got %v, want VALIDATION", cursor, err)
		}
	}
	if err := db.Pool(t, postgres.RoleTracker).Read(string(ownTenant), nil).QueryRow(t.Context(), `SELECT 1 FROM audit.decisions`).Scan(new(int)); err == nil {
		t.Error("parapet_tracker: SELECT on audit.decisions: got no error")
	}

	jobs := db.Pool(t, postgres.RoleJobs)
	if n, err := decisionlog.Prune(t.Context(), jobs, time.Now().Add(-time.Hour)); err != nil || n != 0 {
		t.Errorf("Prune of recent records: got %d, %v; want 0", n, err)
	}
	if n, err := decisionlog.Prune(t.Context(), jobs, time.Now().Add(time.Hour)); err != nil || n != 12 {
		t.Errorf("Prune: got %d, %v; want 12", n, err)
	}
}

func TestRecord_WhenBufferFull_DropsAndCounts(t *testing.T) {
	t.Parallel()
	l := decisionlog.New(decisionlog.Config{Buffer: 5})
	for n := range 12 {
		l.Record(record(uid.New(), n)) // Run was not called: Record must not wait
	}
	if l.Dropped() != 7 {
		t.Fatalf("Dropped: got %d, want 7", l.Dropped())
	}
}

func TestLog_RejectedRecordDropsNoOther(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	tenant := uid.New()
	l := decisionlog.New(decisionlog.Config{Pool: db.Pool(t, postgres.RoleJobs)})
	for n := range 5 {
		r := record(tenant, n)
		if n == 2 {
			r.RequestID = "NUL \x00"
		}
		l.Record(r)
	}
	writeQueued(t, l)
	if l.Written() != 4 || l.Dropped() != 1 {
		t.Fatalf("got %d records written and %d dropped, want 4 and 1", l.Written(), l.Dropped())
	}
}

func BenchmarkRecord(b *testing.B) {
	db := pgtest.New(b)
	l := decisionlog.New(decisionlog.Config{Pool: db.Pool(b, postgres.RoleJobs)})
	ctx, stop := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { l.Run(ctx) })
	r := record(uid.New(), 1)
	for i := 0; b.Loop(); i++ {
		l.Record(r)
		for i%1000 == 0 && int64(i)-l.Written() > 4000 {
			time.Sleep(time.Millisecond) // wait so that none is dropped
		}
	}
	stop()
	running.Wait()
	b.ReportMetric(float64(l.Written())/b.Elapsed().Seconds(), "records/s")
	b.ReportMetric(float64(l.Dropped()), "dropped")
}
