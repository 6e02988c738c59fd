package dev

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"parapet/internal/op"
	"parapet/internal/uid"
)

const actAs = "X-Act-As-Org"

// actInAnotherTenant sends x-act-as-org with every combination of caller and tenant.
func actInAnotherTenant(s *stage) {
	acme, northwind, globex := s.tenant("acme"), s.tenant("northwind"), s.tenant("globex")
	visitor := s.loginAs("project-manager@northwind.example")
	admin := s.loginAs("admin@acme.example")
	bot := s.want(201, "", "POST", "/api/auth/api-keys/service", admin, body{
		"label": "CI", "targetUserId": s.user("acme", "multi-llm-review@acme.invalid"),
	}).field(s.t, "token")
	everywhere := []string{
		string(acme.ID), string(acme.Organisations[0].ID), string(northwind.ID), string(northwind.Organisations[0].ID),
		string(globex.ID), string(globex.Organisations[0].ID), string(uid.Random()), "x", "",
	}
	for _, who := range []struct {
		name, token string
		// roles are the expected roles by tenant; other tenants must be rejected.
		roles map[op.UUID]string
	}{
		{"a visitor's session", visitor, map[op.UUID]string{northwind.ID: "Project Manager", acme.ID: "Member"}},
		{"a visitor's key", s.key(visitor), map[op.UUID]string{northwind.ID: "Project Manager", acme.ID: "Member"}},
		{"an administrator", admin, map[op.UUID]string{acme.ID: "Admin"}},
		{"an office's administrator", s.loginAs("admin@northwind.example"), map[op.UUID]string{northwind.ID: "Admin"}},
		{"a service principal", bot, map[op.UUID]string{acme.ID: "multi-llm-review"}},
	} {
		for _, where := range everywhere {
			target := map[string]op.UUID{
				everywhere[0]: acme.ID, everywhere[1]: acme.ID, everywhere[2]: northwind.ID, everywhere[3]: northwind.ID,
			}[where]
			a := s.do("GET", "/api/auth/me", who.token, nil, actAs, where)
			role, member := who.roles[target]
			switch {
			case member && (a.Code != 200 || !strings.Contains(a.Body, `"roles":["`+role+`"]`) || !strings.Contains(a.Body, `"tenantId":"`+string(target)+`"`)):
				s.t.Errorf("%s in tenant %q: got %d %s, want the role %s", who.name, where, a.Code, a.Body, role)
			case !member && (a.Code != 403 || a.Error.Code != "FORBIDDEN" || a.Error.Reason != "" || a.Error.Permission != ""):
				s.t.Errorf("%s in tenant %q: got %d %s, want the generic 403", who.name, where, a.Code, a.Body)
			}
		}
	}
	s.want(403, "FORBIDDEN", "GET", "/api/auth/me", visitor, nil, actAs, string(acme.ID), actAs, string(acme.ID))
	s.want(403, "project.create", "POST", "/api/projects", visitor, body{"name": "V", "startDate": "2027-01-01"}, actAs, string(acme.ID))
	// Acme administers the membership but not the user.
	path := "/api/users/" + string(s.user("northwind", "project-manager@northwind.example"))
	s.want(400, "reset-user-password", "PATCH", path, admin, body{"password": "a long enough secret"})
	s.want(403, "home tenant", "POST", path+"/password-reset", admin, nil)
	s.want(403, "home tenant", "PATCH", path, admin, body{"displayName": "X"})
	s.want(403, "home tenant", "POST", path+"/suspend", admin, body{})
}

// reuseCursorsAndKeys uses cursors and idempotency keys with other callers and operations.
func reuseCursorsAndKeys(s *stage) {
	manager, other, otherTenantUser := s.loginAs("project-manager@acme.example"), s.loginAs("admin@acme.example"), s.loginAs("project-manager@globex.example")
	create := func(name string) body { return body{"name": name, "startDate": "2027-01-01"} }
	for i := range 3 {
		s.want(201, "", "POST", "/api/projects", manager, create(fmt.Sprintf("Page %d", i)))
		s.want(201, "", "POST", "/api/projects", otherTenantUser, create(fmt.Sprintf("Page %d", i)))
	}
	cursor := s.want(200, "", "GET", "/api/projects?limit=1", manager, nil).field(s.t, "nextCursor")
	s.want(200, "", "GET", "/api/projects?limit=1&cursor="+cursor, manager, nil)
	s.want(400, `"field":"cursor"`, "GET", "/api/projects?limit=1&cursor="+cursor, otherTenantUser, nil)
	s.want(400, `"field":"cursor"`, "GET", "/api/users?limit=1&cursor="+cursor, manager, nil)
	s.want(400, `"field":"cursor"`, "GET", "/api/projects?limit=1&cursor="+cursor[1:], manager, nil)
	s.want(400, `"field":"limit"`, "GET", "/api/projects?limit=201", manager, nil)
	s.want(400, `"field":"query"`, "GET", "/api/projects?limit=1;cursor=x", manager, nil)
	const header, key = "Idempotency-Key", "once"
	first := s.want(201, "", "POST", "/api/projects", manager, create("Once"), header, key)
	if again := s.want(201, "", "POST", "/api/projects", manager, create("Once"), header, key); again.Body != first.Body {
		s.t.Errorf("repeated request: got %s, want the first response %s", again.Body, first.Body)
	}
	s.want(409, "CONFLICT", "POST", "/api/projects", manager, create("Twice"), header, key)
	for _, token := range []string{other, otherTenantUser} {
		if a := s.want(201, "", "POST", "/api/projects", token, create("Once"), header, key); a.field(s.t, "id") == first.field(s.t, "id") {
			s.t.Error("idempotency key of another user: got the stored response of that user")
		}
	}
	s.want(403, "project.create", "POST", "/api/projects", s.loginAs("guest@acme.example"), create("Once"), header, key)
	s.want(400, header, "POST", "/api/auth/api-keys", manager, body{"label": "x"}, header, key)
	// The record of a stored response was classified above the caller's clearance: the response
	// must not be repeated, as if the record did not exist.
	hidden := s.want(201, "", "POST", "/api/projects", manager, create("Hidden soon"), header, "hidden")
	s.want(200, "", "PATCH", "/api/projects/"+hidden.field(s.t, "id"), other, body{"classification": "SECRET"})
	if a := s.want(404, "NOT_FOUND", "POST", "/api/projects", manager, create("Hidden soon"), header, "hidden"); strings.Contains(a.Body, hidden.field(s.t, "id")) {
		s.t.Errorf("the response names the hidden project: %s", a.Body)
	}
	s.want(200, "SECRET", "GET", "/api/projects/"+hidden.field(s.t, "id"), other, nil)
	s.want(204, "", "DELETE", "/api/projects/"+hidden.field(s.t, "id"), other, nil, header, "gone")
	s.want(204, "", "DELETE", "/api/projects/"+hidden.field(s.t, "id"), other, nil, header, "gone")
	s.want(404, "NOT_FOUND", "DELETE", "/api/projects/"+hidden.field(s.t, "id"), other, nil, header, "gone again")
	// An API key of the same user does not get the stored response of the session.
	s.want(409, "credential of a different kind", "POST", "/api/projects", s.key(manager), create("Once"), header, key)
	ids := make([]string, 6)
	var group sync.WaitGroup
	for i := range ids {
		group.Go(func() {
			ids[i] = s.do("POST", "/api/projects", manager, create("At once"), header, "at-once").field(s.t, "id")
		})
	}
	group.Wait()
	for _, id := range ids {
		if id != ids[0] {
			s.t.Errorf("concurrent requests with one idempotency key: got the ids %v, want one", ids)
			break
		}
	}
}

// checkLiveness removes and restores each condition of the principal check: codes and reasons
// must be exact, and the credentials must work again.
func checkLiveness(s *stage) {
	admin, office := s.loginAs("admin@acme.example"), s.loginAs("admin@northwind.example")
	session, visitor := s.loginAs("reviewer@acme.example"), s.loginAs("project-manager@northwind.example")
	key := s.key(session)
	user, guest := string(s.user("acme", "reviewer@acme.example")), string(s.user("northwind", "project-manager@northwind.example"))
	acme := string(s.tenant("acme").ID)
	dead := func(reason string, tokens ...string) {
		s.t.Helper()
		for _, token := range tokens {
			s.waitUntilRejected(token, reason)
		}
	}
	s.want(200, "", "POST", "/api/users/"+user+"/suspend", admin, body{})
	dead("USER_SUSPENDED", key, session)
	s.want(200, "", "POST", "/api/users/"+user+"/activate", admin, body{})
	s.want(200, "", "GET", "/api/auth/me", key, nil)
	dead("", session)
	s.want(200, "", "PATCH", "/api/memberships/"+user, admin, body{"status": "SUSPENDED"})
	dead("USER_NOT_IN_TENANT", key)
	s.want(200, "", "PATCH", "/api/memberships/"+user, admin, body{"status": "ACTIVE"})
	s.want(200, "", "GET", "/api/auth/me", key, nil)
	// The target tenant is rejected, not the token: the generic 403.
	wantActAs := func(status int) {
		s.t.Helper()
		a := s.want(status, "", "GET", "/api/auth/me", visitor, nil, actAs, acme)
		if status == 403 && (a.Error.Code != "FORBIDDEN" || a.Error.Reason != "" || a.Error.Permission != "") {
			s.t.Errorf("target tenant: got %s, want the generic 403", a.Body)
		}
	}
	wantActAs(200)
	s.want(200, "", "PATCH", "/api/memberships/"+guest, admin, body{"status": "SUSPENDED"})
	wantActAs(403)
	s.want(200, "", "PATCH", "/api/memberships/"+guest, admin, body{"status": "ACTIVE"})
	wantActAs(200)
	s.want(409, "CONFLICT", "POST", "/api/tenants/"+string(s.tenant("northwind").ID)+"/disable", office, body{})
	s.want(200, "", "POST", "/api/tenants/"+acme+"/disable", office, body{})
	dead("TENANT_DISABLED", key, admin)
	wantActAs(403)
	s.want(200, "", "GET", "/api/auth/me", visitor, nil)
	s.want(200, "", "POST", "/api/tenants/"+acme+"/enable", office, body{})
	s.want(200, "", "GET", "/api/auth/me", key, nil)
	s.want(200, "", "GET", "/api/auth/me", admin, nil)
	wantActAs(200)
}

// checkDatabasePrivileges connects directly to the database with the address of each module.
func checkDatabasePrivileges(s *stage) {
	acme := s.tenant("acme").ID
	for module, url := range s.info.ModuleURLs {
		for _, statement := range []string{
			`TRUNCATE audit.entries`, `UPDATE audit.entries SET action = 'x'`, `DELETE FROM audit.entries`, `DELETE FROM audit.heads`, `TRUNCATE audit.heads`,
			`UPDATE identity.users SET integration_key = 'x'`, `UPDATE identity.users SET principal_kind = 'SERVICE'`, `SELECT password_hash FROM identity.users`,
			`TRUNCATE events.outbox`, `DELETE FROM events.outbox`, `SET ROLE parapet_auth`, `SET ROLE parapet_jobs`, `SET SESSION AUTHORIZATION postgres`,
			`CREATE TABLE public.x (a int)`, `CREATE SCHEMA x`, `CREATE TEMP TABLE x (a int)`, `SET session_replication_role = replica`,
			`ALTER TABLE audit.entries DISABLE TRIGGER ALL`, `COPY (SELECT 1) TO PROGRAM 'true'`, `SELECT pg_read_file('/etc/passwd')`,
		} {
			if err := s.sql(url, acme, statement); sqlState(err) != "42501" {
				s.t.Errorf("%s: %s: got %v, want a permission error", module, statement, err)
			}
		}
		reads := map[string]string{
			"identity": "projects.projects", "tracker": "identity.users", "catalog": "projects.projects", "wiki": "identity.users",
		}
		if err := s.sql(url, acme, `SELECT * FROM `+reads[module]); sqlState(err) != "42501" {
			s.t.Errorf("%s: read of %s: got %v, want a permission error", module, reads[module], err)
		}
	}
	for module, table := range map[string]string{"identity": "identity.organisations", "tracker": "projects.projects"} {
		for _, tenant := range []op.UUID{"", uid.Random(), acme} {
			if n := s.countForeignRows(s.info.ModuleURLs[module], tenant, table); n != 0 {
				s.t.Errorf("%s in tenant %q: got %d rows of other tenants in %s, want none", module, tenant, n, table)
			}
		}
	}
	// Even the owner cannot change audit entries and integration keys.
	for _, statement := range []string{`UPDATE audit.entries SET action = 'x'`, `DELETE FROM audit.entries`, `TRUNCATE audit.entries`, `TRUNCATE audit.entries CASCADE`} {
		if err := s.sql(s.info.DirectURL, "", statement); err == nil || !strings.Contains(err.Error(), "audit entries are immutable") {
			s.t.Errorf("owner: %s: got %v, want an error", statement, err)
		}
	}
	if err := s.sql(s.info.DirectURL, "", `UPDATE identity.users SET integration_key = 'x' WHERE principal_kind = 'SERVICE'`); err == nil || !strings.Contains(err.Error(), "immutable") {
		s.t.Errorf("owner: update of integration_key: got %v, want an error", err)
	}
}

// countForeignRows counts the rows of other tenants that a role sees.
func (s *stage) countForeignRows(url string, tenant op.UUID, table string) int {
	s.t.Helper()
	ctx := context.Background()
	tx, end := s.begin(ctx, url, tenant)
	defer end()
	n := 0
	if err := tx.QueryRow(ctx, `SELECT count(*) FROM `+table+` WHERE tenant_id::text <> $1`, string(tenant)).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// sqlState returns the SQLSTATE of a database error.
func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// searchForSecrets searches for secrets and free text in everything that is stored or logged.
func searchForSecrets(s *stage) {
	const needle = "n33dle-of-free-text"
	manager := s.loginAs("project-manager@acme.example")
	key := s.key(manager)
	project := s.want(201, "", "POST", "/api/projects", key, body{"name": needle, "startDate": "2027-01-01", "description": needle}).field(s.t, "id")
	s.want(201, "", "POST", "/api/projects/"+project+"/tasks", key, body{"title": needle, "description": needle})
	s.want(403, "", "PATCH", "/api/projects/"+project, s.loginAs("reviewer@acme.example"), body{"name": needle + "2"})
	s.want(401, "", "POST", "/api/auth/login", "", body{"email": "reviewer@acme.example", "password": needle})
	s.want(400, "", "GET", "/api/projects?search="+needle+"&token="+key, key, nil)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, s.info.DirectURL)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	kept := func(sql string) string {
		text := ""
		if err := conn.QueryRow(ctx, sql).Scan(&text); err != nil {
			s.t.Fatalf("%s: %v", sql, err)
		}
		return text
	}
	secrets := []string{"eyJ", "$argon2id$", s.info.APIKeyJWTSecret, s.info.CronSecret}
	for _, tenant := range s.info.Tenants {
		for _, u := range tenant.Users {
			if u.Password != nil {
				secrets = append(secrets, *u.Password)
			}
		}
	}
	private := append([]string{needle, "@acme.example", "@northwind.example"}, secrets...)
	for where, look := range map[string]struct {
		text   string
		absent []string
	}{
		"the log":                   {s.log.String(), private},
		"the metrics":               {s.do("GET", "/metrics", "", nil).Body, append([]string{"acme", string(s.tenant("acme").ID)}, private...)},
		"the decision log":          {kept(`SELECT coalesce(json_agg(d), '[]')::text FROM audit.decisions d`), private},
		"the subjects of decisions": {kept(`SELECT coalesce(json_agg(s), '[]')::text FROM audit.decision_subjects s`), private},
		"the audit log":             {kept(`SELECT coalesce(json_agg(e), '[]')::text FROM audit.entries e`), private},
		"the outbox":                {kept(`SELECT coalesce(json_agg(o), '[]')::text FROM events.outbox o`), secrets},
	} {
		for _, word := range look.absent {
			if i := strings.Index(look.text, word); i >= 0 {
				s.t.Errorf("%s contains %q: …%s…", where, word, look.text[max(0, i-80):min(len(look.text), i+40)])
			}
		}
	}
}
