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
		"permissions": object.keys(_permission_scopes),
		"stored_permissions": _stored_permissions,
		"delegated_subjects": _delegated_subjects,
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

# The scopes in which a role is held, by the role's name. A scope is written as in a
# token: "tenant", "organisation:<uuid>" or "project:<uuid>".
_token_scopes[role] contains "tenant" if {
	some role in input.token.roles
	is_string(role)
	is_object(input.token.role_scopes)
	not role in object.keys(input.token.role_scopes)
}

_token_scopes[role] contains scope if {
	some role in input.token.roles
	some scope in input.token.role_scopes[role]
	is_string(scope)
	[kind, id] := split(scope, ":")
	kind in {"organisation", "project"}
	_uuid(id)
}

_stored_scopes[assignment.role] contains _scope_of(assignment) if some assignment in input.stored.assignments

_scope_of(assignment) := "tenant" if {
	is_string(assignment.role)
	assignment.scope == "tenant"
}

_scope_of(assignment) := concat(":", [assignment.scope, assignment.id]) if {
	is_string(assignment.role)
	assignment.scope in {"organisation", "project"}
	_uuid(assignment.id)
}

_effective_scopes[role] contains scope if {
	_source == "token"
	some role, scopes in _token_scopes
	some scope in scopes
}

_effective_scopes[role] contains scope if {
	_source == "stored"
	some role, scopes in _stored_scopes
	some scope in scopes
}

# A session's roles are the intersection of the roles in its token and the roles on
# record, each in the narrower of the two scopes. A role that was unassigned since the
# login therefore no longer counts.
_effective_scopes[role] contains scope if {
	_source == "both"
	some role, scopes in _token_scopes
	some scope in scopes
	_includes(_stored_scopes[role], scope)
}

_effective_scopes[role] contains scope if {
	_source == "both"
	some role, scopes in _stored_scopes
	some scope in scopes
	_includes(_token_scopes[role], scope)
}

_includes(scopes, _) if "tenant" in scopes

_includes(scopes, scope) if scope in scopes

# METADATA
# title: The names of the effective roles
# scope: document
roles := object.keys(_effective_scopes)

# What a role grants is always live. A name that the catalogue does not know grants
# nothing, and a platform permission nothing outside a programme office.
_granted_by(role) := {permission |
	some permission in input.roles[role]
	entry := data.parapet.catalogue.permissions[permission]
	_office_allows(entry)
}

_office_allows(entry) if not entry.platform

_office_allows(_) if _tenant_type == "PROGRAMME_OFFICE"

# The scopes in which a permission is held, by its name as granted, with or without .own.
_permission_scopes[permission] contains scope if {
	_caveats_known
	some role, scopes in _effective_scopes
	some permission in _granted_by(role)
	some scope in scopes
}

_grants := _grants_of(_permission_scopes)

# P.own gives a grant to P as well, because rules ask for P. Where both are held, P is in
# both objects, and the second overrides the first: it adds "own" to the same scopes.
# Under its own name P.own covers no other records, so its scopes are empty there.
_grants_of(permission_scopes) := object.union(
	{permission: _reach(scopes) |
		some permission, scopes in permission_scopes
		not endswith(permission, ".own")
		not startswith(permission, "audit.read.")
	},
	{permission: grant |
		some name, scopes in permission_scopes
		endswith(name, ".own")
		not startswith(name, "audit.read.")
		plain := trim_suffix(name, ".own")
		some permission, wider in {plain: object.get(permission_scopes, plain, set()), name: set()}
		grant := object.union(_reach(wider), {"own": _reach(scopes)})
	},
)

_reach(scopes) := {
	"tenant": "tenant" in scopes,
	"organisations": _ids(scopes, "organisation:"),
	"projects": _ids(scopes, "project:"),
}

_ids(scopes, prefix) := {trim_prefix(scope, prefix) |
	some scope in scopes
	startswith(scope, prefix)
}

_audit[literal] := _reach(scopes) if {
	some name, scopes in _permission_scopes
	startswith(name, "audit.read.")
	literal := trim_prefix(name, "audit.read.")
}

# Every name that a request can be refused for before anything is loaded.
_holds contains name if some name in object.keys(_grants)

_holds contains name if {
	some name, literals in data.parapet.audit.scopes
	some literal in literals
	_audit[literal]
}

# What the stored assignments alone grant tenant-wide: a session's snapshot and a
# key's have no say in who may make keys for others.
_stored_permissions contains permission if {
	_caveats_known
	_source != "none"
	some role, scopes in _stored_scopes
	"tenant" in scopes
	some permission in _granted_by(role)
}

default _admin := false

_admin if {
	some role in data.parapet.roles.administrative
	role in roles
}

_admin if {
	some permission in data.parapet.roles.administrative_grants
	_permission_scopes[permission]
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

# For each delegation in force one more subject. It has the delegator's id, which says
# whose records are own, and what the delegator holds of the listed permissions. It reads
# with the lower clearance of the two, and has the caller's tenant and caveats. A caller
# who is nobody in the tenant has none.
_delegated_subjects contains delegated if {
	_caveats_known
	_source != "none"
	_kind in {"AGENT", "HUMAN"}
	some delegation in input.delegations
	_in_force(delegation)
	permission_scopes := _delegated_scopes(delegation)
	count(permission_scopes) > 0
	grants := _grants_of(permission_scopes)
	delegated := object.union(
		{
			"delegation": delegation.id,
			"id": delegation.delegator.id,
			"tenant": input.tenant,
			"tenant_type": _tenant_type,
			"readable": clearance.tiers_up_to(clearance.lower(_clearance, _delegator_clearance(delegation))),
			"effects": _effects,
			"modules": _modules & {"tracker"},
			"grants": grants,
			"audit": {},
			"holds": object.keys(grants),
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

# The scopes in which each listed permission is delegated: those in which the delegator's
# own assignments grant it now. What the delegator received from others is not delegated
# again. Who holds P can delegate P.own.
_delegated_scopes(delegation) := {permission: scopes |
	some permission in delegation.permissions
	is_string(permission)
	not endswith(permission, ".own.own")
	scopes := {scope |
		some granted in _granting(permission)
		delegations.lendable(granted)
		some assignment in delegation.delegator.assignments
		scope := _scope_of(assignment)
		granted in _granted_by(assignment.role)
	}
	count(scopes) > 0
}

_granting(permission) := {permission, trim_suffix(permission, ".own")}

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
