package parapet.clearance_test

import data.parapet.clearance

test_unrecognised_claim_reads_the_lowest_tier if {
	clearance.may_read with input as {"clearance": "COSMIC", "classification": "UNCLASSIFIED"}
}
