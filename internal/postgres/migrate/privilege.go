package migrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"parapet/internal/postgres"
)

// settableRoles lists the roles that the owner of the database must be able to SET
// ROLE to:
//   - parapet_identity: `ptd db:create-office` and provisioning append audit entries
//     and events, and row-level security allows that only to the module roles.
//   - The roles that cannot log in: they own SECURITY DEFINER functions, and PostgreSQL
//     lets a role transfer an object only to a role that it can SET ROLE to. A migration
//     that changes such a function later does so after SET LOCAL ROLE.
//
// Since PostgreSQL 16 the owner does not inherit their privileges; on 15 that depends
// on the owner's INHERIT attribute. The owner owns every table anyway, so this gives it no
// additional access. The module roles are members of no other role.
func settableRoles() []string {
	settable := []string{postgres.RoleIdentity}
	for _, r := range roles() {
		if !r.login {
			settable = append(settable, r.name)
		}
	}
	return settable
}

const migratorSQL = `
SELECT rolname AS name, rolsuper AS superuser, rolcreaterole AS create_role,
       current_setting('server_version_num')::int AS server_version
FROM pg_catalog.pg_roles
WHERE rolname = current_user`

// migrator is the role that runs the migrations. ServerVersion is server_version_num.
type migrator struct {
	Name          string
	Superuser     bool
	CreateRole    bool
	ServerVersion int
}

// PrivilegeError is returned if the role that runs the migrations lacks privileges on the
// roles of the product.
type PrivilegeError struct {
	// Role is the role that runs the migrations.
	Role string
	// Statements grant the missing privileges. A superuser must run them.
	Statements []string
}

func (e *PrivilegeError) Error() string {
	return fmt.Sprintf("migrate: the role %s lacks privileges on the database roles of Parapet; a superuser must run: %s;",
		pgx.Identifier{e.Role}.Sanitize(), strings.Join(e.Statements, "; "))
}

// missingPrivileges returns the statements that a superuser must run before m can create and
// correct the product's roles; it is empty if m has all privileges. existing are the product's
// roles that exist. setPasswords reports whether m sets their passwords.
//
// On PostgreSQL 15, CREATEROLE is enough to alter and grant any role that is not elevated. Since 16
// this also requires the ADMIN option on the role, which m has for the roles that it creates.
func (m migrator) missingPrivileges(existing []roleRow, setPasswords bool) []string {
	if m.Superuser {
		return nil
	}
	options := m.ServerVersion >= postgres.VersionMembershipOptions
	var statements, admin, settable []string
	createRole := false
	for _, want := range roles() {
		i := slices.IndexFunc(existing, func(r roleRow) bool { return r.Name == want.name })
		if i < 0 {
			createRole = true
			continue
		}
		row := existing[i]
		if row.Elevated {
			statements = append(statements, want.revokeElevatedSQL())
			row.Elevated, row.Login, row.Inherit = false, want.login, false
		}
		grantable := row.Admin || (m.CreateRole && !options)
		if len(want.correctionSQL(row)) > 0 || (setPasswords && want.login) {
			createRole, grantable = true, true
			if options && !row.Admin {
				admin = append(admin, row.Name)
			}
		}
		if slices.Contains(settableRoles(), row.Name) && !row.Settable && !grantable {
			settable = append(settable, row.Name)
		}
	}
	member := pgx.Identifier{m.Name}.Sanitize()
	if createRole && !m.CreateRole {
		statements = append(statements, "ALTER ROLE "+member+" CREATEROLE")
	}
	if len(admin) > 0 {
		statements = append(statements, fmt.Sprintf("GRANT %s TO %s WITH ADMIN TRUE, INHERIT FALSE, SET FALSE", strings.Join(admin, ", "), member))
	}
	if len(settable) > 0 {
		statements = append(statements, postgres.GrantSetRole(m.ServerVersion, m.Name, settable...))
	}
	return statements
}
