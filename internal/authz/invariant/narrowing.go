package invariant

import (
	"fmt"
	"slices"
	"strings"
)

// checkGrant uses permissions that no role of the caller grants in the scope of the record.
func checkGrant(c *checker) {
	withoutPermissions := c.callerWithAllPermissions().with("roles/Role", list())
	outOfScope := map[string]*caller{}
	outOfScope["project"] = c.scoped("project", project)
	outOfScope["organisation"] = c.scoped("organisation", organisation)
	outside := ownRecord().with("project", otherProject).with("organisation", otherOrg)
	scopeless := ownRecord().without("project").without("organisation")
	for _, p := range c.permissions {
		if !slices.Contains(memberPermissions, p.Name) {
			c.requireDenial(access(withoutPermissions, p, ownRecord()), "caller/roles", "request/permission")
		}
	}
	for _, p := range c.sample {
		for _, scope := range []string{"project", "organisation"} {
			c.requireDenial(access(outOfScope[scope], p, outside), "caller/token", "caller/stored", "request/resource")
			c.requireDenial(access(outOfScope[scope], p, scopeless), "caller/token", "caller/stored", "request/resource")
		}
	}
	// A session has only what both the token and the records grant.
	for _, cl := range []*caller{
		c.callerWithSamplePermissions().with("token/roles", list()), c.callerWithSamplePermissions().with("stored/assignments", list()),
		c.callerWithSamplePermissions().with("token/roles", list()).with("token/kind", "internal"), c.callerWithSamplePermissions().with("token/roles", list()).with("token/kind", "api_key"),
		c.scoped("project", project).with("stored/assignments", []any{object{"role": "Role", "scope": "project", "id": otherProject}}),
	} {
		for _, p := range c.sample {
			c.requireDenial(access(cl, p, ownRecord()), "caller/token", "caller/stored", "request/permission")
		}
	}
	// Permissions that are granted only for one's own records.
	for _, p := range c.permissions {
		if strings.HasSuffix(p.Name, ".own") && !p.audit() {
			plain := p
			plain.Name = strings.TrimSuffix(p.Name, ".own")
			cl := callerWithPermissions(p.Name)
			c.requireDenial(access(cl, plain, otherUsersRecord()), "caller/roles", "request/resource")
			c.requireDenial(access(cl, plain, otherUsersRecord().without("creator").without("owner")), "caller/roles", "request/resource")
		}
	}
}

// scoped returns a caller who holds every permission in one scope only.
func (c *checker) scoped(scope, id string) *caller {
	return c.callerWithSamplePermissions().
		with("token/role_scopes", object{"Role": list(scope + ":" + id)}).
		with("stored/assignments", []any{object{"role": "Role", "scope": scope, "id": id}})
}

// unknownCaveats returns values that are similar to known caveats or have a wrong type.
func unknownCaveats() []any {
	return []any{
		"weekdays", "", "READ-ONLY", "read-only ", "readonly", "project:", "project:*", "project:" + project + " ", "module:", "module:*",
		"module:Tracker", "module:unknown", "tenant:" + tenantA, nil, 7, list(), object{},
	}
}

func checkUnknownCaveat(c *checker) {
	for _, caveat := range unknownCaveats() {
		cl := c.callerWithSamplePermissions().with("token/caveats", []any{caveat})
		for _, p := range c.sample {
			c.requireDenial(access(cl, p, ownRecord()), "caller/token/caveats", "request/permission")
		}
		both := c.callerWithSamplePermissions().with("token/caveats", []any{"module:tracker", caveat}).with("delegations", []any{delegation(c, "tenant")})
		c.requireDenial(access(both, Permission{Name: "tasks.read", Module: "tracker", Effect: "read"}, ownRecord()), "caller/token/caveats", "caller/delegations")
		for _, q := range allowedVerdicts(cl) {
			c.requireDenial(q, "caller/token/caveats")
		}
	}
}

func checkCaveat(c *checker) {
	readOnly := c.callerWithAllPermissions().with("token/caveats", list("read-only"))
	inProject := c.callerWithSamplePermissions().with("token/caveats", list("project:"+project))
	twoProjects := c.callerWithSamplePermissions().with("token/caveats", list("project:"+project, "project:"+otherProject))
	twoModules := c.callerWithSamplePermissions().with("token/caveats", list("module:tracker", "module:identity"))
	modules := []string{"audit", "catalog", "events", "identity", "tracker", "wiki"}
	oneModule := map[string]*caller{}
	for _, m := range modules {
		oneModule[m] = c.callerWithSamplePermissions().with("token/caveats", list("module:"+m))
	}
	for _, p := range c.permissions {
		changing := p
		changing.Effect = "write"
		c.requireDenial(access(readOnly, changing, ownRecord()), "caller/token/caveats", "request/effect")
		c.requireDenial(access(inProject, p, ownRecord().with("project", otherProject)), "caller/token/caveats", "request/resource/project")
		c.requireDenial(access(inProject, p, ownRecord().without("project")), "caller/token/caveats", "request/resource/project")
		c.requireDenial(access(twoProjects, p, ownRecord()), "caller/token/caveats", "request/resource/project")
		c.requireDenial(access(twoModules, p, ownRecord()), "caller/token/caveats", "request/module")
		for _, m := range modules {
			if m != p.Module {
				c.requireDenial(access(oneModule[m], p, ownRecord()), "caller/token/caveats", "request/module")
			}
		}
	}
	for _, caveats := range []any{list("module:wiki"), list("project:" + otherProject), list("read-only")} {
		for _, q := range allowedVerdicts(c.callerWithSamplePermissions().with("token/caveats", caveats)) {
			if (q.entry != listKeys && q.entry != countRecords) || fmt.Sprint(caveats) != "[read-only]" {
				c.requireDenial(q, "caller/token/caveats")
			}
		}
	}
}

func checkPlatform(c *checker) {
	for _, kind := range append(wrongTypes(), "STANDARD", "", "unknown", "programme_office") {
		cl := c.callerWithSamplePermissions().with("tenant_type", kind)
		for _, p := range c.permissions {
			if p.Platform {
				c.requireDenial(access(cl, p, ownRecord()), "caller/tenant_type", "request/permission")
			}
		}
	}
}
