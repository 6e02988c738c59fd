package cli

import "parapet/internal/contract/tracker"

func accessForms() map[string]form {
	return map[string]form{
		"list-delegations": {example: `  pt list-delegations --state ACTIVE
  pt list-delegations --delegate lin@acme.example`},
		"get-delegation": {example: `  pt get-delegation 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f`},
		"create-delegation": {
			long: `Delegate some of your permissions to another user for a limited time. The delegate's
own clearance and caveats still apply. A delegation ends when it expires or is revoked,
when you lose the permission, and when you or the delegate is suspended.

--project or --initiative limits the scope. The default scope is the tenant.`,
			example: `  pt create-delegation --delegate lin@acme.example --permissions task.update,decision.answer --until friday
  pt create-delegation --delegate lin@acme.example --permissions task.update --until 2027-03-31T17:00:00Z --project APOLLO`,
			ignoreDefaultProject: true, atMostOne: "project initiative",
			custom: []customFlag{
				timestampFlag("from", "from", "When the delegation starts, as a `time` such as 2h (from now) or 2027-03-01. Default: immediately", parseStart,
					func(in *tracker.CreateDelegationIn, t string) { in.From = t }),
				required(timestampFlag("until", "until", "When the delegation ends, as a `time` such as 8h (from now) or 2027-03-31 (the end of the day); at most 366 days after its start", parseEnd,
					func(in *tracker.CreateDelegationIn, t string) { in.Until = t })),
			},
			prepare: preparing(func(_ *invocation, in *tracker.CreateDelegationIn) error {
				switch {
				case in.Scope != "":
				case in.ProjectID != "":
					in.Scope = tracker.DelegationProject
				case in.InitiativeID != "":
					in.Scope = tracker.DelegationInitiative
				}
				return nil
			}),
		},
		"revoke-delegation": {
			example: `  pt revoke-delegation 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --yes`,
			change:  changing(revokeDelegationChange),
		},
		"logout":          {via: "auth logout"},
		"me":              {via: "auth status"},
		"change-password": {paths: []string{"auth change-password"}},
		"change-email":    {paths: []string{"auth change-email"}},
		"permissions": {short: "Show the permissions of the credential", example: `  pt permissions
  pt permissions --json --jq '.data.permissions[].name'`},
		"list-orgs":        {via: "list-orgs"},
		"explain-decision": {via: "why"},
		"list-people": {example: `  pt list-people
  pt list-people --search lin --json --jq '.data[0].id'`},
	}
}

func administrationForms() map[string]form {
	return map[string]form{
		"list-users":  {paths: []string{"users list"}},
		"get-user":    {paths: []string{"users get"}},
		"create-user": {paths: []string{"users create"}, flags: "displayName=name principalKind=kind roles=role"},
		"update-user": {
			paths: []string{"users update"}, flags: "password=- displayName=name", change: changing(updateUserChange),
			long: `Change a user's name, address or clearance. An empty value clears the clearance. On a
terminal, the command asks before it raises a clearance.`,
			example: `  pt users update lin@acme.example --clearance CONFIDENTIAL
  pt users update lin@acme.example --name "Lin Chen-Meyer"`,
		},
		"reset-user-password": {paths: []string{"users reset-password"}},
		"get-access":          {via: "access of"},
		"suspend-user":        {paths: []string{"users suspend"}, aliases: "deactivate", change: changing(suspendUserChange)},
		"activate-user":       {paths: []string{"users activate"}, change: changing(activateUserChange)},
		"delete-user":         {paths: []string{"users delete"}, question: "Delete the agent %s permanently?"},
		"list-memberships":    {paths: []string{"memberships list"}},
		"create-membership":   {paths: []string{"memberships create"}},
		"update-membership": {
			paths: []string{"memberships update"}, change: changing(updateMembershipChange),
			example: `  pt memberships update lin@acme.example --organisation "Acme Works"
  pt memberships update lin@acme.example --status SUSPENDED --reason "on leave"`,
		},
		"list-roles":          {paths: []string{"roles list"}},
		"get-role":            {paths: []string{"roles get"}},
		"create-role":         {paths: []string{"roles create"}},
		"update-role":         {paths: []string{"roles update"}, change: changing(updateRoleChange)},
		"delete-role":         {paths: []string{"roles delete"}, change: changing(deleteRoleChange)},
		"list-permissions":    {paths: []string{"roles permissions", "list-permissions"}},
		"grant-permission":    {paths: []string{"roles grant"}, args: "permission=permission", change: changing(grantPermissionChange)},
		"revoke-permission":   {paths: []string{"roles revoke"}, change: changing(revokePermissionChange)},
		"list-organisations":  {paths: []string{"orgs list"}},
		"get-organisation":    {paths: []string{"orgs get"}},
		"create-organisation": {paths: []string{"orgs create"}},
		"update-organisation": {paths: []string{"orgs update"}},
		"list-tenants":        {paths: []string{"tenants list"}},
		"get-tenant":          {paths: []string{"tenants get"}},
		"create-tenant":       {paths: []string{"tenants create"}},
		"update-tenant":       {paths: []string{"tenants update"}},
		"disable-tenant": {
			paths: []string{"tenants disable"}, aliases: "deactivate",
			change: switchTenantChange("Disable", "Nobody can act in the tenant until it is enabled again. No data is deleted."),
		},
		"enable-tenant": {
			paths: []string{"tenants enable"}, aliases: "activate",
			change: switchTenantChange("Enable", "Sessions and keys that have not expired work again."),
		},
		"list-events":            {paths: []string{"audit events"}},
		"list-event-types":       {paths: []string{"audit event-types"}},
		"get-event-type":         {paths: []string{"audit event-type"}, example: "  pt audit event-type projects.task.created"},
		"list-notifications":     {paths: []string{"notifications list"}},
		"mark-notification-read": {paths: []string{"notifications read"}},
	}
}
