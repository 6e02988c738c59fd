package oracle

import "strings"

// delegatedSubjects are, one for each delegation in force, the delegator in what is
// held and in what is own, and the caller in everything else.
func (o Oracle) delegatedSubjects(c caller, in, subject object, left caveats) []any {
	out := []any{}
	received, _ := in["delegations"].([]any)
	if left.refusesAll() || !known(c) || (c.kind == "SERVICE" && !o.broken(LentToService)) || (c.tokenTenant != c.there && !o.travels(c)) {
		return out
	}
	for _, item := range received {
		d := asObject(item)
		delegator := asObject(d["delegator"])
		id := word(delegator, "id")
		ends := word(delegator, "status") != "ACTIVE" || word(delegator, "membership") != "ACTIVE"
		lends := setOf("HUMAN", "AGENT").has(word(delegator, "kind")) || (word(delegator, "kind") == "SERVICE" && o.broken(ServiceLends))
		if !uuid.MatchString(word(d, "id")) || !uuid.MatchString(id) || id == subject["id"] || (ends && !o.broken(SuspendedLends)) || !lends {
			continue
		}
		grants, holds := o.lent(delegator, setOf(texts(d["permissions"])...), asObject(in["roles"]), c.tenantType)
		if len(holds) == 0 {
			continue
		}
		delegated := object{
			"delegation": d["id"], "id": id, "tenant": subject["tenant"], "tenant_type": c.tenantType, "readable": readable(o.bothClearances(word(subject, "clearance"), o.claim(delegator["clearance"]))).list(),
			"effects": left.effects.list(), "modules": left.modules.both(setOf("tracker")).list(),
			"grants": grants, "audit": object{}, "holds": holds.list(),
		}
		o.extend(delegated, d, left)
		if o.broken(DelegateIsOwn) {
			delegated["id"] = subject["id"]
		}
		out = append(out, delegated)
	}
	return out
}

// bothClearances is the lower of the delegate's and the delegator's: a record is read
// by neither alone.
func (o Oracle) bothClearances(delegate, delegator string) string {
	switch {
	case o.broken(DelegatorClearanceIgnored):
		return delegate
	case o.broken(DelegateClearanceIgnored):
		return delegator
	case Rank(delegator) < Rank(delegate):
		return delegator
	}
	return delegate
}

// lent is what of the list the delegator's own roles grant now, and where.
func (o Oracle) lent(delegator object, listed set, roles object, tenantType string) (grants object, holds set) {
	plain, own := map[string]reach{}, map[string]reach{}
	holds = set{}
	for role, where := range storedRoles(delegator) {
		for _, permission := range texts(roles[role]) {
			if !o.grantable(permission, tenantType) || !o.lendable(permission) {
				continue
			}
			bare, isOwn := strings.CutSuffix(permission, ".own")
			if !isOwn && (listed.has(permission) || o.broken(LendsUnlisted)) {
				plain[permission] = join(plain, permission, where)
				holds.add(permission)
			}
			if isOwn && o.broken(LendsOwnForAll) && listed.has(permission) {
				plain[bare] = join(plain, bare, where)
			}
			// Whoever holds it at all holds it for its own.
			if name := bare + ".own"; listed.has(name) || (isOwn && o.broken(LendsUnlisted)) {
				own[bare], own[name] = join(own, bare, where), join(own, name, where)
				holds.add(bare)
				holds.add(name)
			}
		}
	}
	grants = object{}
	for permission, where := range plain {
		grants[permission] = where.document()
	}
	for permission, where := range own {
		if grants[permission] == nil {
			grants[permission] = newReach().document()
		}
		asObject(grants[permission])["own"] = where.document()
	}
	return grants, holds
}

// extend says where a delegation holds, within what the caveats leave. The
// initiative itself is in no project, so that a project's caveat closes it.
func (o Oracle) extend(delegated, d object, left caveats) {
	if word(d, "scope") == "tenant" || o.broken(DelegationScopeIgnored) {
		delegated["all_projects"], delegated["projects"], delegated["initiatives"] = left.everyProject, left.projects.list(), []any{}
		return
	}
	reached, initiatives := set{}, set{}
	for _, project := range texts(d["projects"]) {
		if uuid.MatchString(project) && (left.everyProject || left.projects.has(project) || o.broken(DelegationForgetsCaveats)) {
			reached.add(project)
		}
	}
	for _, initiative := range texts(d["initiatives"]) {
		if uuid.MatchString(initiative) && left.everyProject {
			initiatives.add(initiative)
		}
	}
	delegated["all_projects"], delegated["projects"], delegated["initiatives"] = false, reached.list(), initiatives.list()
}

// Behalf answers parapet.access.behalf: by which delegations the request is
// allowed, whatever the actor may by itself.
func (o Oracle) Behalf(in any) []any {
	doc := asObject(in)
	out := []any{}
	subjects, _ := asObject(doc["actor"])["delegated_subjects"].([]any)
	for _, item := range subjects {
		delegated := asObject(item)
		request := object{"actor": delegated}
		for _, name := range []string{"permission", "effect", "module", "resource"} {
			if v, there := doc[name]; there {
				request[name] = v
			}
		}
		_, named := delegated["delegation"]
		_, somebody := delegated["id"]
		if named && somebody && o.Allow(request) {
			out = append(out, object{"delegation": delegated["delegation"], "delegator": delegated["id"]})
		}
	}
	return out
}

// Delegate answers parapet.delegations.verdict: may this be lent to that user?
func (o Oracle) Delegate(in any) Verdict {
	doc := asObject(in)
	actor, resource := asObject(doc["actor"]), asObject(doc["resource"])
	delegator, delegate := asObject(doc["delegator"]), asObject(doc["delegate"])
	from, fromThere := delegator["id"].(string)
	to, toThere := delegate["id"].(string)

	var v Verdict
	v.require(fromThere && toThere && (from != to || o.broken(LendsToOneself)), Validation, "two users take part")
	for _, user := range []object{delegator, delegate} {
		v.require(o.sameTenant(actor, resource) && user["tenant"] == actor["tenant"], Validation, "both are of the tenant")
		v.require((user["status"] == "ACTIVE" && user["membership"] == "ACTIVE") || o.broken(LendsToSuspended), Validation, "both are active")
		v.require(user["kind"] == "HUMAN" || user["kind"] == "AGENT" || o.broken(LendsToService), Validation, "neither is a service principal")
	}
	o.lasts(&v, doc)
	received := asObject(doc["received"])
	between, counted := amount(received["from_delegator"])
	all, countedAll := amount(received["total"])
	v.require((counted && between < 16) || o.broken(LendsBeyondLimits), Conflict, "sixteen between two users")
	v.require((countedAll && all < 64) || o.broken(LendsBeyondLimits), Conflict, "sixty-four to one user")
	list, isList := doc["permissions"].([]any)
	v.require(isList && len(list) > 0 && len(texts(list)) == len(list), Validation, "permissions are listed")
	held := set{}
	if roles, ok := delegator["roles"].([]any); ok {
		for _, role := range roles {
			held.with(setOf(texts(asObject(role)["grants"])...))
		}
	}
	place := object{}
	for k, field := range resource {
		place[k] = field
	}
	place["creator"], place["owner"] = delegator["id"], delegator["id"]
	for _, permission := range texts(list) {
		bare := strings.TrimSuffix(permission, ".own")
		v.require(!strings.HasSuffix(bare, ".own") && (o.lendable(permission) || o.lendable(bare)), Validation, "it can be lent")
		v.require(held.has(permission) || held.has(bare) || o.broken(LendsUnheld), Validation, "the delegator holds it")
		ask := object{"permission": bare, "effect": "write", "module": "tracker", "actor": actor, "resource": place}
		v.require(o.Allow(ask) || o.broken(LendsBeyondOneself), Forbidden, "the caller holds it there")
	}
	return v.done()
}

// The bounds of a delegation, in microseconds.
const (
	day        = 24 * 60 * 60 * 1e6
	longest    = 366 * day
	clocksSkew = 5 * 60 * 1e6
)

// lasts requires that a delegation begins and ends within its bounds.
func (o Oracle) lasts(v *Verdict, doc object) {
	now, there := amount(doc["now"])
	starts, begins := amount(doc["starts_at"])
	ends, stops := amount(doc["ends_at"])
	if !there || !begins || !stops {
		v.refuse(Validation, "three times")
		return
	}
	v.require(starts >= now-clocksSkew || o.broken(LendsFromThePast), Validation, "it begins now or later")
	v.require(starts <= now+longest || o.broken(LendsForever), Validation, "it begins within 366 days")
	v.require(ends > now && ends > starts, Validation, "it ends after it begins, and in the future")
	v.require(ends-starts <= longest || o.broken(LendsForever), Validation, "it lasts 366 days at most")
}

// amount is a number of any kind.
func amount(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
