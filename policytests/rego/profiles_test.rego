package parapet.profiles_test

import data.parapet.profiles

test_profile[case.note] if {
	some case in data.tables.profiles.cases
	target := json.patch(data.tables.profiles.target, case.patch)
	verdict := profiles.validate with input as {"target": target}
	verdict == _expected(case)
}

_expected(case) := {"allow": true, "reasons": []} if case.reasons == []

else := {"allow": false, "code": "CONFLICT", "reasons": case.reasons}

test_notes_are_unique if {
	notes := [case.note | some case in data.tables.profiles.cases]
	count(notes) == count({note | some note in notes})
}

test_missing_target_has_no_profile if {
	verdict := profiles.validate with input as {}
	verdict == {"allow": false, "code": "CONFLICT", "reasons": ["no_profile"]}
}
