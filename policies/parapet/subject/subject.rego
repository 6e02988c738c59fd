# METADATA
# title: The caller, worked out
# description: >
#   Turns a verified token and what the target tenant has on record into the subject
#   that every decision is about: effective roles, permissions with their scopes,
#   readable tiers, caveats. It is evaluated once for a token and a state of the tenant's
#   grants, and its result is input.actor of the other packages.
# schemas:
#   - input: schema.subject.input
package parapet.subject

import data.parapet.clearance
import data.parapet.delegations

# METADATA
# title: The subject
# description: Undefined, which denies, where the input does not say who asks and where.
# scope: document
# entrypoint: true
subject := object.union(
	{
		"id": input.user.id,
		"tenant": input.tenant,
		"tenant_type": _tenant_type,
		"kind": _kind,
		"token_kind": _token_kind,
		"clearance": _clearance,
		"readable": clearance.tiers_up_to(_clearance),
		"effects": _effects,
		"modules": _modules,
		"all_projects": _all_projects,
		"projects": _projects,
		"roles": roles,
		"admin": _admin,
		"grants": _grants,
		"audit": _audit,
		"holds": _holds,
		"permissions": {held[0] | some held in _held},
		"stored_permissions": _stored_permissions,
		"delegations": _delegations,
	},
	_organisation,
) if {
	_uuid(input.user.id)
	_uuid(input.tenant)
}

default _tenant_type := ""

_tenant_type := input.tenant_type if input.tenant_type in {"STANDARD", "PROGRAMME_OFFICE"}

default _kind := ""

_kind := input.user.kind if input.user.kind in {"HUMAN", "SERVICE", "AGENT"}

default _token_kind := ""

_token_kind := input.token.kind if input.token.kind in {"session", "api_key", "internal"}

default _organisation := {}

_organisation := {"organisation": input.user.organisation} if _uuid(input.user.organisation)

_uuid(text) if {
	is_string(text)
	regex.match(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`, text)
}

# Which of the two sources speak for the caller, in the target tenant.
default _source := "none"

_source := "token" if {
	_token_kind == "api_key"
	_known_kind
	input.token.tenant == input.tenant
}

_source := "both" if {
	_token_kind in {"session", "internal"}
	_known_kind
	input.token.tenant == input.tenant
}

# Another tenant than the token's: only what is stored there. A service principal
# is bound to its own tenant, and an internal token to the one it was made for.
_source := "stored" if {
	_token_kind in {"session", "api_key"}
	_kind in {"HUMAN", "AGENT"}
	_uuid(input.token.tenant)
	input.token.tenant != input.tenant
}

_known_kind if _kind in {"HUMAN", "SERVICE", "AGENT"}

# Clearance: an absent or unrecognised one is UNCLASSIFIED.
default _claim := "UNCLASSIFIED"

_claim := clearance.tier(input.token.clearance)

default _stored_clearance := "UNCLASSIFIED"

_stored_clearance := clearance.tier(input.stored.clearance)

default _clearance := "UNCLASSIFIED"

_clearance := _claim if _source == "token"

_clearance := clearance.lower(_claim, _stored_clearance) if _source == "both"

_clearance := _stored_clearance if _source == "stored"

# Roles in scopes, as [role, scope, id]; the id of the tenant scope is "".
_token_roles contains [role, "tenant", ""] if {
	some role in input.token.roles
	is_string(role)
	is_object(input.token.role_scopes)
	not role in object.keys(input.token.role_scopes)
}

_token_roles contains [role, kind, id] if {
	some role in input.token.roles
	some scope in input.token.role_scopes[role]
	is_string(scope)
	[kind, id] := split(scope, ":")
	kind in {"organisation", "project"}
	_uuid(id)
}

_stored_roles contains _assigned(assignment) if some assignment in input.stored.assignments

_assigned(assignment) := [assignment.role, "tenant", ""] if {
	is_string(assignment.role)
	assignment.scope == "tenant"
}

_assigned(assignment) := [assignment.role, assignment.scope, assignment.id] if {
	is_string(assignment.role)
	assignment.scope in {"organisation", "project"}
	_uuid(assignment.id)
}

_effective_roles contains held if {
	_source == "token"
	some held in _token_roles
}

_effective_roles contains held if {
	_source == "stored"
	some held in _stored_roles
}

# A session: what the token says and the tenant still says, each narrowing the
# other, so that a role that was taken away acts at once.
_effective_roles contains held if {
	_source == "both"
	some held in (_token_roles & _stored_roles)
}

_effective_roles contains held if {
	_source == "both"
	some held in _stored_roles
	[held[0], "tenant", ""] in _token_roles
}

_effective_roles contains held if {
	_source == "both"
	some held in _token_roles
	[held[0], "tenant", ""] in _stored_roles
}

# METADATA
# title: The names of the effective roles
# scope: document
roles contains held[0] if some held in _effective_roles

# What a role grants is always live. A name that the catalogue does not know grants
# nothing, and a platform permission nothing outside a programme office.
_granted_by(role) := {permission |
	some permission in input.roles[role]
	entry := data.parapet.catalogue.permissions[permission]
	_office_allows(entry)
}

_office_allows(entry) if not entry.platform

_office_allows(_) if _tenant_type == "PROGRAMME_OFFICE"

# Permissions in scopes, as [permission, scope, id].
_held contains [permission, scope, id] if {
	_caveats_known
	some [role, scope, id] in _effective_roles
	some permission in _granted_by(role)
}

# A permission P.own counts under P, as own, and under its full name.
_scopes[permission] contains [scope, id] if some [permission, scope, id] in _held

_grants := _grants_of(_scopes)

_grants_of(held) := object.union(
	{permission: _grant(scopes) |
		some permission, scopes in held
		not endswith(permission, ".own")
		not startswith(permission, "audit.read.")
	},
	{permission: object.union(_grant(_plain(held, permission)), {"own": _grant(scopes)}) |
		some name, scopes in held
		endswith(name, ".own")
		not startswith(name, "audit.read.")
		some permission in {name, trim_suffix(name, ".own")}
	},
)

_plain(held, permission) := set() if endswith(permission, ".own")

else := object.get(held, permission, set())

_audit[scope] := _grant(scopes) if {
	some name, scopes in _scopes
	startswith(name, "audit.read.")
	scope := trim_prefix(name, "audit.read.")
}

_grant(scopes) := {
	"tenant": ["tenant", ""] in scopes,
	"organisations": {id | some ["organisation", id] in scopes},
	"projects": {id | some ["project", id] in scopes},
}

# Every name that a request can be refused for before anything is loaded.
_holds contains name if some name in object.keys(_grants)

_holds contains name if {
	some name, scopes in data.parapet.audit.scopes
	some scope in scopes
	_audit[scope]
}

# What the stored assignments alone grant tenant-wide: a session's snapshot and a
# key's have no say in who may make keys for others.
_stored_permissions contains permission if {
	_caveats_known
	_source != "none"
	some [role, "tenant", ""] in _stored_roles
	some permission in _granted_by(role)
}

default _admin := false

_admin if {
	some role in data.parapet.roles.administrative
	role in roles
}

_admin if {
	some held in _held
	held[0] in data.parapet.roles.administrative_grants
}

# Caveats narrow, each on its own: two that exclude each other leave nothing. The
# list has to be there; one that is not known refuses everything.
default _caveats_known := false

_caveats_known if {
	is_array(input.token.caveats)
	count(input.token.caveats) == count([caveat | some caveat in input.token.caveats; _known_caveat(caveat)])
}

_known_caveat("read-only")

_known_caveat(caveat) if _uuid(_project_of(caveat))

_known_caveat(caveat) if _module_of(caveat) in data.parapet.catalogue.modules

_project_of(caveat) := trim_prefix(caveat, "project:") if {
	is_string(caveat)
	startswith(caveat, "project:")
}

_module_of(caveat) := trim_prefix(caveat, "module:") if {
	is_string(caveat)
	startswith(caveat, "module:")
}

_effects contains effect if {
	_caveats_known
	some effect in ["read", "write"]
	_effect_left(effect)
}

_effect_left("read")

_effect_left("write") if not "read-only" in input.token.caveats

_modules contains module if {
	_caveats_known
	some module in data.parapet.catalogue.modules
	every other in _caveat_modules {
		other == module
	}
}

_caveat_modules contains _module_of(caveat) if some caveat in input.token.caveats

_caveat_projects contains _project_of(caveat) if some caveat in input.token.caveats

default _all_projects := false

_all_projects if {
	_caveats_known
	count(_caveat_projects) == 0
}

_projects contains project if {
	_caveats_known
	count(_caveat_projects) == 1
	some project in _caveat_projects
}

# On another's behalf: for each delegation in force an actor of its own, who is the
# delegator in what is held and in whose records are own, has the lower clearance of
# the two, and is the delegate in everything else. There is none where the caller itself is nobody here.
_delegations contains face if {
	_caveats_known
	_source != "none"
	_kind in {"AGENT", "HUMAN"}
	some delegation in input.delegations
	_in_force(delegation)
	scopes := _lent(delegation)
	count(scopes) > 0
	face := object.union(
		{
			"delegation": delegation.id,
			"id": delegation.delegator.id,
			"tenant": input.tenant,
			"tenant_type": _tenant_type,
			"readable": clearance.tiers_up_to(clearance.lower(_clearance, _delegator_clearance(delegation))),
			"effects": _effects,
			"modules": _modules & {"tracker"},
			"grants": _grants_of(scopes),
			"audit": {},
			"holds": _names(scopes),
		},
		_extent(delegation),
	)
}

# Reading takes the clearance of both, so the lower one counts. A delegator without a
# clearance on record reads what is UNCLASSIFIED.
_delegator_clearance(delegation) := clearance.tier(object.get(delegation.delegator, "clearance", ""))

_in_force(delegation) if {
	_uuid(delegation.id)
	_uuid(delegation.delegator.id)
	delegation.delegator.id != input.user.id
	delegation.delegator.kind in {"AGENT", "HUMAN"}
	delegation.delegator.status == "ACTIVE"
	delegation.delegator.membership == "ACTIVE"
}

# What of the delegation the delegator's own assignments grant now: what was lent
# to the delegator is not passed on. Who holds a permission can lend it for what is
# its own alone.
_lent(delegation) := {permission: scopes |
	held := {[lent, scope, id] |
		some assignment in delegation.delegator.assignments
		[role, scope, id] := _assigned(assignment)
		some permission in _granted_by(role)
		delegations.lendable(permission)
		some lent in _lent_as(permission)
		lent in delegation.permissions
	}
	some permission in {entry[0] | some entry in held}
	scopes := {[entry[1], entry[2]] | some entry in held; entry[0] == permission}
}

_lent_as(permission) := {permission} if endswith(permission, ".own")

else := {permission, concat(".", [permission, "own"])}

_names(scopes) := {name |
	some held in object.keys(scopes)
	some name in {held, trim_suffix(held, ".own")}
}

_extent(delegation) := {
	"all_projects": _all_projects,
	"projects": _projects,
	"initiatives": set(),
} if delegation.scope == "tenant"

else := {
	"all_projects": false,
	"projects": {project |
		some project in delegation.projects
		_within(project)
	},
	"initiatives": {initiative |
		_all_projects
		some initiative in delegation.initiatives
		_uuid(initiative)
	},
}

# What the delegation covers and the caller's own token leaves.
_within(project) if {
	_all_projects
	_uuid(project)
}

_within(project) if project in _projects
