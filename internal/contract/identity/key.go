package identity

import (
	"time"

	"parapet/internal/op"
)

// Key actions and events. They name the acting administrator and the owner by
// their ids.
const (
	ActionKeyIssued  = "api_key.issued"
	ActionKeyRevoked = "api_key.revoked"

	EventKeyIssued  = "directory.user.key_issued"
	EventKeyRevoked = "directory.user.key_revoked"
)

// Key is the record of an API key. It never holds the token.
type Key struct {
	ID           op.UUID    `json:"id" doc:"The key's id; the same as its jti."`
	JTI          op.UUID    `json:"jti" doc:"The JWT id of the token."`
	Label        string     `json:"label" doc:"Where the key is used: untrusted text."`
	Owner        op.UUID    `json:"owner" doc:"The user that the key acts as."`
	TenantID     op.UUID    `json:"tenantId" doc:"The tenant that the key is bound to."`
	Kind         string     `json:"kind" enum:"PERSONAL|SERVICE" doc:"Issued for oneself or on behalf of a service principal."`
	Expiry       time.Time  `json:"expiry" doc:"When the key expires."`
	CreatedBy    op.UUID    `json:"createdBy" doc:"The user who issued the key."`
	CreatedAt    time.Time  `json:"createdAt" doc:"When the key was issued."`
	RevokedAt    *time.Time `json:"revokedAt,omitempty" doc:"When the key was revoked."`
	RevokedBy    op.UUID    `json:"revokedBy,omitempty" doc:"The user who revoked the key."`
	RevokeReason string     `json:"revokeReason,omitempty" doc:"Why the key was revoked: untrusted text."`
	LastUsedAt   *time.Time `json:"lastUsedAt,omitempty" doc:"When a consumer last accepted the key, to the minute."`
}

// IssuedKey is a new key with its token, which no later answer shows again.
type IssuedKey struct {
	Token     string    `json:"token" doc:"The token. It is shown this once."`
	ID        op.UUID   `json:"id" doc:"The key's id; the same as its jti."`
	JTI       op.UUID   `json:"jti" doc:"The JWT id of the token."`
	Label     string    `json:"label" doc:"Where the key is used."`
	Owner     op.UUID   `json:"owner" doc:"The user that the key acts as."`
	TenantID  op.UUID   `json:"tenantId" doc:"The tenant that the key is bound to."`
	Kind      string    `json:"kind" enum:"PERSONAL|SERVICE" doc:"Issued for oneself or on behalf of a service principal."`
	Expiry    time.Time `json:"expiry" doc:"When the key expires."`
	CreatedBy op.UUID   `json:"createdBy" doc:"The user who issued the key."`
	CreatedAt time.Time `json:"createdAt" doc:"When the key was issued."`
}

// IssueServiceKeyIn names the integration. It takes no lifetime.
type IssueServiceKeyIn struct {
	Label        string  `json:"label" required:"true" maxLength:"200" doc:"Where the key is used."`
	TargetUserID op.UUID `json:"targetUserId" required:"true" doc:"The SERVICE principal that the key acts as."`
}

// IssueServiceKey issues a key on behalf of a service principal.
var IssueServiceKey = op.New[IssueServiceKeyIn, IssuedKey](op.Spec{
	Name: "issue-service-key", Module: Module, Method: "POST", Path: "/api/auth/api-keys/service",
	Permission: "api_key.issue_for_service", Effect: op.Write, Status: 201, Secret: true,
	Summary: "Issue a key on behalf of a service principal",
	Description: "By an administrator's session. The key lives 90 days, carries the principal's identity and roles, and is rejected while " +
		"the principal's grants are not exactly its registered profile. The token is returned exactly once.",
})

// IssueKeyIn is a personal key's label and lifetime.
type IssueKeyIn struct {
	Label         string `json:"label" required:"true" maxLength:"200" doc:"Where the key is used."`
	ExpiresInDays *int   `json:"expiresInDays" minimum:"1" doc:"The lifetime in days: 14 for an administrator and 30 for others unless told, up to the cap."`
}

// IssueKey issues a key that acts as the caller.
var IssueKey = op.New[IssueKeyIn, IssuedKey](op.Spec{
	Name: "issue-key", Module: Module, Method: "POST", Path: "/api/auth/api-keys",
	Permission: "api_key.issue", Effect: op.Write, Status: 201, Secret: true,
	Summary:     "Issue a personal key",
	Description: "By the caller's session, bound to the caller. The token is returned exactly once.",
})

// ListKeysIn selects whose keys.
type ListKeysIn struct {
	ServiceUserID op.UUID `query:"serviceUserId" doc:"A SERVICE principal, whose keys are listed instead of the caller's own."`
	Limit         int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many at most."`
	Cursor        string  `query:"cursor" maxLength:"1024" doc:"Where the page starts."`
}

// ListKeys lists key records.
var ListKeys = op.New[ListKeysIn, op.Page[Key]](op.Spec{
	Name: "list-keys", Module: Module, Method: "GET", Path: "/api/auth/api-keys", Access: op.Authenticated, Effect: op.Read,
	Summary: "List API keys",
	Description: "One's own (needs api_key.read.own), or with serviceUserId those of a service principal (needs api_key.issue_for_service). " +
		"Newest first; no token is ever listed.",
})

// RevokeKeyIn names the key and says why.
type RevokeKeyIn struct {
	KeyID        op.UUID `path:"keyId" doc:"The key's id."`
	ServiceOwned bool    `query:"serviceOwned" doc:"True for a key of a service principal."`
	Reason       string  `json:"reason" maxLength:"500" doc:"Why; required for a key of a service principal."`
}

// RevokeKey revokes a key for good.
var RevokeKey = op.New[RevokeKeyIn, Key](op.Spec{
	Name: "revoke-key", Module: Module, Method: "DELETE", Path: "/api/auth/api-keys/{keyId}", Access: op.Authenticated, Effect: op.Destroy,
	Summary: "Revoke an API key",
	Description: "One's own (needs api_key.revoke.own), or with serviceOwned=true a service principal's (needs api_key.issue_for_service). " +
		"Consumers reject it within the principal check's cache window, at most 60 seconds. A revoked key stays as it is.",
})
