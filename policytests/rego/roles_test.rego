package parapet.roles_test

# Users can grant only permissions that they hold. If the role Admin lacked a permission of
# another role, nobody could assign that role for the first time.
test_admin_holds_permissions_of_all_roles if {
	held := {grant | some grant in data.parapet.roles.defaults.Admin.grants}
	every role in [role | some role in data.parapet.roles.defaults; role.kind == "STANDARD"] {
		every grant in role.grants {
			count({grant, trim_suffix(grant, ".own")} & held) > 0
		}
	}
}

test_platform_admin_has_no_permissions if {
	count(data.parapet.roles.defaults.PLATFORM_ADMIN.grants) == 0
}

test_verdict[note] if {
	some group in data.tables.roles.groups
	some rule in group.rules
	some case in group.cases
	note := sprintf("%s: %s", [rule, case.note])
	request := json.patch(data.tables.roles.request, case.patch)
	verdict := _verdict(rule) with input as request
	verdict == _expected(case)
}

_verdict(rule) := data.parapet.roles[rule]

_expected(case) := {"allow": true, "reasons": []} if case.want == null

else := object.union(
	{"allow": false, "code": case.want.code, "reasons": [case.want.reason]},
	{key: value | some key, value in case.want; key == "permission"},
)

test_empty_input_is_denied[rule] if {
	some group in data.tables.roles.groups
	some rule in group.rules
	verdict := _verdict(rule) with input as {}
	verdict.allow == false
}

test_notes_are_unique if {
	notes := [[rule, case.note] |
		some group in data.tables.roles.groups
		some rule in group.rules
		some case in group.cases
	]
	count(notes) == count({note | some note in notes})
}

test_default_names_are_reserved if {
	every name, _ in data.parapet.roles.defaults {
		verdict := data.parapet.roles.rename with input as {"role": {"name": name, "kind": "STANDARD"}, "spelling": "free"}
		verdict.reasons == ["keeps_its_name"]
	}
	count(data.parapet.roles.reserved_spellings) == count(data.parapet.roles.defaults)
}
