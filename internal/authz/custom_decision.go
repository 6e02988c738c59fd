package authz

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"parapet/internal/fault"
)

// CustomDecision is the input of a special policy entry point: a decision that is not about
// one record and one permission. Engine.Evaluate evaluates it.
type CustomDecision interface {
	// entrypoint returns the name of the rule, for example "parapet/keys/issue_service".
	entrypoint() string
	// document returns the input, or nil if the actor is missing.
	document() ast.Value
	// logContext returns the fields of the decision record that are not in the verdict.
	logContext() decisionContext
}

// InRequest adds the request id to a custom decision, which links the decision record to the
// request.
func InRequest(id string, q CustomDecision) CustomDecision { return requestedDecision{q, id} }

type requestedDecision struct {
	CustomDecision
	id string
}

func (r requestedDecision) logContext() decisionContext {
	a := r.CustomDecision.logContext()
	a.requestID = r.id
	return a
}

// Verdict is the result of a CustomDecision.
type Verdict struct {
	Allow bool
	// Code is the error code of a denial: FORBIDDEN, NOT_FOUND, CONFLICT or VALIDATION. A
	// failed evaluation gives FORBIDDEN with a reason ENGINE_….
	Code string
	// Reasons are codes in lower case, the most specific one first.
	Reasons []string
	// Explained contains the messages and remedies of the reasons. It is empty if the code
	// is NOT_FOUND.
	Explained []fault.Reason
	// Permission is the missing permission, if that is the reason.
	Permission string
	// Field names the invalid field, for VALIDATION.
	Field string
	// Days is the lifetime of the new key, Cap the maximum lifetime. For a delegation, Cap
	// is the limit that was exceeded.
	Days int
	Cap  int
	// OnBehalfOf is set if only a delegation allows the request.
	OnBehalfOf *OnBehalf
	// Revision is the revision of the policies that were evaluated.
	Revision string
}

// isHidden reports whether the caller gets 404.
func (v *Verdict) isHidden() bool { return v.Code == "NOT_FOUND" }

// HeldRole is a role assignment of a user, with the permissions that the role grants now.
type HeldRole struct {
	Name string
	// Kind is STANDARD or GLOBAL.
	Kind string
	// Scope is tenant, organisation or project. ScopeID is the id of the organisation or
	// project, for a Candidate.
	Scope   string
	ScopeID string
	Grants  []string
}

// ServicePrincipal is the service principal for which a key is issued.
type ServicePrincipal struct {
	ID     string
	Tenant string
	// Kind must be SERVICE; other kinds are denied.
	Kind string
	// Status is the status of the user, Membership that of the membership in Tenant.
	Status         string
	Membership     string
	IntegrationKey string
	Roles          []HeldRole
}

// KeySettings contains the operator's settings for the lifetime of keys. Zero means unset.
type KeySettings struct {
	// MaxAdminDays is API_KEY_TTL_MAX_ADMIN_DAYS.
	MaxAdminDays int
	// MaxUserDays is API_KEY_TTL_MAX_USER_DAYS.
	MaxUserDays int
	// MaxActivePersonal is API_KEY_MAX_ACTIVE_PERSONAL.
	MaxActivePersonal int
}

// IssueServiceKey decides whether the actor may issue a key for a service principal. The
// verdict contains Days.
type IssueServiceKey struct {
	Actor    *Subject
	Target   ServicePrincipal
	Settings KeySettings
}

func (IssueServiceKey) entrypoint() string { return "parapet/keys/issue_service" }

// IssueSelfKey decides whether the actor may issue a personal key. ExpiresInDays is nil for
// the default lifetime. The verdict contains Days and Cap; if the requested lifetime is
// invalid, only Cap.
type IssueSelfKey struct {
	Actor         *Subject
	ExpiresInDays *int
	// ActiveKeys is the number of the caller's personal keys that are neither revoked nor
	// expired.
	ActiveKeys int
	Settings   KeySettings
}

func (IssueSelfKey) entrypoint() string { return "parapet/keys/issue_self" }

// ListKeys decides whether the actor may list keys: its own if Owner is nil, otherwise those
// of a service principal.
type ListKeys struct {
	Actor *Subject
	Owner *KeyOwner
}

func (ListKeys) entrypoint() string { return "parapet/keys/list" }

// KeyOwner is the owner of the listed keys.
type KeyOwner struct {
	ID     string
	Tenant string
	Kind   string
}

// RevokeKey decides whether the actor may revoke a key: one of a service principal if
// ServiceOwned is true, otherwise its own.
type RevokeKey struct {
	Actor        *Subject
	ServiceOwned bool
	Key          Key
}

func (RevokeKey) entrypoint() string { return "parapet/keys/revoke" }

// Key is a key on record.
type Key struct {
	JTI    string
	Tenant string
	Owner  KeyOwner
}

// ValidateProfile decides whether a service principal matches its registered profile.
// Provisioning evaluates it; issuing a key includes the same check.
type ValidateProfile struct {
	Target ServicePrincipal
}

func (ValidateProfile) entrypoint() string { return "parapet/profiles/validate" }

// ActAs decides whether a request may act in the tenant Target. It is evaluated before the
// tenant context exists, so there is no Subject. Header reports whether the request has the
// header x-act-as-org.
type ActAs struct {
	TokenKind     string
	TokenTenant   string
	PrincipalKind string
	// User is the owner of the token and Credential the token. They are only logged.
	User       string
	Credential CredentialID

	Module string
	Header bool
	Target string
}

func (ActAs) entrypoint() string { return "parapet/actas/verdict" }

// AuthenticatedAccess decides whether the actor's credential may be used for an operation
// that needs no permission. Only its caveats can deny.
type AuthenticatedAccess struct {
	Actor  *Subject
	Effect Effect
	// Module is the module of the operation.
	Module string
}

func (AuthenticatedAccess) entrypoint() string { return "parapet/open/verdict" }
