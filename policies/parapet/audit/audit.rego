# METADATA
# title: Reading audit entries
# description: >
#   Explicit literals, not rank: the scopes own, organisation and tenant admit only
#   entries whose classification is null or UNCLASSIFIED; the scope classified admits
#   all. The tenant and the caveats are parapet.access's part.
# schemas:
#   - input: schema.access.input
package parapet.audit

# METADATA
# title: Whether one of these scopes admits the entry
# scope: document
admits(scopes) if {
	"tenant" in scopes
	plain
	_covered(input.actor.audit.tenant)
}

admits(scopes) if {
	"organisation" in scopes
	plain
	is_string(input.actor.organisation)
	input.resource.organisation == input.actor.organisation
	_covered(input.actor.audit.organisation)
}

admits(scopes) if {
	"own" in scopes
	plain
	is_string(input.actor.id)
	input.resource.creator == input.actor.id
	_covered(input.actor.audit.own)
}

admits(scopes) if {
	"classified" in scopes
	_classification_known
	_covered(input.actor.audit.classified)
}

# METADATA
# title: Null or UNCLASSIFIED
# description: A missing classification is neither; who loads an entry always says it.
# scope: document
plain if input.resource.classification == null

plain if input.resource.classification == "UNCLASSIFIED"

_classification_known if input.resource.classification == null

_classification_known if is_string(input.resource.classification)

_covered(grant) if grant.tenant == true

_covered(grant) if input.resource.organisation in grant.organisations

_covered(grant) if input.resource.project in grant.projects
