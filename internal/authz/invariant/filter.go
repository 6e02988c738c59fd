package invariant

import "fmt"

// checkFilter compares the list filter with the decision, for callers and rows that differ
// in every attribute that a rule can read.
func checkFilter(c *checker) {
	callers := []*caller{
		c.callerWithAllPermissions().with("tenant_type", "STANDARD").with("token/clearance", "INTERNAL").with("token/caveats", list("read-only")),
		c.callerWithSamplePermissions().with("token/caveats", list("project:"+project)),
		c.callerWithSamplePermissions().with("token/caveats", list("module:tracker")),
		c.callerWithSamplePermissions().with("token/caveats", list("unknown")),
		c.callerWithSamplePermissions().with("token/clearance", "INTERNAL"),
		c.scoped("project", project), c.scoped("organisation", organisation),
		c.delegated(delegation(c, "project")),
	}
	var rows []object
	for _, tenant := range []string{tenantA, tenantB, ""} {
		for _, classification := range []string{"UNCLASSIFIED", "SECRET"} {
			for _, projectAndCreator := range [][2]string{{project, user}, {otherProject, stranger}} {
				row := otherUsersRecord().with("classification", classification).with("project", projectAndCreator[0]).with("creator", projectAndCreator[1]).with("owner", stranger).with("organisation", otherOrg)
				if tenant == "" {
					row = row.without("tenant")
				} else {
					row["tenant"] = tenant
				}
				rows = append(rows, row)
			}
		}
	}
	rows = append(rows,
		otherUsersRecord().without("classification"), otherUsersRecord().without("project").without("organisation"), otherUsersRecord().without("creator").with("owner", user),
		otherUsersRecord().with("type", "initiative").with("id", initiative).without("project"),
	)
	for _, cl := range callers {
		actor := cl.actor(c)
		if actor == nil {
			continue
		}
		permissions := c.permissions
		if cl != callers[0] {
			permissions = c.sample
		}
		for _, p := range permissions {
			for _, row := range rows {
				c.compare(cl, p, row)
			}
		}
	}
}

func (c *checker) compare(cl *caller, p Permission, row object) {
	if c.err != nil {
		return
	}
	attributes := make(map[string]string, len(row))
	for key, value := range row {
		if text, ok := value.(string); ok {
			attributes[key] = text
		}
	}
	c.decisions++
	passes, err := c.set.Admits(p.Name, cl.actor(c), attributes)
	if err != nil {
		c.err = fmt.Errorf("invariant %s: %w", c.current.Name, err)
		return
	}
	if !passes {
		return
	}
	q := access(cl, p, row)
	allowed, _ := decision(entryAllow, c.eval(entryAllow, c.input(q)))
	if !allowed && c.err == nil && cl.delegates() {
		allowed = c.describeProblem(q) != ""
	}
	if !allowed && c.err == nil {
		c.err = &Violation{Invariant: c.current, Entrypoint: entryAllow, Problem: "denies what the list filter passes", Counterexample: q.String()}
	}
}
