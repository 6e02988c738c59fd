package cli

import (
	"context"
	"slices"
	"strings"

	"parapet/internal/client"
	"parapet/internal/contract/identity"
	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

// clearances returns the clearances, the lowest first.
func clearances() []string { return fieldNamed(identity.UpdateUser.Operation, "clearance").Enum }

// changing returns a form's change for an input type.
func changing[In any](describe func(ctx context.Context, c *client.Client, in *In) (*change, error)) func(context.Context, *call, *client.Client) (*change, error) {
	return func(ctx context.Context, k *call, c *client.Client) (*change, error) {
		in, err := inputOf[In](k)
		if err != nil {
			return nil, err
		}
		return describe(ctx, c, in)
	}
}

// getUserFor returns the user whose account or membership a command changes, and the name
// for the question. The user is nil if the caller may not read it.
func getUserFor(ctx context.Context, c *client.Client, id op.UUID) (u *identity.User, name string, err error) {
	u, err = ignoreForbidden(callOperation(ctx, c, identity.GetUser, &identity.UserIn{UserID: id}))
	if u == nil {
		return nil, string(id), err
	}
	return u, userName(u), nil
}

// updateUserChange describes a change of a user. It asks about a higher clearance only.
func updateUserChange(ctx context.Context, c *client.Client, in *identity.UpdateUserIn) (*change, error) {
	if !in.Clearance.Set || in.Clearance.Null {
		return nil, nil //nolint:nilnil // nothing to confirm
	}
	u, name, err := getUserFor(ctx, c, in.UserID)
	if err != nil || u == nil || !isRaise(clearances(), u.Clearance, in.Clearance.Value) {
		return nil, err
	}
	ch := &change{question: "Change " + name + "?"}
	ch.add("Name", u.DisplayName, valueOr(in.DisplayName, u.DisplayName))
	ch.add("Address", u.Email, valueOr(in.Email, u.Email))
	ch.add("Clearance", u.Clearance, in.Clearance.Value)
	ch.effect = "The user can then read records up to " + in.Clearance.Value + "."
	return ch, nil
}

// valueOr returns the value of an optional field, or current if the field is absent.
func valueOr(o op.Opt[string], current string) string {
	if !o.Set {
		return current
	}
	return o.Value
}

// suspendUserChange describes the suspension of an active user.
func suspendUserChange(ctx context.Context, c *client.Client, in *identity.SwitchUserIn) (*change, error) {
	u, name, err := getUserFor(ctx, c, in.UserID)
	if err != nil || (u != nil && u.Status != identity.UserActive) {
		return nil, err
	}
	ch := &change{question: "Suspend " + name + "?", effect: "The user's sessions end, and the user cannot log in or use keys, in any tenant, until somebody activates the account."}
	if u != nil {
		ch.add("Status", u.Status, identity.UserSuspended)
	}
	return ch, nil
}

// activateUserChange describes the activation of a suspended user.
func activateUserChange(ctx context.Context, c *client.Client, in *identity.SwitchUserIn) (*change, error) {
	u, name, err := getUserFor(ctx, c, in.UserID)
	if err != nil || (u != nil && u.Status == identity.UserActive) {
		return nil, err
	}
	ch := &change{question: "Activate " + name + "?", effect: "The user can log in again, and the user's keys work again."}
	if u != nil {
		ch.add("Status", u.Status, identity.UserActive)
		ch.effect += " " + describeGrants(grantsOf(u))
	}
	return ch, nil
}

// updateMembershipChange describes a change of a membership. It asks before it restores or
// removes a membership, raises the clearance, or moves the user to an organisation.
func updateMembershipChange(ctx context.Context, c *client.Client, in *identity.UpdateMembershipIn) (*change, error) {
	u, name, err := getUserFor(ctx, c, in.UserID)
	if err != nil || u == nil {
		return nil, err
	}
	ch := &change{question: "Change the membership of " + name + "?"}
	ch.add("Status", u.MembershipStatus, valueOr(in.Status, u.MembershipStatus))
	ch.add("Clearance", u.Clearance, valueOr(in.Clearance, u.Clearance))
	isMove := in.OrganisationID.Set && !in.OrganisationID.Null
	if current := recordName(u.Organisation, u.OrganisationID); isMove && in.OrganisationID.Value != u.OrganisationID {
		ch.add("Organisation", current, string(in.OrganisationID.Value))
	}
	isSwitch := in.Status.Set && in.Status.Value != u.MembershipStatus && in.Status.Value != identity.MembershipSuspended
	isHigher := in.Clearance.Set && isRaise(clearances(), u.Clearance, in.Clearance.Value)
	if len(ch.fields) == 0 || (!isSwitch && !isHigher && !isMove) {
		return nil, nil //nolint:nilnil // nothing to confirm
	}
	return ch, nil
}

// grantPermissionChange describes the addition of a permission to a role.
func grantPermissionChange(ctx context.Context, c *client.Client, in *identity.GrantPermissionIn) (*change, error) {
	r, holders, err := roleWithHolders(ctx, c, in.RoleID)
	if err != nil || (r != nil && slices.Contains(r.Permissions, in.Permission)) {
		return nil, err
	}
	ch := &change{question: "Add the permission " + in.Permission + " to the role " + string(in.RoleID) + "?"}
	if r != nil {
		ch.question, ch.effect = "Add the permission "+in.Permission+" to the role "+r.Name+"?", holders
	}
	return ch, nil
}

// revokePermissionChange describes the removal of a permission from a role.
func revokePermissionChange(ctx context.Context, c *client.Client, in *identity.RevokePermissionIn) (*change, error) {
	r, holders, err := roleWithHolders(ctx, c, in.RoleID)
	if err != nil {
		return nil, err
	}
	name := string(in.RoleID)
	if r != nil {
		name = r.Name
	}
	return &change{question: "Remove the permission " + in.Permission + " from the role " + name + "?", effect: holders}, nil
}

// updateRoleChange describes a change of a role.
func updateRoleChange(ctx context.Context, c *client.Client, in *identity.UpdateRoleIn) (*change, error) {
	r, holders, err := roleWithHolders(ctx, c, in.RoleID)
	if err != nil {
		return nil, err
	}
	ch := &change{question: "Change the role " + string(in.RoleID) + "?"}
	if r == nil {
		return ch, nil
	}
	ch.question = "Change the role " + r.Name + "?"
	ch.add("Name", r.Name, valueOr(in.Name, r.Name))
	if len(ch.fields) > 0 {
		ch.effect = "Tokens that contain the old name lose the role. " + holders
	}
	ch.add("Description", r.Description, valueOr(in.Description, r.Description))
	if len(ch.fields) == 0 {
		return nil, nil //nolint:nilnil // nothing to confirm
	}
	return ch, nil
}

// deleteRoleChange describes the deletion of a role.
func deleteRoleChange(ctx context.Context, c *client.Client, in *identity.RoleIn) (*change, error) {
	r, holders, err := roleWithHolders(ctx, c, in.RoleID)
	if err != nil {
		return nil, err
	}
	ch := &change{question: "Delete the role " + string(in.RoleID) + " permanently?"}
	if r != nil {
		ch.question, ch.effect = "Delete the role "+r.Name+" permanently?", holders
	}
	if r != nil && holders != nobodyHolds {
		ch.effect += " Revoke it first: the service deletes only a role that nobody holds."
	}
	return ch, nil
}

// roleWithHolders returns a role, and a sentence that says who holds it. The role is nil if
// the caller may not read it.
func roleWithHolders(ctx context.Context, c *client.Client, id op.UUID) (*identity.Role, string, error) {
	r, err := ignoreForbidden(callOperation(ctx, c, identity.GetRole, &identity.RoleIn{RoleID: id}))
	if r == nil {
		return nil, "", err
	}
	held, err := listHolders(ctx, c, r.ID)
	if err != nil {
		return nil, "", err
	}
	var names []string
	for i := range held {
		if name := personAddress(held[i].User, held[i].UserID); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return r, describeHolders(names), nil
}

// describeHolders returns a sentence that says how many users hold a role, and who.
func describeHolders(names []string) string {
	switch n := len(names); {
	case n == 0:
		return nobodyHolds
	case n == 1:
		return names[0] + " holds the role."
	case n > maxNamedHolders:
		return countOf(n, "users") + " hold the role: " + strings.Join(names[:maxNamedHolders], ", ") + " and " + countOf(n-maxNamedHolders, "others") + "."
	default:
		return countOf(n, "users") + " hold the role: " + strings.Join(names[:n-1], ", ") + " and " + names[n-1] + "."
	}
}

// nobodyHolds is the sentence about a role that can be deleted.
const nobodyHolds = "Nobody holds the role."

// maxNamedHolders is the number of users that a question names.
const maxNamedHolders = 3

// switchTenantChange returns the description of enabling or disabling a tenant.
func switchTenantChange(verb, effect string) func(context.Context, *call, *client.Client) (*change, error) {
	return changing(func(ctx context.Context, c *client.Client, in *identity.SwitchTenantIn) (*change, error) {
		t, err := ignoreForbidden(callOperation(ctx, c, identity.GetTenant, &identity.TenantIn{TenantID: in.TenantID}))
		if err != nil {
			return nil, err
		}
		name := string(in.TenantID)
		if t != nil {
			name = t.Name + " (" + t.Slug + ")"
		}
		return &change{question: verb + " the tenant " + name + "?", effect: effect}, nil
	})
}

// revokeDelegationChange describes the end of a delegation.
func revokeDelegationChange(ctx context.Context, c *client.Client, in *tracker.DelegationIn) (*change, error) {
	d, err := ignoreForbidden(callOperation(ctx, c, tracker.GetDelegation, in))
	if d == nil {
		return &change{question: "End the delegation " + string(in.DelegationID) + "?"}, err
	}
	delegate, scope := personAddress(d.DelegateUser, d.DelegateID), "in the whole tenant"
	switch d.Scope {
	case tracker.DelegationProject:
		scope = "in the project " + recordName(d.Project, d.ProjectID)
	case tracker.DelegationInitiative:
		scope = "in the initiative " + recordName(d.Initiative, d.InitiativeID)
	}
	return &change{
		question: "End the delegation of " + personAddress(d.DelegatorUser, d.DelegatorID) + " to " + delegate + " " + scope + "?",
		effect:   delegate + " can then no longer use " + countOf(len(d.Permissions), "delegated permissions") + ".",
	}, nil
}
