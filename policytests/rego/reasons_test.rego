package parapet.reasons_test

test_every_reason_has_message_and_remedy if {
	every code, reason in data.parapet.reasons.explained {
		regex.match(`^[a-z]+(_[a-z]+)*$`, code)
		object.keys(reason) == {"message", "remedy"}
		regex.match(`^[A-Z{].*\.$`, reason.message)
		regex.match(`^[A-Z].*\.$`, reason.remedy)
	}
}

test_messages_are_unique if {
	messages := {reason.message | some reason in data.parapet.reasons.explained}
	count(messages) == count(data.parapet.reasons.explained)
}
