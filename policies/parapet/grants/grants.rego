# METADATA
# title: Grants of permissions, roles and clearance
# description: >
#   Users can grant only permissions, roles and a clearance that they hold themselves.
#   parapet.access decides separately whether the caller has the operation's permission.
#   The verdict is an object: allow, and for a denial the error code and the reasons.
# schemas:
#   - input: schema.grants.input
package parapet.grants

import data.parapet.access
import data.parapet.clearance

# METADATA
# title: Grant permissions, roles and clearance
# description: >
#   The caller must hold each permission in the scope of the grant and must have the
#   granted clearance. Users cannot raise their own clearance. GLOBAL roles cannot be
#   granted: provisioning assigns each service principal its one GLOBAL role.
# scope: document
# entrypoint: true
verdict := _deny("CONFLICT", "service_principal_role") if {
	count(input.roles) > 0
	input.recipient.kind == "SERVICE"
}

else := _deny("CONFLICT", "global_role") if not _all_roles_standard

else := _deny_permission(min(_caller_lacks)) if count(_caller_lacks) > 0

else := _deny("FORBIDDEN", "beyond_own") if not _grants_listed

else := _deny("FORBIDDEN", "own_clearance") if {
	_raises_clearance
	not _recipient_is_another_user
}

else := _deny("FORBIDDEN", "clearance_beyond_own") if {
	_raises_clearance
	not _clearance_within_own
}

else := {"allow": true, "reasons": []}

# METADATA
# title: True if a subject can grant a permission in a scope
# description: >
#   The subject must hold the permission for an example record to which only this scope
#   applies. Everybody can grant a permission that has no effect in the tenant: one that
#   the catalogue does not list, or a platform permission outside a programme office.
covers(_, permission, _) if {
	is_string(permission)
	not data.parapet.catalogue.permissions[permission]
}

covers(actor, permission, _) if {
	data.parapet.catalogue.permissions[permission].platform
	actor.tenant_type == "STANDARD"
}

covers(actor, permission, scope) if {
	record := object.union(_record(actor, permission), _scope_attributes(scope))
	request := {
		"permission": _requested_permission(permission),
		"effect": "write",
		"module": "identity",
		"actor": actor,
		"resource": record,
	}
	access.allow with input as request
}

# The name that a request uses for a granted permission: audit.read for every scope of
# audit.read, and P for P.own.
_requested_permission(permission) := "audit.read" if startswith(permission, "audit.read.")

else := trim_suffix(permission, ".own")

# The example record. For P.own, the subject is both its creator and its owner, because
# the catalogue declares which of the two counts.
_record(actor, permission) := object.union(
	{"type": "permission", "tenant": actor.tenant, "classification": _classification(permission)},
	{"creator": actor.id, "owner": actor.id},
) if endswith(permission, ".own")

else := {"type": "permission", "tenant": actor.tenant, "classification": _classification(permission)}

_classification(permission) := "SECRET" if permission == "audit.read.classified"

else := "UNCLASSIFIED"

_scope_attributes(scope) := {} if scope.scope == "tenant"

_scope_attributes(scope) := {"organisation": scope.id} if scope.scope == "organisation"

_scope_attributes(scope) := {"project": scope.id} if scope.scope == "project"

_caller_lacks contains permission if {
	some granted in input.grants
	some permission in granted.permissions
	not _caller_holds(permission, granted)
}

_caller_holds(permission, scope) if covers(input.actor, permission, scope)

_grants_listed if {
	is_array(input.grants)
	every granted in input.grants {
		is_array(granted.permissions)
	}
}

_all_roles_standard if {
	is_array(input.roles)
	every role in input.roles {
		role.kind == "STANDARD"
	}
}

# The next conditions are separate rules, because "not" of an expression with an undefined
# argument is undefined. The denial would then be undefined, too.
_raises_clearance if not _clearance_not_higher

_clearance_not_higher if clearance.tier(input.clearance.to) in clearance.tiers_up_to(_clearance_before)

_clearance_within_own if clearance.tier(input.clearance.to) in input.actor.readable

default _clearance_before := "UNCLASSIFIED"

_clearance_before := input.clearance.from

_recipient_is_another_user if {
	is_string(input.recipient.id)
	input.recipient.id != input.actor.id
}

_deny_permission(permission) := {"allow": false, "code": "FORBIDDEN", "reasons": ["beyond_own"], "permission": permission}

_deny(code, reason) := {"allow": false, "code": code, "reasons": [reason]}
