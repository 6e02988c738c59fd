package oracle

// The lifetimes of keys in days, from the specification.
const (
	serviceDays      = 90
	ceilingDays      = 365
	adminDefaultDays = 14
	adminCapDays     = 30
	userDefaultDays  = 30
	userCapDays      = 365
)

const issueForService = "api_key.issue_for_service"

// caveatsAllowKeys reports whether the caveats allow operations on keys, which belong to the
// module identity and to no project.
func caveatsAllowKeys(actor object, effect string) bool {
	return setOf(stringsOf(actor["effects"])...).has(effect) && setOf(stringsOf(actor["modules"])...).has("identity") && isTrue(actor, "all_projects")
}

// isPersonSession reports whether the credential is the session of a person.
func isPersonSession(actor object) bool {
	return stringField(actor, "token_kind") == "session" && stringField(actor, "kind") == "HUMAN"
}

// mayManageServiceKeys reports whether the role assignments on record grant the permission
// to manage the keys of service principals.
func (o Oracle) mayManageServiceKeys(actor object) bool {
	if o.hasFault(EffectiveIssuesForService) {
		return setOf(stringsOf(actor["permissions"])...).has(issueForService)
	}
	return setOf(stringsOf(actor["stored_permissions"])...).has(issueForService)
}

// administersServiceKeys reports whether the actor may manage the keys of service
// principals: a person with the permission on record. An API key also needs the permission
// in its own snapshot.
func (o Oracle) administersServiceKeys(actor object, effect string) bool {
	credentialAllows := stringField(actor, "token_kind") == "session"
	if stringField(actor, "token_kind") == "api_key" {
		credentialAllows = o.holdsInTenant(actor, issueForService) || o.hasFault(KeyAdministersByRecord)
	}
	person := stringField(actor, "kind") == "HUMAN" || o.hasFault(AgentAdministersKeys)
	return credentialAllows && person && o.mayManageServiceKeys(actor) && caveatsAllowKeys(actor, effect)
}

// holdsInTenant reports whether the actor holds a permission, with or without .own, in the scope
// of the tenant. Keys belong to no organisation or project.
func (o Oracle) holdsInTenant(actor object, permission string) bool {
	grant := asObject(asObject(actor["grants"])[permission])
	return isTrue(grant, "tenant") || isTrue(asObject(grant["own"]), "tenant")
}

// holdsAsOwnInTenant reports whether the actor holds the permission as .own in the scope of the
// tenant. The permission without .own does not exist.
func holdsAsOwnInTenant(actor object, permission string) bool {
	return isTrue(asObject(asObject(asObject(actor["grants"])[permission])["own"]), "tenant")
}

// IssueService evaluates parapet.keys.issue_service.
func (o Oracle) IssueService(in any) Verdict {
	doc := asObject(in)
	actor, target, settings := asObject(doc["actor"]), asObject(doc["target"]), asObject(doc["settings"])
	var v Verdict
	v.require(isPersonSession(actor) || o.hasFault(KeyIssuesForService), Forbidden, "only a person's session can issue keys for a service principal")
	v.require(o.mayManageServiceKeys(actor), Forbidden, "no role assignment on record grants the permission")
	v.require(caveatsAllowKeys(actor, "write") || o.hasFault(RestrictedTokenIssues), Forbidden, "a caveat forbids issuing keys")
	v.require(o.belongsToActorTenant(actor, target) || o.hasFault(ForeignTarget), NotFound, "the target belongs to another tenant")
	o.requireProfile(&v, target)
	active := stringField(target, "status") == "ACTIVE" && stringField(target, "membership") == "ACTIVE"
	v.require(active || o.hasFault(SuspendedTarget), Conflict, "the target is not active")
	maxDays, isInteger, set := integerField(settings, "max_user_days")
	capSuffices := settings != nil && (!set || (isInteger && maxDays >= serviceDays))
	v.require(capSuffices || o.hasFault(ShortUserCapIgnored), Conflict, "the configured maximum is shorter than the fixed lifetime")
	v.Days = serviceDays
	if o.hasFault(ServiceKeyLives365) {
		v.Days = ceilingDays
	}
	return v.result()
}

// belongsToActorTenant reports whether the record belongs to the actor's tenant.
func (o Oracle) belongsToActorTenant(actor, record object) bool {
	mine, ok := nonEmptyField(actor, "tenant")
	return ok && stringField(record, "tenant") == mine
}

// IssueSelf evaluates parapet.keys.issue_self.
func (o Oracle) IssueSelf(in any) Verdict {
	doc := asObject(in)
	actor, settings := asObject(doc["actor"]), asObject(doc["settings"])
	var v Verdict
	v.require(stringField(actor, "token_kind") == "session" || o.hasFault(KeyIssuesForItself), Forbidden, "only a session can issue a personal key")
	issues := isTrue(asObject(asObject(actor["grants"])["api_key.issue"]), "tenant") // a personal key has no owner yet, so .own does not count
	v.require(issues || o.hasFault(SelfNeedsNothing), Forbidden, "the permission is not held")
	person := stringField(actor, "kind") == "HUMAN" || stringField(actor, "kind") == "AGENT"
	v.require(person || o.hasFault(ServiceIssuesForItself), Forbidden, "a service principal cannot issue keys for itself")
	v.require(caveatsAllowKeys(actor, "write") || o.hasFault(RestrictedTokenIssues), Forbidden, "a caveat forbids issuing keys")
	v.require(settings != nil, Forbidden, "the settings are missing")
	active, counted := asNumber(doc["active_keys"])
	limit, limited := asNumber(doc["max_active_keys"])
	v.require((counted && limited && active < limit) || o.hasFault(KeysUnlimited), Conflict, "the maximum number of active keys is reached")

	defaultDays, maxDays, setting := userDefaultDays, userCapDays, "max_user_days"
	if admin, given := actor["admin"].(bool); admin || !given { // without the field admin, the administrators' shorter lifetime applies
		maxDays, setting = adminCapDays, "max_admin_days"
		if !o.hasFault(SelfBlankIsSame) {
			defaultDays = adminDefaultDays
		}
	}
	if n, isInteger, set := integerField(settings, setting); set {
		v.require(isInteger && n >= 1, Forbidden, "the setting is not a positive number of days")
		maxDays = n
		if maxDays > ceilingDays && !o.hasFault(SelfCeilingIgnored) {
			maxDays = ceilingDays
		}
	}
	v.Cap, v.Days = maxDays, min(defaultDays, maxDays)
	if requestedDays, isInteger, given := integerField(doc, "expires_in_days"); given {
		least := 1
		if o.hasFault(SelfZeroDays) {
			least = 0
		}
		v.require(isInteger && requestedDays >= least && (requestedDays <= maxDays || o.hasFault(SelfCapIgnored)), Validation, "the requested lifetime is not from 1 to the maximum")
		v.Days = requestedDays
	}
	return v.result()
}

// List evaluates parapet.keys.list: the caller's own keys, or those of a service principal.
func (o Oracle) List(in any) Verdict {
	doc := asObject(in)
	actor := asObject(doc["actor"])
	var v Verdict
	v.require(caveatsAllowKeys(actor, "read"), Forbidden, "a caveat forbids reading keys")
	service, ok := doc["service_owned"].(bool)
	switch {
	case !ok:
		v.deny(Forbidden, "service_owned is missing")
	case service:
		owner := asObject(doc["owner"])
		v.require(o.administersServiceKeys(actor, "read") || o.hasFault(ListNeedsNothing), Forbidden, "the actor may not manage the keys of service principals")
		v.require(o.belongsToActorTenant(actor, owner) || o.hasFault(ListsForeignKeys), NotFound, "the owner belongs to another tenant")
		v.require(stringField(owner, "kind") == "SERVICE" || o.hasFault(ListsHumanKeys), NotFound, "the owner is not a service principal")
	default:
		v.require(holdsAsOwnInTenant(actor, "api_key.read") || o.hasFault(ListNeedsNothing), Forbidden, "the permission is not held")
	}
	return v.result()
}

// Revoke evaluates parapet.keys.revoke. With service_owned, it denies the key of a person,
// which only its owner may revoke.
func (o Oracle) Revoke(in any) Verdict {
	doc := asObject(in)
	actor, key := asObject(doc["actor"]), asObject(doc["key"])
	owner := asObject(key["owner"])
	var v Verdict
	v.require(caveatsAllowKeys(actor, "write"), Forbidden, "a caveat forbids changing keys")
	v.require(o.belongsToActorTenant(actor, key) || o.hasFault(RevokesForeignKey), NotFound, "the key belongs to another tenant")
	service, ok := doc["service_owned"].(bool)
	switch {
	case !ok:
		v.deny(Forbidden, "service_owned is missing")
	case service:
		v.require(o.administersServiceKeys(actor, "write"), Forbidden, "the actor may not manage the keys of service principals")
		v.require(stringField(owner, "kind") == "SERVICE" || o.hasFault(RevokesHumanKey), Forbidden, "the key belongs to a person or an agent")
	default:
		v.require(holdsAsOwnInTenant(actor, "api_key.revoke"), Forbidden, "the permission is not held")
		id, present := nonEmptyField(actor, "id")
		v.require((present && stringField(owner, "id") == id) || o.hasFault(RevokesOthersKey), NotFound, "the key belongs to another user")
	}
	return v.result()
}
