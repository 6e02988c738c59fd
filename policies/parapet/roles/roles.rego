# METADATA
# title: Roles
# description: >
#   Which roles keep their name and their grants, and which cannot be taken away. That
#   the caller may administer roles is decided by parapet.access, what it may give by
#   parapet.grants. Each verdict is an object: allow, and for a refusal the envelope's
#   code and the reasons.
# schemas:
#   - input: schema.roles.input
package parapet.roles

import data.parapet.grants

# METADATA
# title: Creating a role
# description: Under a name that is no default role's in any spelling.
# scope: document
# entrypoint: true
create := _conflict("reserved_name") if not _free_spelling

else := _allowed

# METADATA
# title: Renaming a role
# description: Default and GLOBAL roles keep their names.
# scope: document
# entrypoint: true
rename := _conflict("keeps_its_name") if not _custom

else := _conflict("reserved_name") if not _free_spelling

else := _allowed

# METADATA
# title: Deleting a role
# description: Default and GLOBAL roles stay.
# scope: document
# entrypoint: true
delete := _conflict("stays") if not _custom

else := _allowed

# METADATA
# title: Adding a permission to a role
# description: >
#   One that the caller holds in the whole tenant. A registered service role gets back
#   what its profile says by anybody who changes roles.
# scope: document
# entrypoint: true
grant := _allowed if _registered

else := _allowed if grants.covers(input.actor, input.permission, {"scope": "tenant"})

else := {"allow": false, "code": "FORBIDDEN", "reasons": ["beyond_own"], "permission": input.permission} if is_string(input.permission)

else := {"allow": false, "code": "FORBIDDEN", "reasons": ["beyond_own"]}

# METADATA
# title: Taking a permission from a role
# description: The administrators' role keeps what gives permissions back.
# scope: document
# entrypoint: true
revoke := _conflict("administrators_need_it") if not _removable

else := _allowed

# METADATA
# title: Taking a role from somebody
# description: A service principal keeps its one role, a tenant its last administrator.
# scope: document
# entrypoint: true
unassign := _conflict("service_principal_role") if not _person_or_agent

else := _conflict("last_administrator") if not _administrators_remain

else := _allowed

# METADATA
# title: Whether somebody is left to administer the tenant
# description: >
#   held are the roles that somebody is about to lose the use of; others counts the
#   active people besides who administer the whole tenant.
administrators_remain(_, others) if {
	is_number(others)
	others > 0
}

administrators_remain(held, _) if {
	is_array(held)
	every role in held {
		is_string(role.name)
		is_string(role.scope)
		not _administers(role)
	}
}

_administers(role) if {
	role.name == data.parapet.roles.administrator
	role.scope == "tenant"
}

_administrators_remain if administrators_remain([input.role], input.other_administrators)

_person_or_agent if input.recipient.kind in {"AGENT", "HUMAN"}

_allowed := {"allow": true, "reasons": []}

_conflict(reason) := {"allow": false, "code": "CONFLICT", "reasons": [reason]}

_custom if {
	input.role.kind == "STANDARD"
	is_string(input.role.name)
	not data.parapet.roles.defaults[input.role.name]
}

# The new name comes folded: compatibility forms, lower case, without spaces and
# invisible characters.
_free_spelling if {
	is_string(input.spelling)
	not input.spelling in data.parapet.roles.reserved_spellings
}

_registered if {
	input.role.kind == "GLOBAL"
	some profile in data.parapet.profiles.registered
	profile.role == input.role.name
	input.permission in profile.grants
}

_removable if {
	is_string(input.permission)
	not input.permission in data.parapet.roles.administrator_keeps
}

_removable if {
	is_string(input.permission)
	is_string(input.role.name)
	input.role.name != data.parapet.roles.administrator
}
