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
	candidate, resource := asObject(doc["candidate"]), asObject(doc["resource"])
	v.require(o.ofTenant(doc) || o.broken(GivenToForeigner), Validation, "the candidate is of the tenant")
	v.require(activeMember(candidate) || o.broken(GivenToSuspended), Validation, "the candidate is active")
	kind := candidate["kind"]
	v.require(kind == "HUMAN" || kind == "AGENT" || o.broken(GivenToService), Validation, "a person or an agent")
	v.require(!guest(candidate) || o.broken(GivenToGuest), Validation, "no guest customer")
	v.require(kind != "AGENT" || yes(candidate, "agents_allowed") || o.broken(GivenToAgentAnywhere), Validation, "agents run here")
	v.require(o.reads(readable(o.claim(candidate["clearance"])), resource["classification"]) || o.broken(GivenToUncleared), Validation, "the candidate is cleared")
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
	ask := object{"permission": "tasks.update.any", "effect": "write", "module": "tracker", "actor": doc["actor"], "resource": doc["resource"]}
	return o.Allow(ask) || len(o.Behalf(ask)) > 0
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
