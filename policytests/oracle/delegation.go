package oracle

import "strings"

// delegatedSubjects returns one subject for each active delegation. Its permissions and its
// own records are those of the delegator, everything else is the caller's.
func (o Oracle) delegatedSubjects(c caller, in, subject object, left caveats) []any {
	out := []any{}
	received, _ := in["delegations"].([]any)
	if left.denyAll() || !kindsAreKnown(c) || (c.kind == "SERVICE" && !o.broken(ServiceReceivesDelegation)) || (c.tokenTenant != c.there && !o.canLeaveTenant(c)) {
		return out
	}
	for _, item := range received {
		d := asObject(item)
		delegator := asObject(d["delegator"])
		id := word(delegator, "id")
		ends := word(delegator, "status") != "ACTIVE" || word(delegator, "membership") != "ACTIVE"
		lends := setOf("HUMAN", "AGENT").has(word(delegator, "kind")) || (word(delegator, "kind") == "SERVICE" && o.broken(ServiceDelegates))
		if !uuid.MatchString(word(d, "id")) || !uuid.MatchString(id) || id == subject["id"] || (ends && !o.broken(SuspendedDelegates)) || !lends {
			continue
		}
		grants, holds := o.delegatedGrants(delegator, setOf(texts(d["permissions"])...), asObject(in["roles"]), c.tenantType)
		if len(holds) == 0 {
			continue
		}
		delegated := object{
			"delegation": d["id"], "id": id, "tenant": subject["tenant"], "tenant_type": c.tenantType, "readable": readable(o.lowerClearance(word(subject, "clearance"), o.claim(delegator["clearance"]))).list(),
			"effects": left.effects.list(), "modules": left.modules.both(setOf("tracker")).list(),
			"grants": grants, "audit": object{}, "holds": holds.list(),
		}
		o.setScope(delegated, d, left)
		if o.broken(DelegateIsOwn) {
			delegated["id"] = subject["id"]
		}
		out = append(out, delegated)
	}
	return out
}

// lowerClearance returns the lower clearance of delegate and delegator.
func (o Oracle) lowerClearance(delegate, delegator string) string {
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

// delegatedGrants returns the listed permissions that the delegator's own roles grant now, with their
// scopes.
func (o Oracle) delegatedGrants(delegator object, listed set, roles object, tenantType string) (grants object, holds set) {
	plain, own := map[string]reach{}, map[string]reach{}
	holds = set{}
	for role, where := range storedRoles(delegator) {
		for _, permission := range texts(roles[role]) {
			if !o.grantable(permission, tenantType) || !o.delegable(permission) {
				continue
			}
			bare, isOwn := strings.CutSuffix(permission, ".own")
			if !isOwn && (listed.has(permission) || o.broken(DelegatesUnlisted)) {
				plain[permission] = join(plain, permission, where)
				holds.add(permission)
			}
			if isOwn && o.broken(DelegatesOwnForAll) && listed.has(permission) {
				plain[bare] = join(plain, bare, where)
			}
			// A delegator who holds P also holds P.own.
			if name := bare + ".own"; listed.has(name) || (isOwn && o.broken(DelegatesUnlisted)) {
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

// setScope sets the scope of a delegation, restricted by the caveats. An initiative belongs to
// no project, so a project caveat excludes it.
func (o Oracle) setScope(delegated, d object, left caveats) {
	if word(d, "scope") == "tenant" || o.broken(DelegationScopeIgnored) {
		delegated["all_projects"], delegated["projects"], delegated["initiatives"] = left.everyProject, left.projects.list(), []any{}
		return
	}
	reached, initiatives := set{}, set{}
	for _, project := range texts(d["projects"]) {
		if uuid.MatchString(project) && (left.everyProject || left.projects.has(project) || o.broken(DelegationIgnoresCaveats)) {
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

// Behalf evaluates parapet.access.behalf: the delegations that allow the request.
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

// Delegate evaluates parapet.delegations.verdict: may this delegation be created?
func (o Oracle) Delegate(in any) Verdict {
	doc := asObject(in)
	actor, resource := asObject(doc["actor"]), asObject(doc["resource"])
	delegator, delegate := asObject(doc["delegator"]), asObject(doc["delegate"])
	from, fromThere := delegator["id"].(string)
	to, toThere := delegate["id"].(string)

	var v Verdict
	v.require(fromThere && toThere && (from != to || o.broken(DelegatesToOneself)), Validation, "two users take part")
	for _, user := range []object{delegator, delegate} {
		v.require(o.sameTenant(actor, resource) && user["tenant"] == actor["tenant"], Validation, "both are of the tenant")
		v.require((user["status"] == "ACTIVE" && user["membership"] == "ACTIVE") || o.broken(DelegatesToSuspended), Validation, "both are active")
		v.require(user["kind"] == "HUMAN" || user["kind"] == "AGENT" || o.broken(DelegatesToService), Validation, "neither is a service principal")
	}
	o.requireValidPeriod(&v, doc)
	received := asObject(doc["received"])
	between, counted := amount(received["from_delegator"])
	all, countedAll := amount(received["total"])
	v.require((counted && between < 16) || o.broken(DelegatesBeyondLimits), Conflict, "sixteen between two users")
	v.require((countedAll && all < 64) || o.broken(DelegatesBeyondLimits), Conflict, "sixty-four to one user")
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
		v.require(!strings.HasSuffix(bare, ".own") && (o.delegable(permission) || o.delegable(bare)), Validation, "the permission can be delegated")
		v.require(held.has(permission) || held.has(bare) || o.broken(DelegatesUnheld), Validation, "the delegator holds it")
		ask := object{"permission": bare, "effect": "write", "module": "tracker", "actor": actor, "resource": place}
		v.require(o.Allow(ask) || o.broken(DelegatesBeyondCaller), Forbidden, "the caller holds it there")
	}
	return v.done()
}

// The limits of a delegation, in microseconds.
const (
	day        = 24 * 60 * 60 * 1e6
	longest    = 366 * day
	clocksSkew = 5 * 60 * 1e6
)

// requireValidPeriod requires that the start and the end of a delegation are within the limits.
func (o Oracle) requireValidPeriod(v *Verdict, doc object) {
	now, there := amount(doc["now"])
	starts, begins := amount(doc["starts_at"])
	ends, stops := amount(doc["ends_at"])
	if !there || !begins || !stops {
		v.deny(Validation, "three times")
		return
	}
	v.require(starts >= now-clocksSkew || o.broken(DelegatesFromThePast), Validation, "it begins now or later")
	v.require(starts <= now+longest || o.broken(DelegatesForever), Validation, "it begins within 366 days")
	v.require(ends > now && ends > starts, Validation, "it ends after it begins, and in the future")
	v.require(ends-starts <= longest || o.broken(DelegatesForever), Validation, "it lasts 366 days at most")
}

// amount returns a number of any JSON number type.
func amount(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
