package parapet.clearance_test

import data.parapet.clearance

test_may_read[case.note] if {
	some case in data.tables.clearance.cases
	readable := clearance.may_read with input as case.input
	readable == case.want
}

test_tiers_are_compared_by_rank if {
	ladder := data.parapet.clearance.ladder
	wrong := {[claim, classification] |
		some a, claim in ladder
		some b, classification in ladder
		readable := clearance.may_read with input as {"clearance": claim, "classification": classification}
		by_rank := b <= a
		readable != by_rank
	}
	count(wrong) == 0
}

test_lower_compares_by_rank if {
	clearance.lower("SECRET", "CONFIDENTIAL") == "CONFIDENTIAL"
	clearance.lower("INTERNAL", "UNCLASSIFIED") == "UNCLASSIFIED"
}
