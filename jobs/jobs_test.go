package jobs_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/audit"
	"parapet/internal/authz"
	"parapet/internal/clock"
	"parapet/internal/contract/identity"
	"parapet/internal/decisionlog"
	"parapet/internal/events"
	"parapet/internal/events/eventtest"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/uid"
	"parapet/jobs"
)

func jobsPool(tb testing.TB, db *pgtest.DB) *postgres.Pool {
	tb.Helper()
	return db.PoolWith(tb, postgres.Config{URL: db.RoleURL(postgres.RoleJobs), MaxConns: 16})
}

func start(t *testing.T, d jobs.Deps) *jobs.Runner {
	t.Helper()
	r, err := jobs.Start(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := r.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return r
}

func publish(tb testing.TB, db *pgtest.DB, tenant op.UUID, aggregate string) {
	tb.Helper()
	err := db.Pool(tb, postgres.RoleTracker).InTx(tb.Context(), string(tenant), nil, func(tx *postgres.Tx) error {
		return events.Append(tb.Context(), tx, []events.Event{{
			Type: "projects.task.updated", TenantID: tenant, AggregateType: "task", AggregateID: aggregate,
		}})
	})
	if err != nil {
		tb.Fatal(err)
	}
}

func TestSchedules_TimeoutsAndConditions(t *testing.T) {
	t.Parallel()
	if !jobs.TimesFit() {
		t.Error("a job must time out before it is rescued, and be rescued within two minutes")
	}
	if n := len(jobs.RunPeriodic(jobs.Deps{})); n != len(jobs.Kinds())-2 {
		t.Errorf("got %d schedules without checkpoints and maintenance, want all except those two of %v", n, jobs.Kinds())
	}
}

// One process runs everything: the schedules run as parapet_jobs, events are dispatched,
// decisions are written, a checkpoint is signed, and Stop ends it all.
func TestRunner_RunsSchedulesEventsAndDecisionLog(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, pool, tenant := db.Owner(t), jobsPool(t, db), uid.New()
	secret, public, err := audit.NewCheckpointKey("parapet.example")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	decisions := decisionlog.New(decisionlog.Config{Pool: pool, Every: 10 * time.Millisecond})
	received := make(chan string, 10)
	cleaned, done, ran := make(chan struct{}, 10), make(chan struct{}, 10), make(chan struct{}, 10)
	start(t, jobs.Deps{
		Pool: pool, DecisionLog: decisions, Checkpoint: jobs.CheckpointConfig{Key: secret, Dir: dir},
		Subscribers: []events.Subscriber{{Name: "test", Types: []string{"projects.*"}, Handle: func(_ context.Context, _ pgx.Tx, list []events.Event) error {
			for _, e := range list {
				received <- e.AggregateID
			}
			return nil
		}}},
		Housekeepers: []jobs.Housekeeper{{Name: "test", Run: func(context.Context, time.Time) (int64, error) {
			cleaned <- struct{}{}
			return 1, nil
		}}},
		Jobs: []jobs.Job{jobs.New(jobs.Settings{Every: time.Hour}, func(context.Context, tideArgs) (time.Duration, error) {
			ran <- struct{}{}
			return 0, nil
		})},
		Maintenance: []jobs.Housekeeper{
			{Name: "idle", Run: func(context.Context, time.Time) (int64, error) { return 0, nil }},
			{Name: "test", Run: func(context.Context, time.Time) (int64, error) {
				done <- struct{}{}
				return 1, nil
			}},
		},
	})
	decisions.Record(authz.DecisionRecord{Time: time.Now(), Tenant: string(tenant), Rule: "allow"})
	publish(t, db, tenant, "first")
	select {
	case got := <-received:
		if got != "first" {
			t.Errorf("subscriber test: got the event of %q, want first", got)
		}
	case <-time.After(time.Minute):
		t.Fatal("subscriber test: got no event")
	}
	pgtest.Eventually(t, time.Minute, "a job of every kind is completed", func() bool {
		kinds, err := postgres.CollectScalars[string](t.Context(), owner, `SELECT DISTINCT kind FROM river.river_job WHERE state = 'completed'`)
		return err == nil && len(kinds) == len(jobs.Kinds())+1 // and that of the test
	})
	<-cleaned
	<-done
	<-ran
	pgtest.Eventually(t, time.Minute, "the decision is written to the log", func() bool { return decisions.Written() == 1 })
	files, err := filepath.Glob(filepath.Join(dir, "*.checkpoint"))
	if err != nil || len(files) != 1 {
		t.Fatalf("checkpoints: got %v, %v; want one", files, err)
	}
	file, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := audit.ReadCheckpoint(file, public); err != nil {
		t.Error(err)
	}
	var errored int
	if err := owner.QueryRow(t.Context(), `SELECT count(*) FROM river.river_job WHERE errors IS NOT NULL`).Scan(&errored); err != nil || errored != 0 {
		t.Errorf("failed jobs: got %d, %v; want 0", errored, err)
	}
}

// Only the last checkpoint shows that a chain was rewritten: the job that would sign the
// next one must report the problem and sign nothing.
func TestCheckpointJob_RewrittenChain_SignsNothing(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, pool, tenant, dir := db.Owner(t), jobsPool(t, db), uid.New(), t.TempDir()
	secret, _, err := audit.NewCheckpointKey("parapet.example")
	if err != nil {
		t.Fatal(err)
	}
	write := func(action string) {
		err := db.Pool(t, postgres.RoleTracker).InTx(t.Context(), string(tenant), nil, func(tx *postgres.Tx) error {
			return audit.Append(t.Context(), tx, []audit.Entry{{Tenant: tenant, Action: action, ResourceType: "task"}})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	write("task.deleted")
	if err := audit.Checkpoint(t.Context(), pool, secret, dir, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{`ALTER TABLE audit.entries DISABLE TRIGGER entries_immutable`, `DELETE FROM audit.entries`, `DELETE FROM audit.heads`} {
		if _, err := owner.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	write("task.updated")
	results, lines := make(chan string, 10), &logBuffer{}
	start(t, jobs.Deps{
		Pool: pool, Log: slog.New(slog.NewTextHandler(lines, nil)),
		Checkpoint: jobs.CheckpointConfig{Key: secret, Dir: dir, Observe: func(result string) { results <- result }},
	})
	select {
	case result := <-results:
		if result != jobs.CheckpointRefused {
			t.Errorf("Observe: got %s, want %s", result, jobs.CheckpointRefused)
		}
	case <-time.After(time.Minute):
		t.Fatal("Observe: no attempt was made")
	}
	pgtest.Eventually(t, time.Minute, "the checkpoint job is cancelled", func() bool {
		var state string
		err := owner.QueryRow(t.Context(), `SELECT state::text FROM river.river_job WHERE kind = 'audit_checkpoint'`).Scan(&state)
		return err == nil && state == "cancelled"
	})
	if text := lines.String(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, "no checkpoint was signed") ||
		!strings.Contains(text, string(tenant)) || !strings.Contains(text, "it differs from the entry in the checkpoint of") {
		t.Errorf("log: got %s, want an error with the tenant and the problem", text)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(files) != 1 {
		t.Errorf("checkpoints: got %v, %v; want only the first", files, err)
	}
}

// logBuffer stores log lines. It is safe for concurrent use.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// A job whose process died is still marked as running. Another process must run it again.
func TestRunner_RescuesStuckJob(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner := db.Owner(t)
	_, err := owner.Exec(t.Context(), `INSERT INTO river.river_job (state, kind, args, attempt, max_attempts, attempted_at, attempted_by, queue, priority, scheduled_at)
		VALUES ('running', 'retention', '{"dead": true}', 1, 3, now() - interval '100 seconds', '{gone}', 'default', 1, now() - interval '100 seconds')`)
	if err != nil {
		t.Fatal(err)
	}
	start(t, jobs.Deps{Pool: jobsPool(t, db)})
	pgtest.Eventually(t, time.Minute, "the job is taken from the dead process", func() bool {
		var rescued bool
		err := owner.QueryRow(t.Context(), `SELECT coalesce(errors[1]->>'error' LIKE 'Stuck job rescued%', false) FROM river.river_job WHERE args ? 'dead'`).Scan(&rescued)
		return err == nil && rescued
	})
	// River's scheduler would make the job available after up to 6 seconds.
	if _, err := owner.Exec(t.Context(), `UPDATE river.river_job SET state = 'available', scheduled_at = now() WHERE args ? 'dead' AND state = 'retryable'`); err != nil {
		t.Fatal(err)
	}
	pgtest.Eventually(t, time.Minute, "the job is completed", func() bool {
		var state string
		err := owner.QueryRow(t.Context(), `SELECT state::text FROM river.river_job WHERE args ? 'dead'`).Scan(&state)
		return err == nil && state == "completed"
	})
}

func TestKeyExpiry_WarnsOnceADay(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, pool := db.Owner(t), jobsPool(t, db)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	tenant, closed := directory(t, owner, "open"), directory(t, owner, "closed")
	if _, err := owner.Exec(t.Context(), `UPDATE identity.tenants SET disabled_at = now() WHERE id = $1`, closed.tenant); err != nil {
		t.Fatal(err)
	}
	day := 24 * time.Hour
	key := func(d fixture, user op.UUID, label string, expires time.Duration, revoked bool) {
		t.Helper()
		_, err := owner.Exec(t.Context(), `INSERT INTO identity.api_keys (tenant_id, jti, label, owner_id, kind, expires_at, created_by, created_at, revoked_at, revoked_by)
			VALUES ($1, $2, $3, $4, 'SERVICE', $5::timestamptz, $4, $5::timestamptz - interval '90 days', CASE WHEN $6 THEN now() END, CASE WHEN $6 THEN $4::uuid END)`,
			d.tenant, uid.New(), label, user, now.Add(expires), revoked)
		if err != nil {
			t.Fatal(err)
		}
	}
	key(tenant, tenant.service, "at 14 days", 14*day, false)
	key(tenant, tenant.service, "soon", 36*time.Hour, false)
	key(tenant, tenant.service, "just expired", -time.Hour, false)
	key(tenant, tenant.service, "long expired", -25*time.Hour, false)
	key(tenant, tenant.service, "beyond 14 days", 14*day+12*time.Hour, false)
	key(tenant, tenant.service, "revoked", day, true)
	key(tenant, tenant.person, "a person's", day, false)
	key(closed, closed.service, "a closed tenant's", day, false)

	if got, err := jobs.CountExpiringKeys(t.Context(), pool, now); err != nil || got != (jobs.ExpiringKeys{Day: 0, ThreeDays: 1, TwoWeeks: 2}) {
		t.Errorf("CountExpiringKeys: got %+v, %v, want 1 key within three days and 2 within two weeks", got, err)
	}
	if got, err := jobs.CountExpiringKeys(t.Context(), pool, now.Add(24*time.Hour)); err != nil || got != (jobs.ExpiringKeys{Day: 1, ThreeDays: 1, TwoWeeks: 3}) {
		t.Errorf("CountExpiringKeys a day later: got %+v, %v, want 1 key within a day and 3 within two weeks", got, err)
	}

	labels := func() []string {
		t.Helper()
		list, err := postgres.CollectScalars[string](t.Context(), owner, `SELECT (payload->'resource'->>'label') || ' ' || (payload->'resource'->>'daysLeft')
			FROM events.outbox WHERE type = 'directory.user.key_expiry_warned' ORDER BY position`)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	at := now
	watch := func() {
		t.Helper()
		if err := jobs.WatchKeys(t.Context(), pool, clock.Func(func() time.Time { return at })); err != nil {
			t.Fatal(err)
		}
	}
	watch()
	at = now.Add(11 * time.Hour)
	watch() // second run on the same day
	if got := strings.Join(labels(), ", "); got != "just expired -1, soon 1, at 14 days 14" {
		t.Errorf("warnings of the first day: got %s, want one each for the keys that just expired, expire soon, and expire in 14 days", got)
	}
	at = now.Add(day)
	watch()
	if got := labels()[3:]; strings.Join(got, ", ") != "soon 0, at 14 days 13, beyond 14 days 13" {
		t.Errorf("warnings of the next day (label and days left): got %v, want soon 0, at 14 days 13, beyond 14 days 13", got)
	}

	d, err := events.NewDispatcher(events.Config{Pool: pool, Subscribers: []events.Subscriber{events.Notifications()}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	feed, err := events.Feed(t.Context(), owner, tenant.tenant, tenant.person, true, "", 50)
	if err != nil || len(feed) != 6 || feed[0].Audience != events.ToAdministrators {
		t.Errorf("administrators' feed: got %d notifications, %v; want 6 for administrators", len(feed), err)
	}
	eventtest.Require(t, owner, identity.EventKeyExpiryWarned.Name)
}

func TestWarningID_DependsOnDayTenantAndKey(t *testing.T) {
	t.Parallel()
	tenant, jti := uid.New(), uid.New()
	now := time.Date(2026, 11, 20, 23, 59, 59, 0, time.UTC)
	id := jobs.WarningID(tenant, jti, now)
	if _, err := op.ParseUUID(string(id)); err != nil || id[14] != '7' {
		t.Errorf("WarningID: got %s, %v; want a version 7 UUID", id, err)
	}
	if id != jobs.WarningID(tenant, jti, now.Add(-20*time.Hour)) || id == jobs.WarningID(tenant, jti, now.Add(time.Second)) ||
		id == jobs.WarningID(uid.New(), jti, now) || id == jobs.WarningID(tenant, uid.New(), now) {
		t.Error("WarningID: got a different id on the same day, or the same id for another day, tenant or key")
	}
}

func TestRetain_DeletesOldKeysAndContinuesAfterAFailure(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	owner, pool, tenant := db.Owner(t), jobsPool(t, db), uid.New()
	_, err := owner.Exec(t.Context(), `INSERT INTO events.idempotency_keys (tenant_id, actor_id, operation, key, request_hash, created_at)
		SELECT $1, $1, 'create-task', n::text, '', now() - make_interval(hours => n) FROM generate_series(1, 48) n`, tenant)
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("housekeeper failed")
	ran := false
	err = jobs.Retain(t.Context(), pool, clock.System{},
		jobs.Housekeeper{Name: "bad", Run: func(context.Context, time.Time) (int64, error) { return 0, failed }},
		jobs.Housekeeper{Name: "good", Run: func(context.Context, time.Time) (int64, error) { ran = true; return 0, nil }})
	if !errors.Is(err, failed) || !ran {
		t.Errorf("Retain: got %v, want the failure; the next housekeeper ran: %t, want true", err, ran)
	}
	var left int
	if err := owner.QueryRow(t.Context(), `SELECT count(*) FROM events.idempotency_keys`).Scan(&left); err != nil || left != 23 {
		t.Errorf("idempotency keys: got %d, %v; want those of the last day (23)", left, err)
	}
}

type fixture struct{ tenant, service, person op.UUID }

// directory creates a tenant with a SERVICE principal and a person.
func directory(tb testing.TB, owner *postgres.Pool, slug string) fixture {
	tb.Helper()
	f := fixture{uid.New(), uid.New(), uid.New()}
	for _, sql := range []struct {
		text string
		args []any
	}{
		{`INSERT INTO identity.tenants (id, slug, name) VALUES ($1, $2, $2)`, []any{f.tenant, slug}},
		{`INSERT INTO identity.users (id, home_tenant_id, principal_kind, integration_key, email, display_name)
			VALUES ($1, $2, 'SERVICE', 'spec-wiki-sync', 'service@example.com', 'Service')`, []any{f.service, f.tenant}},
		{`INSERT INTO identity.users (id, home_tenant_id, principal_kind, email, display_name)
			VALUES ($1, $2, 'HUMAN', 'person@example.com', 'Person')`, []any{f.person, f.tenant}},
		{`INSERT INTO identity.memberships (tenant_id, user_id) VALUES ($1, $2), ($1, $3)`, []any{f.tenant, f.service, f.person}},
	} {
		if _, err := owner.Exec(tb.Context(), sql.text, sql.args...); err != nil {
			tb.Fatal(err)
		}
	}
	return f
}
