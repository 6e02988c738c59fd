# METADATA
# title: Access to records
# description: >
#   Decides whether a subject may use a permission on a record. Almost every decision
#   uses this rule. Partial evaluation turns it into the WHERE clause of every list.
#   The rule is evaluated often, so parapet.subject computes roles, scopes, tiers and
#   caveats beforehand; its result is input.actor.
# schemas:
#   - input: schema.access.input
package parapet.access

import data.parapet.audit

# METADATA
# title: Allow a request
# description: Only the boolean true allows.
# scope: document
# entrypoint: true
default allow := false

allow if {
	_in_tenant
	input.effect in input.actor.effects
	input.module in input.actor.modules
	_project_allowed
	_has_clearance
	_platform_allowed
	_has_grant
}

# Audit entries have permissions of their own (audit.read.*). Instead of the clearance,
# the scopes of these permissions decide which entries are readable.
allow if {
	scopes := data.parapet.audit.scopes[input.permission]
	_in_tenant
	input.effect in input.actor.effects
	input.module in input.actor.modules
	_project_allowed
	audit.includes(scopes)
}

_in_tenant if {
	is_string(input.resource.tenant)
	input.resource.tenant == input.actor.tenant
}

_project_allowed if input.actor.all_projects == true

_project_allowed if input.resource.project in input.actor.projects

# An initiative belongs to no project. A delegation in the scope of the initiative includes it.
_project_allowed if {
	input.resource.type == "initiative"
	input.resource.id in input.actor.initiatives
}

# Denies if the classification is not a string, even if input.actor.readable contains it.
_has_clearance if {
	is_string(input.resource.classification)
	input.resource.classification in input.actor.readable
}

_has_clearance if {
	is_string(input.resource.classification)
	not input.resource.classification in data.parapet.clearance.ladder
}

# Platform permissions, which administer other tenants, require a programme office.
_platform_allowed if not data.parapet.catalogue.permissions[input.permission].platform

_platform_allowed if input.actor.tenant_type == "PROGRAMME_OFFICE"

_has_grant if input.actor.grants[input.permission].tenant == true

_has_grant if input.resource.organisation in input.actor.grants[input.permission].organisations

_has_grant if input.resource.project in input.actor.grants[input.permission].projects

_has_grant if {
	_is_own
	_has_own_grant
}

_is_own if {
	_relation_counts("creator")
	is_string(input.actor.id)
	input.resource.creator == input.actor.id
}

_is_own if {
	_relation_counts("owner")
	is_string(input.actor.id)
	input.resource.owner == input.actor.id
}

# The catalogue declares for each permission whether creator, owner or both make a
# record the subject's own. Callers can set the owner of many records, so the owner does
# not count for deletion. Without a declaration, neither counts.
_relation_counts(relation) if {
	relation in data.parapet.catalogue.own[trim_suffix(input.permission, ".own")]
}

_has_own_grant if input.actor.grants[input.permission].own.tenant == true

_has_own_grant if input.resource.organisation in input.actor.grants[input.permission].own.organisations

_has_own_grant if input.resource.project in input.actor.grants[input.permission].own.projects

# METADATA
# title: Delegations that allow the request
# description: >
#   Evaluated if the rule allow denies the subject itself. Contains each delegation whose
#   delegated subject the rule allows. One is enough to allow the request.
# scope: document
# entrypoint: true
behalf contains {"delegation": delegated.delegation, "delegator": delegated.id} if {
	some delegated in input.actor.delegated_subjects
	allow with input.actor as delegated
}

# METADATA
# title: Reason of a denial
# description: >
#   Evaluated after a denial. Returns the code of the first reason that applies;
#   parapet/reasons/data.yaml explains the codes. "hidden" is true if the record is not
#   visible to the caller: the response is then the same as for a missing record.
# scope: document
# entrypoint: true
denial := {"hidden": true, "reasons": ["foreign_tenant"]} if not _in_tenant

else := {"hidden": true, "reasons": ["clearance"]} if not _is_visible

else := {"hidden": false, "reasons": ["caveat_unknown"]} if count(input.actor.effects) == 0

else := {"hidden": false, "reasons": ["permission_missing"]} if not _has_permission

else := {"hidden": false, "reasons": ["caveat_effect"]} if not input.effect in input.actor.effects

else := {"hidden": false, "reasons": ["caveat_module"]} if not input.module in input.actor.modules

else := {"hidden": false, "reasons": ["caveat_project"]} if not _project_allowed

else := {"hidden": false, "reasons": ["programme_office_only"]} if not _platform_allowed

else := {"hidden": false, "reasons": ["not_own"]} if _has_own_grant

else := {"hidden": false, "reasons": ["out_of_scope"]}

_has_permission if input.permission in input.actor.holds

_has_permission if {
	some delegated in input.actor.delegated_subjects
	input.permission in delegated.holds
}

_is_visible if _has_clearance

# Audit entries are restricted by the scopes of audit.read, not by clearance.
_is_visible if data.parapet.audit.scopes[input.permission]

# METADATA
# title: Visibility of a record
# description: >
#   True if the record is in the subject's tenant and within its clearance, for any
#   permission. Used by other packages.
# scope: document
default visible := false

visible if {
	_in_tenant
	_has_clearance
}

# METADATA
# title: Access apart from the permission
# description: >
#   True if the record is visible and no caveat forbids the request. Used by rules of
#   other packages that compare the subject's id instead of checking a permission.
# scope: document
default permitted_by_caveats := false

permitted_by_caveats if {
	visible
	input.effect in input.actor.effects
	input.module in input.actor.modules
	_project_allowed
}
