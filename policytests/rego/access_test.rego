package parapet.access_test

import data.parapet.access

test_decision[case.note] if {
	some case in data.tables.access.cases
	request := json.patch(data.tables.access.request, case.patch)
	outcome := _outcome with input as request
	outcome == _wanted(case)
}

_outcome := {"allow": true} if access.allow == true

else := object.union({"allow": false}, access.denial) if access.allow == false

_wanted(case) := {"allow": true} if case.want == true

else := {"allow": false, "hidden": case.hidden, "reasons": [case.reason]}

test_notes_are_unique if {
	notes := [case.note | some case in data.tables.access.cases]
	count(notes) == count({note | some note in notes})
}

test_an_empty_input_is_denied if {
	not access.allow with input as {}
}

test_what_is_hidden_is_not_reached if {
	above := json.patch(data.tables.access.request, [{"op": "replace", "path": "/resource/classification", "value": "SECRET"}])
	not access.reached with input as above
	access.reached with input as data.tables.access.request
}
