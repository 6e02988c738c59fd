package invariant

import "slices"

const (
	give          = "parapet/grants/verdict"
	grantToRole   = "parapet/roles/grant"
	unassignRole  = "parapet/roles/unassign"
	accountsEntry = "parapet/accounts/"
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
	there := newCaller(cl.input.with("tenant", tenantB))
	return object{
		"account": object{
			"id": colleague, "kind": "HUMAN", "status": "ACTIVE", "home": tenantA, "has_password": true, "address_confirmed": true,
		},
		"holdings":             []any{c.holding(tenantA, cl), c.holding(tenantB, there)},
		"roles":                []any{object{"name": "Member", "scope": "tenant"}},
		"other_administrators": 0,
		"home_administered":    true,
		"session_tenant":       tenantA,
		"requested_by":         "holder",
		"authority_unchanged":  false,
	}
}

func (c *checker) holding(tenant string, cl *caller) object {
	h := object{
		"tenant": tenant, "membership": "ACTIVE", "clearance": "INTERNAL", "caller_membership": "ACTIVE",
		"grants": []any{object{"permissions": list("task.delete"), "scope": "tenant"}}, "delegations": list(),
	}
	if actor := cl.actor(c); actor != nil {
		h["caller"] = actor
	}
	return h
}

// accountRequests returns allowed requests about grants, roles and accounts.
func (c *checker) accountRequests(cl *caller) []question {
	request := c.accountChangeRequest(cl)
	agent := request.at("account/kind", "AGENT")
	out := []question{
		{cl, give, grantRequest("task.delete")}, {cl, grantToRole, addPermissionRequest("task.delete")},
		{cl, unassignRole, object{
			"role": object{"name": "Desk", "kind": "STANDARD", "scope": "tenant"}, "recipient": object{"id": colleague, "kind": "HUMAN"}, "other_administrators": 0,
		}},
		{cl, accountsEntry + "delete", agent},
		{cl, accountsEntry + "change_own_credentials", request}, {cl, accountsEntry + "administrator_notifications", object{}},
	}
	for _, rule := range []string{"change_name", "change_address", "reset_password", "suspend", "activate", "stop_membership", "restore_membership", "add_membership", "end_session"} {
		out = append(out, question{cl, accountsEntry + rule, request})
	}
	return out
}

// checkNoSubject evaluates every rule with a subject and its own entry point without a
// subject. roles/unassign is not one of them: it depends only on the role, and role.assign
// is decided separately.
func checkNoSubject(c *checker) {
	cl := c.able()
	for _, q := range append(c.accountRequests(cl), allowedVerdicts(cl)...) {
		if q.entry == unassignRole {
			continue
		}
		for _, path := range []string{"user", "user/id", "tenant"} {
			for _, incomplete := range []*caller{cl.without(path), cl.with(path, nil), cl.with(path, "unknown")} {
				c.deny(question{incomplete, q.entry, q.request}, "caller", "request")
			}
		}
	}
}

// checkGiving grants permissions that the caller does not hold.
func checkGiving(c *checker) {
	cl := c.able()
	for _, p := range c.set.Permissions() {
		held := "role.assign"
		if p.Name == held {
			held = "user.update"
		}
		without := holder(held)
		c.deny(question{without, give, grantRequest(p.Name)}, "caller/roles", "request/grants")
		c.deny(question{without, give, grantRequest(held, p.Name)}, "caller/roles", "request/grants")
		c.deny(question{without, grantToRole, addPermissionRequest(p.Name)}, "caller/roles", "request/permission")
		for _, profile := range profiles() {
			if !slices.Contains(profile.grants, p.Name) {
				role := object{"name": profile.role, "kind": "GLOBAL", "scope": "tenant"}
				c.deny(question{without, grantToRole, addPermissionRequest(p.Name).with("role", role)}, "caller/roles", "request")
			}
		}
	}
	const permission = "task.delete"
	outOfScope := grantRequest(permission).with("grants", []any{object{"permissions": list(permission), "scope": "project", "id": otherProject}})
	for _, giver := range []*caller{
		c.scoped("project", project), c.scoped("organisation", organisation), c.delegated(delegation(c, "tenant")), cl.with("stored/assignments", list()),
		cl.with("token/caveats", list("read-only")), cl.with("token/caveats", list("unknown")),
	} {
		c.deny(question{giver, give, grantRequest(permission)}, "caller", "request/grants")
		c.deny(question{giver, give, outOfScope}, "caller", "request/grants")
		c.deny(question{giver, grantToRole, addPermissionRequest(permission)}, "caller", "request/permission")
	}
	for _, scope := range []string{"project", "organisation", "unknown"} {
		c.deny(question{holder(permission + ".own"), give, grantRequest().with("grants", []any{object{"permissions": list(permission), "scope": scope, "id": project}})}, "caller/roles", "request/grants")
	}
	for _, grants := range []any{nil, 7, "unknown", []any{nil}, []any{object{"scope": "tenant"}}} {
		c.deny(question{cl, give, grantRequest().with("grants", grants)}, "request/grants")
	}
	for _, name := range wrongTypes() {
		c.deny(question{cl, give, grantRequest().with("grants", []any{object{"permissions": []any{name}, "scope": "tenant"}})}, "request/grants")
	}
	c.deny(question{cl, give, grantRequest(permission).with("roles", []any{object{"kind": "GLOBAL"}})}, "request/roles")
	c.deny(question{cl, give, grantRequest(permission).at("recipient/kind", "SERVICE")}, "request/roles", "request/recipient")
}

// checkGivingClearance grants a clearance above the caller's own, and raises the caller's
// own.
func checkGivingClearance(c *checker) {
	for i, own := range tiers {
		cl := c.able().with("token/clearance", own)
		for _, tier := range tiers[i+1:] {
			c.deny(question{cl, give, grantRequest().at("clearance/to", tier)}, "caller/token/clearance", "request/clearance")
		}
		if i > 0 {
			c.deny(question{c.able(), give, grantRequest().at("recipient/id", user).at("clearance/to", own)}, "request/clearance", "request/recipient")
		}
	}
}

// checkAccount changes accounts that hold more than the caller.
func checkAccount(c *checker) {
	cl := holder("task.delete", "user.update", "membership.update")
	whole := c.accountChangeRequest(cl)
	more := []any{object{"permissions": list("task.delete", "role.assign"), "scope": "tenant"}}
	here, there := c.holding(tenantA, cl), c.holding(tenantB, newCaller(cl.input.with("tenant", tenantB)))
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
		exceeding = append(exceeding, []any{change(here), there}, []any{here, change(there)})
	}
	low := holder("task.delete").with("token/clearance", "UNCLASSIFIED").with("stored/clearance", "UNCLASSIFIED")
	exceeding = append(exceeding, []any{c.holding(tenantA, low), there}, []any{here, here.with("tenant", tenantB)}, []any{there}, list(), nil)
	for _, holdings := range exceeding {
		request := whole.with("holdings", holdings)
		for _, rule := range []string{"change_address", "activate", "restore_membership"} {
			c.deny(question{cl, accountsEntry + rule, request}, "request/holdings", "caller/roles")
		}
		first := request.at("account/address_confirmed", false).at("account/has_password", false)
		c.deny(question{cl, accountsEntry + "reset_password", first}, "request/holdings", "request/account", "caller/roles")
	}
	// A suspended membership can be reactivated.
	suspended := whole.with("holdings", []any{here, there.with("membership", "SUSPENDED").with("grants", more)})
	c.deny(question{cl, accountsEntry + "change_address", suspended}, "request/holdings")
	for _, home := range []any{tenantB, nil, ""} {
		for _, rule := range []string{"change_name", "change_address", "reset_password", "suspend", "activate", "delete", "change_own_credentials"} {
			request := whole.at("account/home", home)
			if rule == "delete" {
				request = request.at("account/kind", "AGENT")
			}
			c.deny(question{cl, accountsEntry + rule, request}, "request/account/home")
		}
	}
	for _, confirmed := range []any{false, nil} {
		unconfirmed := whole.at("account/address_confirmed", confirmed)
		c.deny(question{cl, accountsEntry + "reset_password", unconfirmed}, "request/account")
		c.deny(question{entry: accountsEntry + "complete_reset", request: unconfirmed.with("requested_by", "administrator").with("authority_unchanged", true)}, "request")
		c.deny(question{entry: accountsEntry + "complete_reset", request: unconfirmed.at("account/has_password", false).with("requested_by", "administrator")}, "request")
		c.deny(question{entry: accountsEntry + "complete_reset", request: unconfirmed.at("account/has_password", false).with("authority_unchanged", true)}, "request")
	}
	for _, other := range []*caller{cl.with("token/kind", "api_key"), cl.with("user/kind", "AGENT"), cl.with("user/kind", "SERVICE")} {
		c.deny(question{other, accountsEntry + "change_own_credentials", whole}, "caller/token/kind", "caller/user/kind")
	}
}

// checkOneself suspends, removes and restores the caller itself, and removes the last
// administrator.
func checkOneself(c *checker) {
	cl := c.able()
	whole := c.accountChangeRequest(cl)
	for _, id := range []any{user, nil, 7} {
		for _, rule := range []string{"suspend", "stop_membership", "restore_membership"} {
			c.deny(question{cl, accountsEntry + rule, whole.at("account/id", id)}, "request/account/id")
		}
	}
	for _, others := range []any{0, nil, "unknown"} {
		last := whole.with("roles", []any{object{"name": "Admin", "scope": "tenant"}}).with("other_administrators", others)
		for _, rule := range []string{"suspend", "stop_membership"} {
			c.deny(question{cl, accountsEntry + rule, last}, "request/roles", "request/other_administrators")
		}
		c.deny(question{cl, accountsEntry + "delete", last.at("account/kind", "AGENT")}, "request/roles", "request/other_administrators")
		c.deny(question{cl, unassignRole, object{
			"role": object{"name": "Admin", "kind": "STANDARD", "scope": "tenant"}, "recipient": object{"id": colleague, "kind": "HUMAN"}, "other_administrators": others,
		}}, "request/role", "request/other_administrators")
	}
	for _, permission := range []string{"role.assign", "role.update"} {
		revoke := object{"role": object{"name": "Admin", "kind": "STANDARD", "scope": "tenant"}, "permission": permission}
		c.deny(question{cl, "parapet/roles/revoke", revoke}, "request")
	}
}

// checkNames uses roles with special names, and gives other roles the names of default
// roles.
func checkNames(c *checker) {
	names := list("Admin", "PLATFORM_ADMIN")
	named := holder("tasks.read").with("token/roles", names).with("roles", object{"Admin": list("tasks.read"), "PLATFORM_ADMIN": list()}).
		with("stored/assignments", []any{object{"role": names[0], "scope": "tenant"}, object{"role": names[1], "scope": "tenant"}})
	for _, cl := range []*caller{named, holder("tasks.read", "role.read", "user.update"), newCaller(object{})} {
		c.deny(question{cl, accountsEntry + "administrator_notifications", object{}}, "caller")
	}
	cl := c.able()
	desk := object{"name": "Desk", "kind": "STANDARD"}
	for _, spelling := range []any{"admin", "guestcustomer", "platform_admin", "wiki:page:write", nil, 7} {
		c.deny(question{cl, "parapet/roles/create", object{"spelling": spelling}}, "request")
		c.deny(question{cl, "parapet/roles/rename", object{"role": desk, "spelling": spelling}}, "request")
	}
	for _, role := range []object{desk.with("name", "Admin"), desk.with("name", "Guest Customer"), desk.with("kind", "GLOBAL"), desk.without("kind"), desk.without("name")} {
		c.deny(question{cl, "parapet/roles/rename", object{"role": role, "spelling": "desk"}}, "request")
		c.deny(question{cl, "parapet/roles/delete", object{"role": role}}, "request")
	}
}
