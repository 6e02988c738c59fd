package parapet.catalogue_test

# The permissions that can be held as .own: those of the tracker, by a delegation, and
# those that the catalogue lists as .own, by a role.
_grantable_as_own contains trim_suffix(name, ".own") if {
	some name, entry in data.parapet.catalogue.permissions
	entry.module == "tracker"
}

_grantable_as_own contains trim_suffix(name, ".own") if {
	some name, _ in data.parapet.catalogue.permissions
	endswith(name, ".own")
}

test_every_own_permission_declares_relations if {
	declared := object.keys(data.parapet.catalogue.own)
	declared == _grantable_as_own
}

test_declared_relations_are_valid if {
	every _, relations in data.parapet.catalogue.own {
		relations in [["creator"], ["owner"], ["creator", "owner"]]
	}
}

# Callers can set the assignee of a task and the owner of most other records, so the owner
# must not count. Exception: no operation changes the person of a time entry.
test_deletion_requires_creator if {
	every permission, relations in data.parapet.catalogue.own {
		_no_deletion_or_by_creator(permission, relations)
	}
}

_no_deletion_or_by_creator(permission, _) if not endswith(permission, ".delete")

_no_deletion_or_by_creator(permission, _) if permission == "time_entry.delete"

_no_deletion_or_by_creator(_, ["creator"])
