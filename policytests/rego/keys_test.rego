package parapet.keys_test

import data.parapet.keys

test_verdict[case.note] if {
	some case in data.tables.keys.cases
	request := json.patch(data.tables.keys.request, case.patch)
	verdict := _verdict(case.rule) with input as request
	verdict == case.want
}

_verdict("issue_service") := keys.issue_service

_verdict("issue_self") := keys.issue_self

_verdict("list") := keys.list

_verdict("revoke") := keys.revoke

test_notes_are_unique if {
	notes := [case.note | some case in data.tables.keys.cases]
	count(notes) == count({note | some note in notes})
}

test_empty_input_is_denied if {
	every rule in ["issue_service", "issue_self", "list", "revoke"] {
		verdict := _verdict(rule) with input as {}
		verdict.allow == false
	}
}
