package parapet.grants_test

import data.parapet.grants

test_verdict[case.note] if {
	some case in data.tables.grants.cases
	request := json.patch(data.tables.grants.request, case.patch)
	verdict := grants.verdict with input as request
	verdict == _expected(case)
}

_expected(case) := {"allow": true, "reasons": []} if case.want == null

else := object.union(
	{"allow": false, "code": case.want.code, "reasons": [case.want.reason]},
	{key: value | some key, value in case.want; key == "permission"},
)

test_empty_input_is_denied if {
	verdict := grants.verdict with input as {}
	verdict.allow == false
}

test_notes_are_unique if {
	notes := [case.note | some case in data.tables.grants.cases]
	count(notes) == count({note | some note in notes})
}
