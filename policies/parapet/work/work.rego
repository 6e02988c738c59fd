# METADATA
# title: Work, and who does it
# description: >
#   To whom work can be given, who speaks for an agent, who may end what somebody else
#   began, and what takes a permission in full. The permission of the operation itself is decided by parapet.access;
#   these questions come on top of it. Each verdict is an object: allow, and for a
#   refusal the envelope's code and the reasons.
# schemas:
#   - input: schema.work.input
package parapet.work

import data.parapet.access
import data.parapet.clearance

# METADATA
# title: Giving work
# description: >
#   To an active member of the record's tenant that is a person, or an agent where the
#   tenant runs agents, is a guest customer nowhere, and has clearance for the record.
# scope: document
# entrypoint: true
give := _refused("VALIDATION", _unfit) if _unfit

else := _allowed

# METADATA
# title: Speaking for an agent
# description: >
#   By whoever may act on the record for others; for an active agent of the tenant that
#   could be given the record. One of another tenant does not exist.
# scope: document
# entrypoint: true
act_as_agent := _lacking("permission_missing") if not _for_others

else := _no_agent("no_such_agent") if not _of_tenant

else := _no_agent("not_an_agent") if not _agent

else := _no_agent("agent_not_active") if not _active

else := _no_agent(_unfit) if _unfit

else := _for_others

# METADATA
# title: Raising a decision request
# description: >
#   By the task's current assignee, oneself or an agent that one speaks for, while the
#   task's status is of the category IN_PROGRESS. For oneself it takes task.update, for
#   an agent tasks.update.any.
# scope: document
# entrypoint: true
raise_decision := _refused("NOT_FOUND", "no_such_record") if not _known

else := _refused("FORBIDDEN", "out_of_reach") if not _reached

else := _lacking("not_oneself") if not _speaks_for_acting

else := _refused("FORBIDDEN", "not_the_assignee") if not _acting_is_assignee

else := _refused("CONFLICT", "not_in_progress") if not input.category == "IN_PROGRESS"

else := _by("task.update") if _is_actor(input.acting)

else := _without("task.update", "permission_missing") if _is_actor(input.acting)

else := _for_others

# METADATA
# title: Promoting an issue
# description: >
#   By whoever may change any issue there: issue.update.own is not enough, because the
#   issue becomes planned work of others.
# scope: document
# entrypoint: true
promote_issue := _regardless_of_owner("issue.update", "write")

# METADATA
# title: Counting records
# description: >
#   All records of one type in a place are counted for whoever may read any of them:
#   the permission to read one's own is not enough.
# scope: document
# entrypoint: true
count_records := _refused("FORBIDDEN", "permission_missing") if not _permission_reads

else := _regardless_of_owner(input.permission, "read")

# METADATA
# title: Starting an agent's run
# description: >
#   The system asks, there is no subject: the agent of a queued run must still be one
#   that could be given the task. What was true at the assignment may have changed.
# scope: document
# entrypoint: true
start_run := _refused("FORBIDDEN", "not_an_agent") if not _agent

else := _refused("FORBIDDEN", "agent_not_active") if not _active_in_tenant_of_record

else := _refused("FORBIDDEN", _unsuitable) if _unsuitable

else := _allowed

# METADATA
# title: Cancelling a decision request
# description: By whoever raised it, or whoever may act on the task for others.
# scope: document
# entrypoint: true
cancel_decision := _ended_by("raised_by", "not_the_raiser")

# METADATA
# title: Giving a claimed task back
# description: By whoever holds the claim, or whoever may act on the task for others.
# scope: document
# entrypoint: true
release_claim := _ended_by("holder", "not_the_holder")

_ended_by(who, reason) := _refused("NOT_FOUND", "no_such_record") if not _known

else := _refused("FORBIDDEN", "out_of_reach") if not _reached

else := _allowed if _is_actor(input[who])

else := _for_others if _for_others

else := _lacking(reason)

_allowed := {"allow": true, "reasons": []}

_refused(code, reason) := {"allow": false, "code": code, "reasons": [reason]}

_lacking(reason) := _without("tasks.update.any", reason)

_without(permission, reason) := object.union(_refused("FORBIDDEN", reason), {"permission": permission})

_no_agent(reason) := object.union(_refused("VALIDATION", reason), {"field": "agent"})

# What decides about the record itself.
_request(permission, effect) := _request_about(permission, effect, input.resource)

_request_about(permission, effect, resource) := {
	"permission": permission,
	"effect": effect,
	"module": "tracker",
	"actor": input.actor,
	"resource": resource,
}

_for_others := _by("tasks.update.any")

# Undefined where the actor may not. The verdict names the delegation where the actor
# needs one.
_by(permission) := _verdict_on(_request(permission, "write"))

_verdict_on(request) := _allowed if access.allow with input as request

else := object.union(_allowed, {"on_behalf": min(lent)}) if {
	lent := access.behalf with input as request
	count(lent) > 0
}

# The same question about a record of nobody's: no permission held as .own applies.
_regardless_of_owner(permission, effect) := _refused("NOT_FOUND", "no_such_record") if {
	request := _request(permission, effect)
	not access.known with input as request
}

else := verdict if {
	ownerless := object.remove(input.resource, ["creator", "owner"])
	verdict := _verdict_on(_request_about(permission, effect, ownerless))
}

else := _without(permission, "permission_missing")

_permission_reads if data.parapet.catalogue.permissions[input.permission].effect == "read"

_reached if access.reached with input as _request("tasks.update.any", "write")

_known if access.known with input as _request("tasks.update.any", "write")

_is_actor(id) if {
	is_string(id)
	id == input.actor.id
}

_speaks_for_acting if _is_actor(input.acting)

_speaks_for_acting if _for_others

_acting_is_assignee if {
	is_string(input.acting)
	input.assignee == input.acting
}

# The first thing that keeps the candidate from being given the record.
_unfit := "not_an_active_member" if not _active_member

else := _unsuitable

_unsuitable := "service_principal" if not _person_or_agent

else := "guest_customer" if not _no_guest

else := "agent_not_allowed" if not _may_run

else := "clearance" if not _cleared

_active_in_tenant_of_record if {
	is_string(input.resource.tenant)
	input.candidate.tenant == input.resource.tenant
	_active
}

_active_member if {
	_of_tenant
	_active
}

_of_tenant if {
	is_string(input.resource.tenant)
	input.resource.tenant == input.actor.tenant
	input.candidate.tenant == input.resource.tenant
}

_active if {
	input.candidate.status == "ACTIVE"
	input.candidate.membership == "ACTIVE"
}

_agent if input.candidate.kind == "AGENT"

_person_or_agent if input.candidate.kind in {"AGENT", "HUMAN"}

# A role in any scope counts: a guest of one project is a guest. The list is always
# there, and says of each role its name.
_no_guest if {
	is_array(input.candidate.roles)
	every role in input.candidate.roles {
		is_string(role.name)
		role.name != data.parapet.roles.guest
	}
}

_may_run if input.candidate.kind == "HUMAN"

_may_run if {
	_agent
	input.candidate.agents_allowed == true
}

_cleared if input.resource.classification in clearance.tiers_up_to(_stored_clearance)

_cleared if clearance.unrecognised(input.resource.classification)

default _stored_clearance := null

_stored_clearance := input.candidate.clearance
