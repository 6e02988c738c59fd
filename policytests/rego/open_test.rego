package parapet.open_test

import data.parapet.open

test_verdict[case.note] if {
	some case in data.tables.open.cases
	request := json.patch(data.tables.open.request, case.patch)
	verdict := open.verdict with input as request
	verdict == _expected(case)
}

_expected(case) := {"allow": true, "reasons": []} if case.reason == null

else := {"allow": false, "code": "FORBIDDEN", "reasons": [case.reason]}

test_notes_are_unique if {
	notes := [case.note | some case in data.tables.open.cases]
	count(notes) == count({note | some note in notes})
}
