package oracle

import "strings"

// mayGrant reports whether the subject may grant a permission in a scope: it has no effect in
// the tenant, or the subject holds it in this scope.
func (o Oracle) mayGrant(subject object, permission string, scope object) bool {
	if !catalogue.has(permission) {
		return true
	}
	if platform.has(permission) && stringField(subject, "tenant_type") == "STANDARD" {
		return true
	}
	record := object{"type": "permission", "tenant": subject["tenant"], "classification": unclassified}
	switch stringField(scope, "scope") {
	case "tenant":
	case "organisation":
		record["organisation"] = scope["id"]
	case "project":
		record["project"] = scope["id"]
	default:
		return false
	}
	if _, named := scope["id"]; !named && stringField(scope, "scope") != "tenant" {
		return false
	}
	requested, own := strings.CutSuffix(permission, ".own")
	if own {
		id, present := subject["id"]
		if !present {
			return false
		}
		record["creator"], record["owner"] = id, id
	}
	if strings.HasPrefix(permission, "audit.read.") {
		requested = "audit.read"
		if permission == "audit.read.classified" {
			record["classification"] = "SECRET"
		}
	}
	if o.hasFault(GrantsInAnyScope) {
		record["project"] = someProject(subject, requested)
	}
	return o.Allow(object{"permission": requested, "effect": "write", "module": "identity", "actor": subject, "resource": record})
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
			if control && !o.hasFault(OwnIsEnoughToControl) {
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
	v.require(len(roles) == 0 || stringField(to, "kind") != "SERVICE" || o.hasFault(ServiceGetsRoles), Conflict, "the roles of a service principal cannot change")
	for _, role := range roles {
		listed = listed && (stringField(asObject(role), "kind") == "STANDARD" || o.hasFault(GlobalRoleForAnybody))
	}
	v.require(listed, Conflict, "only STANDARD roles can be assigned")
	v.require(o.mayGrantAll(actor, doc["grants"], false) || o.hasFault(GrantsBeyondCaller), Forbidden, "the caller does not hold the permissions to grant")
	clearance := asObject(doc["clearance"])
	after, given := clearance["to"]
	raised := !given || Rank(tierOf(after)) > Rank(tierOf(clearance["from"]))
	if raised {
		id, known := to["id"].(string)
		v.require((known && actor["id"] != nil && id != actor["id"]) || o.hasFault(RaisesOwnClearance), Forbidden, "users cannot raise their own clearance")
		v.require((given && setOf(stringsOf(actor["readable"])...).has(tierOf(after))) || o.hasFault(GrantsClearanceAboveOwn), Forbidden, "the clearance is above the caller's")
	}
	return v.result()
}

// isHomeTenant reports whether the acting tenant administers the account.
func (o Oracle) isHomeTenant(doc object) bool {
	home, given := asObject(doc["account"])["home"].(string)
	return (given && asObject(doc["actor"])["tenant"] == home) || o.hasFault(AnyTenantIsHome)
}

// isAnotherUser reports whether the account is not the caller's.
func isAnotherUser(doc object) bool {
	id, given := asObject(doc["account"])["id"].(string)
	mine, known := asObject(doc["actor"])["id"]
	return given && known && mine != any(id)
}

// callerHoldsAll reports whether the caller holds all permissions that the account has
// through memberships with these statuses.
func (o Oracle) callerHoldsAll(doc object, statuses set) bool {
	list, ok := doc["holdings"].([]any)
	actor := asObject(doc["actor"])
	inActorTenant := false
	for _, item := range list {
		h := asObject(item)
		tenant, given := h["tenant"].(string)
		if given && actor["tenant"] == tenant {
			inActorTenant = true
		}
		membership := stringField(h, "membership")
		if setOf("ACTIVE", "SUSPENDED", "REMOVED").has(membership) && !statuses.has(membership) {
			continue
		}
		if o.hasFault(OnlyHomeCounts) && given && actor["tenant"] != tenant {
			continue
		}
		caller := asObject(h["caller"])
		id, known := caller["id"]
		acts := given && caller["tenant"] == tenant && known && id == actor["id"] && h["caller_membership"] == "ACTIVE"
		clearance, present := h["clearance"]
		cleared := present && (setOf(stringsOf(caller["readable"])...).has(tierOf(clearance)) || o.hasFault(AccountClearanceIgnored))
		if !acts || !cleared || !o.mayGrantAll(caller, h["grants"], true) || (!o.mayGrantAll(caller, h["delegations"], true) && !o.hasFault(AccountDelegationsIgnored)) {
			return false
		}
	}
	return ok && inActorTenant
}

// ChangeAddress evaluates parapet.accounts.change_address.
func (o Oracle) ChangeAddress(in any) Verdict {
	doc := asObject(in)
	var v Verdict
	v.require(o.isHomeTenant(doc), Forbidden, "the caller's tenant does not administer the account")
	v.require(o.callerHoldsAll(doc, setOf("ACTIVE", "SUSPENDED")), Forbidden, "the caller does not hold all permissions of the account")
	return v.result()
}

// Activate evaluates parapet.accounts.activate.
func (o Oracle) Activate(in any) Verdict {
	doc := asObject(in)
	status := stringField(asObject(doc["account"]), "status")
	var v Verdict
	v.require(o.isHomeTenant(doc), Forbidden, "the caller's tenant does not administer the account")
	v.require(status == "ACTIVE" || status == "SUSPENDED", Conflict, "the account is deleted")
	v.require(o.callerHoldsAll(doc, setOf("ACTIVE")) || o.hasFault(ActivatesAnybody), Forbidden, "the caller does not hold all permissions of the account")
	return v.result()
}

// AddMembership evaluates parapet.accounts.add_membership.
func (o Oracle) AddMembership(in any) Verdict {
	doc := asObject(in)
	account := asObject(doc["account"])
	_, inTenant := asObject(doc["actor"])["tenant"].(string)
	var v Verdict
	v.require((inTenant && isTrue(doc, "home_administered")) || o.hasFault(AnyHomeIsAdministered), Forbidden, "the office does not administer the home tenant")
	v.require(stringField(account, "kind") == "HUMAN", Conflict, "only a person can join another tenant")
	v.require(stringField(account, "status") == "ACTIVE", Conflict, "the account is not active")
	return v.result()
}

// RestoreMembership evaluates parapet.accounts.restore_membership.
func (o Oracle) RestoreMembership(in any) Verdict {
	doc := asObject(in)
	var v Verdict
	v.require(isAnotherUser(doc), Conflict, "the account is the caller's own")
	v.require(o.callerHoldsAll(doc, setOf("ACTIVE", "SUSPENDED", "REMOVED")) || o.hasFault(RestoresAnybody), Forbidden, "the caller does not hold all permissions of the account")
	return v.result()
}

func (o Oracle) requireActivePerson(v *Verdict, account object) {
	v.require(stringField(account, "kind") == "HUMAN", Conflict, "only a person has a password")
	v.require(stringField(account, "status") == "ACTIVE", Conflict, "the account is not active")
}

// ResetPassword evaluates parapet.accounts.reset_password.
func (o Oracle) ResetPassword(in any) Verdict {
	doc := asObject(in)
	account := asObject(doc["account"])
	var v Verdict
	v.require(o.isHomeTenant(doc), Forbidden, "the caller's tenant does not administer the account")
	o.requireActivePerson(&v, account)
	if isTrue(account, "has_password") && (isTrue(account, "address_confirmed") || o.hasFault(AnyAddressGetsLinks)) {
		return v.result()
	}
	has, given := account["has_password"].(bool)
	v.require(given && !has, Conflict, "the user has not confirmed the address")
	v.require(o.callerHoldsAll(doc, setOf("ACTIVE", "SUSPENDED")), Forbidden, "the caller does not hold all permissions of the account")
	return v.result()
}

// CompleteReset evaluates parapet.accounts.complete_reset.
func (o Oracle) CompleteReset(in any) Verdict {
	doc := asObject(in)
	account := asObject(doc["account"])
	var v Verdict
	o.requireActivePerson(&v, account)
	has, given := account["has_password"].(bool)
	first := given && !has && doc["requested_by"] == "administrator" && (isTrue(doc, "authority_unchanged") || o.hasFault(ChangedAuthorityResets))
	v.require(has && isTrue(account, "address_confirmed") || first, Conflict, "the user has not confirmed the address")
	return v.result()
}

// administratorsRemain reports whether the tenant keeps an administrator.
func (o Oracle) administratorsRemain(doc object, held any) bool {
	others, counted := doc["other_administrators"]
	if !counted {
		return false
	}
	if n, present := asNumber(others); present && n > 0 {
		return true
	}
	roles, ok := held.([]any)
	for _, item := range roles {
		role := asObject(item)
		name, named := role["name"].(string)
		scope, scoped := role["scope"].(string)
		if !named || !scoped || (name == "Admin" && scope == "tenant" && !o.hasFault(LastAdministratorLeaves)) {
			return false
		}
	}
	return ok
}

// asNumber returns a number of any JSON number type.
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
	v.require(o.isHomeTenant(doc), Forbidden, "the caller's tenant does not administer the account")
	v.require(isAnotherUser(doc) || o.hasFault(SuspendsOneself), Conflict, "the account is the caller's own")
	v.require(stringField(asObject(doc["account"]), "status") != "DELETED", Conflict, "the account is deleted")
	v.require(o.administratorsRemain(doc, doc["roles"]), Conflict, "the tenant would lose its last administrator")
	return v.result()
}

// GrantToRole evaluates parapet.roles.grant.
func (o Oracle) GrantToRole(in any) Verdict {
	doc := asObject(in)
	actor, role := asObject(doc["actor"]), asObject(doc["role"])
	permission, given := doc["permission"].(string)
	// The registered roles and the profiles that they belong to.
	registered := map[string]set{"wiki:page:write": profiles["spec-wiki-sync"], "multi-llm-review": profiles["multi-llm-review"]}[stringField(role, "name")]
	restores := stringField(role, "kind") == "GLOBAL" && registered.has(permission)
	var v Verdict
	v.require(given && (restores || o.mayGrant(actor, permission, object{"scope": "tenant"}) || o.hasFault(GrantsBeyondCaller)), Forbidden, "the caller does not hold the permissions to grant")
	return v.result()
}

// UnassignRole evaluates parapet.roles.unassign.
func (o Oracle) UnassignRole(in any) Verdict {
	doc := asObject(in)
	kind := stringField(asObject(doc["recipient"]), "kind")
	var v Verdict
	v.require(kind == "HUMAN" || kind == "AGENT" || (kind == "SERVICE" && o.hasFault(ServiceLosesRoles)), Conflict, "the roles of a service principal cannot change")
	role, present := doc["role"]
	v.require(present && o.administratorsRemain(doc, []any{role}), Conflict, "the tenant would lose its last administrator")
	return v.result()
}
