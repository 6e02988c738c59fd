package parapet.precedence_test

test_access_precedence[note] if {
	some note, pair in _pairs("access")
	request := _request("access", pair)
	verdict := data.parapet.access[pair.rule] with input as request
	_denies_with(verdict, pair.first)
}

test_accounts_precedence[note] if {
	some note, pair in _pairs("accounts")
	request := _request("accounts", pair)
	verdict := data.parapet.accounts[pair.rule] with input as request
	_denies_with(verdict, pair.first)
}

test_delegations_precedence[note] if {
	some note, pair in _pairs("delegations")
	request := _request("delegations", pair)
	verdict := data.parapet.delegations[pair.rule] with input as request
	_denies_with(verdict, pair.first)
}

test_grants_precedence[note] if {
	some note, pair in _pairs("grants")
	request := _request("grants", pair)
	verdict := data.parapet.grants[pair.rule] with input as request
	_denies_with(verdict, pair.first)
}

test_keys_precedence[note] if {
	some note, pair in _pairs("keys")
	request := _request("keys", pair)
	verdict := data.parapet.keys[pair.rule] with input as request
	_denies_with(verdict, pair.first)
}

test_roles_precedence[note] if {
	some note, pair in _pairs("roles")
	request := _request("roles", pair)
	verdict := data.parapet.roles[pair.rule] with input as request
	_denies_with(verdict, pair.first)
}

test_work_precedence[note] if {
	some note, pair in _pairs("work")
	request := _request("work", pair)
	verdict := data.parapet.work[pair.rule] with input as request
	_denies_with(verdict, pair.first)
}

# Pairs each cause with itself and with the next one. The note contains the number of the
# chain, because a rule can have several chains with the same reasons.
_pairs(name) := {note: {"rule": chain.rule, "first": first, "later": later} |
	some n, chain in data.tables.precedence.chains
	chain.package == name
	some i, first in chain.causes
	some j, later in chain.causes
	(j - i) in {0, 1}
	note := sprintf("%s (chain %d): %s (%d) with %s (%d)", [chain.rule, n, first.reason, i, later.reason, j])
}

_request(name, pair) := json.patch(json.patch(_base(name), pair.later.patch), pair.first.patch)

_base(name) := data.tables.delegations.making if name == "delegations"

else := data.tables[name].request

_denies_with(verdict, cause) if {
	cause.reason in verdict.reasons
	object.get(verdict, "allow", false) == false
	every key in ["field", "permission"] {
		not _differs(verdict, cause, key)
	}
}

_differs(verdict, cause, key) if cause[key] != object.get(verdict, key, null)

test_every_package_has_a_chain if {
	{chain.package | some chain in data.tables.precedence.chains} == {"access", "accounts", "delegations", "grants", "keys", "roles", "work"}
}
