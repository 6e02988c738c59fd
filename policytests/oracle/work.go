package oracle

// Give evaluates parapet.work.give: may the candidate be assigned the work? The candidate
// must be an active member with clearance and not a guest customer. Agents need a tenant
// that runs agents. Service principals cannot be assigned work.
func (o Oracle) Give(in any) Verdict {
	var v Verdict
	o.fits(&v, asObject(in))
	return v.done()
}

func (o Oracle) fits(v *Verdict, doc object) {
	candidate := asObject(doc["candidate"])
	v.require(o.ofTenant(doc) || o.broken(AssignsToOtherTenant), Validation, "the candidate is of the tenant")
	v.require(activeMember(candidate) || o.broken(AssignsToSuspended), Validation, "the candidate is active")
	kind := candidate["kind"]
	v.require(kind == "HUMAN" || kind == "AGENT" || o.broken(AssignsToService), Validation, "a person or an agent")
	o.requireSuitable(v, doc, Validation)
}

// requireSuitable requires that the candidate is suitable for the record; code is the error code of a
// denial.
func (o Oracle) requireSuitable(v *Verdict, doc object, code string) {
	candidate, resource := asObject(doc["candidate"]), asObject(doc["resource"])
	v.require(!isGuest(candidate) || o.broken(AssignsToGuest), code, "no guest customer")
	v.require(candidate["kind"] != "AGENT" || yes(candidate, "agents_allowed") || o.broken(AssignsToAgentInAnyTenant), code, "agents run here")
	v.require(o.reads(readable(o.claim(candidate["clearance"])), resource["classification"]) || o.broken(AssignsWithoutClearance), code, "the candidate is cleared")
}

// StartRun evaluates parapet.work.start_run: the agent must still be assignable to the
// record. There is no actor.
func (o Oracle) StartRun(in any) Verdict {
	doc := asObject(in)
	candidate, resource := asObject(doc["candidate"]), asObject(doc["resource"])
	tenant, said := resource["tenant"].(string)
	var v Verdict
	v.require(candidate["kind"] == "AGENT" || o.broken(StartsRunOfPerson), Forbidden, "an agent runs")
	v.require(said && candidate["tenant"] == tenant, Forbidden, "the agent is of the tenant")
	v.require(activeMember(candidate) || o.broken(StartsRunOfSuspended), Forbidden, "the agent is active")
	o.requireSuitable(&v, doc, Forbidden)
	return v.done()
}

// may reports whether the actor may use the permission on the record, itself or by
// delegation.
func (o Oracle) may(permission, effect string, actor, resource any) bool {
	ask := object{"permission": permission, "effect": effect, "module": "tracker", "actor": actor, "resource": resource}
	return o.Allow(ask) || len(o.Behalf(ask)) > 0
}

// PromoteIssue evaluates parapet.work.promote_issue.
func (o Oracle) PromoteIssue(in any) Verdict {
	return o.withoutOwn(asObject(in), "issue.update", "write")
}

// CountRecords evaluates parapet.work.count_records.
func (o Oracle) CountRecords(in any) Verdict {
	doc := asObject(in)
	return o.withoutOwn(doc, word(doc, "permission"), "read")
}

// withoutOwn requires the permission without .own.
func (o Oracle) withoutOwn(doc object, permission, effect string) Verdict {
	nobodys := object{}
	for name, value := range asObject(doc["resource"]) {
		if (name != "creator" && name != "owner") || o.broken(OwnIsEnough) {
			nobodys[name] = value
		}
	}
	var v Verdict
	v.require(o.isVisible(doc), NotFound, "what the actor may not know of is not there")
	v.require(o.may(permission, effect, doc["actor"], nobodys), Forbidden, "the permission in full")
	return v.done()
}

func (o Oracle) ofTenant(doc object) bool {
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
		name, said := asObject(role)["name"].(string)
		if !said || name == "Guest Customer" {
			return true
		}
	}
	return !isList
}

// mayActForOthers reports whether the actor holds tasks.update.any for the record, itself or by
// delegation.
func (o Oracle) mayActForOthers(doc object) bool {
	return o.may("tasks.update.any", "write", doc["actor"], doc["resource"])
}

// isVisible reports whether the record is visible to the actor, reaches whether the caveats also
// allow it.
func (o Oracle) isVisible(doc object) bool {
	actor, resource := asObject(doc["actor"]), asObject(doc["resource"])
	return o.sameTenant(actor, resource) && o.reads(setOf(texts(actor["readable"])...), resource["classification"])
}

func (o Oracle) isAccessible(doc object) bool {
	ask := object{"effect": "write", "module": "tracker"}
	return o.isVisible(doc) && (o.withinCaveats(ask, asObject(doc["actor"]), asObject(doc["resource"])) || o.broken(RestrictedTokenEnds))
}

// ActAsAgent evaluates parapet.work.act_as_agent.
func (o Oracle) ActAsAgent(in any) Verdict {
	doc := asObject(in)
	candidate := asObject(doc["candidate"])
	var v Verdict
	v.require(o.mayActForOthers(doc) || o.broken(AnyoneActsForAgent), Forbidden, "acting for others")
	v.require(candidate["kind"] == "AGENT" || o.broken(ActsForPerson), Validation, "an agent is spoken for")
	o.fits(&v, doc)
	return v.done()
}

// RaiseDecision evaluates parapet.work.raise_decision.
func (o Oracle) RaiseDecision(in any) Verdict {
	doc := asObject(in)
	var v Verdict
	v.require(o.isVisible(doc), NotFound, "what the actor may not know of is not there")
	v.require(o.isAccessible(doc), Forbidden, "the token leaves it")
	v.require(o.isActor(doc, "acting") || o.mayActForOthers(doc) || o.broken(AnyoneActsForAgent), Forbidden, "for oneself, or for others")
	acting, said := doc["acting"].(string)
	v.require((said && doc["assignee"] == acting) || o.broken(AnyoneRaisesDecision), Forbidden, "the assignee raises")
	v.require(doc["category"] == "IN_PROGRESS" || o.broken(RaisesInAnyStatus), Conflict, "while it is in progress")
	if o.isActor(doc, "acting") {
		v.require(o.may("task.update", "write", doc["actor"], doc["resource"]) || o.broken(RaisesWithoutUpdate), Forbidden, "the assignee may change the task")
	}
	return v.done()
}

// CancelDecision evaluates parapet.work.cancel_decision.
func (o Oracle) CancelDecision(in any) Verdict {
	return o.mayEnd(asObject(in), "raised_by", RaiserCannotCancel)
}

// ReleaseClaim evaluates parapet.work.release_claim.
func (o Oracle) ReleaseClaim(in any) Verdict {
	return o.mayEnd(asObject(in), "holder", HolderCannotRelease)
}

// mayEnd requires that the actor is the user in the field, or holds tasks.update.any.
func (o Oracle) mayEnd(doc object, who string, forgotten Fault) Verdict {
	var v Verdict
	v.require(o.isVisible(doc), NotFound, "what the actor may not know of is not there")
	v.require(o.isAccessible(doc), Forbidden, "the token leaves it")
	v.require((o.isActor(doc, who) && !o.broken(forgotten)) || o.mayActForOthers(doc), Forbidden, "one's own, or for others")
	return v.done()
}

// isActor reports whether a field names the actor.
func (o Oracle) isActor(doc object, field string) bool {
	id, ok := doc[field].(string)
	return ok && asObject(doc["actor"])["id"] == id
}
