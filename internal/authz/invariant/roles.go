package invariant

import (
	"fmt"
	"slices"
)

// ownKeys are the write permissions of roles that otherwise only read.
var ownKeys = []string{"api_key.issue", "api_key.revoke", "api_key.revoke.own"}

func checkGuestRole(c *checker) { c.readsOnly("Guest Customer") }

func checkAuditorRole(c *checker) { c.readsOnly("Auditor") }

// readsOnly evaluates every write with the permissions of the default role.
func (c *checker) readsOnly(role string) {
	granted := c.set.DefaultRoles()[role]
	for _, tenantType := range []string{"STANDARD", "PROGRAMME_OFFICE"} {
		cl := callerWithPermissions(granted...).with("tenant_type", tenantType)
		for _, p := range c.permissions {
			if effectOf(p.Name) == "write" && !slices.Contains(ownKeys, p.Name) {
				for _, effect := range effects() {
					p.Effect = effect
					c.requireDenial(access(cl, p, ownRecord()), "caller/roles", "request/permission")
				}
			}
		}
	}
}

func checkEmptyRole(c *checker) {
	if granted := c.set.DefaultRoles()["PLATFORM_ADMIN"]; len(granted) > 0 {
		c.reportDataFault("data.parapet.roles.defaults.PLATFORM_ADMIN", fmt.Sprintf("the role grants %q", granted))
	}
}
