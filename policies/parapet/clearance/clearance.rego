# METADATA
# title: The ladder of tiers
# description: >
#   Ranks, as the application reads them. Comparison is by rank, never by name. An
#   unrecognised clearance is discarded and counts as UNCLASSIFIED; an unrecognised
#   classification ranks -1 and is readable by everyone.
# schemas:
#   - input: schema.clearance.input
package parapet.clearance

# METADATA
# title: Whether a clearance reads a classification
# description: >
#   Compares input.clearance (a claim, which may be absent) with input.classification,
#   for tests of other evaluators against this one.
# scope: document
# entrypoint: true
default may_read := false

may_read if input.classification in tiers_up_to(_claim)

may_read if unrecognised(input.classification)

default _claim := null

_claim := input.clearance

# METADATA
# title: The tier that a claim stands for
# description: UNCLASSIFIED for everything that is not a tier.
# scope: document
tier(claim) := claim if claim in data.parapet.clearance.ladder

else := "UNCLASSIFIED"

# METADATA
# title: The lower of two tiers
lower(a, b) := data.parapet.clearance.ladder[min({_rank[a], _rank[b]})]

# METADATA
# title: The tiers that a clearance reads, lowest first
tiers_up_to(claim) := array.slice(data.parapet.clearance.ladder, 0, _rank[tier(claim)] + 1)

# METADATA
# title: A classification that is a text but no tier
unrecognised(classification) if {
	is_string(classification)
	not classification in data.parapet.clearance.ladder
}

_rank := {name: place | some place, name in data.parapet.clearance.ladder}
