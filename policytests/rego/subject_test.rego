package parapet.subject_test

import data.parapet.subject

test_subject[case.note] if {
	some case in data.tables.subject.cases
	caller := json.patch(data.tables.subject.caller, case.patch)
	outcome := _outcome with input as caller
	_differences(outcome, case) == set()
}

# The subject as JSON: sets become sorted arrays.
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

test_empty_input_has_no_subject if {
	not subject.subject with input as {}
}

test_default_roles_grant_known_permissions if {
	unknown := {permission |
		some role in data.parapet.roles.defaults
		some permission in role.grants
		not data.parapet.catalogue.permissions[permission]
	}
	count(unknown) == 0
}

test_catalogue_entries_are_complete if {
	odd := {name |
		some name, entry in data.parapet.catalogue.permissions
		not _is_complete(entry)
	}
	count(odd) == 0
}

# In an unquoted description, YAML reads the text after a comma as another field.
_is_complete(entry) if {
	object.keys(entry) - {"description", "effect", "module", "platform"} == set()
	entry.module in data.parapet.catalogue.modules
	entry.effect in {"read", "write"}
	count(entry.description) >= 10
}

test_platform_admin_grants_nothing if {
	data.parapet.roles.defaults.PLATFORM_ADMIN.grants == []
}

test_global_roles_match_their_profiles if {
	wrong := {key |
		some key, profile in data.parapet.profiles.registered
		not _role_matches(profile)
	}
	count(wrong) == 0
}

_role_matches(profile) if {
	role := data.parapet.roles.defaults[profile.role]
	role.kind == "GLOBAL"
	role.grants == profile.grants
}
