# METADATA
# title: Operations that need no permission
# description: >
#   What everybody with a live credential may do about itself: see who it is, log out.
#   No permission is asked for, so the token's caveats alone decide; a token that was
#   narrowed to a project changes nothing outside of it.
# schemas:
#   - input: schema.open.input
package parapet.open

# METADATA
# title: The verdict
# scope: document
# entrypoint: true
default verdict := {"allow": false, "code": "FORBIDDEN", "reasons": ["caveat_effect"]}

verdict := {"allow": true, "reasons": []} if {
	_effect_left
	_module_left
	_project_left
}

else := {"allow": false, "code": "FORBIDDEN", "reasons": ["caveat_module"]} if {
	_effect_left
	not _module_left
}

else := {"allow": false, "code": "FORBIDDEN", "reasons": ["caveat_project"]} if {
	_effect_left
	not _project_left
}

_effect_left if input.effect in input.actor.effects

_module_left if input.module in input.actor.modules

_project_left if input.effect == "read"

_project_left if input.actor.all_projects == true
