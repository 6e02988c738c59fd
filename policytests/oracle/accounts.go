package oracle

import "strings"

// mayGrant reports whether the subject may grant a permission in a scope: it has no effect in
// the tenant, or the subject holds it in this scope.
func (o Oracle) mayGrant(subject object, permission string, scope object) bool {
	if !catalogue.has(permission) {
		return true
	}
	if platform.has(permission) && word(subject, "tenant_type") == "STANDARD" {
		return true
	}
	record := object{"type": "permission", "tenant": subject["tenant"], "classification": unclassified}
	switch word(scope, "scope") {
	case "tenant":
	case "organisation":
		record["organisation"] = scope["id"]
	case "project":
		record["project"] = scope["id"]
	default:
		return false
	}
	if _, named := scope["id"]; !named && word(scope, "scope") != "tenant" {
		return false
	}
	asked, own := strings.CutSuffix(permission, ".own")
	if own {
		id, there := subject["id"]
		if !there {
			return false
		}
		record["creator"], record["owner"] = id, id
	}
	if strings.HasPrefix(permission, "audit.read.") {
		asked = "audit.read"
		if permission == "audit.read.classified" {
			record["classification"] = "SECRET"
		}
	}
	if o.broken(GrantsInAnyScope) {
		record["project"] = someProject(subject, asked)
	}
	return o.Allow(object{"permission": asked, "effect": "write", "module": "identity", "actor": subject, "resource": record})
}

// someProject returns a project in which the subject holds the permission, if any.
func someProject(subject object, permission string) any {
	grants, _ := subject["grants"].(object)
	grant, _ := grants[permission].(object)
	if projects, _ := grant["projects"].([]any); len(projects) > 0 {
		return projects[0]
	}
	return nil
}

// mayGrantAll reports whether the value is a list of grants that the subject may grant. With
// control, the subject needs the permissions to access another user's own records.
func (o Oracle) mayGrantAll(subject object, list any, control bool) bool {
	grants, ok := list.([]any)
	if !ok {
		return false
	}
	for _, item := range grants {
		grant := asObject(item)
		permissions, ok := grant["permissions"].([]any)
		if !ok {
			return false
		}
		for _, p := range permissions {
			permission, ok := p.(string)
			if !ok {
				return false
			}
			if control && !o.broken(OwnIsEnoughToControl) {
				permission = permissionToControl(permission)
			}
			if !o.mayGrant(subject, permission, grant) {
				return false
			}
		}
	}
	return true
}

// permissionToControl returns the permission that gives access to another user's own records.
func permissionToControl(permission string) string {
	if permission == "audit.read.own" {
		return "audit.read.tenant"
	}
	if base, own := strings.CutSuffix(permission, ".own"); own && catalogue.has(base) {
		return base
	}
	return permission
}

// tierOf returns the tier of a clearance; unknown values count as UNCLASSIFIED.
func tierOf(v any) string {
	if s, ok := v.(string); ok && Rank(s) >= 0 {
		return s
	}
	return unclassified
}

// GiveAuthority evaluates parapet.grants.verdict.
func (o Oracle) GiveAuthority(in any) Verdict {
	doc := asObject(in)
	actor, to := asObject(doc["actor"]), asObject(doc["recipient"])
	roles, listed := doc["roles"].([]any)
	var v Verdict
	v.require(len(roles) == 0 || word(to, "kind") != "SERVICE" || o.broken(ServiceGetsRoles), Conflict, "a service principal keeps its role")
	for _, role := range roles {
		listed = listed && (word(asObject(role), "kind") == "STANDARD" || o.broken(GlobalRoleForAnybody))
	}
	v.require(listed, Conflict, "a GLOBAL role")
	v.require(o.mayGrantAll(actor, doc["grants"], false) || o.broken(GrantsBeyondCaller), Forbidden, "more than the caller holds")
	clearance := asObject(doc["clearance"])
	after, said := clearance["to"]
	raised := !said || Rank(tierOf(after)) > Rank(tierOf(clearance["from"]))
	if raised {
		id, known := to["id"].(string)
		v.require((known && actor["id"] != nil && id != actor["id"]) || o.broken(RaisesOwnClearance), Forbidden, "one's own clearance")
		v.require((said && setOf(texts(actor["readable"])...).has(tierOf(after))) || o.broken(GrantsClearanceAboveOwn), Forbidden, "a clearance above one's own")
	}
	return v.done()
}

// isHomeTenant reports whether the acting tenant administers the account.
func (o Oracle) isHomeTenant(doc object) bool {
	home, said := asObject(doc["account"])["home"].(string)
	return (said && asObject(doc["actor"])["tenant"] == home) || o.broken(AnyTenantIsHome)
}

// isAnotherUser reports whether the account is not the caller's.
func isAnotherUser(doc object) bool {
	id, said := asObject(doc["account"])["id"].(string)
	mine, known := asObject(doc["actor"])["id"]
	return said && known && mine != any(id)
}

// callerHoldsAll reports whether the caller holds all permissions of the account in memberships with
// these statuses.
func (o Oracle) callerHoldsAll(doc object, statuses set) bool {
	list, ok := doc["holdings"].([]any)
	actor := asObject(doc["actor"])
	here := false
	for _, item := range list {
		h := asObject(item)
		tenant, said := h["tenant"].(string)
		if said && actor["tenant"] == tenant {
			here = true
		}
		membership := word(h, "membership")
		if setOf("ACTIVE", "SUSPENDED", "REMOVED").has(membership) && !statuses.has(membership) {
			continue
		}
		if o.broken(OnlyHomeCounts) && said && actor["tenant"] != tenant {
			continue
		}
		caller := asObject(h["caller"])
		id, known := caller["id"]
		acts := said && caller["tenant"] == tenant && known && id == actor["id"] && h["caller_membership"] == "ACTIVE"
		clearance, there := h["clearance"]
		cleared := there && (setOf(texts(caller["readable"])...).has(tierOf(clearance)) || o.broken(AccountClearanceIgnored))
		if !acts || !cleared || !o.mayGrantAll(caller, h["grants"], true) || (!o.mayGrantAll(caller, h["delegations"], true) && !o.broken(AccountDelegationsIgnored)) {
			return false
		}
	}
	return ok && here
}

// ChangeAddress evaluates parapet.accounts.change_address.
func (o Oracle) ChangeAddress(in any) Verdict {
	doc := asObject(in)
	var v Verdict
	v.require(o.isHomeTenant(doc), Forbidden, "another tenant administers the account")
	v.require(o.callerHoldsAll(doc, setOf("ACTIVE", "SUSPENDED")), Forbidden, "the account holds more")
	return v.done()
}

// Activate evaluates parapet.accounts.activate.
func (o Oracle) Activate(in any) Verdict {
	doc := asObject(in)
	status := word(asObject(doc["account"]), "status")
	var v Verdict
	v.require(o.isHomeTenant(doc), Forbidden, "another tenant administers the account")
	v.require(status == "ACTIVE" || status == "SUSPENDED", Conflict, "the account is deleted")
	v.require(o.callerHoldsAll(doc, setOf("ACTIVE")) || o.broken(ActivatesAnybody), Forbidden, "the account holds more")
	return v.done()
}

// AddMembership evaluates parapet.accounts.add_membership.
func (o Oracle) AddMembership(in any) Verdict {
	doc := asObject(in)
	account := asObject(doc["account"])
	_, inTenant := asObject(doc["actor"])["tenant"].(string)
	var v Verdict
	v.require((inTenant && yes(doc, "home_administered")) || o.broken(AnyHomeIsAdministered), Forbidden, "the office does not administer the home tenant")
	v.require(word(account, "kind") == "HUMAN", Conflict, "the account is bound to its home tenant")
	v.require(word(account, "status") == "ACTIVE", Conflict, "the account is not active")
	return v.done()
}

// RestoreMembership evaluates parapet.accounts.restore_membership.
func (o Oracle) RestoreMembership(in any) Verdict {
	doc := asObject(in)
	var v Verdict
	v.require(isAnotherUser(doc), Conflict, "oneself")
	v.require(o.callerHoldsAll(doc, setOf("ACTIVE", "SUSPENDED", "REMOVED")) || o.broken(RestoresAnybody), Forbidden, "the account holds more")
	return v.done()
}

func (o Oracle) personWithAccount(v *Verdict, account object) {
	v.require(word(account, "kind") == "HUMAN", Conflict, "only a person has a password")
	v.require(word(account, "status") == "ACTIVE", Conflict, "the account is not active")
}

// ResetPassword evaluates parapet.accounts.reset_password.
func (o Oracle) ResetPassword(in any) Verdict {
	doc := asObject(in)
	account := asObject(doc["account"])
	var v Verdict
	v.require(o.isHomeTenant(doc), Forbidden, "another tenant administers the account")
	o.personWithAccount(&v, account)
	if yes(account, "has_password") && (yes(account, "address_confirmed") || o.broken(AnyAddressGetsLinks)) {
		return v.done()
	}
	has, said := account["has_password"].(bool)
	v.require(said && !has, Conflict, "the holder has not confirmed the address")
	v.require(o.callerHoldsAll(doc, setOf("ACTIVE", "SUSPENDED")), Forbidden, "the account holds more")
	return v.done()
}

// CompleteReset evaluates parapet.accounts.complete_reset.
func (o Oracle) CompleteReset(in any) Verdict {
	doc := asObject(in)
	account := asObject(doc["account"])
	var v Verdict
	o.personWithAccount(&v, account)
	has, said := account["has_password"].(bool)
	first := said && !has && doc["requested_by"] == "administrator" && (yes(doc, "authority_unchanged") || o.broken(ChangedAuthorityResets))
	v.require(has && yes(account, "address_confirmed") || first, Conflict, "nobody confirmed the address")
	return v.done()
}

// administratorsRemain reports whether the tenant keeps an administrator.
func (o Oracle) administratorsRemain(doc object, held any) bool {
	others, counted := doc["other_administrators"]
	if !counted {
		return false
	}
	if n, there := asNumber(others); there && n > 0 {
		return true
	}
	roles, ok := held.([]any)
	for _, item := range roles {
		role := asObject(item)
		name, named := role["name"].(string)
		scope, scoped := role["scope"].(string)
		if !named || !scoped || (name == "Admin" && scope == "tenant" && !o.broken(LastAdministratorLeaves)) {
			return false
		}
	}
	return ok
}

func asNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// Suspend evaluates parapet.accounts.suspend.
func (o Oracle) Suspend(in any) Verdict {
	doc := asObject(in)
	var v Verdict
	v.require(o.isHomeTenant(doc), Forbidden, "another tenant administers the account")
	v.require(isAnotherUser(doc) || o.broken(SuspendsOneself), Conflict, "oneself")
	v.require(word(asObject(doc["account"]), "status") != "DELETED", Conflict, "the account is deleted")
	v.require(o.administratorsRemain(doc, doc["roles"]), Conflict, "the last administrator")
	return v.done()
}

// GrantToRole evaluates parapet.roles.grant.
func (o Oracle) GrantToRole(in any) Verdict {
	doc := asObject(in)
	actor, role := asObject(doc["actor"]), asObject(doc["role"])
	permission, said := doc["permission"].(string)
	// The registered roles and the profiles that they belong to.
	registered := map[string]set{"wiki:page:write": profiles["spec-wiki-sync"], "multi-llm-review": profiles["multi-llm-review"]}[word(role, "name")]
	restores := word(role, "kind") == "GLOBAL" && registered.has(permission)
	var v Verdict
	v.require(said && (restores || o.mayGrant(actor, permission, object{"scope": "tenant"}) || o.broken(GrantsBeyondCaller)), Forbidden, "more than the caller holds")
	return v.done()
}

// UnassignRole evaluates parapet.roles.unassign.
func (o Oracle) UnassignRole(in any) Verdict {
	doc := asObject(in)
	kind := word(asObject(doc["recipient"]), "kind")
	var v Verdict
	v.require(kind == "HUMAN" || kind == "AGENT" || (kind == "SERVICE" && o.broken(ServiceLosesRoles)), Conflict, "a service principal keeps its role")
	role, there := doc["role"]
	v.require(there && o.administratorsRemain(doc, []any{role}), Conflict, "the last administrator")
	return v.done()
}
