# METADATA
# title: Account administration
# description: >
#   Decides what an administrator may do to another account and what users may do to
#   their own. Administrators can restore or take over an account only if they hold all of
#   its permissions in every tenant. Permissions that were delegated to the account count.
#   parapet.access decides separately whether the caller has the operation's permission.
#   Each verdict is an object: allow, and for a denial the error code and the reasons.
# schemas:
#   - input: schema.accounts.input
package parapet.accounts

import data.parapet.clearance
import data.parapet.grants
import data.parapet.roles

# METADATA
# title: Change the name of an account
# description: Only the home tenant administers the account.
# scope: document
# entrypoint: true
change_name := _deny_not_home_tenant if not _is_home_tenant

else := _allowed

# METADATA
# title: Change the e-mail address of an account
# description: >
#   The administrator must hold every permission of the account, in every tenant.
#   Suspended memberships count, because they can be reactivated.
# scope: document
# entrypoint: true
change_address := _deny_not_home_tenant if not _is_home_tenant

else := _deny_account_exceeds_caller if not _caller_holds_all(["ACTIVE", "SUSPENDED"])

else := _allowed

# METADATA
# title: Start a password reset
# description: >
#   The link is sent to the holder's confirmed address. The administrator does not see
#   it, so no permission of the account is required. An address that an administrator
#   has set must first be confirmed by the holder with the password. If the account
#   never had a password, the administrator must hold every permission of the account,
#   as for change_address.
# scope: document
# entrypoint: true
reset_password := _deny_not_home_tenant if not _is_home_tenant

else := _conflict("not_a_person") if not input.account.kind == "HUMAN"

else := _conflict("account_not_active") if not input.account.status == "ACTIVE"

else := _allowed if _holder_uses_address

else := _conflict("address_not_confirmed") if not input.account.has_password == false

else := _deny_account_exceeds_caller if not _caller_holds_all(["ACTIVE", "SUSPENDED"])

else := _allowed

# METADATA
# title: Send or use a reset link
# description: >
#   Evaluated when the link is sent and again when it is used. If the account never had
#   a password, the administrator's check is valid only while the permissions of the
#   account have not changed since.
# scope: document
# entrypoint: true
complete_reset := _conflict("not_a_person") if not input.account.kind == "HUMAN"

else := _conflict("account_not_active") if not input.account.status == "ACTIVE"

else := _allowed if _holder_uses_address

else := _allowed if {
	input.account.has_password == false
	input.requested_by == "administrator"
	input.authority_unchanged == true
}

else := _conflict("address_not_confirmed")

# METADATA
# title: Suspend an account
# description: >
#   Only in the home tenant. Users cannot suspend themselves, and the last administrator
#   cannot be suspended.
# scope: document
# entrypoint: true
suspend := _deny_not_home_tenant if not _is_home_tenant

else := _conflict("oneself") if not _is_another_user

else := _conflict("deleted") if input.account.status == "DELETED"

else := _conflict("last_administrator") if not _administrators_remain

else := _allowed

# METADATA
# title: Reactivate an account
# description: >
#   Restores the permissions of the account, so the caller must be able to grant them.
# scope: document
# entrypoint: true
activate := _deny_not_home_tenant if not _is_home_tenant

else := _conflict("deleted") if not _is_not_deleted

else := _deny_account_exceeds_caller if not _caller_holds_all(["ACTIVE"])

else := _allowed

# METADATA
# title: Delete an account
# description: Only synthetic agents can be deleted, and only by their home tenant.
# scope: document
# entrypoint: true
delete := _deny_not_home_tenant if not _is_home_tenant

else := _conflict("not_an_agent") if not input.account.kind == "AGENT"

else := _conflict("last_administrator") if not _administrators_remain

else := _allowed

# METADATA
# title: Add a member whose home is another tenant
# description: >
#   Only the programme office that administers the user's home tenant can do so, and only
#   for people: service principals and agents are bound to their home tenant.
# scope: document
# entrypoint: true
add_membership := _deny("FORBIDDEN", "home_not_administered") if not _home_administered

else := _conflict("bound_to_home") if not input.account.kind == "HUMAN"

else := _conflict("account_not_active") if not input.account.status == "ACTIVE"

else := _allowed

# METADATA
# title: Suspend or remove a membership
# description: Not the caller's own and not the last administrator's.
# scope: document
# entrypoint: true
stop_membership := _conflict("oneself") if not _is_another_user

else := _conflict("last_administrator") if not _administrators_remain

else := _allowed

# METADATA
# title: Restore a membership
# description: Restores roles and clearance, so the caller must be able to grant them.
# scope: document
# entrypoint: true
restore_membership := _conflict("oneself") if not _is_another_user

else := _deny_account_exceeds_caller if not _caller_holds_all(["ACTIVE", "REMOVED", "SUSPENDED"])

else := _allowed

# METADATA
# title: Log out
# description: Only with a session, and only in the tenant that the session belongs to.
# scope: document
# entrypoint: true
end_session := _conflict("not_a_session") if not input.actor.token_kind == "session"

else := _conflict("session_of_another_tenant") if not _in_session_tenant

else := _allowed

# METADATA
# title: Change one's own password or address
# description: Only with the session of a person, in the account's home tenant.
# scope: document
# entrypoint: true
change_own_credentials := _deny("FORBIDDEN", "session_required") if not _is_session_of_person

else := _conflict("account_of_another_tenant") if not _is_home_tenant

else := _allowed

# METADATA
# title: Read the administrators' notifications
# description: >
#   Requires one of the administrative permissions. The name of a role is not enough.
# scope: document
# entrypoint: true
administrator_notifications := _allowed if _has_administrative_permission

else := _deny("FORBIDDEN", "not_an_administrator")

_allowed := {"allow": true, "reasons": []}

_deny_not_home_tenant := _deny("FORBIDDEN", "not_at_home")

_deny_account_exceeds_caller := _deny("FORBIDDEN", "account_exceeds_caller")

_conflict(reason) := _deny("CONFLICT", reason)

_deny(code, reason) := {"allow": false, "code": code, "reasons": [reason]}

# An account that never had a password has no holder yet: an administrator chose its
# address, including the one that the account was created with.
_holder_uses_address if {
	input.account.has_password == true
	input.account.address_confirmed == true
}

_is_home_tenant if {
	is_string(input.account.home)
	input.account.home == input.actor.tenant
}

_home_administered if {
	is_string(input.actor.tenant)
	input.home_administered == true
}

_is_another_user if {
	is_string(input.account.id)
	input.account.id != input.actor.id
}

_administrators_remain if roles.administrators_remain(input.roles, input.other_administrators)

_is_not_deleted if input.account.status in {"ACTIVE", "SUSPENDED"}

_is_session_of_person if {
	input.actor.token_kind == "session"
	input.actor.kind == "HUMAN"
}

_in_session_tenant if {
	is_string(input.session_tenant)
	input.session_tenant == input.actor.tenant
}

_has_administrative_permission if {
	some permission in data.parapet.roles.administrative_grants
	permission in input.actor.permissions
}

# True if the caller holds every permission of the account in each membership with one
# of these statuses. input.holdings always contains the membership in the acting tenant.
_caller_holds_all(statuses) if {
	some acting in input.holdings
	_is_acting_tenant(acting)
	every holding in input.holdings {
		_holding_covered(holding, statuses)
	}
}

_is_acting_tenant(holding) if {
	is_string(holding.tenant)
	holding.tenant == input.actor.tenant
}

_holding_covered(holding, statuses) if {
	some status in {"ACTIVE", "REMOVED", "SUSPENDED"}
	not status in statuses
	holding.membership == status
}

_holding_covered(holding, _) if {
	_caller_acts_in(holding)
	clearance.tier(holding.clearance) in holding.caller.readable
	_covers_all(holding.caller, holding.grants)
	_covers_all(holding.caller, holding.delegations)
}

_caller_acts_in(holding) if {
	is_string(holding.tenant)
	holding.caller.tenant == holding.tenant
	holding.caller.id == input.actor.id
	holding.caller_membership == "ACTIVE"
}

_covers_all(caller, granted) if {
	is_array(granted)
	every grant in granted {
		is_array(grant.permissions)
		every permission in grant.permissions {
			grants.covers(caller, _permission_to_control(permission), grant)
		}
	}
}

# The permission that the caller needs to control an account that holds a permission.
# Control over an account gives access to its records, so for P.own the caller needs P, if
# the catalogue contains P.
_permission_to_control(permission) := "audit.read.tenant" if permission == "audit.read.own"

else := base if {
	endswith(permission, ".own")
	base := trim_suffix(permission, ".own")
	data.parapet.catalogue.permissions[base]
}

else := permission
