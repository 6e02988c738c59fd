# METADATA
# title: Operations that need no permission
# description: >
#   Decides about operations on the caller's own account, for example reading it or
#   logging out. They need a valid credential and no permission, so only caveats restrict
#   them. A token with a project caveat can read, but not write.
# schemas:
#   - input: schema.open.input
package parapet.open

# METADATA
# title: Use an operation that needs no permission
# scope: document
# entrypoint: true
default verdict := {"allow": false, "code": "FORBIDDEN", "reasons": ["caveat_effect"]}

verdict := {"allow": true, "reasons": []} if {
	_effect_allowed
	_module_allowed
	_project_allowed
}

else := {"allow": false, "code": "FORBIDDEN", "reasons": ["caveat_module"]} if {
	_effect_allowed
	not _module_allowed
}

else := {"allow": false, "code": "FORBIDDEN", "reasons": ["caveat_project"]} if {
	_effect_allowed
	not _project_allowed
}

_effect_allowed if input.effect in input.actor.effects

_module_allowed if input.module in input.actor.modules

_project_allowed if input.effect == "read"

_project_allowed if input.actor.all_projects == true
