package migrate

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"parapet/internal/postgres"
)

// role is the wanted state of a database role.
type role struct {
	name  string
	login bool
	// settings apply to every session of the role, even behind a pooler that
	// drops start-up parameters.
	settings []string
}

// roles lists the roles of the product. Statements of modules are limited to 30 s; those
// of jobs are not limited here, because River limits each job. JIT is off because compiling
// takes hundreds of milliseconds, longer than any of the statements.
func roles() []role {
	const noJIT = "jit = off"
	module := []string{"statement_timeout = '30s'", "idle_in_transaction_session_timeout = '60s'", noJIT}
	return []role{
		{name: postgres.RoleIdentity, login: true, settings: module},
		{name: postgres.RoleTracker, login: true, settings: module},
		{name: postgres.RoleCatalog, login: true, settings: module},
		{name: postgres.RoleWiki, login: true, settings: module},
		{name: postgres.RoleAuth, login: true, settings: module},
		{name: postgres.RoleJobs, login: true, settings: []string{"idle_in_transaction_session_timeout = '300s'", noJIT}},
		{name: postgres.RoleApp, login: true},
		{name: postgres.RoleContext},
		{name: postgres.RoleSearch},
	}
}

const rolesSQL = `
SELECT rolname AS name, rolcanlogin AS login, rolinherit AS inherit,
       rolsuper OR rolbypassrls OR rolcreatedb OR rolcreaterole OR rolreplication AS elevated,
       coalesce(rolconfig, '{}') AS config,
       pg_has_role(current_user, oid, 'MEMBER WITH ADMIN OPTION') AS admin,
       pg_has_role(current_user, oid, ` + postgres.SetRolePrivilegeSQL + `) AS settable
FROM pg_catalog.pg_roles
WHERE rolname = ANY(@names)`

// roleRow is the actual state of a database role. Elevated: it has an attribute that no
// role of the product may have. Admin and Settable are privileges of the role that runs the
// migrations: it can grant the role, and it can SET ROLE to it.
type roleRow struct {
	Name     string
	Login    bool
	Inherit  bool
	Elevated bool
	Config   []string
	Admin    bool
	Settable bool
}

func readRoles(ctx context.Context, conn *pgx.Conn, names ...string) ([]roleRow, error) {
	return postgres.Collect[roleRow](ctx, conn, rolesSQL, postgres.Args{"names": names})
}

// ensureRoles creates missing roles and corrects those that differ. Before it changes an
// existing role, it returns a *PrivilegeError if it lacks a privilege for the changes.
func ensureRoles(ctx context.Context, conn *pgx.Conn, secret string) error {
	current, err := postgres.One[migrator](ctx, conn, migratorSQL)
	if err != nil {
		return fmt.Errorf("migrate: current role: %w", err)
	}
	names := make([]string, 0, len(roles()))
	for _, r := range roles() {
		names = append(names, r.name)
		if !current.Superuser && !current.CreateRole {
			continue
		}
		if err := retryLostRace(ctx, func() error { return createRole(ctx, conn, r) }); err != nil {
			return fmt.Errorf("migrate: role %s: %w", r.name, err)
		}
	}
	existing, err := readRoles(ctx, conn, names...)
	if err != nil {
		return fmt.Errorf("migrate: roles: %w", err)
	}
	if missing := current.missingPrivileges(existing, secret != ""); len(missing) > 0 {
		return &PrivilegeError{Role: current.Name, Statements: missing}
	}
	for _, r := range roles() {
		if err := retryLostRace(ctx, func() error { return alterRole(ctx, conn, r, secret) }); err != nil {
			return fmt.Errorf("migrate: role %s: %w", r.name, err)
		}
	}
	for _, r := range existing {
		if r.Settable || !slices.Contains(settableRoles(), r.Name) {
			continue
		}
		if err := retryLostRace(ctx, func() error {
			_, err := conn.Exec(ctx, postgres.GrantSetRole(current.ServerVersion, current.Name, r.Name))
			return err
		}); err != nil {
			return fmt.Errorf("migrate: grant %s: %w", r.Name, err)
		}
	}
	return nil
}

// createRole creates a role unless it exists. It does not name NOSUPERUSER, NOREPLICATION and
// NOBYPASSRLS: they are the defaults, and only a superuser may name them.
func createRole(ctx context.Context, conn *pgx.Conn, want role) error {
	existing, err := readRoles(ctx, conn, want.name)
	if err != nil || len(existing) > 0 {
		return err
	}
	_, err = conn.Exec(ctx, fmt.Sprintf("CREATE ROLE %s %s", want.name, want.attributesSQL()))
	return err
}

// attributesSQL returns the attributes that a role without SUPERUSER may set.
func (r role) attributesSQL() string {
	if r.login {
		return "LOGIN NOINHERIT"
	}
	return "NOLOGIN NOINHERIT"
}

// revokeElevatedSQL returns the statement that removes the attributes that no role of the product may
// have. Only a superuser can run it.
func (r role) revokeElevatedSQL() string {
	return fmt.Sprintf("ALTER ROLE %s %s NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION", r.name, r.attributesSQL())
}

// correctionSQL returns the statements that correct the role, without its password.
func (r role) correctionSQL(existing roleRow) []string {
	var statements []string
	switch {
	case existing.Elevated:
		statements = append(statements, r.revokeElevatedSQL())
	case existing.Login != r.login || existing.Inherit:
		statements = append(statements, fmt.Sprintf("ALTER ROLE %s %s", r.name, r.attributesSQL()))
	}
	for _, s := range r.settings {
		if !slices.Contains(existing.Config, configEntry(s)) {
			statements = append(statements, fmt.Sprintf("ALTER ROLE %s SET %s", r.name, s))
		}
	}
	return statements
}

// configEntry returns a setting in the form of pg_roles.rolconfig.
func configEntry(setting string) string {
	name, value, _ := strings.Cut(setting, " = ")
	return name + "=" + strings.Trim(value, "'")
}

// alterRole corrects an existing role and sets its password. It reads the role
// again because the migration of another database may have corrected it.
func alterRole(ctx context.Context, conn *pgx.Conn, want role, secret string) error {
	existing, err := readRoles(ctx, conn, want.name)
	if err != nil {
		return err
	}
	var statements []string
	for _, r := range existing {
		statements = append(statements, want.correctionSQL(r)...)
	}
	if secret != "" && want.login {
		verifier, err := scramVerifier(postgres.RolePassword(want.name, secret))
		if err != nil {
			return err
		}
		statements = append(statements, fmt.Sprintf("ALTER ROLE %s PASSWORD '%s'", want.name, verifier))
	}
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// ensureDatabase revokes the default privileges of PUBLIC in the database and grants
// CONNECT to the roles. It runs every time because cloning a database does not copy its
// grants.
func ensureDatabase(ctx context.Context, conn *pgx.Conn) error {
	name := pgx.Identifier{""}
	if err := conn.QueryRow(ctx, `SELECT current_database()`).Scan(&name[0]); err != nil {
		return fmt.Errorf("migrate: database: %w", err)
	}
	var logins []string
	for _, r := range roles() {
		if r.login {
			logins = append(logins, r.name)
		}
	}
	readers := strings.Join(logins[:len(logins)-1], ", ") // all but parapet_app, the last
	statements := []string{
		fmt.Sprintf("REVOKE ALL ON DATABASE %s FROM PUBLIC", name.Sanitize()),
		fmt.Sprintf("GRANT CONNECT ON DATABASE %s TO %s", name.Sanitize(), strings.Join(logins, ", ")),
		fmt.Sprintf("GRANT USAGE ON SCHEMA parapet TO %s", readers),
		fmt.Sprintf("GRANT SELECT ON parapet.migrations TO %s", readers),
	}
	for _, s := range statements {
		err := retryLostRace(ctx, func() error {
			_, err := conn.Exec(ctx, s)
			return err
		})
		if err != nil {
			return fmt.Errorf("migrate: grants: %w", err)
		}
	}
	return nil
}

// retryLostRace retries f after a lost race (isLostRace): roles belong to the
// cluster, and the migrations of several databases may change them concurrently.
func retryLostRace(ctx context.Context, f func() error) error {
	var err error
	for attempt := range 20 {
		if err = f(); !isLostRace(err) {
			break
		}
		if sleepErr := sleep(ctx, time.Duration(attempt+1)*10*time.Millisecond); sleepErr != nil {
			return sleepErr
		}
	}
	return err
}

// isLostRace reports whether a statement on a shared catalogue failed because
// another session changed the same row: duplicate object, unique violation of the
// catalogue's index, or "tuple concurrently updated".
func isLostRace(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	switch pg.Code {
	case "42710", "23505", "40001", "40P01":
		return true
	case "XX000":
		return strings.Contains(pg.Message, "concurrently")
	}
	return false
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// scramVerifier returns the form in which the server stores a password (RFC 5803). It is
// computed in this process so that the password reaches no server log.
func scramVerifier(password string) (string, error) {
	const iterations = 4096
	salt := make([]byte, 16)
	if _, err := rand.Read(salt); err != nil {
		return "", err
	}
	salted, err := pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
	if err != nil {
		return "", err
	}
	sum := func(key []byte, text string) []byte {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(text))
		return mac.Sum(nil)
	}
	stored := sha256.Sum256(sum(salted, "Client Key"))
	server := sum(salted, "Server Key")
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", iterations, b64(salt), b64(stored[:]), b64(server)), nil
}
