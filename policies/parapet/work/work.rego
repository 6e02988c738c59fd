# METADATA
# title: Assignment of work and work for others
# description: >
#   Decides who can be assigned work, who may act for an agent, who may cancel or release
#   what another user started, and which operations .own does not allow. parapet.access
#   decides about the operation's own permission. Each verdict is an object: allow, and
#   for a denial the error code and the reasons.
# schemas:
#   - input: schema.work.input
package parapet.work

import data.parapet.access
import data.parapet.clearance

# METADATA
# title: Assign work
# description: >
#   The assignee must be an active member of the record's tenant with clearance for the
#   record: a person, or an agent if the tenant runs agents. Users with the role Guest
#   Customer in any scope cannot be assigned work.
# scope: document
# entrypoint: true
give := _deny("VALIDATION", _unassignable_reason) if _unassignable_reason

else := _allowed

# METADATA
# title: Act for an agent
# description: >
#   Requires tasks.update.any for the record. The agent must be active, belong to the
#   tenant and be assignable to the record. An agent of another tenant gets the same
#   error as one that does not exist.
# scope: document
# entrypoint: true
act_as_agent := _deny_missing_any("permission_missing") if not _may_act_for_others

else := _deny_agent("no_such_agent") if not _is_of_tenant

else := _deny_agent("not_an_agent") if not _is_agent

else := _deny_agent("agent_not_active") if not _is_active

else := _deny_agent(_unassignable_reason) if _unassignable_reason

else := _may_act_for_others

# METADATA
# title: Raise a decision request
# description: >
#   Only the task's current assignee can raise one, while the task's status has the
#   category IN_PROGRESS. The caller is the assignee (requires task.update) or acts for
#   the assigned agent (requires tasks.update.any).
# scope: document
# entrypoint: true
raise_decision := _deny("NOT_FOUND", "no_such_record") if not _visible

else := _deny("FORBIDDEN", "out_of_reach") if not _permitted_by_caveats

else := _deny_missing_any("not_oneself") if not _may_act_as_identity

else := _deny("FORBIDDEN", "not_the_assignee") if not _acting_is_assignee

else := _deny("CONFLICT", "not_in_progress") if not input.category == "IN_PROGRESS"

else := _allowed_by("task.update") if _is_actor(input.acting)

else := _deny_permission("task.update", "permission_missing") if _is_actor(input.acting)

else := _may_act_for_others

# METADATA
# title: Promote an issue
# description: >
#   Requires issue.update. issue.update.own is not enough, because the issue becomes
#   planned work for others.
# scope: document
# entrypoint: true
promote_issue := _verdict_without_ownership("issue.update", "write")

# METADATA
# title: Count records
# description: >
#   Requires the permission to read all records of the type in the scope. A permission to
#   read one's own records is not enough.
# scope: document
# entrypoint: true
count_records := _deny("FORBIDDEN", "permission_missing") if not _is_read_permission

else := _verdict_without_ownership(input.permission, "read")

# METADATA
# title: Start the run of an agent
# description: >
#   The system evaluates it before it starts a queued run. There is no subject. Checks again
#   that the agent can be assigned the task, because this may have changed since the
#   assignment.
# scope: document
# entrypoint: true
start_run := _deny("FORBIDDEN", "not_an_agent") if not _is_agent

else := _deny("FORBIDDEN", "agent_not_active") if not _active_in_tenant_of_record

else := _deny("FORBIDDEN", _unsuitable_reason) if _unsuitable_reason

else := _allowed

# METADATA
# title: Cancel a decision request
# description: >
#   Only the user who raised it, or a user with tasks.update.any for the task.
# scope: document
# entrypoint: true
cancel_decision := _starter_or_any("raised_by", "not_the_raiser")

# METADATA
# title: Release the lease of a task
# description: >
#   Only the holder of the lease, or a user with tasks.update.any for the task.
# scope: document
# entrypoint: true
release_claim := _starter_or_any("holder", "not_the_holder")

_starter_or_any(field, reason) := _deny("NOT_FOUND", "no_such_record") if not _visible

else := _deny("FORBIDDEN", "out_of_reach") if not _permitted_by_caveats

else := _allowed if _is_actor(input[field])

else := _may_act_for_others if _may_act_for_others

else := _deny_missing_any(reason)

_allowed := {"allow": true, "reasons": []}

_deny(code, reason) := {"allow": false, "code": code, "reasons": [reason]}

_deny_missing_any(reason) := _deny_permission("tasks.update.any", reason)

_deny_permission(permission, reason) := object.union(_deny("FORBIDDEN", reason), {"permission": permission})

_deny_agent(reason) := object.union(_deny("VALIDATION", reason), {"field": "agent"})

_request(permission, effect) := _request_about(permission, effect, input.resource)

_request_about(permission, effect, resource) := {
	"permission": permission,
	"effect": effect,
	"module": "tracker",
	"actor": input.actor,
	"resource": resource,
}

_may_act_for_others := _allowed_by("tasks.update.any")

# Undefined if the actor lacks the permission. If the permission is delegated, the verdict
# names the delegation.
_allowed_by(permission) := _verdict_on(_request(permission, "write"))

_verdict_on(request) := _allowed if access.allow with input as request

else := object.union(_allowed, {"on_behalf": min(delegated)}) if {
	delegated := access.behalf with input as request
	count(delegated) > 0
}

# Evaluates the request for the same record without creator and owner, so that no .own
# permission applies.
_verdict_without_ownership(permission, effect) := _deny("NOT_FOUND", "no_such_record") if {
	request := _request(permission, effect)
	not access.visible with input as request
}

else := verdict if {
	ownerless := object.remove(input.resource, ["creator", "owner"])
	verdict := _verdict_on(_request_about(permission, effect, ownerless))
}

else := _deny_permission(permission, "permission_missing")

_is_read_permission if data.parapet.catalogue.permissions[input.permission].effect == "read"

_permitted_by_caveats if access.permitted_by_caveats with input as _request("tasks.update.any", "write")

_visible if access.visible with input as _request("tasks.update.any", "write")

_is_actor(id) if {
	is_string(id)
	id == input.actor.id
}

_may_act_as_identity if _is_actor(input.acting)

_may_act_as_identity if _may_act_for_others

_acting_is_assignee if {
	is_string(input.acting)
	input.assignee == input.acting
}

# The first reason why the candidate cannot be assigned the record. Undefined if there is
# none.
_unassignable_reason := "not_an_active_member" if not _is_active_member

else := _unsuitable_reason

_unsuitable_reason := "service_principal" if not _person_or_agent

else := "guest_customer" if not _is_not_guest

else := "agent_not_allowed" if not _agents_allowed

else := "clearance" if not _has_clearance

_active_in_tenant_of_record if {
	is_string(input.resource.tenant)
	input.candidate.tenant == input.resource.tenant
	_is_active
}

_is_active_member if {
	_is_of_tenant
	_is_active
}

_is_of_tenant if {
	is_string(input.resource.tenant)
	input.resource.tenant == input.actor.tenant
	input.candidate.tenant == input.resource.tenant
}

_is_active if {
	input.candidate.status == "ACTIVE"
	input.candidate.membership == "ACTIVE"
}

_is_agent if input.candidate.kind == "AGENT"

_person_or_agent if input.candidate.kind in {"AGENT", "HUMAN"}

# The role Guest Customer counts in any scope. Denies if the list of roles is missing or
# an entry has no name.
_is_not_guest if {
	is_array(input.candidate.roles)
	every role in input.candidate.roles {
		is_string(role.name)
		role.name != data.parapet.roles.guest
	}
}

_agents_allowed if input.candidate.kind == "HUMAN"

_agents_allowed if {
	_is_agent
	input.candidate.agents_allowed == true
}

_has_clearance if input.resource.classification in clearance.tiers_up_to(_stored_clearance)

_has_clearance if clearance.unrecognised(input.resource.classification)

default _stored_clearance := null

_stored_clearance := input.candidate.clearance
