package doctor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/app"
	"parapet/internal/app/doctor"
	"parapet/internal/audit"
	"parapet/internal/clock"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/postgres/embedded"
	"parapet/internal/uid"
)

// Secrets of the tests. No finding may contain one of them.
const (
	jwtSecret   = "signing-secret-0123456789-0123456789"
	roleSecret  = "role-secret-0123456789"
	urlPassword = "password-in-the-address"
)

// installation is a migrated database in a cluster of its own, because the tests change roles.
type installation struct {
	t        *testing.T
	dir      string
	server   *embedded.Server
	super    *pgx.Conn
	settings map[string]string
	tenant   op.UUID
}

func newInstallation(t *testing.T) *installation {
	t.Helper()
	dir := t.TempDir()
	server, err := embedded.Start(t.Context(), embedded.Options{Dir: dir, Ephemeral: true, Binaries: os.Getenv("PT_POSTGRES_BIN")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if err := server.CreateDatabase(t.Context(), "parapet"); err != nil {
		t.Fatal(err)
	}
	i := &installation{t: t, dir: dir, server: server, tenant: uid.New(), settings: map[string]string{
		"DATABASE_URL": strings.Replace(server.URL("parapet", postgres.RoleApp), postgres.RoleApp+"@", postgres.RoleApp+":"+urlPassword+"@", 1),
		"DIRECT_URL":   server.URL("parapet", server.Superuser()), "PT_DB_ROLE_SECRET": roleSecret, "API_KEY_JWT_SECRET": jwtSecret, "PORT": "0",
	}}
	cfg, err := app.ReadConfig(i.getenv(nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Migrate(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if i.super, err = pgx.Connect(t.Context(), cfg.DirectURL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.super.Close(context.WithoutCancel(t.Context())) })
	i.writeAudit(5)
	return i
}

// writeAudit adds n entries to the chain of the tenant.
func (i *installation) writeAudit(n int) {
	i.t.Helper()
	pool, err := postgres.Open(i.t.Context(), postgres.Config{URL: i.server.URL("parapet", postgres.RoleTracker), MaxConns: 2})
	if err != nil {
		i.t.Fatal(err)
	}
	defer pool.Close()
	for range n {
		err := pool.InTx(i.t.Context(), string(i.tenant), nil, func(tx *postgres.Tx) error {
			return audit.Append(i.t.Context(), tx, []audit.Entry{{Tenant: i.tenant, Action: "task.updated", ResourceType: "task", ResourceID: "1", Module: "tracker"}})
		})
		if err != nil {
			i.t.Fatal(err)
		}
	}
}

func (i *installation) exec(statements ...string) {
	i.t.Helper()
	for _, sql := range statements {
		if _, err := i.super.Exec(context.WithoutCancel(i.t.Context()), sql); err != nil {
			i.t.Fatalf("%s: %v", sql, err)
		}
	}
}

func (i *installation) getenv(changes map[string]string) func(string) string {
	all := maps.Clone(i.settings)
	maps.Copy(all, changes)
	return func(name string) string { return all[name] }
}

// requirePasswords makes the server ask every role except the superuser for its password.
func (i *installation) requirePasswords(required bool) {
	i.t.Helper()
	files, err := filepath.Glob(filepath.Join(i.dir, "*", "pg_hba.conf"))
	if err != nil || len(files) != 1 {
		i.t.Fatalf("pg_hba.conf: got %v, %v, want one file", files, err)
	}
	rule := "local all all trust\n"
	if required {
		rule = "local all " + i.server.Superuser() + " trust\nlocal all all scram-sha-256\n"
	}
	if err := os.WriteFile(files[0], []byte(rule), 0o600); err != nil {
		i.t.Fatal(err)
	}
	i.exec(`SELECT pg_reload_conf()`)
	time.Sleep(200 * time.Millisecond) // the server reads the file asynchronously
}

// problems runs the checks and returns the problems as "check: result".
func (i *installation) problems(o doctor.Options) []string {
	i.t.Helper()
	findings := doctor.Run(i.t.Context(), o)
	text, err := json.Marshal(findings)
	if err != nil {
		i.t.Fatal(err)
	}
	for _, secret := range []string{jwtSecret, roleSecret, urlPassword, postgres.RolePassword(postgres.RoleTracker, roleSecret)} {
		if strings.Contains(string(text), secret) {
			i.t.Errorf("the findings contain a secret: %s", text)
		}
	}
	var problems []string
	for _, f := range findings {
		if (f.Status == doctor.Problem) != (f.Remedy != "") {
			i.t.Errorf("finding %+v: a problem has a remedy, and nothing else has", f)
		}
		if f.Status == doctor.Problem {
			problems = append(problems, f.Check+": "+f.Result)
		}
	}
	if doctor.HasProblem(findings) != (len(problems) > 0) {
		i.t.Errorf("HasProblem does not match the findings %v", findings)
	}
	return problems
}

func TestRun_ReportsEachProblemOfTheDatabase(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	const lastMigration = `schema = 'projects' AND version = (SELECT max(version) FROM parapet.migrations WHERE schema = 'projects')`
	tampered := []string{`ALTER TABLE audit.entries DISABLE TRIGGER ALL`, `UPDATE audit.entries SET resource_id = '2' WHERE seq = 4`}
	repaired := []string{`UPDATE audit.entries SET resource_id = '1' WHERE seq = 4`, `ALTER TABLE audit.entries ENABLE TRIGGER ALL`}
	allLogins := []string{
		"database login parapet_auth: ", "database login parapet_identity: ", "database login parapet_tracker: ",
		"database login parapet_catalog: ", "database login parapet_wiki: ", "database login parapet_jobs: ",
	}
	for _, c := range []struct {
		name          string
		breakIt, mend []string
		settings      map[string]string
		passwords     bool
		clockIsAhead  time.Duration
		full          bool
		want          []string // the beginning of each problem, in order
		skipsAuditLog bool
	}{
		{name: "no problem"},
		{name: "no problem with --full", full: true},
		{name: "no problem with passwords", passwords: true},
		{name: "wrong secret of the roles", passwords: true, settings: map[string]string{"PT_DB_ROLE_SECRET": "other"},
			want: allLogins},
		{name: "unknown database", settings: map[string]string{"DATABASE_URL": i.server.URL("other", postgres.RoleApp)},
			want: allLogins},
		{name: "no server", settings: map[string]string{"DATABASE_URL": "postgres://x:" + urlPassword + "@127.0.0.1:1/parapet"},
			want: []string{"database login: the database cannot be reached: "}},
		{name: "missing login role", breakIt: []string{`ALTER ROLE parapet_tracker RENAME TO hidden`}, mend: []string{`ALTER ROLE hidden RENAME TO parapet_tracker`},
			want: []string{"database login parapet_tracker: ", "database roles: parapet_tracker does not exist"}},
		{name: "missing role without login", breakIt: []string{`ALTER ROLE parapet_search RENAME TO hidden`}, mend: []string{`ALTER ROLE hidden RENAME TO parapet_search`},
			want: []string{"database roles: parapet_search does not exist"}},
		{name: "superuser", breakIt: []string{`ALTER ROLE parapet_tracker SUPERUSER`}, mend: []string{`ALTER ROLE parapet_tracker NOSUPERUSER`},
			want: []string{"database roles: parapet_tracker has an attribute"}},
		{name: "bypasses row-level security", breakIt: []string{`ALTER ROLE parapet_jobs BYPASSRLS`}, mend: []string{`ALTER ROLE parapet_jobs NOBYPASSRLS`},
			want: []string{"database roles: parapet_jobs has an attribute"}},
		{name: "member of another role", breakIt: []string{`GRANT pg_read_all_data TO parapet_tracker`}, mend: []string{`REVOKE pg_read_all_data FROM parapet_tracker`},
			want: []string{"database roles: parapet_tracker is a member of pg_read_all_data"}},
		{name: "owner of a table", breakIt: []string{`CREATE TABLE public.t ()`, `ALTER TABLE public.t OWNER TO parapet_tracker`}, mend: []string{`DROP TABLE public.t`},
			want: []string{"database roles: parapet_tracker owns tables"}},
		{name: "other role settings", breakIt: []string{`ALTER ROLE parapet_wiki SET statement_timeout = 0`}, mend: []string{`ALTER ROLE parapet_wiki SET statement_timeout = '30s'`},
			want: []string{"database roles: parapet_wiki has other attributes"}},
		{name: "row-level security is not forced", breakIt: []string{`ALTER TABLE projects.tasks NO FORCE ROW LEVEL SECURITY`}, mend: []string{`ALTER TABLE projects.tasks FORCE ROW LEVEL SECURITY`},
			want: []string{"row-level security: not forced for 1 tables: projects.tasks"}},
		{name: "row-level security is off", breakIt: []string{`ALTER TABLE identity.users DISABLE ROW LEVEL SECURITY`}, mend: []string{`ALTER TABLE identity.users ENABLE ROW LEVEL SECURITY`},
			want: []string{"row-level security: not forced for 1 tables: identity.users"}},
		{name: "pending migration", breakIt: []string{`CREATE TABLE public.removed AS SELECT * FROM parapet.migrations WHERE ` + lastMigration, `DELETE FROM parapet.migrations WHERE ` + lastMigration},
			mend: []string{`INSERT INTO parapet.migrations SELECT * FROM public.removed`, `DROP TABLE public.removed`}, skipsAuditLog: true,
			want: []string{"migrations: 1 migrations are missing, the first is projects/"}},
		{name: "migrated by a newer program", breakIt: []string{`INSERT INTO parapet.migrations (schema, version, name, sha256) VALUES ('wiki', 9000, 'x', 'y')`},
			mend: []string{`DELETE FROM parapet.migrations WHERE version = 9000`}, skipsAuditLog: true,
			want: []string{"migrations: a newer program has migrated the database"}},
		{name: "changed migration", breakIt: []string{`UPDATE parapet.migrations SET sha256 = 'x' || sha256 WHERE schema = 'parapet'`},
			mend: []string{`UPDATE parapet.migrations SET sha256 = substr(sha256, 2) WHERE schema = 'parapet'`}, skipsAuditLog: true,
			want: []string{"migrations: migrate: parapet/0001_bootstrap.sql was applied with checksum"}},
		{name: "different clocks", clockIsAhead: time.Hour, want: []string{"clocks: the clocks of this machine and of the database differ by "}},
		{name: "too many connections", settings: map[string]string{"PT_POOL_CONNS": "1000"}, want: []string{"database connections: one process needs up to 6006 connections"}},
		{name: "changed audit entry", breakIt: tampered, mend: repaired, want: []string{"audit log: 1 problems, the first: chain " + string(i.tenant) + ", entry 4"}},
		{name: "changed audit entry with --full", breakIt: tampered, mend: repaired, full: true, want: []string{"audit log: 1 problems, the first: chain " + string(i.tenant) + ", entry 4"}},
	} {
		// The cases share a cluster and change it, so they run one after the other.
		if !t.Run(c.name, func(t *testing.T) {
			i.t = t
			defer i.exec(c.mend...)
			i.exec(c.breakIt...)
			if c.passwords {
				i.requirePasswords(true)
				defer i.requirePasswords(false)
			}
			o := doctor.Options{Getenv: i.getenv(c.settings), Full: c.full}
			if c.clockIsAhead != 0 {
				o.Clock = clock.Func(func() time.Time { return time.Now().Add(c.clockIsAhead) })
			}
			requireProblems(t, i.problems(o), c.want)
			audited := slices.ContainsFunc(doctor.Run(t.Context(), o), func(f doctor.Finding) bool {
				return f.Check == "audit log" && f.Status != doctor.Skipped
			})
			if skips := c.skipsAuditLog || slices.ContainsFunc(c.want, func(p string) bool { return strings.HasPrefix(p, "database login") && !strings.Contains(p, "tracker") }); audited == skips {
				t.Errorf("audit log verified: got %t, want %t", audited, !skips)
			}
		}) {
			return
		}
	}
}

// requireProblems compares problems with the beginnings of the wanted ones.
func requireProblems(t *testing.T, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got the problems %q, want %q", got, want)
	}
	for n := range want {
		if !strings.HasPrefix(got[n], want[n]) {
			t.Errorf("problem %d: got %q, want it to begin with %q", n+1, got[n], want[n])
		}
	}
}

func TestRun_ComparesTheAuditLogWithTheCheckpoints(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	key, _, err := audit.NewCheckpointKey("test")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	pool, err := postgres.Open(t.Context(), postgres.Config{URL: i.server.URL("parapet", postgres.RoleJobs), MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	o := doctor.Options{Getenv: i.getenv(map[string]string{"PT_AUDIT_CHECKPOINT_DIR": dir, "PT_AUDIT_CHECKPOINT_KEY": key})}
	requireProblems(t, i.problems(o), nil) // a folder without checkpoints
	if err := audit.Checkpoint(t.Context(), pool, key, dir, time.Now()); err != nil {
		t.Fatal(err)
	}
	requireProblems(t, i.problems(o), nil)
	// Remove the newest entry and correct the head: the chain itself is consistent again.
	i.exec(`ALTER TABLE audit.entries DISABLE TRIGGER ALL`, `ALTER TABLE audit.heads DISABLE TRIGGER ALL`, `DELETE FROM audit.entries WHERE seq = 5`,
		`UPDATE audit.heads SET seq = 4, hash = (SELECT hash FROM audit.entries WHERE seq = 4)`)
	for _, full := range []bool{false, true} {
		o.Full = full
		requireProblems(t, i.problems(o), []string{"audit log: 1 problems, the first: checkpoint audit-"})
	}
}

func TestRun_ReportsEveryInvalidSetting(t *testing.T) {
	t.Parallel()
	policies := t.TempDir()
	environment := map[string]string{
		"PORT": "99999", "PT_HOST": "localhost", "PT_LOG_LEVEL": "loud", "PT_SMTP_URL": "smtps://mail.example", "PT_MAIL_FROM": "nobody",
		"DATABASE_URL": "mysql://user:" + urlPassword + "@db.example/x", "API_KEY_JWT_SECRET": "short", "PT_POLICY_DIR": policies,
		"PT_AUDIT_CHECKPOINT_DIR": filepath.Join(policies, "missing"),
	}
	var names []string
	for _, f := range doctor.Run(t.Context(), doctor.Options{Getenv: func(name string) string { return environment[name] }}) {
		if f.Status == doctor.Problem && f.Check != "listen address" { // depends on the default port of this machine
			names = append(names, f.Check)
		}
		if text := fmt.Sprint(f); strings.Contains(text, urlPassword) {
			t.Errorf("finding with a secret: %s", text)
		}
	}
	want := []string{
		"setting DATABASE_URL", "setting PORT", "setting PT_HOST", "setting PT_LOG_LEVEL", "setting PT_MAIL_FROM", "setting PT_PUBLIC_URL",
		"setting PT_AUDIT_CHECKPOINT_KEY", "setting PT_AUDIT_CHECKPOINT_DIR", "setting API_KEY_JWT_SECRET", "policies",
	}
	if slices.Sort(names); !slices.Equal(names, sorted(want)) {
		t.Errorf("got the problems %q, want %q", names, want)
	}
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

func TestRun_ListenAddress(t *testing.T) {
	t.Parallel()
	serve := func(body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
		t.Cleanup(s.Close)
		_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
		return port
	}
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, freePort, _ := net.SplitHostPort(free.Addr().String())
	_ = free.Close()
	for _, c := range []struct {
		name, port, host string
		status           doctor.Status
		result           string
	}{
		{"any port", "0", "127.0.0.1", doctor.OK, "a free port"},
		{"free port", freePort, "127.0.0.1", doctor.OK, "is free"},
		{"served by ptd", serve(`{"name":"Parapet","version":"v1\u001b"}`), "127.0.0.1", doctor.OK, `ptd "v1\x1b" serves`},
		{"served by ptd, every interface", serve(`{"name":"Parapet","version":"v1"}`), "0.0.0.0", doctor.OK, `ptd "v1" serves`},
		{"used by another program with JSON", serve(`{"name":"Other","version":"v1"}`), "127.0.0.1", doctor.Problem, "in use"},
		{"used by another program", serve(`hello`), "127.0.0.1", doctor.Problem, "in use"},
		{"address of another machine", "0", "192.0.2.1", doctor.Problem, "is not an address of this machine"},
	} {
		environment := map[string]string{"PORT": c.port, "PT_HOST": c.host}
		for _, f := range doctor.Run(t.Context(), doctor.Options{Getenv: func(name string) string { return environment[name] }}) {
			if f.Check == "listen address" && (f.Status != c.status || !strings.Contains(f.Result, c.result)) {
				t.Errorf("%s: got %+v, want %s with %q", c.name, f, c.status, c.result)
			}
		}
	}
}
