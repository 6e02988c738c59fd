package invariant

import (
	"fmt"
	"slices"
)

// ownKeys are the writes of somebody who otherwise only reads.
var ownKeys = []string{"api_key.issue", "api_key.revoke", "api_key.revoke.own"}

func checkGuest(c *checker) { c.readsOnly("Guest Customer") }

func checkAuditor(c *checker) { c.readsOnly("Auditor") }

// readsOnly asks for every write with what the default role grants.
func (c *checker) readsOnly(role string) {
	granted := c.set.DefaultRoles()[role]
	for _, tenantType := range []string{"STANDARD", "PROGRAMME_OFFICE"} {
		cl := holder(granted...).but("tenant_type", tenantType)
		for _, p := range c.permissions {
			if effectOf(p.Name) == "write" && !slices.Contains(ownKeys, p.Name) {
				for _, effect := range effects() {
					p.Effect = effect
					c.deny(access(cl, p, ownRecord()), "caller/roles", "request/permission")
				}
			}
		}
	}
}

func checkPowerlessRole(c *checker) {
	if granted := c.set.DefaultRoles()["PLATFORM_ADMIN"]; len(granted) > 0 {
		c.faulty("data.parapet.roles.defaults.PLATFORM_ADMIN", fmt.Sprintf("it grants %q", granted))
	}
}
