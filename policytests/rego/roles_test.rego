package parapet.roles_test

# Nobody hands out more than they hold, so an administrator has to hold what every
# role that people have grants: else nobody could appoint its first holder.
test_admin_can_appoint_everybody if {
	held := {grant | some grant in data.parapet.roles.defaults.Admin.grants}
	every role in [role | some role in data.parapet.roles.defaults; role.kind == "STANDARD"] {
		every grant in role.grants {
			count({grant, trim_suffix(grant, ".own")} & held) > 0
		}
	}
}

test_platform_admin_grants_nothing_by_its_name if {
	count(data.parapet.roles.defaults.PLATFORM_ADMIN.grants) == 0
}
