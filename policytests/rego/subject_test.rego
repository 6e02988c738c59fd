package parapet.subject_test

import data.parapet.subject

test_subject[case.note] if {
	some case in data.tables.subject.cases
	caller := json.patch(data.tables.subject.caller, case.patch)
	outcome := _outcome with input as caller
	_differences(outcome, case) == set()
}

# A subject as JSON: sets become sorted arrays.
default _outcome := null

_outcome := json.unmarshal(json.marshal(subject.subject))

_differences(outcome, case) := set() if {
	outcome == null
	case.want == null
}

else := {"no subject"} if outcome == null

else := {"a subject"} if case.want == null

else := {[key, outcome[key]] |
	some key, value in case.want
	outcome[key] != value
} | {key |
	key := case.absent
	_ := outcome[key]
}

test_notes_are_unique if {
	notes := [case.note | some case in data.tables.subject.cases]
	count(notes) == count({note | some note in notes})
}

test_an_empty_input_is_no_subject if {
	not subject.subject with input as {}
}

test_default_roles_grant_what_the_catalogue_knows if {
	unknown := {permission |
		some role in data.parapet.roles.defaults
		some permission in role.grants
		not data.parapet.catalogue.permissions[permission]
	}
	count(unknown) == 0
}

test_catalogue_entries_are_whole if {
	odd := {name |
		some name, entry in data.parapet.catalogue.permissions
		not _whole(entry)
	}
	count(odd) == 0
}

# A comma in a description without quotes makes a field of the rest.
_whole(entry) if {
	object.keys(entry) - {"description", "effect", "module", "platform"} == set()
	entry.module in data.parapet.catalogue.modules
	entry.effect in {"read", "write"}
	count(entry.description) >= 10
}

test_platform_admin_grants_nothing if {
	data.parapet.roles.defaults.PLATFORM_ADMIN.grants == []
}

test_global_roles_are_their_profiles if {
	wrong := {key |
		some key, profile in data.parapet.profiles.registered
		not _role_is(profile)
	}
	count(wrong) == 0
}

_role_is(profile) if {
	role := data.parapet.roles.defaults[profile.role]
	role.kind == "GLOBAL"
	role.grants == profile.grants
}
