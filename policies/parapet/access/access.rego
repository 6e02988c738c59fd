# METADATA
# title: May this actor do this with this record?
# description: >
#   The rule behind almost every decision, and, partially evaluated, behind the WHERE
#   clause of every list. It is evaluated often: roles, scopes, tiers and caveats were
#   worked out before, by parapet.subject, whose result is input.actor.
# schemas:
#   - input: schema.access.input
package parapet.access

import data.parapet.audit

# METADATA
# title: The decision
# description: Only true allows.
# scope: document
# entrypoint: true
default allow := false

allow if {
	_in_tenant
	input.effect in input.actor.effects
	input.module in input.actor.modules
	_in_caveat_projects
	_readable
	_office_allows
	_granted
}

# Audit entries are gated by literals of their own, not by rank.
allow if {
	scopes := data.parapet.audit.scopes[input.permission]
	_in_tenant
	input.effect in input.actor.effects
	input.module in input.actor.modules
	_in_caveat_projects
	audit.admits(scopes)
}

_in_tenant if {
	is_string(input.resource.tenant)
	input.resource.tenant == input.actor.tenant
}

_in_caveat_projects if input.actor.all_projects == true

_in_caveat_projects if input.resource.project in input.actor.projects

# A delegation for an initiative reaches the initiative itself, which is in no project.
_in_caveat_projects if {
	input.resource.type == "initiative"
	input.resource.id in input.actor.initiatives
}

# A classification that is no text denies, whatever the list holds.
_readable if {
	is_string(input.resource.classification)
	input.resource.classification in input.actor.readable
}

_readable if {
	is_string(input.resource.classification)
	not input.resource.classification in data.parapet.clearance.ladder
}

# Administering other tenants is for people of a programme office.
_office_allows if not data.parapet.catalogue.permissions[input.permission].platform

_office_allows if input.actor.tenant_type == "PROGRAMME_OFFICE"

_granted if input.actor.grants[input.permission].tenant == true

_granted if input.resource.organisation in input.actor.grants[input.permission].organisations

_granted if input.resource.project in input.actor.grants[input.permission].projects

_granted if {
	_own
	_own_granted
}

_own if {
	_counts_as_own("creator")
	is_string(input.actor.id)
	input.resource.creator == input.actor.id
}

_own if {
	_counts_as_own("owner")
	is_string(input.actor.id)
	input.resource.owner == input.actor.id
}

# Declared for each permission: callers write the owner of many records, so it must
# not count for deleting them. Without a declaration no relation counts.
_counts_as_own(relation) if {
	relation in data.parapet.catalogue.own[trim_suffix(input.permission, ".own")]
}

_own_granted if input.actor.grants[input.permission].own.tenant == true

_own_granted if input.resource.organisation in input.actor.grants[input.permission].own.organisations

_own_granted if input.resource.project in input.actor.grants[input.permission].own.projects

# METADATA
# title: On whose behalf
# description: >
#   Asked where the actor itself is denied: the delegations by which the same rule
#   allows it to whoever delegated, as far as they were given. One is enough to allow.
# scope: document
# entrypoint: true
behalf contains {"delegation": delegated.delegation, "delegator": delegated.id} if {
	some delegated in input.actor.delegated_subjects
	allow with input.actor as delegated
}

# METADATA
# title: Why not
# description: >
#   Asked after a denial only: the first thing that stands against the request, as a
#   code that parapet/reasons/data.yaml explains. "hidden" says that the caller may not
#   even know of the record.
# scope: document
# entrypoint: true
denial := {"hidden": true, "reasons": ["foreign_tenant"]} if not _in_tenant

else := {"hidden": true, "reasons": ["clearance"]} if not _may_know

else := {"hidden": false, "reasons": ["caveat_unknown"]} if count(input.actor.effects) == 0

else := {"hidden": false, "reasons": ["permission_missing"]} if not _holds

else := {"hidden": false, "reasons": ["caveat_effect"]} if not input.effect in input.actor.effects

else := {"hidden": false, "reasons": ["caveat_module"]} if not input.module in input.actor.modules

else := {"hidden": false, "reasons": ["caveat_project"]} if not _in_caveat_projects

else := {"hidden": false, "reasons": ["programme_office_only"]} if not _office_allows

else := {"hidden": false, "reasons": ["not_own"]} if _own_granted

else := {"hidden": false, "reasons": ["out_of_scope"]}

_holds if input.permission in input.actor.holds

_holds if {
	some delegated in input.actor.delegated_subjects
	input.permission in delegated.holds
}

_may_know if _readable

# What an audit entry shows is a matter of scopes; it hides nothing else.
_may_know if data.parapet.audit.scopes[input.permission]

# METADATA
# title: Whether the actor may know of the record
# description: For questions of other packages, whatever the permission.
# scope: document
default known := false

known if {
	_in_tenant
	_readable
}

# METADATA
# title: Whether the record is within reach
# description: >
#   For questions of other packages that ask who somebody is instead of what they hold:
#   all that stands between the actor and the record but the permission.
# scope: document
default reached := false

reached if {
	known
	input.effect in input.actor.effects
	input.module in input.actor.modules
	_in_caveat_projects
}
