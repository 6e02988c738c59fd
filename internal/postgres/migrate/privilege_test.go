package migrate

import (
	"slices"
	"testing"

	"parapet/internal/postgres"
)

// TestMigrator_MissingPrivileges covers every supported version of PostgreSQL, whichever
// version runs the tests.
func TestMigrator_MissingPrivileges(t *testing.T) {
	t.Parallel()
	const logins = "parapet_identity, parapet_tracker, parapet_catalog, parapet_wiki, parapet_auth, parapet_jobs, parapet_app"
	for name, c := range map[string]struct {
		version      int
		createRole   bool
		superuser    bool
		setPasswords bool
		change       func(r *roleRow)
		want         []string
	}{
		"15, CREATEROLE: needs nothing":            {version: 150018, createRole: true, setPasswords: true},
		"16, CREATEROLE, roles created by itself":  {version: 160001, createRole: true, setPasswords: true, change: func(r *roleRow) { r.Admin = true }},
		"16, nothing to change":                    {version: 160001, change: func(r *roleRow) { r.Settable = true }},
		"superuser: needs nothing":                 {version: 170000, superuser: true, setPasswords: true, change: func(r *roleRow) { r.Elevated = true }},
		"15, no CREATEROLE: needs the grant only":  {version: 150018, want: []string{`GRANT parapet_identity, parapet_context, parapet_search TO "the owner"`}},
		"15, no CREATEROLE, sets passwords":        {version: 150018, setPasswords: true, want: []string{`ALTER ROLE "the owner" CREATEROLE`, `GRANT parapet_context, parapet_search TO "the owner"`}},
		"15, no CREATEROLE, a setting differs":     {version: 150018, change: wiki(func(r *roleRow) { r.Config = nil }), want: []string{`ALTER ROLE "the owner" CREATEROLE`}},
		"16, CREATEROLE, roles created by another": {version: 160001, createRole: true, want: []string{`GRANT parapet_identity, parapet_context, parapet_search TO "the owner" WITH INHERIT FALSE, SET TRUE`}},
		"16, one of the roles is granted already":  {version: 160001, createRole: true, change: func(r *roleRow) { r.Settable = r.Name == postgres.RoleSearch }, want: []string{`GRANT parapet_identity, parapet_context TO "the owner" WITH INHERIT FALSE, SET TRUE`}},
		"16, roles created by another, sets passwords": {version: 160001, createRole: true, setPasswords: true, want: []string{
			`GRANT ` + logins + ` TO "the owner" WITH ADMIN TRUE, INHERIT FALSE, SET FALSE`,
			`GRANT parapet_context, parapet_search TO "the owner" WITH INHERIT FALSE, SET TRUE`,
		}},
		"17, no CREATEROLE, sets passwords": {version: 170000, setPasswords: true, change: func(r *roleRow) { r.Settable = true }, want: []string{
			`ALTER ROLE "the owner" CREATEROLE`,
			`GRANT ` + logins + ` TO "the owner" WITH ADMIN TRUE, INHERIT FALSE, SET FALSE`,
		}},
		"16, a setting differs":    {version: 160001, createRole: true, change: wiki(func(r *roleRow) { r.Config = nil }), want: []string{`GRANT parapet_wiki TO "the owner" WITH ADMIN TRUE, INHERIT FALSE, SET FALSE`}},
		"16, NOINHERIT is missing": {version: 160001, createRole: true, change: wiki(func(r *roleRow) { r.Inherit = true }), want: []string{`GRANT parapet_wiki TO "the owner" WITH ADMIN TRUE, INHERIT FALSE, SET FALSE`}},
		"an elevated role": {version: 150018, createRole: true, change: wiki(func(r *roleRow) { r.Elevated = true }), want: []string{
			`ALTER ROLE parapet_wiki LOGIN NOINHERIT NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION`,
		}},
		"no roles and no CREATEROLE": {version: 150018, change: func(r *roleRow) { r.Name = "" }, want: []string{`ALTER ROLE "the owner" CREATEROLE`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var existing []roleRow
			for _, r := range roles() {
				row := roleRow{Name: r.name, Login: r.login}
				for _, s := range r.settings {
					row.Config = append(row.Config, configEntry(s))
				}
				if c.change != nil {
					c.change(&row)
				}
				if row.Name != "" {
					existing = append(existing, row)
				}
			}
			m := migrator{Name: "the owner", Superuser: c.superuser, CreateRole: c.createRole, ServerVersion: c.version}
			if got := m.missingPrivileges(existing, c.setPasswords); !slices.Equal(got, c.want) {
				t.Errorf("missingPrivileges:\ngot %q\nwant %q", got, c.want)
			}
		})
	}
}

// wiki returns a function that applies change to parapet_wiki and makes every role settable.
func wiki(change func(*roleRow)) func(*roleRow) {
	return func(r *roleRow) {
		r.Settable = true
		if r.Name == postgres.RoleWiki {
			change(r)
		}
	}
}
