package invariant

import "slices"

const (
	grantAuthority = "parapet/grants/verdict"
	grantToRole    = "parapet/roles/grant"
	unassignRole   = "parapet/roles/unassign"
	accountsEntry  = "parapet/accounts/"
)

// grantRequest returns a request to grant permissions to a colleague in the scope of the tenant,
// with a STANDARD role and the lowest clearance.
func grantRequest(permissions ...string) object {
	return object{
		"recipient": object{"id": colleague, "kind": "HUMAN"},
		"roles":     []any{object{"kind": "STANDARD"}},
		"grants":    []any{object{"permissions": list(permissions...), "scope": "tenant"}},
		"clearance": object{"from": "", "to": "UNCLASSIFIED"},
	}
}

func addPermissionRequest(permission string) object {
	return object{"role": object{"name": "Desk", "kind": "STANDARD", "scope": "tenant"}, "permission": permission}
}

// accountChangeRequest returns a request to change the account of a colleague who is an active
// member of two tenants, with one permission in each. The caller holds both.
func (c *checker) accountChangeRequest(cl *caller) object {
	inTenantB := newCaller(cl.input.with("tenant", tenantB))
	return object{
		"account": object{
			"id": colleague, "kind": "HUMAN", "status": "ACTIVE", "home": tenantA, "has_password": true, "address_confirmed": true,
		},
		"holdings":             []any{c.newHolding(tenantA, cl), c.newHolding(tenantB, inTenantB)},
		"roles":                []any{object{"name": "Member", "scope": "tenant"}},
		"other_administrators": 0,
		"home_administered":    true,
		"session_tenant":       tenantA,
		"requested_by":         "holder",
		"authority_unchanged":  false,
	}
}

func (c *checker) newHolding(tenant string, cl *caller) object {
	h := object{
		"tenant": tenant, "membership": "ACTIVE", "clearance": "INTERNAL", "caller_membership": "ACTIVE",
		"grants": []any{object{"permissions": list("task.delete"), "scope": "tenant"}}, "delegations": list(),
	}
	if actor := cl.actor(c); actor != nil {
		h["caller"] = actor
	}
	return h
}

// accountRequests returns queries about grants, roles and accounts that allow
// callerWithSamplePermissions.
func (c *checker) accountRequests(cl *caller) []query {
	request := c.accountChangeRequest(cl)
	agent := request.withPath("account/kind", "AGENT")
	out := []query{
		{cl, grantAuthority, grantRequest("task.delete")}, {cl, grantToRole, addPermissionRequest("task.delete")},
		{cl, unassignRole, object{
			"role": object{"name": "Desk", "kind": "STANDARD", "scope": "tenant"}, "recipient": object{"id": colleague, "kind": "HUMAN"}, "other_administrators": 0,
		}},
		{cl, accountsEntry + "delete", agent},
		{cl, accountsEntry + "change_own_credentials", request}, {cl, accountsEntry + "administrator_notifications", object{}},
	}
	for _, rule := range []string{"change_name", "change_address", "reset_password", "suspend", "activate", "stop_membership", "restore_membership", "add_membership", "end_session"} {
		out = append(out, query{cl, accountsEntry + rule, request})
	}
	return out
}

// checkNoSubject evaluates rules that need a subject without a valid one. It omits
// roles/unassign, which depends only on the role: whether the caller has role.assign is
// decided separately.
func checkNoSubject(c *checker) {
	cl := c.callerWithSamplePermissions()
	for _, q := range append(c.accountRequests(cl), allowedVerdicts(cl)...) {
		if q.entry == unassignRole {
			continue
		}
		for _, path := range []string{"user", "user/id", "tenant"} {
			for _, incomplete := range []*caller{cl.without(path), cl.with(path, nil), cl.with(path, "unknown")} {
				c.requireDenial(query{incomplete, q.entry, q.request}, "caller", "request")
			}
		}
	}
}

// checkGrantAuthority grants permissions that the caller does not hold.
func checkGrantAuthority(c *checker) {
	cl := c.callerWithSamplePermissions()
	for _, p := range c.set.Permissions() {
		if slices.Contains(memberPermissions, p.Name) {
			continue // every caller holds it
		}
		held := "role.assign"
		if p.Name == held {
			held = "user.update"
		}
		without := callerWithPermissions(held)
		c.requireDenial(query{without, grantAuthority, grantRequest(p.Name)}, "caller/roles", "request/grants")
		c.requireDenial(query{without, grantAuthority, grantRequest(held, p.Name)}, "caller/roles", "request/grants")
		c.requireDenial(query{without, grantToRole, addPermissionRequest(p.Name)}, "caller/roles", "request/permission")
		for _, profile := range profiles() {
			if !slices.Contains(profile.grants, p.Name) {
				role := object{"name": profile.role, "kind": "GLOBAL", "scope": "tenant"}
				c.requireDenial(query{without, grantToRole, addPermissionRequest(p.Name).with("role", role)}, "caller/roles", "request")
			}
		}
	}
	const permission = "task.delete"
	outOfScope := grantRequest(permission).with("grants", []any{object{"permissions": list(permission), "scope": "project", "id": otherProject}})
	for _, grantor := range []*caller{
		c.scoped("project", project), c.scoped("organisation", organisation), c.delegated(delegation(c, "tenant")), cl.with("stored/assignments", list()),
		cl.with("token/caveats", list("read-only")), cl.with("token/caveats", list("unknown")),
	} {
		c.requireDenial(query{grantor, grantAuthority, grantRequest(permission)}, "caller", "request/grants")
		c.requireDenial(query{grantor, grantAuthority, outOfScope}, "caller", "request/grants")
		c.requireDenial(query{grantor, grantToRole, addPermissionRequest(permission)}, "caller", "request/permission")
	}
	for _, scope := range []string{"project", "organisation", "unknown"} {
		c.requireDenial(query{callerWithPermissions(permission + ".own"), grantAuthority, grantRequest().with("grants", []any{object{"permissions": list(permission), "scope": scope, "id": project}})}, "caller/roles", "request/grants")
	}
	for _, grants := range []any{nil, 7, "unknown", []any{nil}, []any{object{"scope": "tenant"}}} {
		c.requireDenial(query{cl, grantAuthority, grantRequest().with("grants", grants)}, "request/grants")
	}
	for _, name := range wrongTypes() {
		c.requireDenial(query{cl, grantAuthority, grantRequest().with("grants", []any{object{"permissions": []any{name}, "scope": "tenant"}})}, "request/grants")
	}
	c.requireDenial(query{cl, grantAuthority, grantRequest(permission).with("roles", []any{object{"kind": "GLOBAL"}})}, "request/roles")
	c.requireDenial(query{cl, grantAuthority, grantRequest(permission).withPath("recipient/kind", "SERVICE")}, "request/roles", "request/recipient")
}

// checkGrantClearance grants a clearance above the caller's own, and raises the caller's
// own.
func checkGrantClearance(c *checker) {
	for i, own := range tiers {
		cl := c.callerWithSamplePermissions().with("token/clearance", own)
		for _, tier := range tiers[i+1:] {
			c.requireDenial(query{cl, grantAuthority, grantRequest().withPath("clearance/to", tier)}, "caller/token/clearance", "request/clearance")
		}
		if i > 0 {
			c.requireDenial(query{c.callerWithSamplePermissions(), grantAuthority, grantRequest().withPath("recipient/id", user).withPath("clearance/to", own)}, "request/clearance", "request/recipient")
		}
	}
}

// checkAccount changes accounts that hold more than the caller, or whose home is another
// tenant.
func checkAccount(c *checker) {
	cl := callerWithPermissions("task.delete", "user.update", "membership.update")
	base := c.accountChangeRequest(cl)
	more := []any{object{"permissions": list("task.delete", "role.assign"), "scope": "tenant"}}
	inTenantA, inTenantB := c.newHolding(tenantA, cl), c.newHolding(tenantB, newCaller(cl.input.with("tenant", tenantB)))
	var exceeding []any
	for _, change := range []func(object) object{
		func(h object) object { return h.with("grants", more) },
		func(h object) object { return h.with("delegations", more) },
		func(h object) object { return h.with("caller_membership", "SUSPENDED") },
		func(h object) object { return h.without("caller_membership") },
		func(h object) object { return h.without("caller") },
		func(h object) object { return h.without("grants") },
		func(h object) object { return h.without("delegations") },
		func(h object) object { return h.with("membership", "unknown").with("grants", more) },
	} {
		exceeding = append(exceeding, []any{change(inTenantA), inTenantB}, []any{inTenantA, change(inTenantB)})
	}
	low := callerWithPermissions("task.delete").with("token/clearance", "UNCLASSIFIED").with("stored/clearance", "UNCLASSIFIED")
	exceeding = append(exceeding, []any{c.newHolding(tenantA, low), inTenantB}, []any{inTenantA, inTenantA.with("tenant", tenantB)}, []any{inTenantB}, list(), nil)
	for _, holdings := range exceeding {
		request := base.with("holdings", holdings)
		for _, rule := range []string{"change_address", "activate", "restore_membership"} {
			c.requireDenial(query{cl, accountsEntry + rule, request}, "request/holdings", "caller/roles")
		}
		first := request.withPath("account/address_confirmed", false).withPath("account/has_password", false)
		c.requireDenial(query{cl, accountsEntry + "reset_password", first}, "request/holdings", "request/account", "caller/roles")
	}
	// A suspended membership can be reactivated.
	suspended := base.with("holdings", []any{inTenantA, inTenantB.with("membership", "SUSPENDED").with("grants", more)})
	c.requireDenial(query{cl, accountsEntry + "change_address", suspended}, "request/holdings")
	for _, home := range []any{tenantB, nil, ""} {
		for _, rule := range []string{"change_name", "change_address", "reset_password", "suspend", "activate", "delete", "change_own_credentials"} {
			request := base.withPath("account/home", home)
			if rule == "delete" {
				request = request.withPath("account/kind", "AGENT")
			}
			c.requireDenial(query{cl, accountsEntry + rule, request}, "request/account/home")
		}
	}
	for _, confirmed := range []any{false, nil} {
		unconfirmed := base.withPath("account/address_confirmed", confirmed)
		c.requireDenial(query{cl, accountsEntry + "reset_password", unconfirmed}, "request/account")
		c.requireDenial(query{entry: accountsEntry + "complete_reset", request: unconfirmed.with("requested_by", "administrator").with("authority_unchanged", true)}, "request")
		c.requireDenial(query{entry: accountsEntry + "complete_reset", request: unconfirmed.withPath("account/has_password", false).with("requested_by", "administrator")}, "request")
		c.requireDenial(query{entry: accountsEntry + "complete_reset", request: unconfirmed.withPath("account/has_password", false).with("authority_unchanged", true)}, "request")
	}
	for _, other := range []*caller{cl.with("token/kind", "api_key"), cl.with("user/kind", "AGENT"), cl.with("user/kind", "SERVICE")} {
		c.requireDenial(query{other, accountsEntry + "change_own_credentials", base}, "caller/token/kind", "caller/user/kind")
	}
}

// checkOwnAccount suspends, removes and restores the caller itself, and removes the last
// administrator.
func checkOwnAccount(c *checker) {
	cl := c.callerWithSamplePermissions()
	base := c.accountChangeRequest(cl)
	for _, id := range []any{user, nil, 7} {
		for _, rule := range []string{"suspend", "stop_membership", "restore_membership"} {
			c.requireDenial(query{cl, accountsEntry + rule, base.withPath("account/id", id)}, "request/account/id")
		}
	}
	for _, others := range []any{0, nil, "unknown"} {
		last := base.with("roles", []any{object{"name": "Admin", "scope": "tenant"}}).with("other_administrators", others)
		for _, rule := range []string{"suspend", "stop_membership"} {
			c.requireDenial(query{cl, accountsEntry + rule, last}, "request/roles", "request/other_administrators")
		}
		c.requireDenial(query{cl, accountsEntry + "delete", last.withPath("account/kind", "AGENT")}, "request/roles", "request/other_administrators")
		c.requireDenial(query{cl, unassignRole, object{
			"role": object{"name": "Admin", "kind": "STANDARD", "scope": "tenant"}, "recipient": object{"id": colleague, "kind": "HUMAN"}, "other_administrators": others,
		}}, "request/role", "request/other_administrators")
	}
	for _, permission := range []string{"role.assign", "role.update"} {
		revoke := object{"role": object{"name": "Admin", "kind": "STANDARD", "scope": "tenant"}, "permission": permission}
		c.requireDenial(query{cl, "parapet/roles/revoke", revoke}, "request")
	}
}

// checkRoleNames uses roles that have the names of administrative roles and grant little,
// and gives other roles the names of default roles.
func checkRoleNames(c *checker) {
	names := list("Admin", "PLATFORM_ADMIN")
	named := callerWithPermissions("tasks.read").with("token/roles", names).with("roles", object{"Admin": list("tasks.read"), "PLATFORM_ADMIN": list()}).
		with("stored/assignments", []any{object{"role": names[0], "scope": "tenant"}, object{"role": names[1], "scope": "tenant"}})
	for _, cl := range []*caller{named, callerWithPermissions("tasks.read", "role.read", "user.update"), newCaller(object{})} {
		c.requireDenial(query{cl, accountsEntry + "administrator_notifications", object{}}, "caller")
	}
	cl := c.callerWithSamplePermissions()
	desk := object{"name": "Desk", "kind": "STANDARD"}
	for _, spelling := range []any{"admin", "guestcustomer", "platform_admin", "wiki:page:write", nil, 7} {
		c.requireDenial(query{cl, "parapet/roles/create", object{"spelling": spelling}}, "request")
		c.requireDenial(query{cl, "parapet/roles/rename", object{"role": desk, "spelling": spelling}}, "request")
	}
	for _, role := range []object{desk.with("name", "Admin"), desk.with("name", "Guest Customer"), desk.with("kind", "GLOBAL"), desk.without("kind"), desk.without("name")} {
		c.requireDenial(query{cl, "parapet/roles/rename", object{"role": role, "spelling": "desk"}}, "request")
		c.requireDenial(query{cl, "parapet/roles/delete", object{"role": role}}, "request")
	}
}
