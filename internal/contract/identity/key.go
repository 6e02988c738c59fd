package identity

import (
	"time"

	"parapet/internal/op"
)

// Audit actions of API keys. The entries name the acting
// administrator and the owner by id.
const (
	ActionKeyIssued  = "api_key.issued"
	ActionKeyRevoked = "api_key.revoked"
)

// Event types of API keys.
var (
	EventKeyIssued  = op.DeclareEvent[Key](Contract, "directory.user.key_issued", "An API key was issued. The payload does not contain the token.")
	EventKeyRevoked = op.DeclareEvent[Key](Contract, "directory.user.key_revoked", "An API key was revoked.")
)

// Key is the record of an API key. It never contains the token.
type Key struct {
	ID            op.UUID       `json:"id" doc:"The key's id; the same as its jti."`
	JTI           op.UUID       `json:"jti" doc:"The JWT id of the token."`
	Label         string        `json:"label" doc:"Where the key is used: user-generated, untrusted text."`
	Owner         op.UUID       `json:"owner" doc:"The user that the key acts as."`
	OwnerUser     *op.Reference `json:"ownerUser,omitempty" db:"-" doc:"The name of the record that owner identifies."`
	TenantID      op.UUID       `json:"tenantId" doc:"The tenant that the key is bound to."`
	Tenant        *op.Reference `json:"tenant,omitempty" db:"-" doc:"The name of the record that tenantId identifies."`
	Kind          string        `json:"kind" enum:"PERSONAL|SERVICE" doc:"PERSONAL: issued by the owner. SERVICE: issued for a service principal."`
	Expiry        time.Time     `json:"expiry" doc:"When the key expires."`
	CreatedBy     op.UUID       `json:"createdBy" doc:"The user who issued the key."`
	CreatedByUser *op.Reference `json:"createdByUser,omitempty" db:"-" doc:"The name of the record that createdBy identifies."`
	CreatedAt     time.Time     `json:"createdAt" doc:"When the key was issued."`
	RevokedAt     *time.Time    `json:"revokedAt,omitempty" doc:"When the key was revoked."`
	RevokedBy     op.UUID       `json:"revokedBy,omitempty" doc:"The user who revoked the key."`
	RevokedByUser *op.Reference `json:"revokedByUser,omitempty" db:"-" doc:"The name of the record that revokedBy identifies."`
	RevokeReason  string        `json:"revokeReason,omitempty" doc:"Why the key was revoked: user-generated, untrusted text."`
	LastUsedAt    *time.Time    `json:"lastUsedAt,omitempty" doc:"When the key was last accepted, accurate to the minute."`
}

// IssuedKey is a new key with its token. No other response contains the token.
type IssuedKey struct {
	Token         string        `json:"token" doc:"The token. It is returned only this once."`
	ID            op.UUID       `json:"id" doc:"The key's id; the same as its jti."`
	JTI           op.UUID       `json:"jti" doc:"The JWT id of the token."`
	Label         string        `json:"label" doc:"Where the key is used."`
	Owner         op.UUID       `json:"owner" doc:"The user that the key acts as."`
	OwnerUser     *op.Reference `json:"ownerUser,omitempty" db:"-" doc:"The name of the record that owner identifies."`
	TenantID      op.UUID       `json:"tenantId" doc:"The tenant that the key is bound to."`
	Tenant        *op.Reference `json:"tenant,omitempty" db:"-" doc:"The name of the record that tenantId identifies."`
	Kind          string        `json:"kind" enum:"PERSONAL|SERVICE" doc:"PERSONAL: issued by the owner. SERVICE: issued for a service principal."`
	Expiry        time.Time     `json:"expiry" doc:"When the key expires."`
	CreatedBy     op.UUID       `json:"createdBy" doc:"The user who issued the key."`
	CreatedByUser *op.Reference `json:"createdByUser,omitempty" db:"-" doc:"The name of the record that createdBy identifies."`
	CreatedAt     time.Time     `json:"createdAt" doc:"When the key was issued."`
}

// IssueServiceKeyIn is the input of IssueServiceKey. The lifetime is fixed.
type IssueServiceKeyIn struct {
	Label        string  `json:"label" required:"true" maxLength:"200" doc:"Where the key is used."`
	TargetUserID op.UUID `json:"targetUserId" required:"true" doc:"The SERVICE principal that the key acts as."`
}

// IssueServiceKey issues a key for a service principal.
var IssueServiceKey = op.Declare[IssueServiceKeyIn, IssuedKey](Contract, op.Spec{
	Name: "issue-service-key", Method: "POST", Path: "/api/auth/api-keys/service",
	Permission: "api_key.issue_for_service", Effect: op.Write, Status: 201, Secret: true,
	Summary: "Issue a key for a service principal",
	Description: "Requires an administrator's session. The key expires after 90 days and carries the principal's identity and roles. The request is rejected " +
		"unless the principal's grants are exactly those of its registered profile. The token is returned only once.",
})

// IssueKeyIn is the input of IssueKey.
type IssueKeyIn struct {
	Label         string `json:"label" required:"true" maxLength:"200" doc:"Where the key is used."`
	ExpiresInDays *int   `json:"expiresInDays" minimum:"1" doc:"The lifetime in days, up to the configured maximum. Default: 14 for an administrator, 30 for others."`
}

// IssueKey issues a key that acts as the caller.
var IssueKey = op.Declare[IssueKeyIn, IssuedKey](Contract, op.Spec{
	Name: "issue-key", Method: "POST", Path: "/api/auth/api-keys",
	Permission: "api_key.issue", Effect: op.Write, Status: 201, Secret: true,
	Summary:     "Issue a personal key",
	Description: "Requires a session. The key acts as the caller. The token is returned only once.",
})

// ListKeysIn selects the owner and the page.
type ListKeysIn struct {
	ServiceUserID op.UUID `query:"serviceUserId" doc:"List the keys of this SERVICE principal instead of the caller's own keys."`
	Limit         int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"Maximum number of items to return."`
	Cursor        string  `query:"cursor" maxLength:"1024" doc:"The nextCursor of the previous page; omit it for the first page."`
}

// ListKeys lists key records.
var ListKeys = op.Declare[ListKeysIn, op.Page[Key]](Contract, op.Spec{
	Name: "list-keys", Method: "GET", Path: "/api/auth/api-keys", Access: op.Authenticated, Effect: op.Read,
	Summary: "List API keys",
	Description: "Lists the caller's own keys (requires api_key.read.own) or, with serviceUserId, the keys of a service principal (requires api_key.issue_for_service). " +
		"Newest first. Tokens are never returned.",
})

// RevokeKeyIn is the input of RevokeKey.
type RevokeKeyIn struct {
	KeyID        op.UUID `path:"keyId" doc:"The key's id."`
	ServiceOwned bool    `query:"serviceOwned" doc:"Set to true to revoke a key of a service principal."`
	Reason       string  `json:"reason" maxLength:"500" doc:"Why the key is revoked. Required for a key of a service principal."`
}

// RevokeKey revokes a key permanently.
var RevokeKey = op.Declare[RevokeKeyIn, Key](Contract, op.Spec{
	Name: "revoke-key", Method: "DELETE", Path: "/api/auth/api-keys/{keyId}", Access: op.Authenticated, Effect: op.Destroy,
	Summary: "Revoke an API key",
	Description: "Revokes one of the caller's own keys (requires api_key.revoke.own) or, with serviceOwned=true, a service principal's key (requires " +
		"api_key.issue_for_service). Cached credential checks may accept the key for up to 60 seconds more. Revoking a revoked key changes nothing.",
})
