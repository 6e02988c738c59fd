package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/postgres"
	"parapet/internal/postgres/embedded"
	"parapet/internal/postgres/migrate"
	"parapet/internal/postgres/pgtest"
	"parapet/migrations"
)

// files returns migration files for the schema parapet, one for each text.
func files(sql ...string) fstest.MapFS {
	fs := fstest.MapFS{}
	for i, s := range sql {
		fs[fmt.Sprintf("parapet/%04d_step.sql", i+1)] = &fstest.MapFile{Data: []byte(s)}
	}
	return fs
}

func up(t *testing.T, db *pgtest.DB, fs fstest.MapFS) (migrate.Report, error) {
	t.Helper()
	return migrate.Up(t.Context(), db.URL(), migrate.Options{FS: fs, Schemas: []string{"parapet", "other"}})
}

func TestUp_SecondRunAppliesNothing(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	first, err := migrate.Up(t.Context(), db.URL(), pgtest.MigrateOptions())
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Applied) == 0 || first.Applied[0].Schema != "parapet" {
		t.Errorf("first run: got applied %v, want all migrations, beginning with the schema parapet", first.Applied)
	}
	second, err := migrate.Up(t.Context(), db.URL(), pgtest.MigrateOptions())
	if err != nil || len(second.Applied) != 0 {
		t.Errorf("second run: got applied %v, %v; want none", second.Applied, err)
	}
	for _, role := range []string{postgres.RoleIdentity, postgres.RoleTracker, postgres.RoleJobs, postgres.RoleAuth} {
		if pending, err := migrate.Pending(t.Context(), db.Pool(t, role)); err != nil || len(pending) != 0 {
			t.Errorf("Pending for %s: got %v, %v; want none", role, pending, err)
		}
	}
	if _, err := migrate.Pending(t.Context(), db.Pool(t, postgres.RoleApp)); err == nil {
		t.Error("Pending for parapet_app: got no error")
	}
}

func TestPending_EmptyDatabase_ReturnsAllMigrations(t *testing.T) {
	t.Parallel()
	pending, err := migrate.Pending(t.Context(), pgtest.Empty(t).Owner(t))
	if err != nil || len(pending) == 0 {
		t.Errorf("Pending: got %v, %v; want all migrations", pending, err)
	}
}

func TestUp_DifferentHistory_ReturnsError(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	if _, err := up(t, db, files(`CREATE SCHEMA other`, `CREATE TABLE other.a (id int)`)); err != nil {
		t.Fatal(err)
	}
	renamed := files(`CREATE SCHEMA other`)
	renamed["parapet/0002_renamed.sql"] = &fstest.MapFile{Data: []byte(`CREATE TABLE other.a (id int)`)}
	for name, c := range map[string]struct {
		fs   fstest.MapFS
		want error
	}{
		"changed":      {files(`CREATE SCHEMA other -- again`, `CREATE TABLE other.a (id int)`), migrate.ErrChanged},
		"renamed":      {renamed, migrate.ErrChanged},
		"newer":        {files(`CREATE SCHEMA other`), migrate.ErrNewer},
		"newer, empty": {fstest.MapFS{}, migrate.ErrNewer},
	} {
		if _, err := up(t, db, c.fs); !errors.Is(err, c.want) || !strings.Contains(err.Error(), "parapet/000") {
			t.Errorf("%s: Up: got %v, want %v", name, err, c.want)
		}
	}
	if _, err := up(t, db, files(`CREATE SCHEMA other`, `CREATE TABLE other.a (id int)`, `CREATE TABLE other.b (id int)`)); err != nil {
		t.Errorf("Up with one more file: %v", err)
	}
	if _, err := db.Owner(t).Exec(t.Context(), `DELETE FROM parapet.migrations WHERE version = 2`); err != nil {
		t.Fatal(err)
	}
	if _, err := up(t, db, files(`CREATE SCHEMA other`, `CREATE TABLE other.a (id int)`, `CREATE TABLE other.b (id int)`)); !errors.Is(err, migrate.ErrGap) {
		t.Errorf("Up with a gap: got %v, want ErrGap", err)
	}
}

func TestUp_RejectsInvalidFileNames(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	for _, name := range []string{"parapet/1_a.sql", "parapet/0001.sql", "parapet/0001_.sql", "parapet/0002_a.sql", "parapet/abcd_a.sql", "parapet/-001_a.sql", "unknown/0001_a.sql"} {
		if _, err := up(t, db, fstest.MapFS{name: &fstest.MapFile{Data: []byte(`SELECT 1`)}}); err == nil {
			t.Errorf("Up with the file %s: got no error", name)
		}
	}
}

func TestUp_FailedFileIsRolledBack(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	report, err := up(t, db, files(`CREATE SCHEMA other`, "CREATE TABLE other.a (id int);\n\nSELECT * FROM nowhere;"))
	if err == nil || !strings.Contains(err.Error(), "parapet/0002_step.sql") || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("Up: got %v, want an error that names the file and line 3", err)
	}
	if len(report.Applied) != 1 {
		t.Errorf("Up: got applied %v, want the first file only", report.Applied)
	}
	if _, err := up(t, db, files(`CREATE SCHEMA other`, `CREATE TABLE other.a (id int)`)); err != nil {
		t.Errorf("Up after the file was repaired: %v", err)
	}
}

func TestUp_ConcurrentRunsApplyEachFileOnce(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	var mu sync.Mutex
	applied := 0
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			report, err := migrate.Up(t.Context(), db.URL(), pgtest.MigrateOptions())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			applied += len(report.Applied)
		})
	}
	wg.Wait()
	var rows int
	if err := db.Owner(t).QueryRow(t.Context(), `SELECT count(*) FROM parapet.migrations`).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	if applied != rows || rows == 0 {
		t.Errorf("concurrent runs: got %d files applied and %d recorded, want equal numbers above 0", applied, rows)
	}
}

// TestUp_FreshCluster needs a new cluster: several databases are migrated concurrently by
// a role that is not a superuser, and the roles get passwords.
func TestUp_FreshCluster(t *testing.T) {
	t.Parallel()
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
	admin, err := pgx.Connect(t.Context(), server.URL("postgres", server.Superuser()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close(context.WithoutCancel(t.Context())) }()
	if _, err := admin.Exec(t.Context(), `CREATE ROLE migrator LOGIN CREATEROLE NOSUPERUSER`); err != nil {
		t.Fatal(err)
	}
	const secret = "the secret of the installation"
	opts := pgtest.MigrateOptions()
	opts.RoleSecret = secret
	var wg sync.WaitGroup
	for i := range 4 {
		name := fmt.Sprintf("db%d", i)
		if _, err := admin.Exec(t.Context(), `CREATE DATABASE `+name+` OWNER migrator`); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if _, err := migrate.Up(t.Context(), server.URL(name, "migrator"), opts); err != nil {
				t.Errorf("Up of database %s: %v", name, err)
			}
		})
	}
	wg.Wait()

	t.Run("owner that lacks privileges", func(t *testing.T) { testOwnerPrivileges(t, server, admin, opts) })

	// From here on the server requires passwords.
	hba := "local all postgres trust\nlocal all all scram-sha-256\n"
	if err := os.WriteFile(filepath.Join(dir, "data", "pg_hba.conf"), []byte(hba), 0o600); err != nil {
		t.Fatal(err)
	}
	var reloaded bool
	if err := admin.QueryRow(t.Context(), `SELECT pg_reload_conf()`).Scan(&reloaded); err != nil || !reloaded {
		t.Fatal(err)
	}
	connect := func(role, secret string) error {
		url, err := postgres.RoleURL(server.URL("db0", "app"), role, secret)
		if err != nil {
			return err
		}
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			return err
		}
		return conn.Close(t.Context())
	}
	// The server reloads the file asynchronously.
	pgtest.Eventually(t, time.Minute, "the server requires passwords", func() bool { return connect(postgres.RoleApp, "another secret") != nil })
	for _, role := range []string{postgres.RoleIdentity, postgres.RoleTracker, postgres.RoleCatalog, postgres.RoleWiki, postgres.RoleAuth, postgres.RoleJobs, postgres.RoleApp} {
		if err := connect(role, secret); err != nil {
			t.Errorf("connect as %s with its password: %v", role, err)
		}
		if err := connect(role, "another secret"); err == nil {
			t.Errorf("connect as %s with another password: got no error", role)
		}
	}
	for _, role := range []string{postgres.RoleContext, postgres.RoleSearch} {
		if err := connect(role, secret); err == nil {
			t.Errorf("connect as %s: got no error", role)
		}
	}
	// Up corrects a role that has too many attributes, and applies a new secret.
	if _, err := admin.Exec(t.Context(), `ALTER ROLE parapet_wiki SUPERUSER CREATEDB`); err != nil {
		t.Fatal(err)
	}
	opts.RoleSecret = "a new secret"
	if _, err := migrate.Up(t.Context(), server.URL("db0", server.Superuser()), opts); err != nil {
		t.Fatal(err)
	}
	var super bool
	if err := admin.QueryRow(t.Context(), `SELECT rolsuper OR rolcreatedb FROM pg_roles WHERE rolname = 'parapet_wiki'`).Scan(&super); err != nil || super {
		t.Errorf("parapet_wiki after Up: got SUPERUSER or CREATEDB %t, %v; want false", super, err)
	}
	if err := connect(postgres.RoleWiki, opts.RoleSecret); err != nil {
		t.Error(err)
	}
}

// testOwnerPrivileges migrates as owners that lack a privilege, runs the statements
// of the error as a superuser, and migrates again.
func testOwnerPrivileges(t *testing.T, server *embedded.Server, admin *pgx.Conn, opts migrate.Options) {
	t.Helper()
	exec := func(statements ...string) {
		t.Helper()
		for _, sql := range statements {
			if _, err := admin.Exec(t.Context(), sql); err != nil {
				t.Fatalf("exec %s: %v", sql, err)
			}
		}
	}
	exec(`CREATE ROLE plain LOGIN`, `CREATE DATABASE plain OWNER plain`)
	grant := func(roles, options string) string { return `GRANT ` + roles + ` TO "plain"` + options }
	noPasswords := []string{grant("parapet_identity, parapet_context, parapet_search", "")}
	passwords := []string{`ALTER ROLE "plain" CREATEROLE`}
	var version int
	if err := admin.QueryRow(t.Context(), `SELECT current_setting('server_version_num')::int`).Scan(&version); err != nil {
		t.Fatal(err)
	}
	if version >= postgres.VersionMembershipOptions {
		noPasswords = []string{grant("parapet_identity, parapet_context, parapet_search", " WITH INHERIT FALSE, SET TRUE")}
		passwords = append(passwords, grant("parapet_identity, parapet_tracker, parapet_catalog, parapet_wiki, parapet_auth, parapet_jobs, parapet_app",
			" WITH ADMIN TRUE, INHERIT FALSE, SET FALSE"))
	}
	withoutPasswords := opts
	withoutPasswords.RoleSecret = ""
	for _, c := range []struct {
		name, owner, before string
		opts                migrate.Options
		want                []string
	}{
		{name: "the owner corrects INHERIT", owner: "migrator", before: `ALTER ROLE parapet_wiki INHERIT`, opts: opts},
		{
			name: "a superuser corrects an elevated role", owner: "migrator", before: `ALTER ROLE parapet_wiki CREATEDB`, opts: opts,
			want: []string{`ALTER ROLE parapet_wiki LOGIN NOINHERIT NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION`},
		},
		{name: "owner without CREATEROLE, roles created by others", owner: "plain", opts: withoutPasswords, want: noPasswords},
		{name: "owner without CREATEROLE that must set passwords", owner: "plain", opts: opts, want: passwords},
	} {
		if c.before != "" {
			exec(c.before)
		}
		database := map[string]string{"migrator": "db0", "plain": "plain"}[c.owner]
		up := func() error {
			_, err := migrate.Up(t.Context(), server.URL(database, c.owner), c.opts)
			return err
		}
		err := up()
		if len(c.want) > 0 {
			var lacks *migrate.PrivilegeError
			if !errors.As(err, &lacks) || !slices.Equal(lacks.Statements, c.want) || !strings.Contains(err.Error(), `"`+c.owner+`"`) || !strings.Contains(err.Error(), strings.Join(c.want, "; ")+";") {
				t.Fatalf("%s: Up: got %v, want a PrivilegeError with the statements", c.name, err)
			}
			exec(lacks.Statements...)
			err = up()
		}
		if err != nil {
			t.Errorf("%s: Up after the statements: %v", c.name, err)
		}
	}
	var different int
	err := admin.QueryRow(t.Context(), `SELECT count(*) FROM pg_roles WHERE rolname LIKE 'parapet\_%' AND (rolinherit OR rolcreatedb)`).Scan(&different)
	if err != nil || different != 0 {
		t.Errorf("got %d roles that were not corrected, %v; want 0", different, err)
	}
}

// TestHash_ProgramFilesLoad verifies that every folder is listed and that the files
// load.
func TestHash_ProgramFilesLoad(t *testing.T) {
	t.Parallel()
	if hash, err := migrate.Hash(); err != nil || len(hash) != 64 {
		t.Errorf("Hash: got %q, %v; want 64 hex digits", hash, err)
	}
	if first := migrations.Schemas()[0]; first != "parapet" {
		t.Errorf("Schemas: got %s first, want parapet", first)
	}
}
