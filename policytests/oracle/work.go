package oracle

// Give answers parapet.work.give: may the work be given to the candidate? To an
// active member that is no guest customer, with clearance; to an agent where the
// tenant runs agents; never to a service principal.
func (o Oracle) Give(in any) Verdict {
	var v Verdict
	o.fits(&v, asObject(in))
	return v.done()
}

func (o Oracle) fits(v *Verdict, doc object) {
	candidate := asObject(doc["candidate"])
	v.require(o.ofTenant(doc) || o.broken(GivenToForeigner), Validation, "the candidate is of the tenant")
	v.require(activeMember(candidate) || o.broken(GivenToSuspended), Validation, "the candidate is active")
	kind := candidate["kind"]
	v.require(kind == "HUMAN" || kind == "AGENT" || o.broken(GivenToService), Validation, "a person or an agent")
	o.suits(v, doc, Validation)
}

// suits requires what the record asks of an active member, with the code of the
// refusal.
func (o Oracle) suits(v *Verdict, doc object, code string) {
	candidate, resource := asObject(doc["candidate"]), asObject(doc["resource"])
	v.require(!guest(candidate) || o.broken(GivenToGuest), code, "no guest customer")
	v.require(candidate["kind"] != "AGENT" || yes(candidate, "agents_allowed") || o.broken(GivenToAgentAnywhere), code, "agents run here")
	v.require(o.reads(readable(o.claim(candidate["clearance"])), resource["classification"]) || o.broken(GivenToUncleared), code, "the candidate is cleared")
}

// StartRun answers parapet.work.start_run: nobody asks, the agent must still be one
// that could be given the record.
func (o Oracle) StartRun(in any) Verdict {
	doc := asObject(in)
	candidate, resource := asObject(doc["candidate"]), asObject(doc["resource"])
	tenant, said := resource["tenant"].(string)
	var v Verdict
	v.require(candidate["kind"] == "AGENT" || o.broken(PersonRuns), Forbidden, "an agent runs")
	v.require(said && candidate["tenant"] == tenant, Forbidden, "the agent is of the tenant")
	v.require(activeMember(candidate) || o.broken(SuspendedRuns), Forbidden, "the agent is active")
	o.suits(&v, doc, Forbidden)
	return v.done()
}

// may tells whether the actor may do so with the record, by itself or on another's
// behalf.
func (o Oracle) may(permission, effect string, actor, resource any) bool {
	ask := object{"permission": permission, "effect": effect, "module": "tracker", "actor": actor, "resource": resource}
	return o.Allow(ask) || len(o.Behalf(ask)) > 0
}

// PromoteIssue answers parapet.work.promote_issue.
func (o Oracle) PromoteIssue(in any) Verdict {
	return o.inFull(asObject(in), "issue.update", "write")
}

// CountRecords answers parapet.work.count_records.
func (o Oracle) CountRecords(in any) Verdict {
	doc := asObject(in)
	return o.inFull(doc, word(doc, "permission"), "read")
}

// inFull: a permission for one's own records does not do.
func (o Oracle) inFull(doc object, permission, effect string) Verdict {
	nobodys := object{}
	for name, value := range asObject(doc["resource"]) {
		if (name != "creator" && name != "owner") || o.broken(OwnIsEnough) {
			nobodys[name] = value
		}
	}
	var v Verdict
	v.require(o.knows(doc), NotFound, "what the actor may not know of is not there")
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

// guest tells whether a role is, or may be, the guest customer's: one that does
// not say its name may be.
func guest(candidate object) bool {
	roles, isList := candidate["roles"].([]any)
	for _, role := range roles {
		name, said := asObject(role)["name"].(string)
		if !said || name == "Guest Customer" {
			return true
		}
	}
	return !isList
}

// forOthers tells whether the actor may act on the record for others, by itself or
// on another's behalf.
func (o Oracle) forOthers(doc object) bool {
	return o.may("tasks.update.any", "write", doc["actor"], doc["resource"])
}

// knows tells whether the actor may know of the record, reaches whether its token
// leaves the record to it.
func (o Oracle) knows(doc object) bool {
	actor, resource := asObject(doc["actor"]), asObject(doc["resource"])
	return o.sameTenant(actor, resource) && o.reads(setOf(texts(actor["readable"])...), resource["classification"])
}

func (o Oracle) reaches(doc object) bool {
	ask := object{"effect": "write", "module": "tracker"}
	return o.knows(doc) && (o.withinCaveats(ask, asObject(doc["actor"]), asObject(doc["resource"])) || o.broken(NarrowedTokenEnds))
}

// ActAsAgent answers parapet.work.act_as_agent.
func (o Oracle) ActAsAgent(in any) Verdict {
	doc := asObject(in)
	candidate := asObject(doc["candidate"])
	var v Verdict
	v.require(o.forOthers(doc) || o.broken(AnyoneSpeaks), Forbidden, "acting for others")
	v.require(candidate["kind"] == "AGENT" || o.broken(PersonSpokenFor), Validation, "an agent is spoken for")
	o.fits(&v, doc)
	return v.done()
}

// RaiseDecision answers parapet.work.raise_decision.
func (o Oracle) RaiseDecision(in any) Verdict {
	doc := asObject(in)
	var v Verdict
	v.require(o.knows(doc), NotFound, "what the actor may not know of is not there")
	v.require(o.reaches(doc), Forbidden, "the token leaves it")
	v.require(o.is(doc, "acting") || o.forOthers(doc) || o.broken(AnyoneSpeaks), Forbidden, "for oneself, or for others")
	acting, said := doc["acting"].(string)
	v.require((said && doc["assignee"] == acting) || o.broken(AnyoneRaises), Forbidden, "the assignee raises")
	v.require(doc["category"] == "IN_PROGRESS" || o.broken(RaisedAnyTime), Conflict, "while it is in progress")
	if o.is(doc, "acting") {
		v.require(o.may("task.update", "write", doc["actor"], doc["resource"]) || o.broken(RaisedWithoutUpdate), Forbidden, "the assignee may change the task")
	}
	return v.done()
}

// CancelDecision answers parapet.work.cancel_decision.
func (o Oracle) CancelDecision(in any) Verdict {
	return o.end(asObject(in), "raised_by", RaiserForgotten)
}

// ReleaseClaim answers parapet.work.release_claim.
func (o Oracle) ReleaseClaim(in any) Verdict { return o.end(asObject(in), "holder", HolderForgotten) }

// end: what somebody began is ended by them, or by whoever may act for others.
func (o Oracle) end(doc object, who string, forgotten Fault) Verdict {
	var v Verdict
	v.require(o.knows(doc), NotFound, "what the actor may not know of is not there")
	v.require(o.reaches(doc), Forbidden, "the token leaves it")
	v.require((o.is(doc, who) && !o.broken(forgotten)) || o.forOthers(doc), Forbidden, "one's own, or for others")
	return v.done()
}

// is tells whether a field names the actor.
func (o Oracle) is(doc object, field string) bool {
	id, ok := doc[field].(string)
	return ok && asObject(doc["actor"])["id"] == id
}
