# METADATA
# title: Making a delegation
# description: >
#   Who can lend what to whom. That the caller may delegate at all, for itself or for
#   another, is decided by parapet.access; what a delegation is worth at a moment, by
#   parapet.subject. The verdict is an object: allow, and for a refusal the envelope's
#   code, the reasons, the field or the permission.
# schemas:
#   - input: schema.delegations.input
package parapet.delegations

import data.parapet.access

# METADATA
# title: The verdict
# description: >
#   Between two active members of the tenant, neither of them a service principal;
#   permissions that can be lent, that the delegator holds, and that the caller itself
#   holds in the place: nobody hands out more than it has. It begins and ends within
#   bounds, and a delegate has a bounded number of them. Times are microseconds since
#   1970; cap is the bound that was not kept.
# scope: document
# entrypoint: true
verdict := _wrong("until", "no_times") if not _times_given

else := _wrong("from", "starts_in_the_past") if input.starts_at < input.now - _clock_skew

else := _beyond("from", "starts_too_late", data.parapet.delegations.limits.lead_days) if {
	input.starts_at > input.now + _days(data.parapet.delegations.limits.lead_days)
}

else := _wrong("until", "ends_in_the_past") if input.ends_at <= input.now

else := _wrong("until", "ends_before_it_starts") if input.ends_at <= input.starts_at

else := _beyond("until", "lasts_too_long", data.parapet.delegations.limits.longest_days) if {
	input.ends_at - input.starts_at > _days(data.parapet.delegations.limits.longest_days)
}

else := _wrong("delegate", "to_oneself") if not _two_users

else := _wrong("delegator", "not_an_active_member") if not _fit(input.delegator)

else := _wrong("delegate", "not_an_active_member") if not _fit(input.delegate)

else := _wrong("permissions", "no_permissions") if not _permissions_listed

else := _wrong_permission("not_lendable", _not_lendable) if count(_not_lendable) > 0

else := _wrong_permission("delegator_lacks", _not_held) if count(_not_held) > 0

else := {"allow": false, "code": "FORBIDDEN", "reasons": ["caller_lacks"], "permission": min(_not_ones_own)} if {
	count(_not_ones_own) > 0
}

else := _full("too_many_from_delegator", data.parapet.delegations.limits.from_delegator) if {
	not _fewer("from_delegator", data.parapet.delegations.limits.from_delegator)
}

else := _full("too_many_received", data.parapet.delegations.limits.received) if {
	not _fewer("total", data.parapet.delegations.limits.received)
}

else := {"allow": true, "reasons": []}

# METADATA
# title: Whether a permission can be lent
# description: >
#   Those of the tracker, but for those about delegations themselves: who acts on
#   another's behalf does not send others to do so.
lendable(permission) if {
	data.parapet.catalogue.permissions[permission].module == "tracker"
	not startswith(permission, "delegation")
}

_wrong(field, reason) := {"allow": false, "code": "VALIDATION", "reasons": [reason], "field": field}

_beyond(field, reason, cap) := object.union(_wrong(field, reason), {"cap": cap})

_full(reason, cap) := {"allow": false, "code": "CONFLICT", "reasons": [reason], "cap": cap}

_times_given if {
	every time in [input.now, input.starts_at, input.ends_at] {
		is_number(time)
	}
}

_days(count) := ((count * 86400) * 1000) * 1000

_clock_skew := (data.parapet.delegations.limits.clock_skew_seconds * 1000) * 1000

# Takes the name of the count: "not" of a call with an undefined argument is undefined.
_fewer(name, limit) if {
	is_number(input.received[name])
	input.received[name] < limit
}

_wrong_permission(reason, which) := object.union(_wrong("permissions", reason), {"permission": min(which)})

_two_users if {
	is_string(input.delegator.id)
	is_string(input.delegate.id)
	input.delegator.id != input.delegate.id
}

_fit(user) if {
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

_not_lendable contains permission if {
	some permission in input.permissions
	not _can_be_lent(permission)
}

# What can be held can be lent for one's own alone.
_can_be_lent(permission) if {
	some name in {permission, trim_suffix(permission, ".own")}
	not endswith(trim_suffix(permission, ".own"), ".own")
	lendable(name)
}

_not_held contains permission if {
	some permission in input.permissions
	not _held(permission)
}

_held(permission) if {
	some role in input.delegator.roles
	some granted in role.grants
	granted in {permission, trim_suffix(permission, ".own")}
}

_not_ones_own contains permission if {
	some permission in input.permissions
	not _ones_own(permission)
}

# In the place of the delegation, of a record of the delegator's, by the caller's own
# authority: what was lent to the caller is not passed on.
_ones_own(permission) if {
	asked := trim_suffix(permission, ".own")
	request := {
		"permission": asked,
		"effect": "write",
		"module": "tracker",
		"actor": input.actor,
		"resource": object.union(input.resource, {"creator": input.delegator.id, "owner": input.delegator.id}),
	}
	access.allow with input as request
}
