# METADATA
# title: API keys
# description: >
#   Who may issue, list and revoke which keys, and how long a key lives. Each verdict
#   is an object: allow, and for a refusal the envelope's code and the reasons.
# schemas:
#   - input: schema.keys.input
package parapet.keys

import data.parapet.profiles

# METADATA
# title: A key on behalf of a service principal
# description: >
#   By a person's session alone, with api_key.issue_for_service from the stored
#   assignments; for an active service principal of the same tenant that is exactly its
#   profile. It lives as long as the policy says, and no wish is heard.
# scope: document
# entrypoint: true
issue_service := _lacking("api_key.issue_for_service", ["session_required"]) if not _session_of_a_person

else := _lacking("api_key.issue_for_service", ["permission_missing"]) if not _administers_keys("write")

else := _refused("NOT_FOUND", ["no_such_principal"]) if not _target_in_tenant

else := _refused("FORBIDDEN", ["not_service"]) if not input.target.kind == "SERVICE"

else := _refused("CONFLICT", ["principal_not_active"]) if not _target_active

else := _refused("CONFLICT", sort(profiles.faults(input.target))) if count(profiles.faults(input.target)) > 0

else := _refused("CONFLICT", ["max_user_days_below_service_lifetime"]) if not _service_lifetime_allowed

else := {"allow": true, "reasons": [], "days": _lifetimes.service, "cap": _lifetimes.service}

# METADATA
# title: A personal key
# description: >
#   For oneself, by session, by people and agents. A blank wish gets the default of the
#   role, a wish is a whole number from 1 to the cap. The owner's active personal keys
#   are fewer than the setting.
# scope: document
# entrypoint: true
issue_self := _lacking("api_key.issue", ["session_required"]) if not input.actor.token_kind == "session"

else := _refused("FORBIDDEN", ["service_principal"]) if not _person_or_agent

else := _lacking("api_key.issue", ["permission_missing"]) if not _issues_for_itself

else := _refused("CONFLICT", ["too_many_active_keys"]) if not _room_for_one_more

else := {"allow": true, "reasons": [], "days": min({_life.blank, _cap}), "cap": _cap} if _blank_wish

else := {"allow": true, "reasons": [], "days": input.expires_in_days, "cap": _cap} if _wish_fits

else := {
	"allow": false,
	"code": "VALIDATION",
	"reasons": ["lifetime_out_of_range"],
	"field": "expiresInDays",
	"cap": _cap,
}

# METADATA
# title: Listing keys
# description: One's own, or with service_owned those of a service principal.
# scope: document
# entrypoint: true
default list := {"allow": false, "code": "FORBIDDEN", "reasons": ["input"]}

list := _allowed if {
	input.service_owned == false
	_own_keys("api_key.read", "read")
}

else := _lacking("api_key.read.own", ["permission_missing"]) if input.service_owned == false

else := _lacking("api_key.issue_for_service", ["permission_missing"]) if {
	input.service_owned == true
	not _administers_keys("read")
}

else := _refused("NOT_FOUND", ["no_such_principal"]) if {
	input.service_owned == true
	not _owner_is_service_of_tenant
}

else := _allowed if input.service_owned == true

# METADATA
# title: Revoking a key
# description: >
#   One's own, or with service_owned a service principal's. A key of a person or an agent
#   stays revocable by its owner only.
# scope: document
# entrypoint: true
default revoke := {"allow": false, "code": "FORBIDDEN", "reasons": ["input"]}

revoke := _lacking("api_key.revoke.own", ["permission_missing"]) if {
	input.service_owned == false
	not _own_keys("api_key.revoke", "write")
}

else := _refused("NOT_FOUND", ["no_such_key"]) if {
	input.service_owned == false
	not _key_is_own
}

else := _allowed if input.service_owned == false

else := _lacking("api_key.issue_for_service", ["permission_missing"]) if {
	input.service_owned == true
	not _administers_keys("write")
}

else := _refused("NOT_FOUND", ["no_such_key"]) if {
	input.service_owned == true
	not _key_in_tenant
}

else := _refused("FORBIDDEN", ["not_service_owned"]) if {
	input.service_owned == true
	not input.key.owner.kind == "SERVICE"
}

else := _allowed if input.service_owned == true

_allowed := {"allow": true, "reasons": []}

_refused(code, reasons) := {"allow": false, "code": code, "reasons": reasons}

_lacking(permission, reasons) := {
	"allow": false,
	"code": "FORBIDDEN",
	"reasons": reasons,
	"permission": permission,
}

_lifetimes := data.parapet.keys.lifetimes

# No caveat stands in the way of identity's own affairs, which lie in no project.
_unnarrowed(effect) if {
	effect in input.actor.effects
	"identity" in input.actor.modules
	input.actor.all_projects == true
}

# A rule of its own: an undefined kind inside "not … in" would make the whole refusal undefined.
_person_or_agent if input.actor.kind in {"AGENT", "HUMAN"}

_session_of_a_person if {
	input.actor.token_kind == "session"
	input.actor.kind == "HUMAN"
}

# Always by the stored assignments. An API key needs the permission in its own
# snapshot as well: it never does more than it was made for.
_administers_keys(effect) if {
	_unnarrowed(effect)
	input.actor.kind == "HUMAN"
	"api_key.issue_for_service" in input.actor.stored_permissions
	_key_agrees
}

_key_agrees if input.actor.token_kind == "session"

_key_agrees if {
	input.actor.token_kind == "api_key"
	input.actor.grants["api_key.issue_for_service"].tenant == true
}

_issues_for_itself if {
	_unnarrowed("write")
	input.actor.grants["api_key.issue"].tenant == true
}

_own_keys(permission, effect) if {
	_unnarrowed(effect)
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

# The settings object is always there; a setting that is not set is not in it.
_service_lifetime_allowed if {
	is_object(input.settings)
	not "max_user_days" in object.keys(input.settings)
}

_service_lifetime_allowed if {
	is_number(input.settings.max_user_days)
	input.settings.max_user_days >= _lifetimes.service
}

# Whoever is not plainly no administrator gets an administrator's shorter life.
default _who := "admin"

_who := "user" if input.actor.admin == false

_life := _lifetimes[_who]

default _cap := 0

_cap := _life.cap if {
	is_object(input.settings)
	not _setting_name[_who] in object.keys(input.settings)
}

_cap := min({setting, _lifetimes.ceiling}) if {
	setting := input.settings[_setting_name[_who]]
	_whole(setting)
}

_room_for_one_more if {
	is_number(input.active_keys)
	is_number(input.max_active_keys)
	input.active_keys < input.max_active_keys
}

_setting_name := {"admin": "max_admin_days", "user": "max_user_days"}

_whole(number) if {
	is_number(number)
	number >= 1
	floor(number) == number
}

_blank_wish if {
	_cap > 0
	not "expires_in_days" in object.keys(input)
}

_wish_fits if {
	_whole(input.expires_in_days)
	input.expires_in_days <= _cap
}
