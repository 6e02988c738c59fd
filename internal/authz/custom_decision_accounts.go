package authz

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Grant contains the permissions that are held, granted or delegated in one scope. ScopeID
// is empty for the tenant scope.
type Grant struct {
	Permissions []string
	Scope       string
	ScopeID     string
}

// GiveAuthority decides whether the actor may grant roles, permissions and a clearance.
type GiveAuthority struct {
	Actor *Subject
	// RecipientID and RecipientKind identify the recipient. They are empty if a role is
	// changed.
	RecipientID   string
	RecipientKind string
	// RoleKinds are the kinds of the assigned roles: STANDARD or GLOBAL.
	RoleKinds []string
	Grants    []Grant
	// ClearanceFrom and ClearanceTo are the recipient's clearance before and after the
	// change.
	ClearanceFrom string
	ClearanceTo   string
}

func (GiveAuthority) entrypoint() string { return "parapet/grants/verdict" }

// Account is a user on record.
type Account struct {
	ID     string
	Kind   string
	Status string
	// Home is the tenant that administers the user.
	Home        string
	HasPassword bool
	// AddressConfirmed is true if the e-mail address is the first one, or if the holder has
	// set it or confirmed it with the password.
	AddressConfirmed bool
}

// Holding contains the permissions of an account in one tenant, and the caller's subject in
// that tenant.
type Holding struct {
	Tenant      string
	Membership  string
	Clearance   string
	Grants      []Grant
	Delegations []Grant
	// Caller is nil if the caller is not a member of the tenant.
	Caller           *Subject
	CallerMembership string
}

// AccountChange is an operation on an account: the name of a rule in parapet.accounts.
type AccountChange string

// The operations on accounts.
const (
	ChangeName        AccountChange = "change_name"
	ChangeAddress     AccountChange = "change_address"
	ResetPassword     AccountChange = "reset_password"
	SuspendAccount    AccountChange = "suspend"
	ActivateAccount   AccountChange = "activate"
	DeleteAccount     AccountChange = "delete"
	StopMembership    AccountChange = "stop_membership"
	RestoreMembership AccountChange = "restore_membership"
)

// ChangeAccount decides whether the actor may perform Change on the account.
type ChangeAccount struct {
	Change   AccountChange
	Actor    *Subject
	Account  Account
	Holdings []Holding
	// Roles are the account's roles in the acting tenant. OtherAdministrators is the number
	// of other active people who administer it.
	Roles               []HeldRole
	OtherAdministrators int
}

func (q ChangeAccount) entrypoint() string { return "parapet/accounts/" + string(q.Change) }

// AddMembership decides whether the actor may add an account of another home tenant to its
// own tenant, or to a tenant that its tenant administers.
type AddMembership struct {
	Actor   *Subject
	Account Account
	// HomeAdministered is true if the actor's tenant is the account's home tenant or
	// administers it.
	HomeAdministered bool
}

func (AddMembership) entrypoint() string { return "parapet/accounts/add_membership" }

// CompleteReset decides whether a password reset may continue: when its link is sent, and
// again when it is used. There is no actor.
type CompleteReset struct {
	Account Account
	// ByAdministrator is true if an administrator started the reset, and false if the holder
	// did.
	ByAdministrator bool
	// AuthorityUnchanged is true if the account's permissions have not changed since the
	// start of the reset.
	AuthorityUnchanged bool
}

func (CompleteReset) entrypoint() string { return "parapet/accounts/complete_reset" }

// EndSession decides whether the actor may log out: its credential must be a session of the
// acting tenant.
type EndSession struct {
	Actor *Subject
	// SessionTenant is the tenant of the session.
	SessionTenant string
}

func (EndSession) entrypoint() string { return "parapet/accounts/end_session" }

// ChangeOwnCredentials decides whether the actor may change its own password or address.
type ChangeOwnCredentials struct {
	Actor   *Subject
	Account Account
}

func (ChangeOwnCredentials) entrypoint() string { return "parapet/accounts/change_own_credentials" }

// AdministratorNotifications decides whether the actor may read the notifications for the
// tenant's administrators.
type AdministratorNotifications struct{ Actor *Subject }

func (AdministratorNotifications) entrypoint() string {
	return "parapet/accounts/administrator_notifications"
}

// RoleChange is an operation on a role: the name of a rule in parapet.roles.
type RoleChange string

// The operations on roles.
const (
	CreateRole   RoleChange = "create"
	RenameRole   RoleChange = "rename"
	DeleteRole   RoleChange = "delete"
	GrantToRole  RoleChange = "grant"
	RevokeOfRole RoleChange = "revoke"
	UnassignRole RoleChange = "unassign"
)

// ChangeRole decides whether the actor may perform Change on a role.
type ChangeRole struct {
	Change RoleChange
	Actor  *Subject
	// Role is the role on record; for UnassignRole, with the scope of the assignment.
	Role HeldRole
	// Spelling is the normalized new name.
	Spelling   string
	Permission string
	// RecipientID and RecipientKind identify the user who loses the role, for UnassignRole.
	RecipientID         string
	RecipientKind       string
	OtherAdministrators int
}

func (q ChangeRole) entrypoint() string { return "parapet/roles/" + string(q.Change) }

func grantsDocument(list []Grant) ast.Value {
	terms := make([]*ast.Term, len(list))
	for i, g := range list {
		d := newDocument()
		d.texts("permissions", g.Permissions)
		d.text("scope", g.Scope)
		d.optional("id", g.ScopeID)
		terms[i] = ast.NewTerm(d.Object)
	}
	return ast.NewArray(terms...)
}

func rolesDocument(list []HeldRole) ast.Value {
	terms := make([]*ast.Term, len(list))
	for i, r := range list {
		d := newDocument()
		d.text("name", r.Name)
		d.text("scope", r.Scope)
		terms[i] = ast.NewTerm(d.Object)
	}
	return ast.NewArray(terms...)
}

func (d document) recipient(id, kind string) {
	if id == "" {
		return
	}
	r := newDocument()
	r.text("id", id)
	r.text("kind", kind)
	d.value("recipient", r.Object)
}

func (a Account) document() ast.Value {
	d := newDocument()
	d.text("id", a.ID)
	d.text("kind", a.Kind)
	d.text("status", a.Status)
	d.text("home", a.Home)
	d.boolean("has_password", a.HasPassword)
	d.boolean("address_confirmed", a.AddressConfirmed)
	return d.Object
}

func (h Holding) document() ast.Value {
	d := newDocument()
	d.text("tenant", h.Tenant)
	d.text("membership", h.Membership)
	d.text("clearance", h.Clearance)
	d.value("grants", grantsDocument(h.Grants))
	d.value("delegations", grantsDocument(h.Delegations))
	d.text("caller_membership", h.CallerMembership)
	if h.Caller != nil {
		d.Insert(ast.StringTerm("caller"), h.Caller.term)
	}
	return d.Object
}

func (q GiveAuthority) document() ast.Value {
	return withActor(q.Actor, func(d document) {
		d.recipient(q.RecipientID, q.RecipientKind)
		kinds := make([]*ast.Term, len(q.RoleKinds))
		for i, kind := range q.RoleKinds {
			r := newDocument()
			r.text("kind", kind)
			kinds[i] = ast.NewTerm(r.Object)
		}
		d.value("roles", ast.NewArray(kinds...))
		d.value("grants", grantsDocument(q.Grants))
		c := newDocument()
		c.text("from", q.ClearanceFrom)
		c.text("to", q.ClearanceTo)
		d.value("clearance", c.Object)
	})
}

func (q ChangeAccount) document() ast.Value {
	return withActor(q.Actor, func(d document) {
		d.value("account", q.Account.document())
		holdings := make([]*ast.Term, len(q.Holdings))
		for i, h := range q.Holdings {
			holdings[i] = ast.NewTerm(h.document())
		}
		d.value("holdings", ast.NewArray(holdings...))
		d.value("roles", rolesDocument(q.Roles))
		d.number("other_administrators", q.OtherAdministrators)
	})
}

func (q AddMembership) document() ast.Value {
	return withActor(q.Actor, func(d document) {
		d.value("account", q.Account.document())
		d.boolean("home_administered", q.HomeAdministered)
	})
}

func (q CompleteReset) document() ast.Value {
	d := newDocument()
	d.value("account", q.Account.document())
	by := "holder"
	if q.ByAdministrator {
		by = "administrator"
	}
	d.text("requested_by", by)
	d.boolean("authority_unchanged", q.AuthorityUnchanged)
	return d.Object
}

func (q EndSession) document() ast.Value {
	return withActor(q.Actor, func(d document) { d.text("session_tenant", q.SessionTenant) })
}

func (q ChangeOwnCredentials) document() ast.Value {
	return withActor(q.Actor, func(d document) { d.value("account", q.Account.document()) })
}

func (q AdministratorNotifications) document() ast.Value {
	return withActor(q.Actor, nil)
}

func (q ChangeRole) document() ast.Value {
	return withActor(q.Actor, func(d document) {
		if q.Role.Name != "" {
			r := newDocument()
			r.text("name", q.Role.Name)
			r.text("kind", q.Role.Kind)
			r.optional("scope", q.Role.Scope)
			d.value("role", r.Object)
		}
		d.optional("spelling", q.Spelling)
		d.optional("permission", q.Permission)
		d.recipient(q.RecipientID, q.RecipientKind)
		d.number("other_administrators", q.OtherAdministrators)
	})
}

func (q GiveAuthority) logContext() decisionContext {
	return decisionContext{
		actor: q.Actor, permission: "role.assign", module: "identity",
		input: MaskedInput{Effect: Write, Candidate: maskID(q.RecipientID)},
	}
}

func (q ChangeAccount) logContext() decisionContext {
	permission := "user.update"
	if q.Change == StopMembership || q.Change == RestoreMembership {
		permission = "membership.update"
	}
	a := decisionContext{
		actor: q.Actor, permission: permission, module: "identity",
		input: MaskedInput{Effect: Write, Resource: principalResource(q.Account.ID, q.Account.Home)},
	}
	if len(q.Holdings) > 0 && q.Change != RestoreMembership {
		// The decision record is visible in this tenant and must not reveal what the account
		// holds in other tenants. Omitted is therefore set even if there are none.
		a.input.Omitted = []string{"holdings in other tenants"}
		inTenant := q
		inTenant.Holdings = slices.DeleteFunc(slices.Clone(q.Holdings), func(h Holding) bool { return q.Actor == nil || h.Tenant != q.Actor.tenant })
		a.recorded = inTenant.document()
	}
	return a
}

func (q AddMembership) logContext() decisionContext {
	return decisionContext{
		actor: q.Actor, permission: "membership.update", module: "identity",
		input: MaskedInput{Effect: Write, Resource: principalResource(q.Account.ID, q.Account.Home)},
	}
}

func (q CompleteReset) logContext() decisionContext {
	return decisionContext{
		tenant: q.Account.Home, module: "identity",
		input: MaskedInput{Effect: Write, Resource: principalResource(q.Account.ID, q.Account.Home)},
	}
}

func (q EndSession) logContext() decisionContext {
	return decisionContext{actor: q.Actor, module: "identity", input: MaskedInput{Effect: Write}}
}

func (q ChangeOwnCredentials) logContext() decisionContext {
	return decisionContext{
		actor: q.Actor, module: "identity",
		input: MaskedInput{Effect: Write, Resource: principalResource(q.Account.ID, q.Account.Home)},
	}
}

func (q AdministratorNotifications) logContext() decisionContext {
	return decisionContext{actor: q.Actor, module: "identity", input: MaskedInput{Effect: Read}}
}

func (q ChangeRole) logContext() decisionContext {
	permission := "role.update"
	switch q.Change {
	case CreateRole:
		permission = "role.create"
	case DeleteRole:
		permission = "role.delete"
	case UnassignRole:
		permission = "role.assign"
	}
	return decisionContext{
		actor: q.Actor, permission: permission, module: "identity",
		input: MaskedInput{Effect: Write, Candidate: maskID(q.RecipientID)},
	}
}
