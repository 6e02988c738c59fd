package oracle

// The lifetimes of keys in days, from the specification.
const (
	serviceDays    = 90
	ceilingDays    = 365
	adminBlankDays = 14
	adminCapDays   = 30
	userBlankDays  = 30
	userCapDays    = 365
)

const issueForService = "api_key.issue_for_service"

// caveatsAllowKeys reports whether the caveats allow operations on keys, which belong to the module
// identity and to no project.
func caveatsAllowKeys(actor object, effect string) bool {
	return setOf(texts(actor["effects"])...).has(effect) && setOf(texts(actor["modules"])...).has("identity") && yes(actor, "all_projects")
}

// isPersonSession reports whether the credential is a person's isPersonSession.
func isPersonSession(actor object) bool {
	return word(actor, "token_kind") == "session" && word(actor, "kind") == "HUMAN"
}

// mayManageServiceKeys reports whether the role assignments on record grant the permission to manage
// the keys of service principals.
func (o Oracle) mayManageServiceKeys(actor object) bool {
	if o.broken(EffectiveIssuesForService) {
		return setOf(texts(actor["permissions"])...).has(issueForService)
	}
	return setOf(texts(actor["stored_permissions"])...).has(issueForService)
}

// administersServiceKeys reports whether the actor may manage the keys of service principals: a person
// with the permission on record. An API key also needs the permission in its own snapshot.
func (o Oracle) administersServiceKeys(actor object, effect string) bool {
	made := word(actor, "token_kind") == "session"
	if word(actor, "token_kind") == "api_key" {
		made = o.holdsInTenant(actor, issueForService) || o.broken(KeyAdministersByRecord)
	}
	person := word(actor, "kind") == "HUMAN" || o.broken(AgentAdministersKeys)
	return made && person && o.mayManageServiceKeys(actor) && caveatsAllowKeys(actor, effect)
}

// holdsInTenant reports whether the actor holds a permission, with or without .own, in the scope
// of the tenant. Keys belong to no organisation or project.
func (o Oracle) holdsInTenant(actor object, permission string) bool {
	grant := asObject(asObject(actor["grants"])[permission])
	return yes(grant, "tenant") || yes(asObject(grant["own"]), "tenant")
}

// holdsAsOwnInTenant reports whether the actor holds the permission as .own in the scope of the
// tenant. The permission without .own does not exist.
func holdsAsOwnInTenant(actor object, permission string) bool {
	return yes(asObject(asObject(asObject(actor["grants"])[permission])["own"]), "tenant")
}

// IssueService evaluates parapet.keys.issue_service.
func (o Oracle) IssueService(in any) Verdict {
	doc := asObject(in)
	actor, target, settings := asObject(doc["actor"]), asObject(doc["target"]), asObject(doc["settings"])
	var v Verdict
	v.require(isPersonSession(actor) || o.broken(KeyIssuesForService), Forbidden, "a key cannot make keys for others")
	v.require(o.mayManageServiceKeys(actor), Forbidden, "the permission is not stored")
	v.require(caveatsAllowKeys(actor, "write") || o.broken(RestrictedTokenIssues), Forbidden, "a caveat leaves no issuing of keys")
	v.require(o.home(actor, target) || o.broken(ForeignTarget), NotFound, "the target is not of the actor's tenant")
	o.profile(&v, target)
	live := word(target, "status") == "ACTIVE" && word(target, "membership") == "ACTIVE"
	v.require(live || o.broken(SuspendedTarget), Conflict, "the target is not live")
	most, whole, set := number(settings, "max_user_days")
	enough := settings != nil && (!set || (whole && most >= serviceDays))
	v.require(enough || o.broken(ShortUserCapIgnored), Conflict, "the operator's cap is below the fixed lifetime")
	v.Days = serviceDays
	if o.broken(ServiceKeyLives365) {
		v.Days = ceilingDays
	}
	return v.done()
}

func (o Oracle) home(actor, record object) bool {
	mine, ok := text(actor, "tenant")
	return ok && word(record, "tenant") == mine
}

// IssueSelf evaluates parapet.keys.issue_self.
func (o Oracle) IssueSelf(in any) Verdict {
	doc := asObject(in)
	actor, settings := asObject(doc["actor"]), asObject(doc["settings"])
	var v Verdict
	v.require(word(actor, "token_kind") == "session" || o.broken(KeyIssuesForItself), Forbidden, "a key cannot outlive itself by making another")
	issues := yes(asObject(asObject(actor["grants"])["api_key.issue"]), "tenant") // a personal key has no owner yet, so .own does not count
	v.require(issues || o.broken(SelfNeedsNothing), Forbidden, "the permission is not held")
	person := word(actor, "kind") == "HUMAN" || word(actor, "kind") == "AGENT"
	v.require(person || o.broken(ServiceIssuesForItself), Forbidden, "a service principal's keys are issued on its behalf")
	v.require(caveatsAllowKeys(actor, "write") || o.broken(RestrictedTokenIssues), Forbidden, "a caveat leaves no issuing of keys")
	v.require(settings != nil, Forbidden, "the settings are missing")
	active, counted := asNumber(doc["active_keys"])
	limit, limited := asNumber(doc["max_active_keys"])
	v.require((counted && limited && active < limit) || o.broken(KeysUnlimited), Conflict, "as many active keys as there may be")

	blank, most, setting := userBlankDays, userCapDays, "max_user_days"
	if admin, said := actor["admin"].(bool); admin || !said { // without the field admin, the administrators' shorter lifetime applies
		most, setting = adminCapDays, "max_admin_days"
		if !o.broken(SelfBlankIsSame) {
			blank = adminBlankDays
		}
	}
	if n, whole, set := number(settings, setting); set {
		v.require(whole && n >= 1, Forbidden, "the setting is no number of days")
		most = n
		if most > ceilingDays && !o.broken(SelfCeilingIgnored) {
			most = ceilingDays
		}
	}
	v.Cap, v.Days = most, min(blank, most)
	if wish, whole, given := number(doc, "expires_in_days"); given {
		least := 1
		if o.broken(SelfZeroDays) {
			least = 0
		}
		v.require(whole && wish >= least && (wish <= most || o.broken(SelfCapIgnored)), Validation, "the wish is not within the cap")
		v.Days = wish
	}
	return v.done()
}

// List evaluates parapet.keys.list: the caller's own keys, or those of a service principal.
func (o Oracle) List(in any) Verdict {
	doc := asObject(in)
	actor := asObject(doc["actor"])
	var v Verdict
	v.require(caveatsAllowKeys(actor, "read"), Forbidden, "a caveat leaves no reading of keys")
	service, ok := doc["service_owned"].(bool)
	switch {
	case !ok:
		v.deny(Forbidden, "the path is not said")
	case service:
		owner := asObject(doc["owner"])
		v.require(o.administersServiceKeys(actor, "read") || o.broken(ListNeedsNothing), Forbidden, "the actor does not administer keys")
		v.require(o.home(actor, owner) || o.broken(ListsForeignKeys), NotFound, "the owner is not of the actor's tenant")
		v.require(word(owner, "kind") == "SERVICE" || o.broken(ListsHumanKeys), NotFound, "the owner is no service principal")
	default:
		v.require(holdsAsOwnInTenant(actor, "api_key.read") || o.broken(ListNeedsNothing), Forbidden, "the permission is not held")
	}
	return v.done()
}

// Revoke evaluates parapet.keys.revoke. With service_owned, it denies the key of a person,
// which only its owner may revoke.
func (o Oracle) Revoke(in any) Verdict {
	doc := asObject(in)
	actor, key := asObject(doc["actor"]), asObject(doc["key"])
	owner := asObject(key["owner"])
	var v Verdict
	v.require(caveatsAllowKeys(actor, "write"), Forbidden, "a caveat leaves no changing of keys")
	v.require(o.home(actor, key) || o.broken(RevokesForeignKey), NotFound, "the key is not of the actor's tenant")
	service, ok := doc["service_owned"].(bool)
	switch {
	case !ok:
		v.deny(Forbidden, "the path is not said")
	case service:
		v.require(o.administersServiceKeys(actor, "write"), Forbidden, "the actor does not administer keys")
		v.require(word(owner, "kind") == "SERVICE" || o.broken(RevokesHumanKey), Forbidden, "the key is not a service principal's")
	default:
		v.require(holdsAsOwnInTenant(actor, "api_key.revoke"), Forbidden, "the permission is not held")
		id, there := text(actor, "id")
		v.require((there && word(owner, "id") == id) || o.broken(RevokesOthersKey), NotFound, "the key is another's")
	}
	return v.done()
}
