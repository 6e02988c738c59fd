# METADATA
# title: Roles
# description: >
#   Protects default roles, GLOBAL roles and the last administrator. parapet.access
#   decides whether the caller may administer roles, and parapet.grants which permissions
#   it can grant. Each verdict is an object: allow, and for a denial the error code and
#   the reasons.
# schemas:
#   - input: schema.roles.input
package parapet.roles

import data.parapet.grants

# METADATA
# title: Create a role
# description: The name must differ from every default role's, ignoring case and spaces.
# scope: document
# entrypoint: true
create := _conflict("reserved_name") if not _name_not_reserved

else := _allowed

# METADATA
# title: Rename a role
# description: Default and GLOBAL roles cannot be renamed.
# scope: document
# entrypoint: true
rename := _conflict("keeps_its_name") if not _is_custom_role

else := _conflict("reserved_name") if not _name_not_reserved

else := _allowed

# METADATA
# title: Delete a role
# description: Default and GLOBAL roles cannot be deleted.
# scope: document
# entrypoint: true
delete := _conflict("stays") if not _is_custom_role

else := _allowed

# METADATA
# title: Add a permission to a role
# description: >
#   The caller must hold the permission in the scope of the tenant. Exception: everybody
#   who can change roles can restore the permissions of a registered service role.
# scope: document
# entrypoint: true
grant := _allowed if _restores_profile_permission

else := _allowed if grants.covers(input.actor, input.permission, {"scope": "tenant"})

else := {"allow": false, "code": "FORBIDDEN", "reasons": ["beyond_own"], "permission": input.permission} if is_string(input.permission)

else := {"allow": false, "code": "FORBIDDEN", "reasons": ["beyond_own"]}

# METADATA
# title: Remove a permission from a role
# description: >
#   The role Admin keeps the permissions that are necessary to restore others.
# scope: document
# entrypoint: true
revoke := _conflict("administrators_need_it") if not _permission_removable

else := _allowed

# METADATA
# title: Remove a role from a user
# description: >
#   Neither the role of a service principal nor that of a tenant's last administrator can
#   be removed.
# scope: document
# entrypoint: true
unassign := _conflict("service_principal_role") if not _person_or_agent

else := _conflict("last_administrator") if not _administrators_remain

else := _allowed

# METADATA
# title: True if the tenant keeps an administrator
# description: >
#   lost_roles are the roles that a user is about to lose. other_administrators is the
#   number of other active people who administer the whole tenant.
administrators_remain(_, other_administrators) if {
	is_number(other_administrators)
	other_administrators > 0
}

administrators_remain(lost_roles, _) if {
	is_array(lost_roles)
	every role in lost_roles {
		is_string(role.name)
		is_string(role.scope)
		not _is_tenant_administrator(role)
	}
}

_is_tenant_administrator(role) if {
	role.name == data.parapet.roles.administrator
	role.scope == "tenant"
}

_administrators_remain if administrators_remain([input.role], input.other_administrators)

_person_or_agent if input.recipient.kind in {"AGENT", "HUMAN"}

_allowed := {"allow": true, "reasons": []}

_conflict(reason) := {"allow": false, "code": "CONFLICT", "reasons": [reason]}

_is_custom_role if {
	input.role.kind == "STANDARD"
	is_string(input.role.name)
	not data.parapet.roles.defaults[input.role.name]
}

# input.spelling is the new name, normalized: compatibility forms (NFKC), lower case,
# without spaces and invisible characters.
_name_not_reserved if {
	is_string(input.spelling)
	not input.spelling in data.parapet.roles.reserved_spellings
}

_restores_profile_permission if {
	input.role.kind == "GLOBAL"
	some profile in data.parapet.profiles.registered
	profile.role == input.role.name
	input.permission in profile.grants
}

_permission_removable if {
	is_string(input.permission)
	not input.permission in data.parapet.roles.administrator_keeps
}

_permission_removable if {
	is_string(input.permission)
	is_string(input.role.name)
	input.role.name != data.parapet.roles.administrator
}
