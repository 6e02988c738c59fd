package events_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/events"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/uid"
)

func taskEvent(tenant op.UUID, aggregate string) events.Event {
	return events.Event{
		Type: "projects.task.updated", TenantID: tenant, AggregateType: "task", AggregateID: aggregate,
		ActorID: uid.New(), CorrelationID: uid.New(), Payload: json.RawMessage(`{"title":"x"}`),
	}
}

// publish appends events in a transaction of the tenant.
func publish(tb testing.TB, pool *postgres.Pool, tenant op.UUID, list ...events.Event) {
	tb.Helper()
	err := pool.InTx(tb.Context(), string(tenant), nil, func(tx *postgres.Tx) error {
		return events.Append(tb.Context(), tx, list)
	})
	if err != nil {
		tb.Fatal(err)
	}
}

func TestCheckType(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"audit.entry.created", "catalog.entry.status_changed", "catalog.shortlist.entry_added", "projects.gate.reviewed",
		"projects.initiative.progress_updated", "directory.user.key_issued", "projects.decision.sent",
	} {
		if err := events.CheckType(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{
		"", "created", "entry.created", "audit.entry.created.twice", "Audit.entry.created", "audit..created",
		"audit.entry.created ", "audit.entry.", "audit.entry.créated", "audit.entry.created\n",
	} {
		if events.CheckType(bad) == nil {
			t.Errorf("CheckType(%q): got no error", bad)
		}
	}
}

func TestMatches_AcceptsNamesAndWildcards(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"directory.user.*", "directory.user.created", true}, {"directory.user.*", "directory.users.created", false},
		{"*", "a.b.created", true}, {"a.b.created", "a.b.created", true}, {"a.b.created", "a.b.created_twice", false},
	} {
		if got := events.Matches(c.pattern, c.name); got != c.want {
			t.Errorf("Matches(%s, %s): got %t", c.pattern, c.name, got)
		}
	}
}

func TestAppend_IsPartOfTheTransaction(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	pool, owner := db.Pool(t, postgres.RoleTracker), db.Owner(t)
	tenant := uid.New()
	e := taskEvent(tenant, "t1")
	e.OccurredAt = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	publish(t, pool, tenant, e, taskEvent(tenant, "t2"))

	tx, err := pool.Begin(t.Context(), string(tenant), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := events.Append(t.Context(), tx, []events.Event{taskEvent(tenant, "undone")}); err != nil {
		t.Fatal(err)
	}
	tx.Rollback()

	got, err := postgres.CollectScalars[string](t.Context(), owner, `SELECT aggregate_id FROM events.outbox ORDER BY position`)
	if err != nil || !reflect.DeepEqual(got, []string{"t1", "t2"}) {
		t.Fatalf("outbox: got %v, %v, want the events of committed transactions: t1 and t2", got, err)
	}
}

func TestOutbox_PrivilegesAndTenantIsolation(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	ownTenant, other := uid.New(), uid.New()
	write := func(role string, tenant op.UUID, e events.Event) error {
		return db.Pool(t, role).InTx(t.Context(), string(tenant), nil, func(tx *postgres.Tx) error {
			return events.Append(t.Context(), tx, []events.Event{e})
		})
	}
	if err := write(postgres.RoleWiki, ownTenant, taskEvent(ownTenant, "a")); err != nil {
		t.Error("Append by a module in its tenant:", err)
	}
	if err := write(postgres.RoleAuth, "", taskEvent("", "a")); err != nil {
		t.Error("Append by parapet_auth without a tenant:", err)
	}
	for name, err := range map[string]error{
		"event of another tenant":            write(postgres.RoleTracker, ownTenant, taskEvent(other, "a")),
		"module without a tenant":            write(postgres.RoleTracker, "", taskEvent("", "a")),
		"event of a tenant without a tenant": write(postgres.RoleTracker, "", taskEvent(ownTenant, "a")),
	} {
		if err == nil {
			t.Errorf("Append, %s: got no error", name)
		}
	}
	for _, role := range []string{postgres.RoleTracker, postgres.RoleIdentity, postgres.RoleCatalog, postgres.RoleWiki, postgres.RoleAuth} {
		pool := db.Pool(t, role)
		for _, sql := range []string{
			`UPDATE events.outbox SET type = 'a.b.created'`, `DELETE FROM events.outbox`, `TRUNCATE events.outbox`,
			`SELECT * FROM events.deliveries`, `DELETE FROM events.processed`, `DELETE FROM events.notifications`,
		} {
			err := pool.InTx(t.Context(), string(ownTenant), nil, func(tx *postgres.Tx) error {
				_, err := tx.Exec(t.Context(), sql)
				return err
			})
			if err == nil || !strings.Contains(err.Error(), "permission denied") {
				t.Errorf("%s as %s: got %v, want permission denied", sql, role, err)
			}
		}
	}
	reader := db.Pool(t, postgres.RoleIdentity)
	for tenant, want := range map[op.UUID]int{ownTenant: 1, other: 0, "": 0} {
		var n int
		if err := reader.Read(string(tenant), nil).QueryRow(t.Context(), `SELECT count(*) FROM events.outbox`).Scan(&n); err != nil || n != want {
			t.Errorf("tenant %q: got %d visible events, %v; want %d", tenant, n, err, want)
		}
	}
}

func TestAppendOnce_SkipsExistingEvents(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	jobs := db.Pool(t, postgres.RoleJobs)
	e := taskEvent(uid.New(), "a")
	e.ID = uid.New()
	for _, want := range []int64{1, 0} {
		if n, err := events.AppendOnce(t.Context(), jobs, []events.Event{e}); err != nil || n != want {
			t.Fatalf("AppendOnce: got %d, %v; want %d", n, err, want)
		}
	}
}

func TestAppend_RejectsInvalidEvents(t *testing.T) {
	t.Parallel()
	tenant := uid.New()
	bad := taskEvent(tenant, "a")
	bad.Type = "task.updated"
	noAggregate := taskEvent(tenant, "")
	notJSON := taskEvent(tenant, "a")
	notJSON.Payload = json.RawMessage(`{`)
	for name, e := range map[string]events.Event{"type": bad, "aggregate": noAggregate, "payload": notJSON} {
		tx := pgtest.Tx(t, postgres.RoleTracker, string(tenant))
		if err := events.Append(t.Context(), tx, []events.Event{e}); err == nil {
			t.Errorf("Append with an invalid %s: got no error", name)
		}
	}
}

// recordingSubscriber returns a subscriber that records the events in the database, so that the
// record is rolled back with its transaction.
func recordingSubscriber(name string, hook func(ctx context.Context, list []events.Event) error) events.Subscriber {
	return events.Subscriber{Name: name, Types: []string{"projects.*"}, Handle: func(ctx context.Context, tx pgx.Tx, list []events.Event) error {
		var ids, tenants []string
		for _, e := range list {
			ids, tenants = append(ids, string(e.ID)), append(tenants, string(e.TenantID))
		}
		_, err := tx.Exec(ctx, `INSERT INTO public.taken (subscriber, event_id, tenant_id) SELECT @s, i, t FROM unnest(@ids::uuid[], @tenants::uuid[]) AS u (i, t)`,
			postgres.Args{"s": name, "ids": ids, "tenants": tenants})
		if err != nil {
			return err
		}
		if hook != nil {
			return hook(ctx, list)
		}
		return nil
	}}
}

// createTakenTable creates the table that collectors write to.
func createTakenTable(tb testing.TB, db *pgtest.DB) *postgres.Pool {
	tb.Helper()
	owner := db.Owner(tb)
	_, err := owner.Exec(tb.Context(), `CREATE TABLE public.taken (n bigint GENERATED ALWAYS AS IDENTITY, subscriber text, event_id uuid, tenant_id uuid)`)
	if err == nil {
		_, err = owner.Exec(tb.Context(), `GRANT SELECT, INSERT ON public.taken TO parapet_jobs`)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return owner
}

// takenBy returns the aggregates of the events that a subscriber received, in order.
func takenBy(tb testing.TB, owner *postgres.Pool, subscriber string) []string {
	tb.Helper()
	list, err := postgres.CollectScalars[string](tb.Context(), owner,
		`SELECT o.aggregate_id || '/' || (o.payload->>'n') FROM public.taken t JOIN events.outbox o ON o.id = t.event_id WHERE subscriber = $1 ORDER BY t.n`, subscriber)
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

func numberedEvent(tenant op.UUID, aggregate string, n string) events.Event {
	e := taskEvent(tenant, aggregate)
	e.Payload = json.RawMessage(`{"n":"` + n + `"}`)
	return e
}

func dispatcher(tb testing.TB, db *pgtest.DB, change func(*events.Config), subscribers ...events.Subscriber) *events.Dispatcher {
	tb.Helper()
	cfg := events.Config{Pool: db.Pool(tb, postgres.RoleJobs), Subscribers: subscribers, Backoff: func(int) time.Duration { return 0 }}
	if change != nil {
		change(&cfg)
	}
	d, err := events.NewDispatcher(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}
