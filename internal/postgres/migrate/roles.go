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
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"parapet/internal/postgres"
)

// role is a role of the cluster, as it has to be.
type role struct {
	name  string
	login bool
	// settings hold for every session of the role, also behind a pooler that
	// drops start-up parameters.
	settings []string
}

// roles lists the roles of the product. A module's statements are short; those
// of the jobs are not bounded here, River bounds each job. Statements are compiled
// for none: compiling takes hundreds of milliseconds, longer than any of them runs.
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

const sqlRole = `
SELECT rolname AS name, rolcanlogin AS login,
       rolsuper OR rolbypassrls OR rolcreatedb OR rolcreaterole OR rolinherit OR rolreplication AS powerful,
       coalesce(rolconfig, '{}') AS config
FROM pg_catalog.pg_roles
WHERE rolname = @name`

type roleRow struct {
	Name     string
	Login    bool
	Powerful bool
	Config   []string
}

// ensureRoles makes the roles, or puts them right. Roles belong to the cluster,
// and another database's migration may be at the same ones: a lost race is
// tried again, and what is right already is not touched.
func ensureRoles(ctx context.Context, conn *pgx.Conn, secret string) error {
	for _, r := range roles() {
		var err error
		for attempt := range 20 {
			if err = ensureRole(ctx, conn, r, secret); !lostRace(err) {
				break
			}
			if serr := sleep(ctx, time.Duration(attempt+1)*10*time.Millisecond); serr != nil {
				return serr
			}
		}
		if err != nil {
			return fmt.Errorf("migrate: role %s: %w", r.name, err)
		}
	}
	for _, r := range roles() {
		if r.login {
			continue
		}
		if err := grantOwner(ctx, conn, r.name); err != nil {
			return err
		}
	}
	return nil
}

func ensureRole(ctx context.Context, conn *pgx.Conn, want role, secret string) error {
	attributes := "NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOINHERIT NOREPLICATION"
	if want.login {
		attributes = "LOGIN " + attributes
	} else {
		attributes = "NOLOGIN " + attributes
	}
	have, err := postgres.One[roleRow](ctx, conn, sqlRole, postgres.Args{"name": want.name})
	switch {
	case postgres.IsNoRows(err):
		// What a non-superuser may not even say (NOSUPERUSER, NOREPLICATION, …) is
		// the default, so a new role needs only the rest.
		verb := "CREATE ROLE %s NOLOGIN NOINHERIT"
		if want.login {
			verb = "CREATE ROLE %s LOGIN NOINHERIT"
		}
		if _, err := conn.Exec(ctx, fmt.Sprintf(verb, want.name)); err != nil {
			return err
		}
	case err != nil:
		return err
	case have.Powerful || have.Login != want.login:
		if _, err := conn.Exec(ctx, fmt.Sprintf("ALTER ROLE %s %s", want.name, attributes)); err != nil {
			return err
		}
	}
	if err := ensureSettings(ctx, conn, want, have.Config); err != nil {
		return err
	}
	if secret == "" || !want.login {
		return nil
	}
	verifier, err := scramVerifier(postgres.RolePassword(want.name, secret))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, fmt.Sprintf("ALTER ROLE %s PASSWORD '%s'", want.name, verifier))
	return err
}

func ensureSettings(ctx context.Context, conn *pgx.Conn, want role, have []string) error {
	set := make(map[string]bool, len(have))
	for _, s := range have {
		set[s] = true
	}
	for _, s := range want.settings {
		name, value, _ := strings.Cut(s, " = ")
		if set[name+"="+strings.Trim(value, "'")] {
			continue
		}
		if _, err := conn.Exec(ctx, fmt.Sprintf("ALTER ROLE %s SET %s", want.name, s)); err != nil {
			return err
		}
	}
	return nil
}

// grantOwner lets a migrating role that is no superuser give a function to a
// role that cannot log in.
func grantOwner(ctx context.Context, conn *pgx.Conn, owner string) error {
	var member bool
	err := conn.QueryRow(ctx, `SELECT pg_has_role(current_user, $1, 'USAGE')`, owner).Scan(&member)
	if err != nil {
		return fmt.Errorf("migrate: role %s: %w", owner, err)
	}
	if member {
		return nil
	}
	if _, err := conn.Exec(ctx, fmt.Sprintf("GRANT %s TO CURRENT_USER", owner)); err != nil {
		return fmt.Errorf("migrate: grant %s: %w", owner, err)
	}
	return nil
}

// ensureDatabase takes from PUBLIC what Postgres gives by default in a database,
// and says who may connect. A database's own grants are not copied when it is
// cloned, so this runs every time.
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
		var err error
		for attempt := range 20 {
			if _, err = conn.Exec(ctx, s); !lostRace(err) {
				break
			}
			if serr := sleep(ctx, time.Duration(attempt+1)*10*time.Millisecond); serr != nil {
				return serr
			}
		}
		if err != nil {
			return fmt.Errorf("migrate: grants: %w", err)
		}
	}
	return nil
}

// lostRace tells whether a statement on a shared catalogue failed because
// another session was at the same row: duplicate object, unique violation of the
// catalogue's own index, "tuple concurrently updated".
func lostRace(err error) bool {
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

// scramVerifier is what the server stores of a password (RFC 5803), computed
// here so that the password itself reaches no server log.
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
