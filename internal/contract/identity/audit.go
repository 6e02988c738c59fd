package identity

import (
	"time"

	"parapet/internal/op"
)

// AuditEntry is one entry of the tenant's audit chain. It never changes.
type AuditEntry struct {
	ID             op.UUID       `json:"id" doc:"The entry's id."`
	Seq            int64         `json:"seq" doc:"The entry's position in the tenant's audit chain, starting at 1."`
	TenantID       op.UUID       `json:"tenantId,omitempty" doc:"The tenant."`
	Tenant         *op.Reference `json:"tenant,omitempty" db:"-" doc:"The name of the record that tenantId identifies."`
	ActorID        op.UUID       `json:"actorId,omitempty" doc:"The user who performed the action."`
	Actor          *op.Reference `json:"actor,omitempty" db:"-" doc:"The name of the record that actorId identifies."`
	OnBehalfOf     op.UUID       `json:"onBehalfOf,omitempty" doc:"The user on whose behalf the actor performed the action."`
	OnBehalfOfUser *op.Reference `json:"onBehalfOfUser,omitempty" db:"-" doc:"The name of the record that onBehalfOf identifies."`
	ActorType      string        `json:"actorType" doc:"The actor's type."`
	Action         string        `json:"action" doc:"The action."`
	ResourceType   string        `json:"resourceType" doc:"The type of the record that the action was performed on."`
	ResourceID     string        `json:"resourceId,omitempty" doc:"The id of the record that the action was performed on."`
	Resource       *op.Reference `json:"resource,omitempty" db:"-" doc:"The name of the record that resourceId identifies. Absent for types of records without names."`
	Module         string        `json:"module" doc:"The module that performed the action."`
	Changes        any           `json:"changes,omitempty" doc:"The changed fields and values."`
	CorrelationID  op.UUID       `json:"correlationId" doc:"The x-request-id of the request."`
	CreatedAt      time.Time     `json:"createdAt" doc:"When the action was performed, by the server's clock."`
	Classification *string       `json:"classification,omitempty" doc:"The classification of the action: any text. Absent when the action has none."`
	CredentialKind string        `json:"credentialKind,omitempty" enum:"session|api_key" doc:"The kind of credential that authenticated the request. Absent when there was no credential: for a login and for the system's own work."`
	CredentialID   op.UUID       `json:"credentialId,omitempty" doc:"The session's id or the API key's jti."`
	Hash           string        `json:"hash" doc:"The entry's hash in hex. It covers the previous entry's hash and every column of this entry."`
}

// ListAuditEntriesIn filters the audit entries.
type ListAuditEntriesIn struct {
	ActorID       op.UUID `query:"actorId" doc:"Only entries of this actor."`
	Action        string  `query:"action" maxLength:"200" doc:"Only entries with this action."`
	ResourceType  string  `query:"resourceType" maxLength:"200" doc:"Only entries about this type of record."`
	ResourceID    string  `query:"resourceId" maxLength:"200" doc:"Only entries about this record."`
	Module        string  `query:"module" maxLength:"100" doc:"Only entries of this module."`
	CorrelationID op.UUID `query:"correlationId" doc:"Only entries of this request (its x-request-id)."`
	CredentialID  op.UUID `query:"credentialId" doc:"Only entries made with this credential: a session's id or an API key's jti."`
	From          string  `query:"from" format:"date-time" doc:"Only entries at or after this time."`
	Until         string  `query:"until" format:"date-time" doc:"Only entries before this time."`
	After         *int    `query:"after" minimum:"0" doc:"Only entries after the one with this seq, oldest first. To follow the log, repeat the request with the seq of the last entry."`
	Limit         int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"Maximum number of items to return."`
	Cursor        string  `query:"cursor" maxLength:"1024" doc:"The nextCursor of the previous page; omit it for the first page."`
}

// ListAuditEntries lists audit entries.
var ListAuditEntries = op.Declare[ListAuditEntriesIn, op.Page[AuditEntry]](Contract, op.Spec{
	Name: "list-audit-entries", Method: "GET", Path: "/api/audit/entries", Permission: "audit.read", Grant: "audit.read.own", Effect: op.Read,
	Summary: "List audit entries",
	Description: "Returns the entries that the caller's scopes allow, newest first, or oldest first with after. audit.read.own, .organisation and .tenant cover entries whose classification " +
		"is absent or UNCLASSIFIED; audit.read.classified covers all entries.",
})

// DecisionEntry is one entry of the decision log.
type DecisionEntry struct {
	ID             op.UUID   `json:"id" doc:"The entry's id."`
	DecidedAt      time.Time `json:"decidedAt" doc:"When the policies decided."`
	ActorID        string    `json:"actorId" doc:"The id of the user that the decision is about."`
	Rule           string    `json:"rule" doc:"The policy rule that was evaluated."`
	Permission     string    `json:"permission,omitempty" doc:"The permission that was checked, if the rule checks one."`
	Module         string    `json:"module" doc:"The module that requested the decision."`
	Input          any       `json:"input" doc:"The input of the policies without the subject: ids and codes. Other text is masked."`
	Allow          bool      `json:"allow" doc:"Whether the policies allowed the request."`
	Hidden         bool      `json:"hidden" doc:"Whether the caller received NOT_FOUND, so that the response does not reveal that the record exists."`
	Reasons        []string  `json:"reasons" doc:"The reason codes of a denial; policies/README.md explains them."`
	Revision       string    `json:"revision" doc:"The revision of the policies that decided."`
	RequestID      string    `json:"requestId" doc:"The x-request-id of the request."`
	CredentialKind string    `json:"credentialKind,omitempty" enum:"session|api_key" doc:"The kind of credential that authenticated the request. Absent when there was no credential: for the system's own work."`
	CredentialID   op.UUID   `json:"credentialId,omitempty" doc:"The session's id or the API key's jti."`
	SubjectDigest  string    `json:"subjectDigest,omitempty" doc:"SHA-256 (hex) of the subject's snapshot, which get-decision returns. Equal for subjects with equal roles, scopes, clearance and caveats. Absent when there was no subject."`
}

// Decision is an entry of the decision log with the subject of the decision.
type Decision struct {
	DecisionEntry
	Subject       any    `json:"subject,omitempty" doc:"The subject of the decision: its field input is what the token and the tenant's records contained, its field subject is what the policies computed from it. Absent unless subjectStatus is VERIFIED."`
	SubjectStatus string `json:"subjectStatus,omitempty" enum:"VERIFIED|ALTERED" doc:"VERIFIED: the stored snapshot matches subjectDigest. ALTERED: it does not match; somebody changed it. Absent when there is no digest."`
}

// The values of Decision.SubjectStatus.
const (
	SubjectVerified = "VERIFIED"
	SubjectAltered  = "ALTERED"
)

// DecisionIn is the input of GetDecision.
type DecisionIn struct {
	DecisionID op.UUID `path:"decisionId" doc:"The decision's id."`
}

// GetDecision returns one entry of the decision log.
var GetDecision = op.Declare[DecisionIn, Decision](Contract, op.Spec{
	Name: "get-decision", Method: "GET", Path: "/api/decisions/{decisionId}", Permission: "decision_log.read", Effect: op.Read,
	Summary:     "Get a policy decision",
	Description: "Includes the subject of the decision. Its input, evaluated by the same policy revision, gives the same decision again.",
})

// ListDecisionsIn filters the decision log.
type ListDecisionsIn struct {
	ActorID      op.UUID `query:"actorId" doc:"Only decisions about this user."`
	Permission   string  `query:"permission" maxLength:"100" doc:"Only decisions about this permission."`
	Allow        *bool   `query:"allow" doc:"true: only allowed; false: only denied."`
	RequestID    string  `query:"requestId" maxLength:"100" doc:"Only decisions of this request (its x-request-id)."`
	CredentialID op.UUID `query:"credentialId" doc:"Only decisions for this credential: a session's id or an API key's jti."`
	ResourceID   string  `query:"resourceId" maxLength:"200" doc:"Only decisions about the record with this id."`
	From         string  `query:"from" format:"date-time" doc:"Only decisions at or after this time."`
	Until        string  `query:"until" format:"date-time" doc:"Only decisions before this time."`
	Limit        int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"Maximum number of items to return."`
	Cursor       string  `query:"cursor" maxLength:"1024" doc:"The nextCursor of the previous page; omit it for the first page."`
}

// ListDecisions lists the decision log.
var ListDecisions = op.Declare[ListDecisionsIn, op.Page[DecisionEntry]](Contract, op.Spec{
	Name: "list-decisions", Method: "GET", Path: "/api/decisions", Permission: "decision_log.read", Effect: op.Read,
	Summary:     "List policy decisions",
	Description: "Newest first. The log is written asynchronously: a decision appears within seconds, and some may be missing if the server was overloaded.",
})
