package authz

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"parapet/internal/fault"
)

// CustomDecision is the input of a special policy entry point: one for a decision that is
// not about one record and one permission. Engine.Ask evaluates it.
type CustomDecision interface {
	// entrypoint names the rule, for example "parapet/keys/issue_service".
	entrypoint() string
	document() ast.Value
	about() decisionContext
}

// InRequest is the question as a request asks it: the id ties the decision log
// to the request.
func InRequest(id string, q CustomDecision) CustomDecision { return requestedDecision{q, id} }

type requestedDecision struct {
	CustomDecision
	id string
}

func (r requestedDecision) about() decisionContext {
	a := r.CustomDecision.about()
	a.requestID = r.id
	return a
}

// Verdict answers a Question.
type Verdict struct {
	Allow bool
	// Code is the envelope's code for a refusal: FORBIDDEN, NOT_FOUND,
	// CONFLICT or VALIDATION. Anything the engine could not evaluate is
	// FORBIDDEN with one of the engine's own reasons.
	Code string
	// Reasons are codes in lower case, most telling first.
	Reasons []string
	// Explained are the reasons in the policies' words, for whoever was refused; none
	// where the answer is that the record does not exist.
	Explained []fault.Reason
	// Permission is the one that is missing, where that is why.
	Permission string
	// Field names the field that is wrong, for VALIDATION.
	Field string
	// Days is the lifetime that a key gets; Cap the most that it could have.
	Days int
	Cap  int
	// OnBehalfOf is set where the actor is allowed only through a delegation.
	OnBehalfOf *OnBehalf
	// Revision is that of the policies that answered.
	Revision string
}

// hidden tells that the answer is that the record does not exist.
func (v *Verdict) hidden() bool { return v.Code == "NOT_FOUND" }

// HeldRole is a role as a principal holds it, with what it grants now.
type HeldRole struct {
	Name string
	// Kind is STANDARD or GLOBAL.
	Kind string
	// Scope is that of the assignment: tenant, organisation or project. ScopeID
	// names the latter two, for a Candidate.
	Scope   string
	ScopeID string
	Grants  []string
}

// ServicePrincipal is the target of an on-behalf-of key, as stored.
type ServicePrincipal struct {
	ID     string
	Tenant string
	// Kind is the principal kind: only SERVICE can be a target.
	Kind string
	// Status is the user's status, Membership that of its membership in Tenant.
	Status         string
	Membership     string
	IntegrationKey string
	Roles          []HeldRole
}

// KeySettings are the operator's settings for the life of keys. Zero is unset.
type KeySettings struct {
	// MaxAdminDays is API_KEY_TTL_MAX_ADMIN_DAYS.
	MaxAdminDays int
	// MaxUserDays is API_KEY_TTL_MAX_USER_DAYS.
	MaxUserDays int
	// MaxActivePersonal is API_KEY_MAX_ACTIVE_PERSONAL.
	MaxActivePersonal int
}

// IssueServiceKey asks for a key on behalf of a SERVICE principal. The verdict
// carries Days.
type IssueServiceKey struct {
	Actor    *Subject
	Target   ServicePrincipal
	Settings KeySettings
}

func (IssueServiceKey) entrypoint() string { return "parapet/keys/issue_service" }

// IssueSelfKey asks for a personal key. ExpiresInDays is nil when the caller
// left it blank. The verdict carries Days and Cap, and Cap also when the wish
// is above it.
type IssueSelfKey struct {
	Actor         *Subject
	ExpiresInDays *int
	// ActiveKeys counts the caller's personal keys that are neither revoked nor expired.
	ActiveKeys int
	Settings   KeySettings
}

func (IssueSelfKey) entrypoint() string { return "parapet/keys/issue_self" }

// ListKeys asks to list keys: the caller's own when Owner is nil, else those of
// a SERVICE principal.
type ListKeys struct {
	Actor *Subject
	Owner *KeyOwner
}

func (ListKeys) entrypoint() string { return "parapet/keys/list" }

// KeyOwner is the user whose keys are asked for.
type KeyOwner struct {
	ID     string
	Tenant string
	Kind   string
}

// RevokeKey asks to revoke a key: by the service-owned path or as one's own.
type RevokeKey struct {
	Actor        *Subject
	ServiceOwned bool
	Key          Key
}

func (RevokeKey) entrypoint() string { return "parapet/keys/revoke" }

// Key is a key record, as stored.
type Key struct {
	JTI    string
	Tenant string
	Owner  KeyOwner
}

// ValidateProfile asks whether a SERVICE principal is exactly what its
// integration's registered profile says. Issuance asks the same; this question
// is for provisioning.
type ValidateProfile struct {
	Target ServicePrincipal
}

func (ValidateProfile) entrypoint() string { return "parapet/profiles/validate" }

// ActAs asks whether a request may be meant for Target. It is asked before the
// tenant context, so there is no Subject yet. Header tells whether x-act-as-org
// was sent.
type ActAs struct {
	TokenKind     string
	TokenTenant   string
	PrincipalKind string
	// User is the owner of the token and Credential the token, for the decision log;
	// they decide nothing.
	User       string
	Credential CredentialID

	Module string
	Header bool
	Target string
}

func (ActAs) entrypoint() string { return "parapet/actas/verdict" }

// AuthenticatedAccess asks whether the actor's credential may be used for an operation that
// needs no permission: its caveats alone decide.
type AuthenticatedAccess struct {
	Actor  *Subject
	Effect Effect
	// Module is the module whose operation asks.
	Module string
}

func (AuthenticatedAccess) entrypoint() string { return "parapet/open/verdict" }
