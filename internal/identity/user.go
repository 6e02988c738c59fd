package identity

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/password"
	"parapet/internal/uid"

	"golang.org/x/text/unicode/norm"
)

func (s *Service) userOperations() []op.Bound {
	return []op.Bound{
		executor.List(s.executor, contract.ListUsers, userType.Columns(), listUsers),
		executor.List(s.executor, contract.ListPeople, userType.Columns(), listPeople),
		executor.Handle(s.executor, contract.GetUser, loadUserToRead, getUser),
		executor.CustomDecision(s.executor, contract.GetAccess, s.getAccess),
		executor.HandleReturning(s.executor, contract.CreateUser, loadNewUser, s.createUser, loadReturnedUser),
		executor.Handle(s.executor, contract.UpdateUser, loadUserToUpdate, s.updateUser),
		executor.Handle(s.executor, contract.ResetUserPassword, loadUserForChange, s.resetUserPassword),
		executor.Handle(s.executor, contract.SuspendUser, loadUserForStatusChange, s.suspendUser),
		executor.Handle(s.executor, contract.ActivateUser, loadUserForStatusChange, s.activateUser),
		executor.Handle(s.executor, contract.DeleteUser, loadUserForChange, s.deleteUser),
	}
}

func loadUserToRead(ctx context.Context, c *executor.Call, in *contract.UserIn) (contract.User, authz.Resource, error) {
	return loadUser(ctx, c, in.UserID, false)
}

func loadUserForChange(ctx context.Context, c *executor.Call, in *contract.UserIn) (contract.User, authz.Resource, error) {
	return loadUser(ctx, c, in.UserID, true)
}

func loadUserToUpdate(ctx context.Context, c *executor.Call, in *contract.UpdateUserIn) (contract.User, authz.Resource, error) {
	return loadUser(ctx, c, in.UserID, true)
}

func loadReturnedUser(ctx context.Context, c *executor.Call, out *contract.User) (authz.Resource, error) {
	_, resource, err := loadUser(ctx, c, out.ID, false)
	return resource, err
}

func getUser(_ context.Context, _ *executor.Call, _ *contract.UserIn, u contract.User) (*contract.User, error) {
	return &u, nil
}

// userType maps the attributes of a user to columns of the aliases u (user) and m (its
// membership in the current tenant). A user belongs to a tenant through its membership.
var userType = authz.NewRecordType("user", authz.Attributes[contract.User]{
	Tenant:         authz.TenantColumn[contract.User]("m.tenant_id"),
	ID:             authz.NewAttribute("u.id", func(u *contract.User) string { return string(u.ID) }),
	Organisation:   authz.NewAttribute("m.organisation_id", func(u *contract.User) string { return string(u.OrganisationID) }),
	Owner:          authz.NewAttribute("u.id", func(u *contract.User) string { return string(u.ID) }),
	Classification: authz.FixedAttribute[contract.User](directoryClassification),
})

func listUsers(ctx context.Context, c *executor.Call, in *contract.ListUsersIn, f authz.Filter) (*op.Page[contract.User], error) {
	email, id, err := cursorKeys(c, contract.ListUsers.Operation, in.Cursor)
	if err != nil {
		return nil, err
	}
	items, err := selectUsers(ctx, c.DB, c.Tenant, in, email, id, f)
	if err != nil {
		return nil, err
	}
	return op.NewPage(items, in.Limit, func(u *contract.User) string {
		return op.NewCursor(contract.ListUsers.Name, c.Tenant, sortKey(u.Email), string(u.ID))
	}), nil
}

// listPeople lists the people of the caller's organisation in the current tenant, or all
// people of the tenant if the caller belongs to no organisation.
func listPeople(ctx context.Context, c *executor.Call, in *contract.ListPeopleIn, f authz.Filter) (*op.Page[contract.Colleague], error) {
	name, id, err := cursorKeys(c, contract.ListPeople.Operation, in.Cursor)
	if err != nil {
		return nil, err
	}
	organisation := in.OrganisationID
	if organisation == "" {
		organisation = c.Actor.Organisation
	}
	items, err := selectPeople(ctx, c.DB, c.Tenant, organisation, in, name, id, f)
	if err != nil {
		return nil, err
	}
	return op.NewPage(items, in.Limit, func(p *contract.Colleague) string {
		return op.NewCursor(contract.ListPeople.Name, c.Tenant, sortKey(p.DisplayName), string(p.ID))
	}), nil
}

func loadUser(ctx context.Context, c *executor.Call, id op.UUID, lock bool) (contract.User, authz.Resource, error) {
	u, err := selectUser(ctx, c.DB, c.Tenant, id, lock)
	return u, userType.Resource(string(c.Tenant), &u), err
}

func loadUserForStatusChange(ctx context.Context, c *executor.Call, in *contract.SwitchUserIn) (contract.User, authz.Resource, error) {
	return loadUser(ctx, c, in.UserID, true)
}

// newUser is a user to create, with its membership.
type newUser struct {
	id, tenant, organisation op.UUID
	kind, email, displayName string
	passwordHash, clearance  string
	now                      time.Time
}

func loadNewUser(_ context.Context, c *executor.Call, in *contract.CreateUserIn) (newUser, authz.Resource, error) {
	n := newUser{
		id: uid.New(), tenant: c.Tenant, organisation: in.OrganisationID, kind: in.PrincipalKind, email: in.Email,
		clearance: in.Clearance, now: c.Now,
	}
	r := userType.Resource(string(c.Tenant), &contract.User{ID: n.id, OrganisationID: n.organisation})
	// A user who does not exist yet has no owner.
	r.Owner = ""
	var err error
	switch in.PrincipalKind {
	case contract.KindHuman, contract.KindAgent:
	case contract.KindService:
		return n, r, fault.Validation("principalKind", "The field principalKind must not be SERVICE. "+
			"Service principals are created with `ptd db:provision-service-principals` only.")
	default:
		return n, r, fault.Validation("principalKind", "The field principalKind must be one of HUMAN, AGENT.")
	}
	if n.displayName, err = trimName("displayName", in.DisplayName); err != nil {
		return n, r, err
	}
	if in.Password != "" && in.PrincipalKind != contract.KindHuman {
		return n, r, fault.Validation("password", "The field password is allowed only for a user of kind HUMAN.")
	}
	return n, r, checkEmail("email", n.kind, n.email)
}

func (s *Service) createUser(ctx context.Context, c *executor.Call, in *contract.CreateUserIn, n newUser) (*contract.User, error) {
	roles, err := s.loadRolesToAssign(ctx, c, c.Tenant, newMember{n.id, n.kind, n.clearance}, in.Roles)
	if err != nil {
		return nil, err
	}
	if n.passwordHash, err = s.hashFirstPassword(ctx, "password", in.Password, n.email); err != nil {
		return nil, err
	}
	u, err := insertUser(ctx, c.DB, n, roles)
	if err != nil {
		return nil, err
	}
	c.Record(executor.Change{
		Action: contract.ActionUserCreated, Type: "user", ID: u.ID, Critical: true,
		Details: auditChanges{"principalKind": u.PrincipalKind, "organisation": u.OrganisationID, "clearance": u.Clearance, "roles": roleIDs(roles)},
		Event:   contract.EventUserCreated, Payload: u,
	})
	return &u, nil
}

// hashFirstPassword returns the hash to store for a password, or an empty string for none.
func (s *Service) hashFirstPassword(ctx context.Context, field, text, email string) (string, error) {
	if text == "" {
		return "", nil
	}
	return s.hashPassword(ctx, field, text, email)
}

func (s *Service) updateUser(ctx context.Context, c *executor.Call, in *contract.UpdateUserIn, u contract.User) (*contract.User, error) {
	old := u
	if in.Password.Set {
		return nil, fault.Validation("password", "The field password cannot be changed here: only the user can set the password. "+
			"Use reset-user-password to send the user a link.")
	}
	if in.Email.Set || in.DisplayName.Set {
		if err := s.decideAccount(ctx, c, authz.ChangeName, u.ID); err != nil {
			return nil, err
		}
	}
	var p op.Patch
	op.SetTrimmed(&p, "displayName", &u.DisplayName, in.DisplayName)
	op.Set(&p, "email", &u.Email, in.Email)
	if _, err := p.Changed(); err != nil {
		return nil, err
	}
	u.Clearance = in.Clearance.Or(u.Clearance)
	// Only somebody else can vouch for the address, also for the present one.
	verifies := in.Email.Set && u.ID != c.Actor.UserID
	var fields []string
	if u.DisplayName != old.DisplayName {
		fields = append(fields, "displayName")
	}
	if u.Email != old.Email || verifies && !old.EmailVerified {
		fields = append(fields, "email")
		u.EmailVerified = verifies
		if err := s.changeAddress(ctx, c, u); err != nil {
			return nil, err
		}
	}
	if len(fields) > 0 {
		if err := writeUser(ctx, c.DB, c.Tenant, u, c.Now); err != nil {
			return nil, err
		}
		c.Record(executor.Change{
			Action: contract.ActionUserUpdated, Type: "user", ID: u.ID, Critical: slices.Contains(fields, "email"),
			Details: auditChanges{"fields": fields},
		})
	}
	if u.Clearance != old.Clearance {
		fields = append(fields, "clearance")
		if err := s.setClearance(ctx, c, u.ID, old.Clearance, u.Clearance); err != nil {
			return nil, err
		}
	}
	if len(fields) == 0 {
		return showUnchangedUser(ctx, c, u)
	}
	u.UpdatedAt = c.Now
	c.Record(executor.Change{Type: "user", ID: u.ID, Event: contract.EventUserUpdated, Payload: u, Fields: fields})
	return &u, nil
}

// changeAddress checks that the new address is allowed and cancels resets whose links were
// sent to the old one. The new address is unconfirmed.
func (s *Service) changeAddress(ctx context.Context, c *executor.Call, u contract.User) error {
	if err := checkEmail("email", u.PrincipalKind, u.Email); err != nil {
		return err
	}
	if err := s.decideAccount(ctx, c, authz.ChangeAddress, u.ID); err != nil {
		return err
	}
	return cancelResets(ctx, c.DB, c.Tenant, u.ID, c.Now)
}

// revokeAllSessions revokes a user's sessions in every tenant. Those in other tenants cannot
// be revoked in this transaction. They are revoked before the commit: if it fails, they are
// revoked needlessly, but the opposite order could leave a session active.
func (s *Service) revokeAllSessions(ctx context.Context, c *executor.Call, user op.UUID) error {
	if err := revokeOtherSessions(ctx, c.DB, c.Tenant, user, nilUUID, c.Now); err != nil {
		return err
	}
	return revokeOtherTenantSessions(ctx, s.deps.Auth, c.Tenant, user, c.Now)
}

// checkPassword returns an error for a new password that is too short or easy to guess.
func checkPassword(field, text, email string) error {
	if err := password.Check(text, email); err != nil {
		return fault.Validation(field, "The password is not accepted: "+err.Error()+".")
	}
	return nil
}

// hashPassword checks a new password and returns the hash to store.
func (s *Service) hashPassword(ctx context.Context, field, text, email string) (string, error) {
	if err := checkPassword(field, text, email); err != nil {
		return "", err
	}
	hash, err := s.deps.Passwords.Hash(ctx, text)
	if err != nil {
		return "", fault.Unavailable(err)
	}
	return hash, nil
}

func (s *Service) suspendUser(ctx context.Context, c *executor.Call, in *contract.SwitchUserIn, u contract.User) (*contract.User, error) {
	if err := s.decideAccount(ctx, c, authz.SuspendAccount, u.ID); err != nil {
		return nil, err
	}
	if u.Status == contract.UserSuspended {
		return showUnchangedUser(ctx, c, u)
	}
	return s.setUserStatus(ctx, c, u, contract.UserSuspended, in.Reason, contract.ActionUserSuspended, contract.EventUserSuspended)
}

func (s *Service) activateUser(ctx context.Context, c *executor.Call, in *contract.SwitchUserIn, u contract.User) (*contract.User, error) {
	if err := s.decideAccount(ctx, c, authz.ActivateAccount, u.ID); err != nil {
		return nil, err
	}
	if u.Status == contract.UserActive {
		return showUnchangedUser(ctx, c, u)
	}
	return s.setUserStatus(ctx, c, u, contract.UserActive, in.Reason, contract.ActionUserActivated, contract.EventUserActivated)
}

func (s *Service) deleteUser(ctx context.Context, c *executor.Call, _ *contract.UserIn, u contract.User) (*contract.User, error) {
	if err := s.decideAccount(ctx, c, authz.DeleteAccount, u.ID); err != nil {
		return nil, err
	}
	if u.Status == contract.UserDeleted {
		return showUnchangedUser(ctx, c, u)
	}
	return s.setUserStatus(ctx, c, u, contract.UserDeleted, "", contract.ActionUserDeleted, contract.EventUserDeleted)
}

func (s *Service) setUserStatus(ctx context.Context, c *executor.Call, u contract.User, status, reason, action string, event *op.EventType) (*contract.User, error) {
	from := u.Status
	u.Status, u.UpdatedAt = status, c.Now
	if err := writeUserStatus(ctx, c.DB, c.Tenant, u); err != nil {
		return nil, err
	}
	if status != contract.UserActive {
		if err := s.revokeAllSessions(ctx, c, u.ID); err != nil {
			return nil, err
		}
	}
	c.Record(executor.Change{
		Action: action, Type: "user", ID: u.ID, Critical: true,
		Fields: []string{"status"}, Details: auditChanges{"from": from, "to": status, "principalKind": u.PrincipalKind}.withReason(reason),
		Event: event, Payload: u,
	})
	return &u, nil
}

// checkEmail checks that an agent has an agent's address and that nobody else has one.
func checkEmail(field, kind, email string) error {
	agent := isAgentEmail(email)
	switch {
	case kind == contract.KindAgent && !agent:
		return fault.Validation(field, "The e-mail address of an agent must have the form agent+<class>@<domain>.")
	case kind == contract.KindHuman && agent:
		return fault.Validation(field, "An e-mail address of the form agent+<class>@<domain> is allowed only for an agent.")
	case kind == contract.KindService:
		return fault.Validation(field, "The e-mail address of a service principal cannot be changed; provisioning sets it.")
	case strings.ContainsFunc(email, isInvisible) || !norm.NFKC.IsNormalString(email):
		// Such an address looks like another one.
		return fault.Validation(field, "The e-mail address contains an invisible character, or a letter in a special form such as full width. Type it again.")
	}
	return nil
}

// isInvisible reports whether a character has no shape of its own.
func isInvisible(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp)
}

// isAgentEmail reports whether the address has the form agent+<class>@<domain>.
func isAgentEmail(email string) bool {
	local, domain, ok := strings.Cut(strings.ToLower(email), "@")
	class, isAgent := strings.CutPrefix(local, "agent+")
	return ok && isAgent && class != "" && domain != ""
}
