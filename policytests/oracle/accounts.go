package oracle

import "strings"

// gives tells whether the subject may give a permission in a scope: it has no
// effect in the tenant, or the subject holds it there.
func (o Oracle) gives(subject object, permission string, scope object) bool {
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
	if o.broken(GivesInAnyScope) {
		record["project"] = someProject(subject, asked)
	}
	return o.Allow(object{"permission": asked, "effect": "write", "module": "identity", "actor": subject, "resource": record})
}

// someProject is a project that the subject holds the permission in, if any.
func someProject(subject object, permission string) any {
	grants, _ := subject["grants"].(object)
	grant, _ := grants[permission].(object)
	if projects, _ := grant["projects"].([]any); len(projects) > 0 {
		return projects[0]
	}
	return nil
}

// givesAll tells whether a list of grants is one, and the subject may give all of
// it. control asks for what reaches another's own records.
func (o Oracle) givesAll(subject object, list any, control bool) bool {
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
				permission = controlled(permission)
			}
			if !o.gives(subject, permission, grant) {
				return false
			}
		}
	}
	return true
}

// controlled is the permission that reaches another's own records.
func controlled(permission string) string {
	if permission == "audit.read.own" {
		return "audit.read.tenant"
	}
	if base, own := strings.CutSuffix(permission, ".own"); own && catalogue.has(base) {
		return base
	}
	return permission
}

// tierOf is what a clearance counts as.
func tierOf(v any) string {
	if s, ok := v.(string); ok && Rank(s) >= 0 {
		return s
	}
	return unclassified
}

// GiveAuthority answers parapet.grants.verdict.
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
	v.require(o.givesAll(actor, doc["grants"], false) || o.broken(GivesBeyondOneself), Forbidden, "more than the caller holds")
	clearance := asObject(doc["clearance"])
	after, said := clearance["to"]
	raised := !said || Rank(tierOf(after)) > Rank(tierOf(clearance["from"]))
	if raised {
		id, known := to["id"].(string)
		v.require((known && actor["id"] != nil && id != actor["id"]) || o.broken(RaisesOwnClearance), Forbidden, "one's own clearance")
		v.require((said && setOf(texts(actor["readable"])...).has(tierOf(after))) || o.broken(ClearsAboveOneself), Forbidden, "a clearance above one's own")
	}
	return v.done()
}

// atHome tells whether the acting tenant administers the account.
func (o Oracle) atHome(doc object) bool {
	home, said := asObject(doc["account"])["home"].(string)
	return (said && asObject(doc["actor"])["tenant"] == home) || o.broken(AnyTenantIsHome)
}

// another tells whether the account is not the caller's.
func another(doc object) bool {
	id, said := asObject(doc["account"])["id"].(string)
	mine, known := asObject(doc["actor"])["id"]
	return said && known && mine != any(id)
}

// within tells whether the caller holds all that the account holds in memberships
// of these statuses.
func (o Oracle) within(doc object, statuses set) bool {
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
		if !acts || !cleared || !o.givesAll(caller, h["grants"], true) || (!o.givesAll(caller, h["delegations"], true) && !o.broken(AccountDelegationsIgnored)) {
			return false
		}
	}
	return ok && here
}

// ChangeAddress answers parapet.accounts.change_address.
func (o Oracle) ChangeAddress(in any) Verdict {
	doc := asObject(in)
	var v Verdict
	v.require(o.atHome(doc), Forbidden, "another tenant administers the account")
	v.require(o.within(doc, setOf("ACTIVE", "SUSPENDED")), Forbidden, "the account holds more")
	return v.done()
}

// Activate answers parapet.accounts.activate.
func (o Oracle) Activate(in any) Verdict {
	doc := asObject(in)
	status := word(asObject(doc["account"]), "status")
	var v Verdict
	v.require(o.atHome(doc), Forbidden, "another tenant administers the account")
	v.require(status == "ACTIVE" || status == "SUSPENDED", Conflict, "the account is deleted")
	v.require(o.within(doc, setOf("ACTIVE")) || o.broken(ActivatesAnybody), Forbidden, "the account holds more")
	return v.done()
}

// AddMembership answers parapet.accounts.add_membership.
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

// RestoreMembership answers parapet.accounts.restore_membership.
func (o Oracle) RestoreMembership(in any) Verdict {
	doc := asObject(in)
	var v Verdict
	v.require(another(doc), Conflict, "oneself")
	v.require(o.within(doc, setOf("ACTIVE", "SUSPENDED", "REMOVED")) || o.broken(RestoresAnybody), Forbidden, "the account holds more")
	return v.done()
}

func (o Oracle) personWithAccount(v *Verdict, account object) {
	v.require(word(account, "kind") == "HUMAN", Conflict, "only a person has a password")
	v.require(word(account, "status") == "ACTIVE", Conflict, "the account is not active")
}

// ResetPassword answers parapet.accounts.reset_password.
func (o Oracle) ResetPassword(in any) Verdict {
	doc := asObject(in)
	account := asObject(doc["account"])
	var v Verdict
	v.require(o.atHome(doc), Forbidden, "another tenant administers the account")
	o.personWithAccount(&v, account)
	if yes(account, "has_password") && (yes(account, "address_confirmed") || o.broken(AnyAddressGetsLinks)) {
		return v.done()
	}
	has, said := account["has_password"].(bool)
	v.require(said && !has, Conflict, "the holder has not confirmed the address")
	v.require(o.within(doc, setOf("ACTIVE", "SUSPENDED")), Forbidden, "the account holds more")
	return v.done()
}

// CompleteReset answers parapet.accounts.complete_reset.
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

// remain tells whether somebody is left to administer the tenant.
func (o Oracle) remain(doc object, held any) bool {
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

// Suspend answers parapet.accounts.suspend.
func (o Oracle) Suspend(in any) Verdict {
	doc := asObject(in)
	var v Verdict
	v.require(o.atHome(doc), Forbidden, "another tenant administers the account")
	v.require(another(doc) || o.broken(SuspendsOneself), Conflict, "oneself")
	v.require(word(asObject(doc["account"]), "status") != "DELETED", Conflict, "the account is deleted")
	v.require(o.remain(doc, doc["roles"]), Conflict, "the last administrator")
	return v.done()
}

// GrantToRole answers parapet.roles.grant.
func (o Oracle) GrantToRole(in any) Verdict {
	doc := asObject(in)
	actor, role := asObject(doc["actor"]), asObject(doc["role"])
	permission, said := doc["permission"].(string)
	// The registered roles are named after what they are for.
	registered := map[string]set{"wiki:page:write": profiles["spec-wiki-sync"], "multi-llm-review": profiles["multi-llm-review"]}[word(role, "name")]
	restores := word(role, "kind") == "GLOBAL" && registered.has(permission)
	var v Verdict
	v.require(said && (restores || o.gives(actor, permission, object{"scope": "tenant"}) || o.broken(GivesBeyondOneself)), Forbidden, "more than the caller holds")
	return v.done()
}

// UnassignRole answers parapet.roles.unassign.
func (o Oracle) UnassignRole(in any) Verdict {
	doc := asObject(in)
	kind := word(asObject(doc["recipient"]), "kind")
	var v Verdict
	v.require(kind == "HUMAN" || kind == "AGENT" || (kind == "SERVICE" && o.broken(ServiceLosesRoles)), Conflict, "a service principal keeps its role")
	role, there := doc["role"]
	v.require(there && o.remain(doc, []any{role}), Conflict, "the last administrator")
	return v.done()
}
