package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"parapet/internal/postgres"
	"parapet/internal/postgres/embedded"
)

// TestInstall_OwnerNeedsOnlyCreateRole installs the product in a new cluster: migrate,
// create-office, provision, log in. It runs as two owners that are not superusers. The
// second owner is NOINHERIT and finds the roles that the first owner created. Since
// PostgreSQL 16, every owner lacks these roles' permissions in this way (INHERIT FALSE).
// PT_POSTGRES_BIN selects the version of PostgreSQL.
func TestInstall_OwnerNeedsOnlyCreateRole(t *testing.T) {
	t.Parallel()
	server, err := embedded.Start(t.Context(), embedded.Options{Dir: t.TempDir(), Ephemeral: true, Binaries: os.Getenv("PT_POSTGRES_BIN")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	super, err := pgx.Connect(t.Context(), server.URL("postgres", server.Superuser()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = super.Close(context.WithoutCancel(t.Context())) })
	options := query(t, super, `SELECT current_setting('server_version_num')`) >= "160000"
	for _, owner := range []struct{ name, attributes string }{
		{"first", "LOGIN CREATEROLE"},
		{"second", "LOGIN CREATEROLE NOINHERIT"},
	} {
		statements := []string{`CREATE ROLE ` + owner.name + ` ` + owner.attributes, `CREATE DATABASE ` + owner.name + ` OWNER ` + owner.name}
		if options && owner.name == "second" {
			// Since PostgreSQL 16 only the owner that created the roles can alter and grant them.
			statements = append(statements, `GRANT parapet_identity, parapet_tracker, parapet_catalog, parapet_wiki, parapet_auth,
				parapet_jobs, parapet_app, parapet_context, parapet_search TO second WITH ADMIN TRUE, INHERIT FALSE, SET FALSE`)
		}
		for _, sql := range statements {
			if _, err := super.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		i := installation{t: t, direct: server.URL(owner.name, owner.name), pooled: server.URL(owner.name, postgres.RoleApp)}
		i.install(owner.name)
		if owner.name == "second" {
			// Row-level security hides the seeded tenants from the owner.
			dev, info := devServer(t, t.TempDir(), i.env()...)
			if len(info.Tenants) != 3 {
				t.Errorf("ptd dev on the database of an owner: got %d tenants, want 3", len(info.Tenants))
			}
			login(t, info, info.BaseURL, "admin@acme.example")
			if err := dev.stop(); err != nil {
				t.Errorf("stop of ptd dev: %v\n%s", err, dev.err.String())
			}
		}
		const reach = `SELECT coalesce(string_agg(rolname, ' ' ORDER BY rolname), '') FROM pg_roles WHERE rolname LIKE 'parapet\_%' AND pg_has_role($1, oid, `
		if got := query(t, super, reach+postgres.SetRolePrivilegeSQL+`)`, owner.name); got != "parapet_context parapet_identity parapet_search" {
			t.Errorf("%s can SET ROLE to: %s", owner.name, got)
		}
		if got := query(t, super, reach+`'USAGE')`, owner.name); got != "" && (options || owner.name == "second") {
			t.Errorf("%s inherits the privileges of: %s", owner.name, got)
		}
	}
	if got := query(t, super, `SELECT coalesce(string_agg(r.rolname, ' '), '') FROM pg_roles r WHERE r.rolname LIKE 'parapet\_%'
		AND (rolsuper OR rolbypassrls OR rolcreatedb OR rolcreaterole OR rolinherit OR rolreplication
			OR EXISTS (SELECT FROM pg_auth_members m WHERE m.member = r.oid))`); got != "" {
		t.Errorf("roles that gained a privilege: %s", got)
	}
}

func query(t *testing.T, conn *pgx.Conn, sql string, args ...any) (text string) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

// installation is a database on which ptd is installed.
type installation struct {
	t              *testing.T
	direct, pooled string
}

// install follows the installation steps of the documentation and logs in as the new administrator.
func (i installation) install(slug string) {
	i.t.Helper()
	const word = "a long enough password"
	i.run("", "migrate")
	if out := i.run("", "migrate"); !strings.HasPrefix(out, "0 applied") {
		i.t.Errorf("second migrate for %s: got %s", slug, out)
	}
	var office struct{ Tenant, Organisation string }
	out := i.run(word+"\n", "db:create-office", "--slug", slug, "--name", "Head office", "--admin-email", "admin@head.example", "--admin-name", "Admin", "--json")
	if err := json.Unmarshal([]byte(out), &office); err != nil {
		i.t.Fatalf("decode create-office output: %v: %s", err, out)
	}
	provision := []string{"db:provision-service-principals", "--tenant", office.Tenant, "--org", office.Organisation}
	if out := i.run("", provision...); strings.Count(out, "verified") != 2 {
		i.t.Errorf("provision for %s: got %s", slug, out)
	}
	if out := i.run("", provision...); !strings.Contains(out, "nothing to change") {
		i.t.Errorf("second provision for %s: got %s", slug, out)
	}
	port := freePort(i.t)
	p := start(i.t, append(i.env(), "PORT="+port, "API_KEY_JWT_SECRET="+strings.Repeat("x", 32)), "serve")
	c := &client{t: i.t, base: "http://127.0.0.1:" + port}
	waitReady(i.t, c.base)
	var session struct{ Token string }
	c.requireStatus(200, "POST", "/api/auth/login", map[string]any{"email": "admin@head.example", "password": word}).decode(i.t, &session)
	c.token = session.Token
	c.requireStatus(201, "POST", "/api/tenants", map[string]any{
		"slug": "branch", "name": "Branch", "organisationName": "Branch", "adminEmail": "colleague@branch.example", "adminName": "Colleague",
	})
	if err := p.stop(); err != nil {
		i.t.Errorf("stop of ptd serve: %v\n%s", err, p.err.String())
	}
}

func (i installation) env() []string {
	return []string{"DIRECT_URL=" + i.direct, "DATABASE_URL=" + i.pooled, "PT_DB_ROLE_SECRET=the secret of the installation"}
}

// run runs a command that must succeed and returns its output.
func (i installation) run(input string, args ...string) string {
	i.t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Env = i.env()
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		i.t.Fatalf("ptd %s: %v: %s", args[0], err, out)
	}
	return string(out)
}
