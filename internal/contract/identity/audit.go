package identity

import (
	"time"

	"parapet/internal/op"
)

// AuditEntry is one entry of the tenant's audit chain. It never changes.
type AuditEntry struct {
	ID             op.UUID   `json:"id" doc:"The entry's id."`
	Seq            int64     `json:"seq" doc:"The entry's place in the tenant's chain, from 1."`
	TenantID       op.UUID   `json:"tenantId,omitempty" doc:"The tenant."`
	ActorID        op.UUID   `json:"actorId,omitempty" doc:"Who acted."`
	OnBehalfOf     op.UUID   `json:"onBehalfOf,omitempty" doc:"The user for whom the actor acted."`
	ActorType      string    `json:"actorType" doc:"What kind of actor it was."`
	Action         string    `json:"action" doc:"What was done."`
	ResourceType   string    `json:"resourceType" doc:"To what kind of record."`
	ResourceID     string    `json:"resourceId,omitempty" doc:"To which record."`
	Module         string    `json:"module" doc:"The module that did it."`
	Changes        any       `json:"changes,omitempty" doc:"What changed."`
	CorrelationID  op.UUID   `json:"correlationId" doc:"The request: its x-request-id."`
	CreatedAt      time.Time `json:"createdAt" doc:"When it was done, by the server's clock."`
	Classification *string   `json:"classification,omitempty" doc:"The classification of what was done: any text. Absent is none."`
	CredentialKind string    `json:"credentialKind,omitempty" enum:"session|api_key" doc:"What the request was made with. Absent when there was no credential, as in a login and in the system's own work."`
	CredentialID   op.UUID   `json:"credentialId,omitempty" doc:"The session's id or the API key's jti."`
	Hash           string    `json:"hash" doc:"The entry's hash in hex: it covers the hash before it and every column."`
}

// ListAuditEntriesIn selects entries.
type ListAuditEntriesIn struct {
	ActorID       op.UUID `query:"actorId" doc:"Of this actor only."`
	Action        string  `query:"action" maxLength:"200" doc:"Of this action only."`
	ResourceType  string  `query:"resourceType" maxLength:"200" doc:"About this kind of record only."`
	ResourceID    string  `query:"resourceId" maxLength:"200" doc:"About this record only."`
	Module        string  `query:"module" maxLength:"100" doc:"By this module only."`
	CorrelationID op.UUID `query:"correlationId" doc:"Of this request only."`
	CredentialID  op.UUID `query:"credentialId" doc:"By this credential only: a session's id or an API key's jti."`
	From          string  `query:"from" format:"date-time" doc:"At or after this time."`
	Until         string  `query:"until" format:"date-time" doc:"Before this time."`
	Limit         int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many at most."`
	Cursor        string  `query:"cursor" maxLength:"1024" doc:"Where the page starts."`
}

// ListAuditEntries lists audit entries.
var ListAuditEntries = op.New[ListAuditEntriesIn, op.Page[AuditEntry]](op.Spec{
	Name: "list-audit-entries", Module: Module, Method: "GET", Path: "/api/audit/entries", Permission: "audit.read", Grant: "audit.read.own", Effect: op.Read,
	Summary: "List audit entries",
	Description: "Those that the caller's scopes admit: audit.read.own, .organisation and .tenant admit entries that are unclassified or UNCLASSIFIED, " +
		"audit.read.classified admits all. Newest first.",
})

// DecisionEntry is one line of the decision log.
type DecisionEntry struct {
	ID             op.UUID   `json:"id" doc:"The line's id."`
	DecidedAt      time.Time `json:"decidedAt" doc:"When it was decided."`
	ActorID        string    `json:"actorId" doc:"Who asked."`
	Rule           string    `json:"rule" doc:"The rule that was asked."`
	Permission     string    `json:"permission,omitempty" doc:"What was asked for, where the rule is about a permission."`
	Module         string    `json:"module" doc:"The module that asked."`
	Input          any       `json:"input" doc:"What the policies were asked, without the subject: ids and codes. Other text is masked."`
	Allow          bool      `json:"allow" doc:"The answer."`
	Hidden         bool      `json:"hidden" doc:"Whether the caller was told that the record does not exist."`
	Reasons        []string  `json:"reasons" doc:"Why not: codes that policies/README.md explains."`
	Revision       string    `json:"revision" doc:"The revision of the policies that answered."`
	RequestID      string    `json:"requestId" doc:"The request: its x-request-id."`
	CredentialKind string    `json:"credentialKind,omitempty" enum:"session|api_key" doc:"What the request was made with. Absent when there was no credential, as in the system's own work."`
	CredentialID   op.UUID   `json:"credentialId,omitempty" doc:"The session's id or the API key's jti."`
	SubjectDigest  string    `json:"subjectDigest,omitempty" doc:"SHA-256 (hex) of the subject's snapshot, which get-decision returns. Equal for subjects with equal roles, scopes, clearance and caveats. Absent when there was no subject."`
}

// Decision is a line of the decision log with the subject of the decision.
type Decision struct {
	DecisionEntry
	Subject       any    `json:"subject,omitempty" doc:"The subject as the policies saw it: input is what the token and the tenant's records said, subject what the policies made of it. Absent unless subjectStatus is VERIFIED."`
	SubjectStatus string `json:"subjectStatus,omitempty" enum:"VERIFIED|ALTERED" doc:"VERIFIED when the stored snapshot has the digest subjectDigest. ALTERED when somebody has changed it. Absent without a digest."`
}

// The values of Decision.SubjectStatus.
const (
	SubjectVerified = "VERIFIED"
	SubjectAltered  = "ALTERED"
)

// DecisionIn names a line of the decision log.
type DecisionIn struct {
	DecisionID op.UUID `path:"decisionId" doc:"The decision's id."`
}

// GetDecision returns one line of the decision log.
var GetDecision = op.New[DecisionIn, Decision](op.Spec{
	Name: "get-decision", Module: Module, Method: "GET", Path: "/api/decisions/{decisionId}", Permission: "decision_log.read", Effect: op.Read,
	Summary:     "Get a decision of the policies",
	Description: "With the subject that the policies saw: with its input and the same revision of the policies the decision can be evaluated again.",
})

// ListDecisionsIn selects decisions.
type ListDecisionsIn struct {
	ActorID      op.UUID `query:"actorId" doc:"Of this actor only."`
	Permission   string  `query:"permission" maxLength:"100" doc:"About this permission only."`
	Allow        *bool   `query:"allow" doc:"With this answer only."`
	RequestID    string  `query:"requestId" maxLength:"100" doc:"Of this request only."`
	CredentialID op.UUID `query:"credentialId" doc:"By this credential only: a session's id or an API key's jti."`
	Limit        int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many at most."`
	Cursor       string  `query:"cursor" maxLength:"1024" doc:"Where the page starts."`
}

// ListDecisions lists the decision log.
var ListDecisions = op.New[ListDecisionsIn, op.Page[DecisionEntry]](op.Spec{
	Name: "list-decisions", Module: Module, Method: "GET", Path: "/api/decisions", Permission: "decision_log.read", Effect: op.Read,
	Summary:     "List the policies' decisions",
	Description: "Newest first. The log is written asynchronously: a decision appears within seconds, and some may be missing if the server was overloaded.",
})
