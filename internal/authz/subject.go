package authz

import (
	"context"
	"fmt"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Token kinds, as the policies know them.
const (
	TokenSession  = "session"
	TokenAPIKey   = "api_key"
	TokenInternal = "internal"
)

// Principal kinds.
const (
	KindHuman   = "HUMAN"
	KindService = "SERVICE"
	KindAgent   = "AGENT"
)

// SubjectInput is what is known of a caller, once its token was verified and
// the tenant context was read. The policies make a Subject of it: effective
// roles, permissions with their scopes, readable tiers, caveats.
type SubjectInput struct {
	Token Token
	// Tenant is the target tenant, TenantType its type.
	Tenant     string
	TenantType string
	User       User
	// Stored is what the target tenant has on record for the user.
	Stored Stored
	// Roles gives what each role of the target tenant grants, live: those of the
	// user, of its token and of its delegators.
	Roles map[string][]string
	// Delegations are those that the user received and that are in force now.
	Delegations []Delegation
}

// Token is the verified token.
type Token struct {
	Kind string
	// ID is the jti. The policies do not see it: it identifies the credential in
	// the decision log.
	ID     string
	Tenant string
	Roles  []string
	// RoleScopes names, for a role that was held in narrower scopes when the
	// token was signed, those scopes: "project:<uuid>", "organisation:<uuid>".
	// A role without an entry is tenant-wide.
	RoleScopes map[string][]string
	// Clearance is the claim as it is; empty when there is none.
	Clearance string
	Caveats   []string
}

// CredentialID identifies the credential that a request was made with. The zero
// value means that there was none: the system's own work has no credential.
type CredentialID struct {
	// Kind is TokenSession or TokenAPIKey.
	Kind string
	// ID is the session's id or the key's jti: a UUID.
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
	// Organisation is the one that the user belongs to in the target tenant.
	Organisation string
}

// Stored is what the target tenant has on record for the user now.
type Stored struct {
	Assignments []Assignment
	Clearance   string
}

// Scopes of a role assignment.
const (
	ScopeTenant       = "tenant"
	ScopeOrganisation = "organisation"
	ScopeProject      = "project"
)

// Assignment is one role held in one scope. ID is empty for the tenant scope.
type Assignment struct {
	Role  string
	Scope string
	ID    string
}

// Subject is a caller as the policies see it: the result of one evaluation,
// which is kept for as long as (revision, tenant, user, token, grants revision)
// stay the same. It is immutable and safe for concurrent use.
type Subject struct {
	// term is the value that every decision shares.
	term *ast.Term
	// filters remembers what Filter bound for this subject.
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
	// snapshot gives what the decision log keeps of the subject, made once; nil where
	// nothing is logged.
	snapshot func() *SubjectSnapshot
	// delegatedSubjects are what the delegations in force add: one for each, with the
	// delegator's id and grants.
	delegatedSubjects []ast.Value
}

// ID is the user's id.
func (s *Subject) ID() string { return s.id }

// Tenant is the target tenant that the subject acts in.
func (s *Subject) Tenant() string { return s.tenant }

// TenantType is the type of the target tenant.
func (s *Subject) TenantType() string { return s.tenantType }

// Kind is HUMAN, SERVICE or AGENT.
func (s *Subject) Kind() string { return s.kind }

// TokenKind is session, api_key or internal.
func (s *Subject) TokenKind() string { return s.tokenKind }

// Credential identifies the credential that the subject was made for.
func (s *Subject) Credential() CredentialID { return s.credential }

// Organisation is the one that the user belongs to; empty when there is none.
func (s *Subject) Organisation() string { return s.organisation }

// Clearance is the effective clearance: always one of the ladder's tiers.
func (s *Subject) Clearance() string { return s.clearance }

// Admin tells whether the policies count the subject's roles as an
// administrator's, which shortens the life of its keys.
func (s *Subject) Admin() bool { return s.admin }

// Revision is that of the policies that made the subject. A cache of subjects
// drops one whose revision is not Engine.Revision any more.
func (s *Subject) Revision() string { return s.revision }

// Readable lists the tiers that the subject may read, lowest first.
func (s *Subject) Readable() []string { return s.readable }

// Narrowing is a text that is the same for credentials of one user that were signed
// with the same kind, tenant, roles, scopes, clearance and caveats. It does not
// change with what the tenant has on record: that is decided about live.
func (s *Subject) Narrowing() string { return s.narrowing }

// Roles lists the effective roles, sorted.
func (s *Subject) Roles() []string { return s.roles }

// Permissions lists the names that the subject holds in any scope, sorted; a
// permission held as .own has that suffix.
func (s *Subject) Permissions() []string { return s.permissions }

// Holds tells whether the subject holds the permission in any scope, as .own or on
// another's behalf included. A caller who does not is refused before anything is loaded. An
// unknown caveat, or one that never fits, makes it false.
func (s *Subject) Holds(permission string) bool {
	if s == nil {
		return false
	}
	_, ok := s.holds[permission]
	return ok
}

// Subject makes a Subject of what is known about a caller. What the policies
// cannot make one of is an error: whoever is no subject may do nothing.
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
	e.logger.ErrorContext(ctx, "the policies made no subject", "reason", failed.reason,
		"tenant", in.Tenant, "user", in.User.ID, "revision", v.set.revision, "error", failed.cause)
	return nil, failed
}

// takeSnapshot gives nil where it fails: a decision does not depend on its record.
func (e *Engine) takeSnapshot(input, subject ast.Value) *SubjectSnapshot {
	snapshot, err := newSubjectSnapshot(input, subject)
	if err != nil {
		e.logger.Error("decision log: a subject is not recorded", "error", err)
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
	s.activeGrants(o)
	add := func(t *ast.Term) {
		if delegated, ok := t.Value.(ast.Object); ok {
			s.delegatedSubjects = append(s.delegatedSubjects, delegated)
			s.activeGrants(delegated)
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

// activeGrants adds the permissions that a subject's document holds.
func (s *Subject) activeGrants(o ast.Object) {
	for _, name := range stringsAt(o, "holds") {
		s.holds[name] = struct{}{}
	}
}

// document is the input of the subject rule. Lists and maps are always there,
// empty or not: a missing one would say nothing, and the rules refuse that.
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
