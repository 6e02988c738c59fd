package parapet.catalogue_test

# A delegation can narrow any permission of the tracker to the delegator's own
# records, and a role can grant what the catalogue lists with the suffix .own.
_can_be_held_as_own contains trim_suffix(name, ".own") if {
	some name, entry in data.parapet.catalogue.permissions
	entry.module == "tracker"
}

_can_be_held_as_own contains trim_suffix(name, ".own") if {
	some name, _ in data.parapet.catalogue.permissions
	endswith(name, ".own")
}

test_every_own_permission_declares_what_counts_as_own if {
	declared := object.keys(data.parapet.catalogue.own)
	declared == _can_be_held_as_own
}

test_declared_relations_are_known_and_given_once if {
	every _, relations in data.parapet.catalogue.own {
		relations in [["creator"], ["owner"], ["creator", "owner"]]
	}
}

# Callers write the assignee of a task and the owner of most other records. The
# person of a time entry is the exception: no operation changes it.
test_only_the_creator_counts_for_deleting if {
	every permission, relations in data.parapet.catalogue.own {
		_deletes_nothing_or_by_creator(permission, relations)
	}
}

_deletes_nothing_or_by_creator(permission, _) if not endswith(permission, ".delete")

_deletes_nothing_or_by_creator(permission, _) if permission == "time_entry.delete"

_deletes_nothing_or_by_creator(_, ["creator"])
