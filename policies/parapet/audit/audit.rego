# METADATA
# title: Access to audit entries
# description: >
#   The scopes own, organisation and tenant include only entries whose classification is
#   null or UNCLASSIFIED. The scope classified includes every classification. Clearance
#   is not compared. parapet.access checks the tenant and the caveats.
# schemas:
#   - input: schema.access.input
package parapet.audit

# METADATA
# title: True if one of the scopes includes the entry
# scope: document
includes(scopes) if {
	"tenant" in scopes
	unclassified
	_in_scope(input.actor.audit.tenant)
}

includes(scopes) if {
	"organisation" in scopes
	unclassified
	is_string(input.actor.organisation)
	input.resource.organisation == input.actor.organisation
	_in_scope(input.actor.audit.organisation)
}

includes(scopes) if {
	"own" in scopes
	unclassified
	is_string(input.actor.id)
	input.resource.creator == input.actor.id
	_in_scope(input.actor.audit.own)
}

includes(scopes) if {
	"classified" in scopes
	_has_classification
	_in_scope(input.actor.audit.classified)
}

# METADATA
# title: True if the classification is null or UNCLASSIFIED
# description: >
#   False if the classification is missing: the input of an audit entry always contains
#   it, and it is null if the entry has none.
# scope: document
unclassified if input.resource.classification == null

unclassified if input.resource.classification == "UNCLASSIFIED"

_has_classification if input.resource.classification == null

_has_classification if is_string(input.resource.classification)

_in_scope(grant) if grant.tenant == true

_in_scope(grant) if input.resource.organisation in grant.organisations

_in_scope(grant) if input.resource.project in grant.projects
