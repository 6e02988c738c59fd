# METADATA
# title: API keys
# description: >
#   Decides who may issue, list and revoke which API keys, and how long a key is valid.
#   Each verdict is an object: allow, and for a denial the error code and the reasons.
# schemas:
#   - input: schema.keys.input
package parapet.keys

import data.parapet.profiles

# METADATA
# title: Issue a key for a service principal
# description: >
#   Only with the session of a person whose role assignments on record grant
#   api_key.issue_for_service. The service principal must be active, belong to the same
#   tenant and match its profile. Its keys have a fixed lifetime.
# scope: document
# entrypoint: true
issue_service := _deny_permission("api_key.issue_for_service", ["session_required"]) if not _is_session_of_person

else := _deny_permission("api_key.issue_for_service", ["permission_missing"]) if not _may_manage_service_keys("write")

else := _deny("NOT_FOUND", ["no_such_principal"]) if not _target_in_tenant

else := _deny("FORBIDDEN", ["not_service"]) if not input.target.kind == "SERVICE"

else := _deny("CONFLICT", ["principal_not_active"]) if not _target_active

else := _deny("CONFLICT", sort(profiles.faults(input.target))) if count(profiles.faults(input.target)) > 0

else := _deny("CONFLICT", ["max_user_days_below_service_lifetime"]) if not _service_lifetime_allowed

else := {"allow": true, "reasons": [], "days": _lifetimes.service, "cap": _lifetimes.service}

# METADATA
# title: Issue a personal key
# description: >
#   Only with a session, for the caller itself, who must be a person or an agent. The
#   requested lifetime is an integer from 1 to the cap; the default depends on whether
#   the caller is an administrator. The number of active personal keys is limited.
# scope: document
# entrypoint: true
issue_self := _deny_permission("api_key.issue", ["session_required"]) if not input.actor.token_kind == "session"

else := _deny("FORBIDDEN", ["service_principal"]) if not _person_or_agent

else := _deny_permission("api_key.issue", ["permission_missing"]) if not _may_issue_own_key

else := _deny("CONFLICT", ["too_many_active_keys"]) if not _below_key_limit

else := {"allow": true, "reasons": [], "days": min({_lifetime.blank, _cap}), "cap": _cap} if _lifetime_not_requested

else := {"allow": true, "reasons": [], "days": input.expires_in_days, "cap": _cap} if _requested_lifetime_allowed

else := {
	"allow": false,
	"code": "VALIDATION",
	"reasons": ["lifetime_out_of_range"],
	"field": "expiresInDays",
	"cap": _cap,
}

# METADATA
# title: List keys
# description: >
#   Lists the caller's own keys, or with service_owned those of a service principal.
# scope: document
# entrypoint: true
default list := {"allow": false, "code": "FORBIDDEN", "reasons": ["input"]}

list := _allowed if {
	input.service_owned == false
	_may_use_own_keys("api_key.read", "read")
}

else := _deny_permission("api_key.read.own", ["permission_missing"]) if input.service_owned == false

else := _deny_permission("api_key.issue_for_service", ["permission_missing"]) if {
	input.service_owned == true
	not _may_manage_service_keys("read")
}

else := _deny("NOT_FOUND", ["no_such_principal"]) if {
	input.service_owned == true
	not _owner_is_service_of_tenant
}

else := _allowed if input.service_owned == true

# METADATA
# title: Revoke a key
# description: >
#   Revokes one of the caller's own keys, or with service_owned a key of a service
#   principal. Only the owner can revoke the key of a person or an agent.
# scope: document
# entrypoint: true
default revoke := {"allow": false, "code": "FORBIDDEN", "reasons": ["input"]}

revoke := _deny_permission("api_key.revoke.own", ["permission_missing"]) if {
	input.service_owned == false
	not _may_use_own_keys("api_key.revoke", "write")
}

else := _deny("NOT_FOUND", ["no_such_key"]) if {
	input.service_owned == false
	not _key_is_own
}

else := _allowed if input.service_owned == false

else := _deny_permission("api_key.issue_for_service", ["permission_missing"]) if {
	input.service_owned == true
	not _may_manage_service_keys("write")
}

else := _deny("NOT_FOUND", ["no_such_key"]) if {
	input.service_owned == true
	not _key_in_tenant
}

else := _deny("FORBIDDEN", ["not_service_owned"]) if {
	input.service_owned == true
	not input.key.owner.kind == "SERVICE"
}

else := _allowed if input.service_owned == true

_allowed := {"allow": true, "reasons": []}

_deny(code, reasons) := {"allow": false, "code": code, "reasons": reasons}

_deny_permission(permission, reasons) := {
	"allow": false,
	"code": "FORBIDDEN",
	"reasons": reasons,
	"permission": permission,
}

_lifetimes := data.parapet.keys.lifetimes

# True if no caveat forbids the effect in the module identity, whose records belong to no
# project.
_no_caveat_forbids(effect) if {
	effect in input.actor.effects
	"identity" in input.actor.modules
	input.actor.all_projects == true
}

# A separate rule, because "not … in" with an undefined kind is undefined. The denial
# would then be undefined, too.
_person_or_agent if input.actor.kind in {"AGENT", "HUMAN"}

_is_session_of_person if {
	input.actor.token_kind == "session"
	input.actor.kind == "HUMAN"
}

# Requires the permission in the assignments on record. If the caller uses an API key, the
# roles in the key must grant it, too.
_may_manage_service_keys(effect) if {
	_no_caveat_forbids(effect)
	input.actor.kind == "HUMAN"
	"api_key.issue_for_service" in input.actor.stored_permissions
	_credential_grants_it
}

_credential_grants_it if input.actor.token_kind == "session"

_credential_grants_it if {
	input.actor.token_kind == "api_key"
	input.actor.grants["api_key.issue_for_service"].tenant == true
}

_may_issue_own_key if {
	_no_caveat_forbids("write")
	input.actor.grants["api_key.issue"].tenant == true
}

_may_use_own_keys(permission, effect) if {
	_no_caveat_forbids(effect)
	input.actor.grants[permission].own.tenant == true
}

_target_in_tenant if {
	is_string(input.target.tenant)
	input.target.tenant == input.actor.tenant
}

_target_active if {
	input.target.status == "ACTIVE"
	input.target.membership == "ACTIVE"
}

_owner_is_service_of_tenant if {
	is_string(input.owner.tenant)
	input.owner.tenant == input.actor.tenant
	input.owner.kind == "SERVICE"
}

_key_in_tenant if {
	is_string(input.key.tenant)
	input.key.tenant == input.actor.tenant
}

_key_is_own if {
	_key_in_tenant
	is_string(input.key.owner.id)
	input.key.owner.id == input.actor.id
}

# The object input.settings is always present. It contains only the settings that the
# operator has set.
_service_lifetime_allowed if {
	is_object(input.settings)
	not "max_user_days" in object.keys(input.settings)
}

_service_lifetime_allowed if {
	is_number(input.settings.max_user_days)
	input.settings.max_user_days >= _lifetimes.service
}

# Unless the subject is known not to be an administrator, the shorter lifetime of
# administrators applies.
default _user_category := "admin"

_user_category := "user" if input.actor.admin == false

_lifetime := _lifetimes[_user_category]

default _cap := 0

_cap := _lifetime.cap if {
	is_object(input.settings)
	not _setting_name[_user_category] in object.keys(input.settings)
}

_cap := min({setting, _lifetimes.ceiling}) if {
	setting := input.settings[_setting_name[_user_category]]
	_is_positive_integer(setting)
}

_below_key_limit if {
	is_number(input.active_keys)
	is_number(input.max_active_keys)
	input.active_keys < input.max_active_keys
}

_setting_name := {"admin": "max_admin_days", "user": "max_user_days"}

_is_positive_integer(number) if {
	is_number(number)
	number >= 1
	floor(number) == number
}

_lifetime_not_requested if {
	_cap > 0
	not "expires_in_days" in object.keys(input)
}

_requested_lifetime_allowed if {
	_is_positive_integer(input.expires_in_days)
	input.expires_in_days <= _cap
}
