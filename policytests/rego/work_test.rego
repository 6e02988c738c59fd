package parapet.work_test

import data.parapet.work

test_verdict[case.note] if {
	some case in data.tables.work.cases
	request := json.patch(data.tables.work.request, case.patch)
	verdict := _verdict(case.rule) with input as request
	_summary(verdict) == case.want
}

_verdict("give") := work.give

_verdict("act_as_agent") := work.act_as_agent

_verdict("raise_decision") := work.raise_decision

_verdict("promote_issue") := work.promote_issue

_verdict("count_records") := work.count_records

_verdict("start_run") := work.start_run

_verdict("cancel_decision") := work.cancel_decision

_verdict("release_claim") := work.release_claim

# "allow", "delegated", or the code and the first reason of a denial with the permission or
# the field.
_summary(verdict) := "allow" if verdict == {"allow": true, "reasons": []}

else := "delegated" if verdict == {"allow": true, "on_behalf": {"delegation": "00000000-0000-7000-8000-0000000000f1", "delegator": "00000000-0000-7000-8000-0000000000c2"}, "reasons": []}

else := {"code": verdict.code, "reason": verdict.reasons[0], "permission": verdict.permission} if verdict.allow == false

else := {"code": verdict.code, "reason": verdict.reasons[0], "field": verdict.field} if verdict.allow == false

else := {"code": verdict.code, "reason": verdict.reasons[0]} if verdict.allow == false

test_notes_are_unique if {
	notes := [case.note | some case in data.tables.work.cases]
	count(notes) == count({note | some note in notes})
}

test_empty_input_is_denied if {
	every rule in ["give", "act_as_agent", "raise_decision", "promote_issue", "count_records", "start_run", "cancel_decision", "release_claim"] {
		verdict := _verdict(rule) with input as {}
		verdict.allow == false
	}
}
