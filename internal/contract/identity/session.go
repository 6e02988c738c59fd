package identity

import (
	"time"

	"parapet/internal/op"
)

// Audit actions of sessions, passwords and addresses.
const (
	ActionSessionCreated  = "session.created"
	ActionSessionRefused  = "session.refused"
	ActionSessionRevoked  = "session.revoked"
	ActionPasswordChanged = "user.password_changed"
	ActionResetStarted    = "user.password_reset_started"
	ActionResetRefused    = "user.password_reset_refused"
	ActionPasswordReset   = "user.password_reset"
	ActionAddressChanged  = "user.address_changed"
)

// Event types of sessions.
var (
	EventPasswordChanged = op.DeclareEvent[ChangedPassword](Contract, "directory.user.password_changed", "The password of a user changed.")
	EventResetStarted    = op.DeclareEvent[StartedReset](Contract, "directory.password_reset.started", "A password reset was started. A job then sends the link.")
	EventResetRequested  = op.DeclareEvent[ResetRequest](Contract, "directory.password_reset.requested", "Somebody without a session requested reset links for an address. The event belongs to no tenant.")
)

// LoginIn is the input of Login.
type LoginIn struct {
	Email    string  `json:"email" required:"true" minLength:"3" maxLength:"254" doc:"The account's e-mail address."`
	Password string  `json:"password" required:"true" maxLength:"1024" doc:"The account's password."`
	TenantID op.UUID `json:"tenantId" doc:"The tenant to act in. Default: the account's home tenant."`
}

// LoginOut is a new session. Its token is also accepted as a bearer token.
type LoginOut struct {
	Token     string    `json:"token" doc:"The session token. It is also set as a cookie."`
	ExpiresAt time.Time `json:"expiresAt" doc:"When the session expires."`
	TenantID  op.UUID   `json:"tenantId" doc:"The tenant that the session is bound to."`
	User      Person    `json:"user" doc:"The user who logged in."`
}

// SessionCookie returns the cookie that the response sets.
func (o *LoginOut) SessionCookie() (token string, expires time.Time) { return o.Token, o.ExpiresAt }

// Person is a user as the session and account operations return it.
type Person struct {
	ID             op.UUID `json:"id" doc:"The user's id."`
	Email          string  `json:"email" doc:"For display only; not used for authorization."`
	DisplayName    string  `json:"displayName" doc:"For display only; not used for authorization."`
	PrincipalKind  string  `json:"principalKind" enum:"HUMAN|SERVICE|AGENT" doc:"A person, an integration or a synthetic agent."`
	IntegrationKey string  `json:"integrationKey,omitempty" doc:"The integration that a SERVICE principal represents."`
	Status         string  `json:"status" enum:"ACTIVE|SUSPENDED|DELETED" doc:"The user's status."`
	Clearance      string  `json:"clearance,omitempty" doc:"The user's clearance in the tenant."`
}

// Login creates a session.
var Login = op.Declare[LoginIn, LoginOut](Contract, op.Spec{
	Name: "login", Method: "POST", Path: "/api/auth/login", Access: op.Public, Effect: op.Write, Secret: true,
	Summary: "Log in with e-mail address and password",
	Description: "Creates a session of 12 hours and returns it as a token and as a cookie. A wrong address and a wrong password return the same error. " +
		"Attempts are limited per account and per client address.",
})

// LogoutIn is empty: the session of the request is revoked.
type LogoutIn struct{}

// LogoutOut deletes the browser's session cookie.
type LogoutOut struct{}

// SessionCookie returns an empty cookie.
func (o *LogoutOut) SessionCookie() (token string, expires time.Time) { return "", time.Time{} }

// Logout revokes the session of the request.
var Logout = op.Declare[LogoutIn, LogoutOut](Contract, op.Spec{
	Name: "logout", Method: "POST", Path: "/api/auth/logout", Access: op.Authenticated, Effect: op.Write, Status: 204,
	Summary:     "Log out",
	Description: "Revokes the session of the request. To revoke an API key, use revoke-key.",
})

// ChangePasswordIn is the input of ChangePassword.
type ChangePasswordIn struct {
	CurrentPassword string `json:"currentPassword" required:"true" maxLength:"1024" doc:"The current password."`
	NewPassword     string `json:"newPassword" required:"true" minLength:"12" maxLength:"256" doc:"The new password: at least 12 characters, and not based on the account's e-mail address."`
}

// ChangePassword changes the caller's password.
var ChangePassword = op.Declare[ChangePasswordIn, op.None](Contract, op.Spec{
	Name: "change-password", Method: "PUT", Path: "/api/auth/password", Access: op.Authenticated, Effect: op.Write, Status: 204, Secret: true,
	Summary:     "Change your password",
	Description: "Requires a session in the account's home tenant. Revokes every other session of the account.",
})

// ChangeEmailIn is the input of ChangeEmail.
type ChangeEmailIn struct {
	Email           string `json:"email" required:"true" format:"email" minLength:"3" maxLength:"254" doc:"The new address, or the current address to confirm it."`
	CurrentPassword string `json:"currentPassword" required:"true" maxLength:"1024" doc:"The account's password."`
}

// ChangeEmail changes or confirms the caller's e-mail address.
var ChangeEmail = op.Declare[ChangeEmailIn, op.None](Contract, op.Spec{
	Name: "change-email", Method: "PUT", Path: "/api/auth/email", Access: op.Authenticated, Effect: op.Write, Status: 204, Secret: true,
	Summary: "Change or confirm your e-mail address",
	Description: "Requires a session in the account's home tenant. Password reset links are sent only to an address that the account's user has set or confirmed. " +
		"After an administrator has changed the address, confirm it by sending the same address. " +
		"A new address does not identify you as an assignee or in other inputs until you reset the password with a link that was sent to it, or an administrator sets it.",
})

// RequestPasswordResetIn is the input of RequestPasswordReset.
type RequestPasswordResetIn struct {
	Email string `json:"email" required:"true" minLength:"3" maxLength:"254" doc:"The account's e-mail address."`
}

// RequestPasswordReset sends links to set a new password.
var RequestPasswordReset = op.Declare[RequestPasswordResetIn, op.None](Contract, op.Spec{
	Name: "request-password-reset", Method: "POST", Path: "/api/auth/password-reset-request", Access: op.Public, Effect: op.Write, Status: 202,
	Summary: "Request a link to set a new password",
	Description: "Sends one link for each active account with this address; accounts in different home tenants can share an address. The response is the same " +
		"whether or not there is an account. Attempts are limited per address and per client.",
})

// ResetPasswordIn is the input of ResetPassword.
type ResetPasswordIn struct {
	Token       string `json:"token" required:"true" maxLength:"200" doc:"The token from the link."`
	NewPassword string `json:"newPassword" required:"true" minLength:"12" maxLength:"256" doc:"The new password: at least 12 characters, and not based on the account's e-mail address."`
}

// ResetPassword sets a new password with the token of a reset link.
var ResetPassword = op.Declare[ResetPasswordIn, op.None](Contract, op.Spec{
	Name: "reset-password", Method: "POST", Path: "/api/auth/password-reset", Access: op.Public, Effect: op.Write, Status: 204, Secret: true,
	Summary: "Set a new password with the token of a reset link",
	Description: "A token works once and expires after 30 minutes. Revokes every session of the account, in every tenant. An unknown, a used and an expired token " +
		"return the same error. Attempts are limited per client.",
})

// ChangedPassword is the payload of EventPasswordChanged.
type ChangedPassword struct {
	ID op.UUID `json:"id" doc:"The user whose password changed."`
}

// StartedReset is the payload of EventResetStarted.
type StartedReset struct {
	ID     op.UUID `json:"id" doc:"The reset's id."`
	UserID op.UUID `json:"userId" doc:"The user whose password can be reset."`
}

// ResetRequest is the payload of EventResetRequested.
type ResetRequest struct {
	Email string `json:"email"`
}
