package cli

import (
	"context"
	"reflect"
	"slices"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/client"
	"parapet/internal/contract/identity"
	"parapet/internal/op"
)

// grant is a role that a user holds in a scope.
type grant struct {
	UserID op.UUID       `json:"userId"`
	User   *op.Reference `json:"user,omitempty"`
	identity.AssignedRole
}

// place returns where the role is held, for a sentence.
func (g *grant) place() string { return scopePlace(g.Scope, recordName(g.ScopeRecord, g.ScopeID)) }

// scopePlace returns a scope for a sentence: "in the whole tenant" (the default), "in the organisation
// Acme Works".
func scopePlace(scope, name string) string {
	if scope == identity.ScopeTenant || scope == "" {
		return "in the whole tenant"
	}
	return "in the " + scope + " " + name
}

// userName returns the address and the display name of a user: "lin@acme.example (Lin Chen)".
func userName(u *identity.User) string {
	if u.DisplayName == "" || u.DisplayName == u.Email {
		return u.Email
	}
	return u.Email + " (" + u.DisplayName + ")"
}

// grantsOf returns the roles that a user holds.
func grantsOf(u *identity.User) []grant {
	grants := make([]grant, 0, len(u.Roles))
	for _, r := range u.Roles {
		grants = append(grants, grant{UserID: u.ID, User: &op.Reference{ID: u.ID, Name: u.DisplayName, Email: u.Email}, AssignedRole: r})
	}
	return grants
}

func newListGrantsCmd(inv *invocation) *cobra.Command {
	var user, role string
	cmd := &cobra.Command{
		Use: "list", Short: "List who holds which role",
		Long: `List who holds which role, and in which scope: all roles of all users, the roles of
one user, or the users who hold one role.`,
		Example: `  pt grants list
  pt grants list --user lin@acme.example
  pt grants list --role Member --json --jq '.data[].user.email'`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&user, "user", "", "Only the roles of this `person` (id, email address, integration key, name or me)")
	cmd.Flags().StringVar(&role, "role", "", "Only the users who hold this `role` (id or name)")
	inv.completeFlag(cmd, "user", suggestUsers)
	inv.completeFlag(cmd, "role", suggestRoles)
	return inv.setRun(cmd, reflect.TypeFor[[]grant](), func(ctx context.Context, _ []string) error {
		c, _, err := inv.connect()
		if err != nil {
			return err
		}
		grants, err := listGrants(ctx, c, op.UUID(user), role)
		if err != nil {
			return err
		}
		return inv.show(ctx, view{data: grants, markdown: func(d *markdown.Doc) { writeItems(d, grants, "grants") }})
	})
}

// listGrants returns the roles of a user, of the users who hold a role, or of all users.
func listGrants(ctx context.Context, c *client.Client, user op.UUID, role string) ([]grant, error) {
	switch {
	case user != "":
		u, err := callOperation(ctx, c, identity.GetUser, &identity.UserIn{UserID: user})
		if err != nil {
			return nil, err
		}
		if role == "" {
			return grantsOf(u), nil
		}
		r, err := callOperation(ctx, c, identity.GetRole, &identity.RoleIn{RoleID: op.UUID(role)})
		if err != nil {
			return nil, err
		}
		return slices.DeleteFunc(grantsOf(u), func(g grant) bool { return g.RoleID != r.ID }), nil
	case role != "":
		return listHolders(ctx, c, op.UUID(role))
	}
	users, err := listAll(ctx, c, identity.ListUsers, &identity.ListUsersIn{})
	if err != nil {
		return nil, err
	}
	grants := []grant{}
	for i := range users {
		grants = append(grants, grantsOf(&users[i])...)
	}
	return grants, nil
}

// listHolders returns the assignments of a role.
func listHolders(ctx context.Context, c *client.Client, role op.UUID) ([]grant, error) {
	grants := []grant{}
	err := forEachItem(ctx, c, identity.ListAssignments, &identity.ListAssignmentsIn{RoleID: role}, func(a *identity.RoleAssignment) error {
		grants = append(grants, grant{a.UserID, a.User, identity.AssignedRole{
			AssignmentID: a.ID, RoleID: a.RoleID, Role: a.Role, Scope: a.Scope, ScopeID: a.ScopeID, ScopeRecord: a.ScopeRecord, CreatedAt: a.CreatedAt,
		}})
		return nil
	})
	return grants, err
}
