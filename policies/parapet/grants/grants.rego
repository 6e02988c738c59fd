# METADATA
# title: Giving authority
# description: >
#   Nobody gives more than they hold: permissions in a scope, roles, clearance. That the
#   caller may give anything at all is decided by parapet.access; this verdict comes on
#   top. It is an object: allow, and for a refusal the envelope's code and the reasons.
# schemas:
#   - input: schema.grants.input
package parapet.grants

import data.parapet.access
import data.parapet.clearance

# METADATA
# title: The verdict
# description: >
#   GLOBAL roles are for service principals, whose one role provisioning sets. The
#   caller holds each permission in the scope that it gives it in, has the clearance
#   that it gives, and raises nobody's own.
# scope: document
# entrypoint: true
verdict := _refused("CONFLICT", "service_principal_role") if {
	count(input.roles) > 0
	input.recipient.kind == "SERVICE"
}

else := _refused("CONFLICT", "global_role") if not _standard_roles

else := _beyond_own(min(_lacking)) if count(_lacking) > 0

else := _refused("FORBIDDEN", "beyond_own") if not _grants_listed

else := _refused("FORBIDDEN", "own_clearance") if {
	_raises_clearance
	not _recipient_is_another
}

else := _refused("FORBIDDEN", "clearance_beyond_own") if {
	_raises_clearance
	not _clearance_within_own
}

else := {"allow": true, "reasons": []}

# METADATA
# title: Whether a subject can give a permission in a scope
# description: >
#   It holds the permission for a record that only this scope contains. A permission
#   that has no effect in the tenant can be given by anybody: one that the catalogue
#   does not list, or a platform permission outside a programme office.
covers(_, permission, _) if {
	is_string(permission)
	not data.parapet.catalogue.permissions[permission]
}

covers(actor, permission, _) if {
	data.parapet.catalogue.permissions[permission].platform
	actor.tenant_type == "STANDARD"
}

covers(actor, permission, where) if {
	record := object.union(_record(actor, permission), _scope(where))
	request := {
		"permission": _asked(permission),
		"effect": "write",
		"module": "identity",
		"actor": actor,
		"resource": record,
	}
	access.allow with input as request
}

# Reading audit entries is asked for by one name, whichever scope allows it.
_asked(permission) := "audit.read" if startswith(permission, "audit.read.")

else := trim_suffix(permission, ".own")

# A record of the subject's own where the permission is for those alone: one that it
# created and owns, because the catalogue declares which of the two counts.
_record(actor, permission) := object.union(
	{"type": "permission", "tenant": actor.tenant, "classification": _classification(permission)},
	{"creator": actor.id, "owner": actor.id},
) if endswith(permission, ".own")

else := {"type": "permission", "tenant": actor.tenant, "classification": _classification(permission)}

_classification(permission) := "SECRET" if permission == "audit.read.classified"

else := "UNCLASSIFIED"

_scope(where) := {} if where.scope == "tenant"

_scope(where) := {"organisation": where.id} if where.scope == "organisation"

_scope(where) := {"project": where.id} if where.scope == "project"

_lacking contains permission if {
	some granted in input.grants
	some permission in granted.permissions
	not _held(permission, granted)
}

_held(permission, where) if covers(input.actor, permission, where)

_grants_listed if {
	is_array(input.grants)
	every granted in input.grants {
		is_array(granted.permissions)
	}
}

_standard_roles if {
	is_array(input.roles)
	every role in input.roles {
		role.kind == "STANDARD"
	}
}

# Rules of their own: an undefined argument inside "not" would leave the refusal undefined.
_raises_clearance if not _clearance_no_higher

_clearance_no_higher if clearance.tier(input.clearance.to) in clearance.tiers_up_to(_clearance_before)

_clearance_within_own if clearance.tier(input.clearance.to) in input.actor.readable

default _clearance_before := "UNCLASSIFIED"

_clearance_before := input.clearance.from

_recipient_is_another if {
	is_string(input.recipient.id)
	input.recipient.id != input.actor.id
}

_beyond_own(permission) := {"allow": false, "code": "FORBIDDEN", "reasons": ["beyond_own"], "permission": permission}

_refused(code, reason) := {"allow": false, "code": code, "reasons": [reason]}
