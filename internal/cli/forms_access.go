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
			example: `  pt create-delegation --delegate lin@acme.example --permissions task.update,decision.answer --until 2027-03-31T17:00:00Z
  pt create-delegation --delegate lin@acme.example --permissions task.update --until 2027-03-31T17:00:00Z --project APOLLO`,
			ignoreDefaultProject: true, atMostOne: "project initiative",
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
		"revoke-delegation": {example: `  pt revoke-delegation 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --yes`},
		"logout":            {via: "auth logout"},
		"me":                {via: "auth status"},
		"change-password":   {paths: []string{"auth change-password"}},
		"change-email":      {paths: []string{"auth change-email"}},
		"permissions": {short: "Show the permissions of the credential", example: `  pt permissions
  pt permissions --json --jq '.data.permissions[].name'`},
		"list-orgs": {via: "list-orgs"},
		"list-people": {example: `  pt list-people
  pt list-people --search lin --json --jq '.data[0].id'`},
		"issue-key": {
			paths: []string{"issue-key", "keys issue"}, short: "Issue an API key for yourself",
			long: `Issue an API key that acts as you. The command requires a session (pt auth login
--email), because an API key cannot issue API keys. The token is shown only once.`,
			example: `  pt issue-key --label "my laptop"
  pt issue-key --label ci --expires-in-days 7 --json --jq .data.token`,
		},
		"issue-service-key": {
			paths: []string{"issue-service-key", "keys issue-service"}, short: "Issue an API key for a service principal",
			long: `Issue an API key that acts as a service principal and is valid for 90 days. The
command requires an administrator's session with the permission
api_key.issue_for_service. The token is shown only once.`,
			example: `  pt issue-service-key --label "PT_AUTH_TOKEN of CI" --user 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f`,
		},
		"list-keys": {
			paths: []string{"list-keys", "keys list"}, short: "List your API keys or those of a service principal",
			example: `  pt list-keys
  pt list-keys --service-user multi-llm-review`,
		},
		"revoke-key": {
			paths: []string{"revoke-key", "keys revoke"}, short: "Revoke an API key permanently",
			long: `Revoke one of your API keys, or with --service-owned a key of a service principal,
permanently. All servers reject the key within a minute. The command asks for
confirmation on a terminal; without a terminal it requires --yes.`,
			example: `  pt revoke-key 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --yes
  pt revoke-key 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --service-owned --reason "replaced" --yes`,
			question: "Revoke the key %s permanently?",
		},
	}
}

// auditFlags names the flags of the filters of the audit log and the decision log.
const auditFlags = "correlationId=request requestId=request credentialId=credential"

func administrationForms() map[string]form {
	return map[string]form{
		"list-users":          {paths: []string{"users list"}},
		"get-user":            {paths: []string{"users get"}},
		"create-user":         {paths: []string{"users create"}},
		"update-user":         {paths: []string{"users update"}, flags: "password=-", long: "Change a user's name, address or clearance. An empty value clears the clearance."},
		"reset-user-password": {paths: []string{"users reset-password"}},
		"suspend-user":        {paths: []string{"users suspend"}},
		"activate-user":       {paths: []string{"users activate"}},
		"delete-user":         {paths: []string{"users delete"}},
		"list-memberships":    {paths: []string{"memberships list"}},
		"create-membership":   {paths: []string{"memberships create"}},
		"update-membership":   {paths: []string{"memberships update"}},
		"list-roles":          {paths: []string{"roles list"}},
		"get-role":            {paths: []string{"roles get"}},
		"create-role":         {paths: []string{"roles create"}},
		"update-role":         {paths: []string{"roles update"}},
		"delete-role":         {paths: []string{"roles delete"}},
		"list-permissions":    {paths: []string{"roles permissions"}},
		"grant-permission":    {paths: []string{"roles grant"}, args: "permission=permission"},
		"revoke-permission":   {paths: []string{"roles revoke"}, question: "Remove the permission %s from the role?"},
		"list-assignments":    {paths: []string{"grants list"}},
		"assign-role":         {paths: []string{"grants assign"}, flags: "scopeId=scope-id"},
		"unassign-role":       {paths: []string{"grants revoke"}, question: "Remove the role from the user (assignment %s)?"},
		"list-organisations":  {paths: []string{"orgs list"}},
		"get-organisation":    {paths: []string{"orgs get"}},
		"create-organisation": {paths: []string{"orgs create"}},
		"update-organisation": {paths: []string{"orgs update"}},
		"list-tenants":        {paths: []string{"tenants list"}},
		"get-tenant":          {paths: []string{"tenants get"}},
		"create-tenant":       {paths: []string{"tenants create"}},
		"update-tenant":       {paths: []string{"tenants update"}},
		"disable-tenant":      {paths: []string{"tenants disable"}},
		"enable-tenant":       {paths: []string{"tenants enable"}},
		"list-audit-entries": {
			paths: []string{"list-audit-entries", "audit list"}, flags: auditFlags,
			example: `  pt list-audit-entries --action api_key.revoked
  pt list-audit-entries --credential 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --from 2027-03-01T00:00:00Z`,
		},
		"list-decisions": {
			paths: []string{"list-decisions", "decisions list"}, flags: auditFlags,
			example: `  pt list-decisions --permission task.delete --allow=false
  pt list-decisions --credential 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f`,
		},
		"get-decision": {
			paths: []string{"get-decision", "decisions get"},
			example: `  pt get-decision 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f
  pt get-decision 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f --json --jq .data.subject.input.token.caveats`,
		},
		"list-events":            {paths: []string{"audit events"}},
		"list-notifications":     {paths: []string{"notifications list"}},
		"mark-notification-read": {paths: []string{"notifications read"}},
	}
}
