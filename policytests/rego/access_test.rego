package parapet.access_test

import data.parapet.access

test_decision[case.note] if {
	some case in data.tables.access.cases
	request := json.patch(data.tables.access.request, case.patch)
	outcome := _outcome with input as request
	outcome == _expected(case)
}

_outcome := {"allow": true} if access.allow == true

else := object.union({"allow": false}, access.denial) if access.allow == false

_expected(case) := {"allow": true} if case.want == true

else := {"allow": false, "hidden": case.hidden, "reasons": [case.reason]}

test_notes_are_unique if {
	notes := [case.note | some case in data.tables.access.cases]
	count(notes) == count({note | some note in notes})
}

test_empty_input_is_denied if {
	not access.allow with input as {}
}

test_hidden_record_is_not_permitted_by_caveats if {
	above := json.patch(data.tables.access.request, [{"op": "replace", "path": "/resource/classification", "value": "SECRET"}])
	not access.permitted_by_caveats with input as above
	access.permitted_by_caveats with input as data.tables.access.request
}
