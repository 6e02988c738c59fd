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

// The LOGIN roles of the product, each the owner of nothing.
const (
	RoleIdentity = "parapet_identity"
	RoleTracker  = "parapet_tracker"
	RoleCatalog  = "parapet_catalog"
	RoleWiki     = "parapet_wiki"
	RoleAuth     = "parapet_auth"
	RoleJobs     = "parapet_jobs"
	// RoleApp may connect and nothing else; it is the user of DATABASE_URL where
	// nobody named another.
	RoleApp = "parapet_app"
	// RoleContext and RoleSearch cannot log in; each owns a SECURITY DEFINER
	// function, and can read what that function needs and nothing else.
	RoleContext = "parapet_context"
	RoleSearch  = "parapet_search"
)

// SetRolePrivilegeSQL is the SQL expression that names, for pg_has_role, the
// privilege to SET ROLE and to give objects to a role: since PostgreSQL 16 a
// membership can lack it.
const SetRolePrivilegeSQL = `CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END`

// VersionMembershipOptions is the server_version_num since which a membership in a
// role has the options ADMIN, INHERIT and SET, and CREATEROLE alone gives no
// privilege on a role that another role created.
const VersionMembershipOptions = 160000

// GrantSetRole gives the statement that lets member SET ROLE to roles. Since
// PostgreSQL 16 the member does not inherit their privileges; before, that is an
// attribute of the member. serverVersion is the setting server_version_num.
func GrantSetRole(serverVersion int, member string, roles ...string) string {
	grant := fmt.Sprintf("GRANT %s TO %s", strings.Join(roles, ", "), pgx.Identifier{member}.Sanitize())
	if serverVersion < VersionMembershipOptions {
		return grant
	}
	return grant + " WITH INHERIT FALSE, SET TRUE"
}

// RolePassword is the password of a role, derived from the installation's
// secret, so that no process needs a list of passwords.
func RolePassword(role, secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(role))
	return hex.EncodeToString(mac.Sum(nil))
}

// RoleURL gives the address base for another role: the user is replaced, and
// the password too when secret is set; without a secret the address has none
// (trust or peer authentication). base is a URL or a keyword/value string.
func RoleURL(base, role, secret string) (string, error) {
	address, password, err := replaceUser(base, role, secret)
	if err != nil {
		return "", err
	}
	// What was built is read back: an odd base must not lead to another user.
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
		// Of a repeated keyword the last counts.
		return fmt.Sprintf("%s user=%s password='%s'", base, role, password), password, nil
	}
	u, err := url.Parse(base)
	if err != nil {
		// The parser's message would repeat the address, password and all.
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
