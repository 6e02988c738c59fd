# METADATA
# title: Service profiles
# description: >
#   A service principal is exactly what its integration's registered profile says:
#   one GLOBAL role, tenant-wide, whose grants equal the profile's.
# schemas:
#   - input: schema.profiles.input
package parapet.profiles

# METADATA
# title: Whether input.target fits its profile
# scope: document
# entrypoint: true
default validate := {"allow": false, "code": "CONFLICT", "reasons": ["no_profile"]}

validate := {"allow": true, "reasons": []} if count(faults(input.target)) == 0

else := {"allow": false, "code": "CONFLICT", "reasons": sort(faults(input.target))}

# METADATA
# title: What keeps a principal from being its profile
# description: The empty set for one that fits.
faults(target) := {fault |
	some fault in ["no_profile", "not_service", "role_count", "grants_drift"]
	not _holds(fault, target)
}

# Each code, and what has to hold for it not to be raised.
_holds("no_profile", target) if data.parapet.profiles.registered[target.integration_key]

_holds("not_service", target) if target.kind == "SERVICE"

_holds("role_count", target) if {
	count(target.roles) == 1
	target.roles[0].kind == "GLOBAL"
	target.roles[0].scope == "tenant"
}

_holds("grants_drift", target) if {
	wanted := {permission | some permission in data.parapet.profiles.registered[target.integration_key].grants}
	count(wanted) > 0
	{permission | some permission in target.roles[0].grants} == wanted
}
