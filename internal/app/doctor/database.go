package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"parapet/internal/app"
	"parapet/internal/audit"
	"parapet/internal/postgres"
	"parapet/internal/postgres/migrate"
)

// Names of the checks of the database.
const (
	checkLogin       = "database login"
	checkVersion     = "database version"
	checkConnections = "database connections"
	checkRoles       = "database roles"
	checkIsolation   = "row-level security"
	checkMigrations  = "migrations"
	checkClock       = "clocks"
	checkAudit       = "audit log"
)

// oldestServer is the oldest supported server_version_num.
const oldestServer = 150000

// checkDatabase connects as each login role that ptd serve uses and runs the other checks with
// the first that can connect.
func (e *examination) checkDatabase(ctx context.Context) {
	rest := []string{checkVersion, checkConnections, checkRoles, checkIsolation, checkMigrations, checkClock, checkAudit}
	if e.cfg.DatabaseURL == "" {
		for _, check := range append([]string{checkLogin}, rest...) {
			e.skip(check, "DATABASE_URL is not set or invalid")
		}
		return
	}
	pools := map[string]*postgres.Pool{}
	defer func() {
		for _, pool := range pools {
			pool.Close()
		}
	}()
	e.logIn(ctx, pools)
	if len(pools) == 0 {
		for _, check := range rest {
			e.skip(check, "no connection to the database")
		}
		return
	}
	var first *postgres.Pool
	for _, role := range app.ServingRoles() {
		if first == nil {
			first = pools[role]
		}
	}
	e.within(ctx, checkVersion, first, e.checkVersion)
	e.within(ctx, checkConnections, first, e.checkConnections)
	e.within(ctx, checkRoles, first, e.checkRoles)
	e.within(ctx, checkIsolation, first, e.checkIsolation)
	pending := false
	e.within(ctx, checkMigrations, first, func(ctx context.Context, pool *postgres.Pool) error {
		pending = e.checkMigrations(ctx, pool)
		return nil
	})
	e.within(ctx, checkClock, first, e.checkClock)
	switch jobs := pools[postgres.RoleJobs]; {
	case pending:
		e.skip(checkAudit, "the database lacks migrations")
	case jobs == nil:
		e.skip(checkAudit, postgres.RoleJobs+" cannot log in")
	default:
		e.checkAudit(ctx, jobs)
	}
}

// within runs a check with a time limit and reports its error as a problem.
func (e *examination) within(ctx context.Context, check string, pool *postgres.Pool, f func(context.Context, *postgres.Pool) error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := f(ctx, pool); err != nil {
		result, remedy := explain(err)
		e.problem(check, result, remedy)
	}
}

// logIn connects as each role. After a failure of the network it does not try the others.
func (e *examination) logIn(ctx context.Context, pools map[string]*postgres.Pool) {
	var connected []string
	for _, role := range app.ServingRoles() {
		pool, err := e.open(ctx, role)
		if err == nil {
			pools[role] = pool
			connected = append(connected, role)
			continue
		}
		result, remedy := explain(err)
		var server *pgconn.PgError
		if !errors.As(err, &server) {
			e.problem(checkLogin, result, remedy)
			return
		}
		e.problem(checkLogin+" "+role, result, remedy)
	}
	if len(connected) > 0 {
		e.ok(checkLogin, "%s can log in", strings.Join(connected, ", "))
	}
}

func (e *examination) open(ctx context.Context, role string) (*postgres.Pool, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	url, err := postgres.RoleURL(e.cfg.DatabaseURL, role, e.cfg.DBRoleSecret)
	if err != nil {
		return nil, err
	}
	return postgres.Open(ctx, postgres.Config{URL: url, MaxConns: 2})
}

// explain returns the text and the remedy of a database error. The text contains no address,
// because an address can contain a password.
func explain(err error) (result, remedy string) {
	var server *pgconn.PgError
	switch {
	case errors.As(err, &server):
		result = server.Message + " (SQLSTATE " + server.Code + ")"
		switch server.Code {
		case "28P01", "28000":
			return result, "Run `ptd migrate`, which creates the roles, and give every process the same PT_DB_ROLE_SECRET as `ptd migrate`. Check pg_hba.conf if the server rejects the address of this machine."
		case "3D000":
			return result, "Create the database, or correct its name in DATABASE_URL."
		case "42501":
			return result, "Run `ptd migrate`, which grants the privileges."
		case "53300":
			return result, "Raise max_connections of PostgreSQL, or lower PT_POOL_CONNS."
		}
		return result, "Read the log of PostgreSQL."
	case errors.Is(err, context.DeadlineExceeded):
		return "the database did not respond in time", "Check the load of the database and the network between it and this machine."
	default:
		return "the database cannot be reached: " + networkReason(err), "Start PostgreSQL, or correct the host and the port in DATABASE_URL."
	}
}

// networkReason returns the innermost error, which names the failed system call and not the
// address of the database.
func networkReason(err error) string {
	for {
		next := errors.Unwrap(err)
		if joined, ok := err.(interface{ Unwrap() []error }); ok && len(joined.Unwrap()) > 0 {
			next = joined.Unwrap()[0]
		}
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

func (e *examination) checkVersion(ctx context.Context, pool *postgres.Pool) error {
	var number int
	var text string
	if err := pool.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_version')`).Scan(&number, &text); err != nil {
		return err
	}
	if number < oldestServer {
		e.problem(checkVersion, "PostgreSQL "+text+" is too old", "Upgrade to PostgreSQL 15 or later.")
		return nil
	}
	e.ok(checkVersion, "PostgreSQL %s", text)
	return nil
}

// otherConnections is how many connections a process opens besides its pools, for LISTEN and
// the election of leaders.
const otherConnections = 6

func (e *examination) checkConnections(ctx context.Context, pool *postgres.Pool) error {
	var most int
	if err := pool.QueryRow(ctx, `SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int`).Scan(&most); err != nil {
		return err
	}
	needed := len(app.ServingRoles())*e.cfg.PoolConns + otherConnections
	if needed > most {
		e.problem(checkConnections, fmt.Sprintf("one process needs up to %d connections; the server allows %d", needed, most),
			"Raise max_connections of PostgreSQL, or lower PT_POOL_CONNS.")
		return nil
	}
	e.ok(checkConnections, "one process needs up to %d connections; the server allows %d", needed, most)
	return nil
}

func (e *examination) checkRoles(ctx context.Context, pool *postgres.Pool) error {
	problems, err := migrate.InspectRoles(ctx, pool)
	if err != nil {
		return err
	}
	for _, p := range problems {
		remedy := "Run `ptd migrate`."
		if p.Statement != "" {
			remedy = "As a superuser, run: " + p.Statement
		}
		e.problem(checkRoles, p.Role+" "+p.Problem, remedy)
	}
	if len(problems) == 0 {
		e.ok(checkRoles, "no role of the server is a superuser, bypasses row-level security or owns tables")
	}
	return nil
}

// listedTables limits how many tables a finding names.
const listedTables = 5

func (e *examination) checkIsolation(ctx context.Context, pool *postgres.Pool) error {
	tables, err := migrate.UnprotectedTables(ctx, pool)
	if err != nil {
		return err
	}
	if len(tables) > 0 {
		e.problem(checkIsolation, fmt.Sprintf("not forced for %d tables: %s", len(tables), strings.Join(tables[:min(len(tables), listedTables)], ", ")),
			"For each table, as the owner of the database: ALTER TABLE … ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY. Find out who turned it off.")
		return nil
	}
	e.ok(checkIsolation, "forced for every table with data of tenants")
	return nil
}

// checkMigrations reports whether the database lacks migrations or has unknown ones.
func (e *examination) checkMigrations(ctx context.Context, pool *postgres.Pool) (differs bool) {
	pending, err := migrate.Pending(ctx, pool)
	var server *pgconn.PgError
	switch {
	case errors.Is(err, migrate.ErrNewer):
		e.problem(checkMigrations, "a newer program has migrated the database", "Install the version of ptd that migrated the database, or a later one.")
	case errors.As(err, &server):
		result, remedy := explain(err)
		e.problem(checkMigrations, result, remedy)
	case err != nil:
		e.problem(checkMigrations, err.Error(), "Install the version of ptd that migrated the database. Never edit a migration.")
	case len(pending) > 0:
		e.problem(checkMigrations, fmt.Sprintf("%d migrations are missing, the first is %s", len(pending), pending[0].Path()), "Run `ptd migrate`.")
	default:
		e.ok(checkMigrations, "the database has every migration of this program")
		return false
	}
	return true
}

func (e *examination) checkClock(ctx context.Context, pool *postgres.Pool) error {
	before := e.options.Clock.Now()
	var server time.Time
	if err := pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&server); err != nil {
		return err
	}
	after := e.options.Clock.Now()
	difference := server.Sub(before.Add(after.Sub(before) / 2)).Abs()
	if difference > maxClockDifference+after.Sub(before) {
		e.problem(checkClock, fmt.Sprintf("the clocks of this machine and of the database differ by %s", difference.Round(time.Millisecond)),
			"Synchronize both clocks, for example with chrony.")
		return nil
	}
	e.ok(checkClock, "this machine and the database differ by less than %s", maxClockDifference)
	return nil
}

// checkAudit verifies the audit log: its newest entries, or all of it.
func (e *examination) checkAudit(ctx context.Context, pool *postgres.Pool) {
	report, err := e.verifyAudit(ctx, pool)
	if err != nil {
		result, remedy := explain(err)
		var server *pgconn.PgError
		if !errors.As(err, &server) && !errors.Is(err, context.DeadlineExceeded) {
			result, remedy = err.Error(), "Check PT_AUDIT_CHECKPOINT_DIR and PT_AUDIT_CHECKPOINT_KEY, then run `ptd audit verify`."
		}
		e.problem(checkAudit, result, remedy)
		return
	}
	const remedy = "Treat this as a security incident. `ptd audit verify` lists every problem."
	slices.SortStableFunc(report.Problems, func(a, b audit.Problem) int { return strings.Compare(string(a.Chain), string(b.Chain)) })
	if n := len(report.Problems); n > 0 {
		e.problem(checkAudit, fmt.Sprintf("%d problems, the first: %s", n, report.Problems[0]), remedy)
		return
	}
	part := "the newest entries of each chain"
	if e.options.Full {
		part = "every entry"
	}
	text := fmt.Sprintf("verified %s: %d chains, %d entries", part, report.Chains, report.Entries)
	if report.Checkpoints > 0 {
		text += fmt.Sprintf(", %d checkpoints", report.Checkpoints)
	}
	if report.Unverified > 0 {
		text += fmt.Sprintf("; %d chains were left out after %s (use --full)", report.Unverified, checkTimeout)
	}
	e.ok(checkAudit, "%s", text)
}

func (e *examination) verifyAudit(ctx context.Context, pool *postgres.Pool) (audit.TailReport, error) {
	folder := audit.CheckpointFolder{Dir: e.cfg.CheckpointDir, Key: e.cfg.CheckpointKey}
	if folder.Key == "" {
		folder.Dir = ""
	}
	if e.options.Full {
		report, err := audit.VerifyAll(ctx, pool, folder, e.options.Clock.Now())
		return audit.TailReport{Report: report}, err
	}
	return audit.VerifyTail(ctx, pool, tailEntries, checkTimeout, folder, e.options.Clock.Now())
}
