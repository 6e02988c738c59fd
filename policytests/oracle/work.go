package oracle

// Give evaluates parapet.work.give: may the candidate be assigned the work? The candidate
// must be an active member with clearance and not a guest customer. Agents need a tenant
// that runs agents. Service principals cannot be assigned work.
func (o Oracle) Give(in any) Verdict {
	var v Verdict
	o.requireAssignable(&v, asObject(in))
	return v.result()
}

// requireAssignable requires that the candidate can be assigned the record.
func (o Oracle) requireAssignable(v *Verdict, doc object) {
	candidate := asObject(doc["candidate"])
	v.require(o.isCandidateOfTenant(doc) || o.hasFault(AssignsToOtherTenant), Validation, "the candidate belongs to another tenant")
	v.require(activeMember(candidate) || o.hasFault(AssignsToSuspended), Validation, "the candidate is not active")
	kind := candidate["kind"]
	v.require(kind == "HUMAN" || kind == "AGENT" || o.hasFault(AssignsToService), Validation, "a service principal cannot be assigned work")
	o.requireSuitable(v, doc, Validation)
}

// requireSuitable requires that the candidate is no guest customer, may be an agent in this
// tenant, and has clearance for the record. A denial has the given error code.
func (o Oracle) requireSuitable(v *Verdict, doc object, code string) {
	candidate, resource := asObject(doc["candidate"]), asObject(doc["resource"])
	v.require(!isGuest(candidate) || o.hasFault(AssignsToGuest), code, "a guest customer cannot be assigned work")
	v.require(candidate["kind"] != "AGENT" || isTrue(candidate, "agents_allowed") || o.hasFault(AssignsToAgentInAnyTenant), code, "the tenant does not run agents")
	v.require(o.canRead(readable(o.clearanceOf(candidate["clearance"])), resource["classification"]) || o.hasFault(AssignsWithoutClearance), code, "the candidate has no clearance for the record")
}

// StartRun evaluates parapet.work.start_run: the agent must still be assignable to the
// record. There is no actor.
func (o Oracle) StartRun(in any) Verdict {
	doc := asObject(in)
	candidate, resource := asObject(doc["candidate"]), asObject(doc["resource"])
	tenant, given := resource["tenant"].(string)
	var v Verdict
	v.require(candidate["kind"] == "AGENT" || o.hasFault(StartsRunOfPerson), Forbidden, "the candidate is not an agent")
	v.require(given && candidate["tenant"] == tenant, Forbidden, "the agent belongs to another tenant")
	v.require(activeMember(candidate) || o.hasFault(StartsRunOfSuspended), Forbidden, "the agent is not active")
	o.requireSuitable(&v, doc, Forbidden)
	return v.result()
}

// isAllowed reports whether the actor may use the permission on the record, itself or by
// delegation.
func (o Oracle) isAllowed(permission, effect string, actor, resource any) bool {
	request := object{"permission": permission, "effect": effect, "module": "tracker", "actor": actor, "resource": resource}
	return o.Allow(request) || len(o.Behalf(request)) > 0
}

// PromoteIssue evaluates parapet.work.promote_issue.
func (o Oracle) PromoteIssue(in any) Verdict {
	return o.requireWithoutOwn(asObject(in), "issue.update", "write")
}

// CountRecords evaluates parapet.work.count_records.
func (o Oracle) CountRecords(in any) Verdict {
	doc := asObject(in)
	return o.requireWithoutOwn(doc, stringField(doc, "permission"), "read")
}

// requireWithoutOwn requires the permission without .own: it decides about a copy of the
// record without creator and owner.
func (o Oracle) requireWithoutOwn(doc object, permission, effect string) Verdict {
	withoutOwner := object{}
	for name, value := range asObject(doc["resource"]) {
		if (name != "creator" && name != "owner") || o.hasFault(OwnIsEnough) {
			withoutOwner[name] = value
		}
	}
	var v Verdict
	v.require(o.isVisible(doc), NotFound, "the record is not visible to the actor")
	v.require(o.isAllowed(permission, effect, doc["actor"], withoutOwner), Forbidden, "the actor does not hold the permission without .own")
	return v.result()
}

func (o Oracle) isCandidateOfTenant(doc object) bool {
	candidate := asObject(doc["candidate"])
	return o.sameTenant(asObject(doc["actor"]), asObject(doc["resource"])) && candidate["tenant"] == asObject(doc["actor"])["tenant"]
}

func activeMember(candidate object) bool {
	return candidate["status"] == "ACTIVE" && candidate["membership"] == "ACTIVE"
}

// isGuest reports whether the candidate has, or may have, the role Guest Customer. A role
// without a name counts as one.
func isGuest(candidate object) bool {
	roles, isList := candidate["roles"].([]any)
	for _, role := range roles {
		name, given := asObject(role)["name"].(string)
		if !given || name == "Guest Customer" {
			return true
		}
	}
	return !isList
}

// mayActForOthers reports whether the actor holds tasks.update.any for the record, itself or
// by delegation.
func (o Oracle) mayActForOthers(doc object) bool {
	return o.isAllowed("tasks.update.any", "write", doc["actor"], doc["resource"])
}

// isVisible reports whether the record is visible to the actor.
func (o Oracle) isVisible(doc object) bool {
	actor, resource := asObject(doc["actor"]), asObject(doc["resource"])
	return o.sameTenant(actor, resource) && o.canRead(setOf(stringsOf(actor["readable"])...), resource["classification"])
}

// isAccessible reports whether the record is visible and the caveats allow changing it.
func (o Oracle) isAccessible(doc object) bool {
	request := object{"effect": "write", "module": "tracker"}
	return o.isVisible(doc) && (o.withinCaveats(request, asObject(doc["actor"]), asObject(doc["resource"])) || o.hasFault(RestrictedTokenEnds))
}

// ActAsAgent evaluates parapet.work.act_as_agent.
func (o Oracle) ActAsAgent(in any) Verdict {
	doc := asObject(in)
	candidate := asObject(doc["candidate"])
	var v Verdict
	v.require(o.mayActForOthers(doc) || o.hasFault(AnyoneActsForAgent), Forbidden, "the actor may not act for other users")
	v.require(candidate["kind"] == "AGENT" || o.hasFault(ActsForPerson), Validation, "the candidate is not an agent")
	o.requireAssignable(&v, doc)
	return v.result()
}

// RaiseDecision evaluates parapet.work.raise_decision.
func (o Oracle) RaiseDecision(in any) Verdict {
	doc := asObject(in)
	var v Verdict
	v.require(o.isVisible(doc), NotFound, "the record is not visible to the actor")
	v.require(o.isAccessible(doc), Forbidden, "the caveats do not allow changing the record")
	v.require(o.isActor(doc, "acting") || o.mayActForOthers(doc) || o.hasFault(AnyoneActsForAgent), Forbidden, "the actor may not act for other users")
	acting, given := doc["acting"].(string)
	v.require((given && doc["assignee"] == acting) || o.hasFault(AnyoneRaisesDecision), Forbidden, "only the assignee may raise a decision request")
	v.require(doc["category"] == "IN_PROGRESS" || o.hasFault(RaisesInAnyStatus), Conflict, "the task is not in progress")
	if o.isActor(doc, "acting") {
		v.require(o.isAllowed("task.update", "write", doc["actor"], doc["resource"]) || o.hasFault(RaisesWithoutUpdate), Forbidden, "the assignee may not change the task")
	}
	return v.result()
}

// CancelDecision evaluates parapet.work.cancel_decision.
func (o Oracle) CancelDecision(in any) Verdict {
	return o.requireUserOrUpdateAny(asObject(in), "raised_by", RaiserCannotCancel)
}

// ReleaseClaim evaluates parapet.work.release_claim.
func (o Oracle) ReleaseClaim(in any) Verdict {
	return o.requireUserOrUpdateAny(asObject(in), "holder", HolderCannotRelease)
}

// requireUserOrUpdateAny requires that the actor is the user in the field, or holds
// tasks.update.any. An oracle with the fault ignores that the actor is the user.
func (o Oracle) requireUserOrUpdateAny(doc object, field string, fault Fault) Verdict {
	var v Verdict
	v.require(o.isVisible(doc), NotFound, "the record is not visible to the actor")
	v.require(o.isAccessible(doc), Forbidden, "the caveats do not allow changing the record")
	v.require((o.isActor(doc, field) && !o.hasFault(fault)) || o.mayActForOthers(doc), Forbidden, "the actor is another user and does not hold tasks.update.any")
	return v.result()
}

// isActor reports whether a field names the actor.
func (o Oracle) isActor(doc object, field string) bool {
	id, ok := doc[field].(string)
	return ok && asObject(doc["actor"])["id"] == id
}
