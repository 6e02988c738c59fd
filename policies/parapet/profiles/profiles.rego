# METADATA
# title: Service profiles
# description: >
#   A service principal must match the registered profile of its integration: exactly one
#   GLOBAL role in the scope of the tenant, with exactly the permissions of the profile.
# schemas:
#   - input: schema.profiles.input
package parapet.profiles

# METADATA
# title: Check a service principal against its profile
# scope: document
# entrypoint: true
default validate := {"allow": false, "code": "CONFLICT", "reasons": ["no_profile"]}

validate := {"allow": true, "reasons": []} if count(faults(input.target)) == 0

else := {"allow": false, "code": "CONFLICT", "reasons": sort(faults(input.target))}

# METADATA
# title: The differences between a principal and its profile
# description: Reason codes. The set is empty if the principal matches its profile.
faults(target) := {fault |
	some fault in ["no_profile", "not_service", "role_count", "grants_drift"]
	not _condition_met(fault, target)
}

# For each reason code, the condition under which it does not apply.
_condition_met("no_profile", target) if data.parapet.profiles.registered[target.integration_key]

_condition_met("not_service", target) if target.kind == "SERVICE"

_condition_met("role_count", target) if {
	count(target.roles) == 1
	target.roles[0].kind == "GLOBAL"
	target.roles[0].scope == "tenant"
}

_condition_met("grants_drift", target) if {
	expected := {permission | some permission in data.parapet.profiles.registered[target.integration_key].grants}
	count(expected) > 0
	{permission | some permission in target.roles[0].grants} == expected
}
