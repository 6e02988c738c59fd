package authz

import (
	"context"
	"fmt"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
)

// The kinds of a token.
const (
	TokenSession  = "session"
	TokenAPIKey   = "api_key"
	TokenInternal = "internal"
)

// The kinds of a principal.
const (
	KindHuman   = "HUMAN"
	KindService = "SERVICE"
	KindAgent   = "AGENT"
)

// SubjectInput describes a caller after its token was verified and the tenant context was
// read. The policies compute a Subject from it: effective roles, permissions with their
// scopes, readable tiers and caveats.
type SubjectInput struct {
	Token Token
	// Tenant is the target tenant, TenantType its type.
	Tenant     string
	TenantType string
	User       User
	// Stored contains the user's records in the target tenant.
	Stored Stored
	// Roles maps each role of the target tenant to the permissions that it grants now: the
	// roles of the user, of the token and of the delegators.
	Roles map[string][]string
	// Delegations are the active delegations that the user received.
	Delegations []Delegation
}

// Token is the verified token.
type Token struct {
	Kind string
	// ID is the jti. The policies do not see it; it identifies the credential in the
	// decision log.
	ID     string
	Tenant string
	Roles  []string
	// RoleScopes maps a role that had narrower scopes when the token was signed to those
	// scopes: "project:<uuid>", "organisation:<uuid>". A role without an entry has the scope
	// of the tenant.
	RoleScopes map[string][]string
	// Clearance is the clearance in the token, or "".
	Clearance string
	Caveats   []string
}

// CredentialID identifies the credential of a request. The zero value means no credential:
// the request comes from the system.
type CredentialID struct {
	// Kind is TokenSession or TokenAPIKey.
	Kind string
	// ID is the id of the session or the jti of the key, a UUID.
	ID string
}

func (t *Token) narrowing() string {
	return fmt.Sprintf("%q %q %q %q %q %q", t.Kind, t.Tenant, t.Roles, t.RoleScopes, t.Clearance, t.Caveats)
}

// User is the owner of the token.
type User struct {
	ID             string
	Kind           string
	IntegrationKey string
	// Organisation is the user's organisation in the target tenant.
	Organisation string
}

// Stored contains the user's current records in the target tenant.
type Stored struct {
	Assignments []Assignment
	Clearance   string
}

// The scopes of a role assignment.
const (
	ScopeTenant       = "tenant"
	ScopeOrganisation = "organisation"
	ScopeProject      = "project"
)

// Assignment is a role in a scope. ID is empty for the tenant scope.
type Assignment struct {
	Role  string
	Scope string
	ID    string
}

// Subject is the result of evaluating a SubjectInput. It can be cached as long as revision,
// tenant, user, token and grants revision stay the same. It is immutable and safe for
// concurrent use.
type Subject struct {
	// term is shared by all decisions.
	term *ast.Term
	// filters caches the filters that were bound for this subject.
	filters sync.Map

	id, tenant, tenantType, kind, tokenKind, organisation string
	clearance                                             string
	admin                                                 bool
	revision                                              string
	readable                                              []string
	roles                                                 []string
	permissions                                           []string
	holds                                                 map[string]struct{}
	narrowing                                             string
	credential                                            CredentialID
	// snapshot returns the snapshot for the decision log, computed once. It is nil without a
	// decision log.
	snapshot func() *SubjectSnapshot
	// delegatedSubjects contains one document for each active delegation, with the id and
	// the grants of the delegator.
	delegatedSubjects []ast.Value
}

// ID returns the id of the user.
func (s *Subject) ID() string { return s.id }

// Tenant returns the tenant in which the subject acts.
func (s *Subject) Tenant() string { return s.tenant }

// TenantType returns the type of that tenant.
func (s *Subject) TenantType() string { return s.tenantType }

// Kind returns HUMAN, SERVICE or AGENT.
func (s *Subject) Kind() string { return s.kind }

// TokenKind returns session, api_key or internal.
func (s *Subject) TokenKind() string { return s.tokenKind }

// Credential returns the credential of the subject.
func (s *Subject) Credential() CredentialID { return s.credential }

// Organisation returns the user's organisation, or "".
func (s *Subject) Organisation() string { return s.organisation }

// Clearance returns the effective clearance, which is always one of the tiers.
func (s *Subject) Clearance() string { return s.clearance }

// Admin reports whether the policies count the subject as an administrator, whose keys have
// a shorter lifetime.
func (s *Subject) Admin() bool { return s.admin }

// Revision returns the revision of the policies that computed the subject. A cache must drop
// a subject whose revision differs from Engine.Revision.
func (s *Subject) Revision() string { return s.revision }

// Readable returns the classifications that the subject can read, lowest first.
func (s *Subject) Readable() []string { return s.readable }

// Narrowing returns a string that identifies what the credential contributes to the
// subject: its kind, tenant, roles, scopes, clearance and caveats. Two credentials of one
// user with the same string have the same permissions. The tenant's records are not part of
// the string, because they are read with every request.
func (s *Subject) Narrowing() string { return s.narrowing }

// Roles returns the effective roles, sorted.
func (s *Subject) Roles() []string { return s.roles }

// Permissions returns the names of the permissions that the subject holds in any scope,
// sorted. A permission held as .own has that suffix.
func (s *Subject) Permissions() []string { return s.permissions }

// Holds reports whether the subject holds the permission in any scope, including as .own and
// by delegation. If not, requests are denied before a record is loaded. It is false if a
// caveat is unknown or cannot be satisfied.
func (s *Subject) Holds(permission string) bool {
	if s == nil {
		return false
	}
	_, ok := s.holds[permission]
	return ok
}

// Subject computes the subject of a caller. It returns an error if the policies define none;
// such a caller may do nothing.
func (e *Engine) Subject(ctx context.Context, in SubjectInput) (*Subject, error) {
	v := e.current.Load()
	input := in.document()
	value, failed := v.eval(ctx, v.set.subject, input)
	if failed == nil {
		if object, ok := value.(ast.Object); ok {
			s := newSubject(object, v.set.revision)
			s.credential = CredentialID{Kind: in.Token.Kind, ID: in.Token.ID}
			s.narrowing = in.Token.narrowing()
			if e.sink != nil {
				s.snapshot = sync.OnceValue(func() *SubjectSnapshot { return e.takeSnapshot(input, object) })
			}
			return s, nil
		}
		failed = &failure{reason: ReasonType}
	}
	e.counts.failed(failed.reason)
	e.logger.ErrorContext(ctx, "the policies returned no subject", "reason", failed.reason,
		"tenant", in.Tenant, "user", in.User.ID, "revision", v.set.revision, "error", failed.cause)
	return nil, failed
}

// takeSnapshot returns nil if it fails: a decision must not depend on whether it can be
// logged.
func (e *Engine) takeSnapshot(input, subject ast.Value) *SubjectSnapshot {
	snapshot, err := newSubjectSnapshot(input, subject)
	if err != nil {
		e.logger.Error("decision log: cannot record a subject", "error", err)
		return nil
	}
	return snapshot
}

func newSubject(o ast.Object, revision string) *Subject {
	s := &Subject{
		term:         ast.NewTerm(o),
		revision:     revision,
		id:           text(o, "id"),
		tenant:       text(o, "tenant"),
		tenantType:   text(o, "tenant_type"),
		kind:         text(o, "kind"),
		tokenKind:    text(o, "token_kind"),
		organisation: text(o, "organisation"),
		clearance:    text(o, "clearance"),
		admin:        boolean(o, "admin"),
		readable:     stringsAt(o, "readable"),
		roles:        stringsAt(o, "roles"),
		permissions:  stringsAt(o, "permissions"),
		holds:        map[string]struct{}{},
	}
	s.addHeldPermissions(o)
	add := func(t *ast.Term) {
		if delegated, ok := t.Value.(ast.Object); ok {
			s.delegatedSubjects = append(s.delegatedSubjects, delegated)
			s.addHeldPermissions(delegated)
		}
	}
	switch delegated := field(o, "delegated_subjects").(type) {
	case ast.Set:
		delegated.Foreach(add)
	case *ast.Array: // read from JSON
		delegated.Foreach(add)
	}
	return s
}

// addHeldPermissions adds the permissions of a subject document to s.holds.
func (s *Subject) addHeldPermissions(o ast.Object) {
	for _, name := range stringsAt(o, "holds") {
		s.holds[name] = struct{}{}
	}
}

// document builds the input of the rule subject. Lists and maps are always present, because
// the rules deny if one is missing.
func (in *SubjectInput) document() ast.Value {
	token := newDocument()
	token.text("kind", in.Token.Kind)
	token.text("tenant", in.Token.Tenant)
	token.texts("roles", in.Token.Roles)
	token.lists("role_scopes", in.Token.RoleScopes)
	token.optional("clearance", in.Token.Clearance)
	token.texts("caveats", in.Token.Caveats)

	user := newDocument()
	user.text("id", in.User.ID)
	user.text("kind", in.User.Kind)
	user.optional("integration_key", in.User.IntegrationKey)
	user.optional("organisation", in.User.Organisation)

	stored := newDocument()
	stored.value("assignments", assignments(in.Stored.Assignments))
	stored.optional("clearance", in.Stored.Clearance)

	d := newDocument()
	d.value("token", token.Object)
	d.text("tenant", in.Tenant)
	d.text("tenant_type", in.TenantType)
	d.value("user", user.Object)
	d.value("stored", stored.Object)
	d.lists("roles", in.Roles)
	d.value("delegations", delegations(in.Delegations))
	return d.Object
}

func assignments(held []Assignment) ast.Value {
	terms := make([]*ast.Term, len(held))
	for i, a := range held {
		d := newDocument()
		d.text("role", a.Role)
		d.text("scope", a.Scope)
		d.optional("id", a.ID)
		terms[i] = ast.NewTerm(d.Object)
	}
	return ast.NewArray(terms...)
}
