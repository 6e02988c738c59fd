# METADATA
# title: Accounts of others, and one's own
# description: >
#   What an administrator may do to somebody's account, in which case nobody may gain
#   authority that the administrator does not hold, in any tenant, directly or by
#   delegation. That the caller has the operation's permission is decided by
#   parapet.access; these questions come on top. Each verdict is an object: allow, and
#   for a refusal the envelope's code and the reasons.
# schemas:
#   - input: schema.accounts.input
package parapet.accounts

import data.parapet.clearance
import data.parapet.grants
import data.parapet.roles

# METADATA
# title: Changing the name
# description: The home tenant administers the record.
# scope: document
# entrypoint: true
change_name := _not_at_home if not _at_home

else := _allowed

# METADATA
# title: Changing the e-mail address
# description: >
#   By an administrator who holds all that the account holds, in every tenant. A
#   suspended membership counts: it may be active again tomorrow.
# scope: document
# entrypoint: true
change_address := _not_at_home if not _at_home

else := _exceeds if not _within_own(["ACTIVE", "SUSPENDED"])

else := _allowed

# METADATA
# title: Starting a password reset
# description: >
#   The link goes to the address that the holder uses, so the administrator learns
#   nothing and needs no authority of the account's. An address that an administrator
#   has set is trusted only when the holder, who knows the password, has confirmed it.
#   An account that never had a password has no holder yet: there the check is the same
#   as for setting the address.
# scope: document
# entrypoint: true
reset_password := _not_at_home if not _at_home

else := _conflict("not_a_person") if not input.account.kind == "HUMAN"

else := _conflict("account_not_active") if not input.account.status == "ACTIVE"

else := _allowed if _holder_uses_address

else := _conflict("address_not_confirmed") if not input.account.has_password == false

else := _exceeds if not _within_own(["ACTIVE", "SUSPENDED"])

else := _allowed

# METADATA
# title: Sending and using a reset link
# description: >
#   Asked again when the link is sent and when it is used. Where the account never had
#   a password, the administrator's check counts only while the account's authority is
#   what it was then.
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
# title: Suspending an account
# description: By the home tenant, not oneself, and not the last administrator.
# scope: document
# entrypoint: true
suspend := _not_at_home if not _at_home

else := _conflict("oneself") if not _another

else := _conflict("deleted") if input.account.status == "DELETED"

else := _conflict("last_administrator") if not _administrators_remain

else := _allowed

# METADATA
# title: Reactivating an account
# description: It restores what the account holds, so it needs what granting that would.
# scope: document
# entrypoint: true
activate := _not_at_home if not _at_home

else := _conflict("deleted") if not _restorable

else := _exceeds if not _within_own(["ACTIVE"])

else := _allowed

# METADATA
# title: Deleting an account
# description: Synthetic agents alone are deleted, by their home tenant.
# scope: document
# entrypoint: true
delete := _not_at_home if not _at_home

else := _conflict("not_an_agent") if not input.account.kind == "AGENT"

else := _conflict("last_administrator") if not _administrators_remain

else := _allowed

# METADATA
# title: Adding a membership of another tenant
# description: >
#   By the office that administers the user's home tenant, for people only: service
#   principals and agents are bound to their home tenant.
# scope: document
# entrypoint: true
add_membership := _refused("FORBIDDEN", "home_not_administered") if not _home_administered

else := _conflict("bound_to_home") if not input.account.kind == "HUMAN"

else := _conflict("account_not_active") if not input.account.status == "ACTIVE"

else := _allowed

# METADATA
# title: Suspending or removing a membership
# description: Not one's own, and not the last administrator's.
# scope: document
# entrypoint: true
stop_membership := _conflict("oneself") if not _another

else := _conflict("last_administrator") if not _administrators_remain

else := _allowed

# METADATA
# title: Restoring a membership
# description: It restores roles and clearance, so it needs what granting them would.
# scope: document
# entrypoint: true
restore_membership := _conflict("oneself") if not _another

else := _exceeds if not _within_own(["ACTIVE", "REMOVED", "SUSPENDED"])

else := _allowed

# METADATA
# title: Ending one's own session
# description: By that session, in its own tenant.
# scope: document
# entrypoint: true
end_session := _conflict("not_a_session") if not input.actor.token_kind == "session"

else := _conflict("session_of_another_tenant") if not _in_session_tenant

else := _allowed

# METADATA
# title: Changing one's own password or address
# description: By the session of the person who holds the account, in its home tenant.
# scope: document
# entrypoint: true
change_own_credentials := _refused("FORBIDDEN", "session_required") if not _session_of_a_person

else := _conflict("account_of_another_tenant") if not _at_home

else := _allowed

# METADATA
# title: Reading the administrators' notifications
# description: By whoever administers roles or keys. The name of a role grants nothing.
# scope: document
# entrypoint: true
administrator_notifications := _allowed if _administers

else := _refused("FORBIDDEN", "not_an_administrator")

_allowed := {"allow": true, "reasons": []}

_not_at_home := _refused("FORBIDDEN", "not_at_home")

_exceeds := _refused("FORBIDDEN", "account_exceeds_caller")

_conflict(reason) := _refused("CONFLICT", reason)

_refused(code, reason) := {"allow": false, "code": code, "reasons": [reason]}

# A holder is who has set a password. Until then the address is the administrator's
# choice, the first one too.
_holder_uses_address if {
	input.account.has_password == true
	input.account.address_confirmed == true
}

_at_home if {
	is_string(input.account.home)
	input.account.home == input.actor.tenant
}

_home_administered if {
	is_string(input.actor.tenant)
	input.home_administered == true
}

_another if {
	is_string(input.account.id)
	input.account.id != input.actor.id
}

_administrators_remain if roles.administrators_remain(input.roles, input.other_administrators)

_restorable if input.account.status in {"ACTIVE", "SUSPENDED"}

_session_of_a_person if {
	input.actor.token_kind == "session"
	input.actor.kind == "HUMAN"
}

_in_session_tenant if {
	is_string(input.session_tenant)
	input.session_tenant == input.actor.tenant
}

_administers if {
	some permission in data.parapet.roles.administrative_grants
	permission in input.actor.permissions
}

# The caller holds what the account holds in each membership of these statuses. The
# acting tenant's membership is always among the holdings.
_within_own(statuses) if {
	some here in input.holdings
	_tenant_is_acting(here)
	every holding in input.holdings {
		_safe(holding, statuses)
	}
}

_tenant_is_acting(holding) if {
	is_string(holding.tenant)
	holding.tenant == input.actor.tenant
}

_safe(holding, statuses) if {
	some status in {"ACTIVE", "REMOVED", "SUSPENDED"}
	not status in statuses
	holding.membership == status
}

_safe(holding, _) if {
	_caller_acts_in(holding)
	clearance.tier(holding.clearance) in holding.caller.readable
	_covered(holding.caller, holding.grants)
	_covered(holding.caller, holding.delegations)
}

_caller_acts_in(holding) if {
	is_string(holding.tenant)
	holding.caller.tenant == holding.tenant
	holding.caller.id == input.actor.id
	holding.caller_membership == "ACTIVE"
}

_covered(caller, granted) if {
	is_array(granted)
	every grant in granted {
		is_array(grant.permissions)
		every permission in grant.permissions {
			grants.covers(caller, _controlled(permission), grant)
		}
	}
}

# Whoever controls an account reaches its own records. The caller reaches them by the
# permission without .own, where there is one.
_controlled(permission) := "audit.read.tenant" if permission == "audit.read.own"

else := base if {
	endswith(permission, ".own")
	base := trim_suffix(permission, ".own")
	data.parapet.catalogue.permissions[base]
}

else := permission
