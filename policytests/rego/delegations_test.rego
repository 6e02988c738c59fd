package parapet.delegations_test

import data.parapet.access
import data.parapet.delegations
import data.parapet.subject

# Compares a subject and its delegated subject as JSON: sets become sorted arrays.
test_subject[case.note] if {
	some case in data.tables.delegations.subjects
	caller := _patched(data.tables.delegations.caller, case)
	whole := json.unmarshal(json.marshal(subject.subject)) with input as caller
	_fits(whole, object.get(case, "whole", {}))
	_one(whole, case)
}

_one(whole, case) if {
	case.one == null
	whole.delegated_subjects == []
}

_one(whole, case) if {
	[delegated] := whole.delegated_subjects
	_fits(delegated, object.get(case, "one", {}))
}

_fits(got, want) if {
	every key, value in want {
		got[key] == value
	}
}

test_decision[case.note] if {
	some case in data.tables.delegations.decisions
	request := _patched(data.tables.delegations.request, case)
	own := access.allow with input as request
	own == false
	behalf := access.behalf with input as request
	{entry.delegation | some entry in behalf} == {id | some id in case.want}
	every entry in behalf {
		entry.delegator == "00000000-0000-7000-8000-0000000000c2"
	}
	denial := access.denial with input as request
	_reason(denial, case)
}

_reason(_, case) if count(case.want) > 0

_reason(denial, case) if denial.reasons == [case.reason]

# Supports the operation "copy", which json.patch lacks. It copies the document first,
# because json.patch modifies the argument of a function under plain opa test.
_patched(doc, case) := json.patch(json.unmarshal(json.marshal(doc)), [_step(doc, step) | some step in case.patch])

_step(doc, step) := {"op": "add", "path": step.path, "value": _at(doc, step.from)} if step.op == "copy"

else := step

_at(doc, "/actor/delegated_subjects/0") := doc.actor.delegated_subjects[0]

test_verdict[case.note] if {
	some case in data.tables.delegations.verdicts
	request := _patched(data.tables.delegations.making, case)
	verdict := delegations.verdict with input as request
	verdict == _verdict(case)
}

_verdict(case) := {"allow": true, "reasons": []} if case.want == null

else := {"allow": false, "code": case.want.code, "reasons": [case.want.reason], "cap": case.want.cap} if case.want.code

else := {"allow": false, "code": "FORBIDDEN", "reasons": [case.want.reason], "permission": case.want.permission} if not case.want.field

else := object.union(
	{"allow": false, "code": "VALIDATION", "reasons": [case.want.reason], "field": case.want.field},
	{key: value | some key, value in case.want; key in {"permission", "cap"}},
)

test_empty_input_is_denied if {
	verdict := delegations.verdict with input as {}
	verdict.allow == false
}

test_notes_are_unique if {
	every cases in [data.tables.delegations.subjects, data.tables.delegations.decisions, data.tables.delegations.verdicts] {
		notes := [case.note | some case in cases]
		count(notes) == count({note | some note in notes})
	}
}
