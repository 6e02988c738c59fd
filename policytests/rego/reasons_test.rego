package parapet.reasons_test

test_reasons_are_sentences_with_a_remedy if {
	every code, reason in data.parapet.reasons.explained {
		regex.match(`^[a-z]+(_[a-z]+)*$`, code)
		object.keys(reason) == {"message", "remedy"}
		regex.match(`^[A-Z{].*\.$`, reason.message)
		regex.match(`^[A-Z].*\.$`, reason.remedy)
	}
}

test_each_reason_has_its_own_sentence if {
	messages := {reason.message | some reason in data.parapet.reasons.explained}
	count(messages) == count(data.parapet.reasons.explained)
}
