# METADATA
# title: Clearance tiers
# description: >
#   Compares tiers by their rank, which is their position in the list "ladder". A
#   clearance that is not a tier counts as UNCLASSIFIED. A classification that is not a
#   tier is readable by everyone.
# schemas:
#   - input: schema.clearance.input
package parapet.clearance

# METADATA
# title: True if the clearance is sufficient for the classification
# description: >
#   Compares input.clearance, which may be absent, with input.classification. The rule is
#   the reference for tests of the implementations in Go and SQL.
# scope: document
# entrypoint: true
default may_read := false

may_read if input.classification in tiers_up_to(_clearance)

may_read if unrecognised(input.classification)

default _clearance := null

_clearance := input.clearance

# METADATA
# title: The tier of a clearance
# description: UNCLASSIFIED for every value that is not a tier.
# scope: document
tier(value) := value if value in data.parapet.clearance.ladder

else := "UNCLASSIFIED"

# METADATA
# title: The lower of two tiers
lower(a, b) := data.parapet.clearance.ladder[min({_rank[a], _rank[b]})]

# METADATA
# title: The tiers that a clearance can read, lowest first
tiers_up_to(value) := array.slice(data.parapet.clearance.ladder, 0, _rank[tier(value)] + 1)

# METADATA
# title: True if the classification is a string but not a tier
unrecognised(classification) if {
	is_string(classification)
	not classification in data.parapet.clearance.ladder
}

_rank := {name: position | some position, name in data.parapet.clearance.ladder}
