package oracle

import "strings"

// delegatedSubjects returns one subject for each active delegation. Its permissions and its
// own records are those of the delegator, everything else is the caller's.
func (o Oracle) delegatedSubjects(c caller, in, subject object, allowed caveats) []any {
	out := []any{}
	received, _ := in["delegations"].([]any)
	if allowed.deniesAll() || !kindsAreKnown(c) || (c.kind == "SERVICE" && !o.hasFault(ServiceReceivesDelegation)) || (c.tokenTenant != c.tenant && !o.canLeaveTenant(c)) {
		return out
	}
	for _, item := range received {
		d := asObject(item)
		delegator := asObject(d["delegator"])
		id := stringField(delegator, "id")
		delegatorInactive := stringField(delegator, "status") != "ACTIVE" || stringField(delegator, "membership") != "ACTIVE"
		canDelegate := setOf("HUMAN", "AGENT").has(stringField(delegator, "kind")) || (stringField(delegator, "kind") == "SERVICE" && o.hasFault(ServiceDelegates))
		if !uuid.MatchString(stringField(d, "id")) || !uuid.MatchString(id) || id == subject["id"] || (delegatorInactive && !o.hasFault(SuspendedDelegates)) || !canDelegate {
			continue
		}
		grants, holds := o.delegatedGrants(delegator, setOf(stringsOf(d["permissions"])...), asObject(in["roles"]), c.tenantType)
		if len(holds) == 0 {
			continue
		}
		delegated := object{
			"delegation": d["id"], "id": id, "tenant": subject["tenant"], "tenant_type": c.tenantType, "readable": readable(o.lowerClearance(stringField(subject, "clearance"), o.clearanceOf(delegator["clearance"]))).list(),
			"effects": allowed.effects.list(), "modules": allowed.modules.intersect(setOf("tracker")).list(),
			"grants": grants, "audit": object{}, "holds": holds.list(),
		}
		o.setScope(delegated, d, allowed)
		if o.hasFault(DelegateIsOwn) {
			delegated["id"] = subject["id"]
		}
		out = append(out, delegated)
	}
	return out
}

// lowerClearance returns the lower clearance of delegate and delegator.
func (o Oracle) lowerClearance(delegate, delegator string) string {
	switch {
	case o.hasFault(DelegatorClearanceIgnored):
		return delegate
	case o.hasFault(DelegateClearanceIgnored):
		return delegator
	case Rank(delegator) < Rank(delegate):
		return delegator
	}
	return delegate
}

// delegatedGrants returns the listed permissions that the delegator's roles grant, with
// their scopes.
func (o Oracle) delegatedGrants(delegator object, listed set, roles object, tenantType string) (grants object, holds set) {
	plain, own := map[string]scopeSet{}, map[string]scopeSet{}
	holds = set{}
	for role, where := range storedRoles(delegator) {
		for _, permission := range stringsOf(roles[role]) {
			if !o.grantable(permission, tenantType) || !o.delegable(permission) {
				continue
			}
			bare, isOwn := strings.CutSuffix(permission, ".own")
			if !isOwn && (listed.has(permission) || o.hasFault(DelegatesUnlisted)) {
				plain[permission] = join(plain, permission, where)
				holds.add(permission)
			}
			if isOwn && o.hasFault(DelegatesOwnForAll) && listed.has(permission) {
				plain[bare] = join(plain, bare, where)
			}
			// A delegator who holds P also holds P.own.
			if name := bare + ".own"; listed.has(name) || (isOwn && o.hasFault(DelegatesUnlisted)) {
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
			grants[permission] = newScopeSet().document()
		}
		asObject(grants[permission])["own"] = where.document()
	}
	return grants, holds
}

// setScope sets the scope of a delegation, restricted by the caveats. An initiative belongs to
// no project, so a project caveat excludes it.
func (o Oracle) setScope(delegated, d object, allowed caveats) {
	if stringField(d, "scope") == "tenant" || o.hasFault(DelegationScopeIgnored) {
		delegated["all_projects"], delegated["projects"], delegated["initiatives"] = allowed.everyProject, allowed.projects.list(), []any{}
		return
	}
	projects, initiatives := set{}, set{}
	for _, project := range stringsOf(d["projects"]) {
		if uuid.MatchString(project) && (allowed.everyProject || allowed.projects.has(project) || o.hasFault(DelegationIgnoresCaveats)) {
			projects.add(project)
		}
	}
	for _, initiative := range stringsOf(d["initiatives"]) {
		if uuid.MatchString(initiative) && allowed.everyProject {
			initiatives.add(initiative)
		}
	}
	delegated["all_projects"], delegated["projects"], delegated["initiatives"] = false, projects.list(), initiatives.list()
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
			if v, present := doc[name]; present {
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
	from, fromGiven := delegator["id"].(string)
	to, toGiven := delegate["id"].(string)

	var v Verdict
	v.require(fromGiven && toGiven && (from != to || o.hasFault(DelegatesToOneself)), Validation, "the delegator and the delegate must be different users")
	for _, user := range []object{delegator, delegate} {
		v.require(o.sameTenant(actor, resource) && user["tenant"] == actor["tenant"], Validation, "the delegator or the delegate belongs to another tenant")
		v.require((user["status"] == "ACTIVE" && user["membership"] == "ACTIVE") || o.hasFault(DelegatesToSuspended), Validation, "the delegator or the delegate is not active")
		v.require(user["kind"] == "HUMAN" || user["kind"] == "AGENT" || o.hasFault(DelegatesToService), Validation, "the delegator or the delegate is a service principal")
	}
	o.requireValidPeriod(&v, doc)
	received := asObject(doc["received"])
	between, counted := asNumber(received["from_delegator"])
	all, countedAll := asNumber(received["total"])
	v.require((counted && between < 16) || o.hasFault(DelegatesBeyondLimits), Conflict, "the delegator already has 16 delegations to this user")
	v.require((countedAll && all < 64) || o.hasFault(DelegatesBeyondLimits), Conflict, "the delegate already has 64 delegations")
	list, isList := doc["permissions"].([]any)
	v.require(isList && len(list) > 0 && len(stringsOf(list)) == len(list), Validation, "permissions must be a list of at least one string")
	held := set{}
	if roles, ok := delegator["roles"].([]any); ok {
		for _, role := range roles {
			held.addAll(setOf(stringsOf(asObject(role)["grants"])...))
		}
	}
	record := object{}
	for k, field := range resource {
		record[k] = field
	}
	record["creator"], record["owner"] = delegator["id"], delegator["id"]
	for _, permission := range stringsOf(list) {
		bare := strings.TrimSuffix(permission, ".own")
		v.require(!strings.HasSuffix(bare, ".own") && (o.delegable(permission) || o.delegable(bare)), Validation, "the permission cannot be delegated")
		v.require(held.has(permission) || held.has(bare) || o.hasFault(DelegatesUnheld), Validation, "the delegator does not hold the permission")
		request := object{"permission": bare, "effect": "write", "module": "tracker", "actor": actor, "resource": record}
		v.require(o.Allow(request) || o.hasFault(DelegatesBeyondCaller), Forbidden, "the caller does not hold the permission for the record")
	}
	return v.result()
}

// The limits of a delegation, in microseconds.
const (
	day        = 24 * 60 * 60 * 1e6
	longest    = 366 * day
	clocksSkew = 5 * 60 * 1e6
)

// requireValidPeriod requires that the start and the end of a delegation are within the limits.
func (o Oracle) requireValidPeriod(v *Verdict, doc object) {
	now, present := asNumber(doc["now"])
	starts, startGiven := asNumber(doc["starts_at"])
	ends, endGiven := asNumber(doc["ends_at"])
	if !present || !startGiven || !endGiven {
		v.deny(Validation, "now, starts_at and ends_at are required")
		return
	}
	v.require(starts >= now-clocksSkew || o.hasFault(DelegatesFromThePast), Validation, "the start is in the past")
	v.require(starts <= now+longest || o.hasFault(DelegatesForever), Validation, "the start is more than 366 days ahead")
	v.require(ends > now && ends > starts, Validation, "the end must be in the future and after the start")
	v.require(ends-starts <= longest || o.hasFault(DelegatesForever), Validation, "the delegation is longer than 366 days")
}
