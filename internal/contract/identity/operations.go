package identity

import (
	"slices"

	"parapet/internal/op"
)

// Operations lists every operation of the module.
func Operations() []*op.Operation {
	return slices.Concat(CredentialOperations(), DirectoryOperations())
}

// CredentialOperations lists the operations on sessions, the caller's account and API keys.
func CredentialOperations() []*op.Operation {
	return []*op.Operation{
		Login.Operation, Logout.Operation, ChangePassword.Operation, ChangeEmail.Operation,
		RequestPasswordReset.Operation, ResetPassword.Operation,
		Me.Operation, Permissions.Operation, ListOrgs.Operation,
		IssueServiceKey.Operation, IssueKey.Operation, ListKeys.Operation, RevokeKey.Operation,
	}
}

// DirectoryOperations lists the operations on tenants, organisations, users,
// memberships, roles, the audit and decision logs, events and notifications.
func DirectoryOperations() []*op.Operation {
	return []*op.Operation{
		ListTenants.Operation, CreateTenant.Operation, GetTenant.Operation, UpdateTenant.Operation,
		DisableTenant.Operation, EnableTenant.Operation,
		ListOrganisations.Operation, CreateOrganisation.Operation, GetOrganisation.Operation, UpdateOrganisation.Operation,
		ListUsers.Operation, CreateUser.Operation, GetUser.Operation, GetAccess.Operation, UpdateUser.Operation,
		ResetUserPassword.Operation, SuspendUser.Operation, ActivateUser.Operation, DeleteUser.Operation, ListPeople.Operation,
		ListMemberships.Operation, CreateMembership.Operation, UpdateMembership.Operation,
		ListRoles.Operation, CreateRole.Operation, GetRole.Operation, UpdateRole.Operation, DeleteRole.Operation,
		GrantPermission.Operation, RevokePermission.Operation,
		ListAssignments.Operation, AssignRole.Operation, UnassignRole.Operation, ListPermissions.Operation,
		ListAuditEntries.Operation, ListDecisions.Operation, GetDecision.Operation, ExplainDecision.Operation,
		ListEvents.Operation, ListNotifications.Operation, MarkNotificationRead.Operation,
	}
}
