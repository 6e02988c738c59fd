package postgres

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The LOGIN roles. They own no database objects, except RoleContext and RoleSearch.
const (
	RoleIdentity = "parapet_identity"
	RoleTracker  = "parapet_tracker"
	RoleCatalog  = "parapet_catalog"
	RoleWiki     = "parapet_wiki"
	RoleAuth     = "parapet_auth"
	RoleJobs     = "parapet_jobs"
	// RoleApp may only connect. It is the default user of DATABASE_URL.
	RoleApp = "parapet_app"
	// RoleContext and RoleSearch cannot log in. Each owns a SECURITY DEFINER
	// function and can read only the tables that the function needs.
	RoleContext = "parapet_context"
	RoleSearch  = "parapet_search"
)

// SetRolePrivilegeSQL is an SQL expression for the privilege argument of pg_has_role.
// It names the privilege to SET ROLE and to transfer objects to a role; since
// PostgreSQL 16 a membership can lack it.
const SetRolePrivilegeSQL = `CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END`

// VersionMembershipOptions is the first server_version_num in which role memberships
// have the options ADMIN, INHERIT and SET, and in which CREATEROLE alone grants no
// privilege on a role that another role created.
const VersionMembershipOptions = 160000

// GrantSetRole returns the statement that lets member SET ROLE to roles. Since
// PostgreSQL 16 the member does not inherit their privileges; in older versions that
// depends on the member's INHERIT attribute. serverVersion is server_version_num.
func GrantSetRole(serverVersion int, member string, roles ...string) string {
	grant := fmt.Sprintf("GRANT %s TO %s", strings.Join(roles, ", "), pgx.Identifier{member}.Sanitize())
	if serverVersion < VersionMembershipOptions {
		return grant
	}
	return grant + " WITH INHERIT FALSE, SET TRUE"
}

// RolePassword derives the password of a role from the secret of the installation, so
// that no process needs a list of passwords.
func RolePassword(role, secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(role))
	return hex.EncodeToString(mac.Sum(nil))
}

// RoleURL returns the address base with another role: it replaces the user and the
// password. If secret is empty, the address has no password (trust or peer
// authentication). base is a URL or a keyword/value string.
func RoleURL(base, role, secret string) (string, error) {
	address, password, err := replaceUser(base, role, secret)
	if err != nil {
		return "", err
	}
	// Parse the result again: an unusual base must not lead to another user.
	cfg, err := pgconn.ParseConfig(address)
	if err != nil {
		return "", fmt.Errorf("postgres: database address: %w", err)
	}
	if cfg.User != role || (secret != "" && cfg.Password != password) {
		return "", fmt.Errorf("postgres: the user of the database address cannot be replaced by %s", role)
	}
	return address, nil
}

func replaceUser(base, role, secret string) (address, password string, err error) {
	if strings.TrimSpace(base) == "" {
		return "", "", fmt.Errorf("postgres: no database address")
	}
	if secret != "" {
		password = RolePassword(role, secret)
	}
	if !strings.HasPrefix(base, "postgres://") && !strings.HasPrefix(base, "postgresql://") {
		if !strings.Contains(base, "=") {
			return "", "", fmt.Errorf("postgres: the database address is neither a URL nor key=value pairs")
		}
		// If a keyword is repeated, the last one counts.
		return fmt.Sprintf("%s user=%s password='%s'", base, role, password), password, nil
	}
	u, err := url.Parse(base)
	if err != nil {
		// The parser's message would repeat the address and its password.
		return "", "", fmt.Errorf("postgres: the database address is not a URL")
	}
	u.User = url.User(role)
	if password != "" {
		u.User = url.UserPassword(role, password)
	}
	q := u.Query()
	q.Del("user")
	q.Del("password")
	u.RawQuery = q.Encode()
	return u.String(), password, nil
}
