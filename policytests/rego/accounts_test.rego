package parapet.accounts_test

import data.parapet.accounts

test_verdict[note] if {
	some group in data.tables.accounts.groups
	some rule in group.rules
	some case in group.cases
	note := sprintf("%s: %s", [rule, case.note])
	request := json.patch(data.tables.accounts.request, case.patch)
	verdict := _verdict(rule) with input as request
	verdict == _expected(case)
}

_verdict(rule) := accounts[rule]

_expected(case) := {"allow": true, "reasons": []} if case.want == null

else := {"allow": false, "code": case.want.code, "reasons": [case.want.reason]}

test_empty_input_is_denied[rule] if {
	some group in data.tables.accounts.groups
	some rule in group.rules
	verdict := _verdict(rule) with input as {}
	verdict.allow == false
}

test_notes_are_unique if {
	notes := [[rule, case.note] |
		some group in data.tables.accounts.groups
		some rule in group.rules
		some case in group.cases
	]
	count(notes) == count({note | some note in notes})
}
