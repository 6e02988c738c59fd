# METADATA
# title: Creation of delegations
# description: >
#   Decides who can delegate which permissions to whom, and for how long. parapet.access
#   decides whether the caller may create delegations for itself or for another user.
#   parapet.subject computes what an active delegation allows. The verdict is an object:
#   allow, and for a denial the error code, the reasons, and the field or the permission.
# schemas:
#   - input: schema.delegations.input
package parapet.delegations

import data.parapet.access

# METADATA
# title: Create a delegation
# description: >
#   Delegator and delegate must be active members of the tenant and not service
#   principals. Each permission must be delegable, and both the delegator and the caller
#   must hold it in the scope. The start, the duration and the number of delegations per
#   delegate are limited. Times are microseconds since 1970. "cap" is the limit that the
#   request exceeds.
# scope: document
# entrypoint: true
verdict := _invalid_field("until", "no_times") if not _times_present

else := _invalid_field("from", "starts_in_the_past") if input.starts_at < input.now - _clock_skew

else := _limit_exceeded("from", "starts_too_late", data.parapet.delegations.limits.lead_days) if {
	input.starts_at > input.now + _days(data.parapet.delegations.limits.lead_days)
}

else := _invalid_field("until", "ends_in_the_past") if input.ends_at <= input.now

else := _invalid_field("until", "ends_before_it_starts") if input.ends_at <= input.starts_at

else := _limit_exceeded("until", "lasts_too_long", data.parapet.delegations.limits.longest_days) if {
	input.ends_at - input.starts_at > _days(data.parapet.delegations.limits.longest_days)
}

else := _invalid_field("delegate", "to_oneself") if not _different_users

else := _invalid_field("delegator", "not_an_active_member") if not _is_active_member(input.delegator)

else := _invalid_field("delegate", "not_an_active_member") if not _is_active_member(input.delegate)

else := _invalid_field("permissions", "no_permissions") if not _permissions_listed

else := _invalid_permission("not_lendable", _not_delegable) if count(_not_delegable) > 0

else := _invalid_permission("delegator_lacks", _delegator_lacks) if count(_delegator_lacks) > 0

else := {"allow": false, "code": "FORBIDDEN", "reasons": ["caller_lacks"], "permission": min(_caller_lacks)} if {
	count(_caller_lacks) > 0
}

else := _too_many("too_many_from_delegator", data.parapet.delegations.limits.from_delegator) if {
	not _below_limit("from_delegator", data.parapet.delegations.limits.from_delegator)
}

else := _too_many("too_many_received", data.parapet.delegations.limits.received) if {
	not _below_limit("total", data.parapet.delegations.limits.received)
}

else := {"allow": true, "reasons": []}

# METADATA
# title: True if a permission can be delegated
# description: >
#   Permissions of the tracker can be delegated, except those about delegations: a
#   delegate cannot delegate again.
delegable(permission) if {
	data.parapet.catalogue.permissions[permission].module == "tracker"
	not startswith(permission, "delegation")
}

_invalid_field(field, reason) := {"allow": false, "code": "VALIDATION", "reasons": [reason], "field": field}

_limit_exceeded(field, reason, cap) := object.union(_invalid_field(field, reason), {"cap": cap})

_too_many(reason, cap) := {"allow": false, "code": "CONFLICT", "reasons": [reason], "cap": cap}

_times_present if {
	every time in [input.now, input.starts_at, input.ends_at] {
		is_number(time)
	}
}

_days(count) := ((count * 86400) * 1000) * 1000

_clock_skew := (data.parapet.delegations.limits.clock_skew_seconds * 1000) * 1000

# Takes the name of the count, because "not" of a call with an undefined argument is undefined.
_below_limit(name, limit) if {
	is_number(input.received[name])
	input.received[name] < limit
}

_invalid_permission(reason, which) := object.union(_invalid_field("permissions", reason), {"permission": min(which)})

_different_users if {
	is_string(input.delegator.id)
	is_string(input.delegate.id)
	input.delegator.id != input.delegate.id
}

_is_active_member(user) if {
	is_string(user.tenant)
	user.tenant == input.actor.tenant
	user.tenant == input.resource.tenant
	user.kind in {"AGENT", "HUMAN"}
	user.status == "ACTIVE"
	user.membership == "ACTIVE"
}

_permissions_listed if {
	is_array(input.permissions)
	count(input.permissions) > 0
	every permission in input.permissions {
		is_string(permission)
	}
}

_not_delegable contains permission if {
	some permission in input.permissions
	not _is_delegable(permission)
}

# P.own can be delegated if P or P.own is delegable, because holding P includes P.own.
_is_delegable(permission) if {
	some name in {permission, trim_suffix(permission, ".own")}
	not endswith(trim_suffix(permission, ".own"), ".own")
	delegable(name)
}

_delegator_lacks contains permission if {
	some permission in input.permissions
	not _delegator_holds(permission)
}

_delegator_holds(permission) if {
	some role in input.delegator.roles
	some granted in role.grants
	granted in {permission, trim_suffix(permission, ".own")}
}

_caller_lacks contains permission if {
	some permission in input.permissions
	not _caller_holds(permission)
}

# The caller's own role assignments must grant the permission for a record of the delegator
# in the scope of the delegation. Permissions that were delegated to the caller do not count.
_caller_holds(permission) if {
	request := {
		"permission": trim_suffix(permission, ".own"),
		"effect": "write",
		"module": "tracker",
		"actor": input.actor,
		"resource": object.union(input.resource, {"creator": input.delegator.id, "owner": input.delegator.id}),
	}
	access.allow with input as request
}
