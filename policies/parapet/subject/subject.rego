# METADATA
# title: The subject of a request
# description: >
#   Computes the subject from a verified token and the records of the target tenant:
#   effective roles, permissions with their scopes, readable tiers and caveats. The result
#   is cached until the token or the tenant's grants change. The other packages read it
#   as input.actor.
# schemas:
#   - input: schema.subject.input
package parapet.subject

import data.parapet.clearance
import data.parapet.delegations

# METADATA
# title: The subject
# description: >
#   Undefined if the input does not identify the user and the tenant. Undefined denies.
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
	_is_uuid(input.user.id)
	_is_uuid(input.tenant)
}

default _tenant_type := ""

_tenant_type := input.tenant_type if input.tenant_type in {"STANDARD", "PROGRAMME_OFFICE"}

default _kind := ""

_kind := input.user.kind if input.user.kind in {"HUMAN", "SERVICE", "AGENT"}

default _token_kind := ""

_token_kind := input.token.kind if input.token.kind in {"session", "api_key", "internal"}

default _organisation := {}

_organisation := {"organisation": input.user.organisation} if _is_uuid(input.user.organisation)

_is_uuid(text) if {
	is_string(text)
	regex.match(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`, text)
}

# The source of roles and clearance in the target tenant: the token, the records of the
# tenant ("stored"), or the intersection of both.
default _source := "none"

_source := "token" if {
	_token_kind == "api_key"
	_kind_is_known
	input.token.tenant == input.tenant
}

_source := "both" if {
	_token_kind in {"session", "internal"}
	_kind_is_known
	input.token.tenant == input.tenant
}

# In a tenant other than the token's, only the records of that tenant count. Service
# principals and internal tokens are bound to the tenant of the token.
_source := "stored" if {
	_token_kind in {"session", "api_key"}
	_kind in {"HUMAN", "AGENT"}
	_is_uuid(input.token.tenant)
	input.token.tenant != input.tenant
}

_kind_is_known if _kind in {"HUMAN", "SERVICE", "AGENT"}

# An absent or unrecognised clearance is UNCLASSIFIED.
default _token_clearance := "UNCLASSIFIED"

_token_clearance := clearance.tier(input.token.clearance)

default _stored_clearance := "UNCLASSIFIED"

_stored_clearance := clearance.tier(input.stored.clearance)

default _clearance := "UNCLASSIFIED"

_clearance := _token_clearance if _source == "token"

_clearance := clearance.lower(_token_clearance, _stored_clearance) if _source == "both"

_clearance := _stored_clearance if _source == "stored"

# Maps role names to the scopes of the role in the token. A scope is "tenant",
# "organisation:<uuid>" or "project:<uuid>".
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
	_is_uuid(id)
}

_stored_scopes[assignment.role] contains _scope_of(assignment) if some assignment in input.stored.assignments

_scope_of(assignment) := "tenant" if {
	is_string(assignment.role)
	assignment.scope == "tenant"
}

_scope_of(assignment) := concat(":", [assignment.scope, assignment.id]) if {
	is_string(assignment.role)
	assignment.scope in {"organisation", "project"}
	_is_uuid(assignment.id)
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
	_covers_scope(_stored_scopes[role], scope)
}

_effective_scopes[role] contains scope if {
	_source == "both"
	some role, scopes in _stored_scopes
	some scope in scopes
	_covers_scope(_token_scopes[role], scope)
}

_covers_scope(scopes, _) if "tenant" in scopes

_covers_scope(scopes, scope) if scope in scopes

# METADATA
# title: The names of the effective roles
# scope: document
roles := object.keys(_effective_scopes)

# The permissions of a role are read from the tenant's records with every request, never
# from the token. A name that is not in the catalogue grants nothing. Platform
# permissions grant nothing outside a programme office.
_permissions_of_role(role) := {permission |
	some permission in input.roles[role]
	entry := data.parapet.catalogue.permissions[permission]
	_platform_allowed(entry)
}

_platform_allowed(entry) if not entry.platform

_platform_allowed(_) if _tenant_type == "PROGRAMME_OFFICE"

# Maps each granted permission name, with or without .own, to its scopes.
_permission_scopes[permission] contains scope if {
	_caveats_known
	some role, scopes in _effective_scopes
	some permission in _permissions_of_role(role)
	some scope in scopes
}

_grants := object.union(_grants_of(_permission_scopes), _member_grants)

# The permissions that need no role. The program checks the membership with each request.
_member_grants[permission] := _grant_of_scopes({"tenant"}) if {
	_caveats_known
	_source != "none"
	is_object(input.roles)
	some permission in data.parapet.catalogue.members
}

# Requests name the permission P, never P.own. A grant of P.own therefore creates two
# entries: one for P.own, in which only "own" has scopes, and one for P, which contains
# the scopes of P and, as "own", those of P.own. If the subject holds both permissions,
# the second object below overrides the entry for P of the first.
_grants_of(permission_scopes) := object.union(
	{permission: _grant_of_scopes(scopes) |
		some permission, scopes in permission_scopes
		not endswith(permission, ".own")
		not startswith(permission, "audit.read.")
	},
	{permission: grant |
		some name, scopes in permission_scopes
		endswith(name, ".own")
		not startswith(name, "audit.read.")
		base := trim_suffix(name, ".own")
		some permission, scopes_without_own in {base: object.get(permission_scopes, base, set()), name: set()}
		grant := object.union(_grant_of_scopes(scopes_without_own), {"own": _grant_of_scopes(scopes)})
	},
)

_grant_of_scopes(scopes) := {
	"tenant": "tenant" in scopes,
	"organisations": _ids_with_prefix(scopes, "organisation:"),
	"projects": _ids_with_prefix(scopes, "project:"),
}

_ids_with_prefix(scopes, prefix) := {trim_prefix(scope, prefix) |
	some scope in scopes
	startswith(scope, prefix)
}

_audit[audit_scope] := _grant_of_scopes(scopes) if {
	some name, scopes in _permission_scopes
	startswith(name, "audit.read.")
	audit_scope := trim_prefix(name, "audit.read.")
}

# The permissions that the subject holds in any scope. The program denies a request for
# another permission before it loads the record.
_holds contains name if some name in object.keys(_grants)

_holds contains name if {
	some name, audit_scopes in data.parapet.audit.scopes
	some audit_scope in audit_scopes
	_audit[audit_scope]
}

# The permissions that the assignments on record grant in the scope of the tenant. They
# decide who may issue keys for service principals, so the roles in the token do not count.
_stored_permissions contains permission if {
	_caveats_known
	_source != "none"
	some role, scopes in _stored_scopes
	"tenant" in scopes
	some permission in _permissions_of_role(role)
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

# True if the list of caveats is present and every caveat in it is known. Otherwise
# everything is denied. All caveats apply, so two that exclude each other allow nothing.
default _caveats_known := false

_caveats_known if {
	is_array(input.token.caveats)
	count(input.token.caveats) == count([caveat | some caveat in input.token.caveats; _is_known_caveat(caveat)])
}

_is_known_caveat("read-only")

_is_known_caveat(caveat) if _is_uuid(_project_of(caveat))

_is_known_caveat(caveat) if _module_of(caveat) in data.parapet.catalogue.modules

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
	_effect_allowed(effect)
}

_effect_allowed("read")

_effect_allowed("write") if not "read-only" in input.token.caveats

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

# One delegated subject for each active delegation. It has the delegator's id, so the
# delegator's records count as its own. Of the listed permissions, it has those that the
# delegator holds. It has the lower of the two users' clearances, and the tenant and the
# caveats of the caller. A caller without roles in the tenant has no delegated subjects.
_delegated_subjects contains delegated if {
	_caveats_known
	_source != "none"
	_kind in {"AGENT", "HUMAN"}
	some delegation in input.delegations
	_is_active(delegation)
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
		_scope_of_delegation(delegation),
	)
}

# A delegator without a clearance on record counts as UNCLASSIFIED.
_delegator_clearance(delegation) := clearance.tier(object.get(delegation.delegator, "clearance", ""))

_is_active(delegation) if {
	_is_uuid(delegation.id)
	_is_uuid(delegation.delegator.id)
	delegation.delegator.id != input.user.id
	delegation.delegator.kind in {"AGENT", "HUMAN"}
	delegation.delegator.status == "ACTIVE"
	delegation.delegator.membership == "ACTIVE"
}

# Maps each listed permission to the scopes in which the delegator's role assignments grant
# it now. Permissions that were delegated to the delegator do not count. A delegator who
# holds P can delegate P.own.
_delegated_scopes(delegation) := {permission: scopes |
	some permission in delegation.permissions
	is_string(permission)
	not endswith(permission, ".own.own")
	scopes := {scope |
		some granted in _names_granting(permission)
		delegations.delegable(granted)
		some assignment in delegation.delegator.assignments
		scope := _scope_of(assignment)
		granted in _permissions_of_role(assignment.role)
	}
	count(scopes) > 0
}

_names_granting(permission) := {permission, trim_suffix(permission, ".own")}

_scope_of_delegation(delegation) := {
	"all_projects": _all_projects,
	"projects": _projects,
	"initiatives": set(),
} if delegation.scope == "tenant"

else := {
	"all_projects": false,
	"projects": {project |
		some project in delegation.projects
		_project_allowed(project)
	},
	"initiatives": {initiative |
		_all_projects
		some initiative in delegation.initiatives
		_is_uuid(initiative)
	},
}

# True if the caveats of the caller's token allow the project.
_project_allowed(project) if {
	_all_projects
	_is_uuid(project)
}

_project_allowed(project) if project in _projects
