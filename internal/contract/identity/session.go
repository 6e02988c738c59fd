package identity

import (
	"time"

	"parapet/internal/op"
)

// Session actions, as the audit log names them.
const (
	ActionSessionCreated  = "session.created"
	ActionSessionRefused  = "session.refused"
	ActionSessionRevoked  = "session.revoked"
	ActionPasswordChanged = "user.password_changed"
	ActionResetStarted    = "user.password_reset_started"
	ActionResetRefused    = "user.password_reset_refused"
	ActionPasswordReset   = "user.password_reset"
	ActionAddressChanged  = "user.address_changed"

	EventPasswordChanged = "directory.user.password_changed"
	// EventResetStarted asks for a link to be sent: its aggregate is the reset.
	EventResetStarted = "directory.password_reset.started"
	// EventResetRequested is without a tenant: somebody who says to hold accounts of
	// an address asks for links. Its payload is a ResetRequest.
	EventResetRequested = "directory.password_reset.requested"
)

// LoginIn is what a person logs in with.
type LoginIn struct {
	Email    string  `json:"email" required:"true" minLength:"3" maxLength:"254" doc:"The account's e-mail address."`
	Password string  `json:"password" required:"true" maxLength:"1024" doc:"The account's password."`
	TenantID op.UUID `json:"tenantId" doc:"The tenant to act in; the account's own tenant unless told."`
}

// LoginOut is a session. The token works as a Bearer too.
type LoginOut struct {
	Token     string    `json:"token" doc:"The session token. It is also set as a cookie."`
	ExpiresAt time.Time `json:"expiresAt" doc:"When the session ends."`
	TenantID  op.UUID   `json:"tenantId" doc:"The tenant that the session is bound to."`
	User      Person    `json:"user" doc:"Who logged in."`
}

// SessionCookie is the session that a browser keeps.
func (o *LoginOut) SessionCookie() (token string, expires time.Time) { return o.Token, o.ExpiresAt }

// Person is a user as the credential operations show it.
type Person struct {
	ID             op.UUID `json:"id" doc:"The user's id."`
	Email          string  `json:"email" doc:"For display; nothing is decided by it."`
	DisplayName    string  `json:"displayName" doc:"For display; nothing is decided by it."`
	PrincipalKind  string  `json:"principalKind" enum:"HUMAN|SERVICE|AGENT" doc:"A person, an integration or a synthetic agent."`
	IntegrationKey string  `json:"integrationKey,omitempty" doc:"The integration that a SERVICE principal stands for."`
	Status         string  `json:"status" enum:"ACTIVE|SUSPENDED|DELETED" doc:"The user's status."`
	Clearance      string  `json:"clearance,omitempty" doc:"The clearance in the tenant."`
}

// Login begins a session.
var Login = op.New[LoginIn, LoginOut](op.Spec{
	Name: "login", Module: Module, Method: "POST", Path: "/api/auth/login", Access: op.Public, Effect: op.Write, Secret: true,
	Summary: "Log in with e-mail address and password",
	Description: "Gives a session of 12 hours, as a token and as a cookie. A wrong address and a wrong password are the same answer. " +
		"Attempts are throttled by account and by address.",
})

// LogoutIn is empty: the session is the one that the request comes with.
type LogoutIn struct{}

// LogoutOut takes the browser's cookie away.
type LogoutOut struct{}

// SessionCookie is none.
func (o *LogoutOut) SessionCookie() (token string, expires time.Time) { return "", time.Time{} }

// Logout ends the session that asks for it.
var Logout = op.New[LogoutIn, LogoutOut](op.Spec{
	Name: "logout", Module: Module, Method: "POST", Path: "/api/auth/logout", Access: op.Authenticated, Effect: op.Write, Status: 204,
	Summary:     "Log out",
	Description: "Revokes the session that the request comes with. An API key is revoked by its own route.",
})

// ChangePasswordIn is the old password and the new one.
type ChangePasswordIn struct {
	CurrentPassword string `json:"currentPassword" required:"true" maxLength:"1024" doc:"The password until now."`
	NewPassword     string `json:"newPassword" required:"true" minLength:"12" maxLength:"256" doc:"The new password: 12 characters or more, not the account's own name."`
}

// ChangePassword sets one's own password.
var ChangePassword = op.New[ChangePasswordIn, op.None](op.Spec{
	Name: "change-password", Module: Module, Method: "PUT", Path: "/api/auth/password", Access: op.Authenticated, Effect: op.Write, Status: 204, Secret: true,
	Summary:     "Change one's own password",
	Description: "By session alone, in the account's own tenant. Every other session of the account ends.",
})

// ChangeEmailIn is the address to set and the password that proves the holder.
type ChangeEmailIn struct {
	Email           string `json:"email" required:"true" format:"email" minLength:"3" maxLength:"254" doc:"The new address, or the present one to confirm it."`
	CurrentPassword string `json:"currentPassword" required:"true" maxLength:"1024" doc:"The account's password."`
}

// ChangeEmail sets or confirms one's own e-mail address.
var ChangeEmail = op.New[ChangeEmailIn, op.None](op.Spec{
	Name: "change-email", Module: Module, Method: "PUT", Path: "/api/auth/email", Access: op.Authenticated, Effect: op.Write, Status: 204, Secret: true,
	Summary: "Change or confirm one's own e-mail address",
	Description: "By session alone, in the account's own tenant. Links for a password reset go only to an address that the holder has set or confirmed: " +
		"after an administrator has changed it, confirm it here with the same address.",
})

// RequestPasswordResetIn names the account by its address.
type RequestPasswordResetIn struct {
	Email string `json:"email" required:"true" minLength:"3" maxLength:"254" doc:"The account's e-mail address."`
}

// RequestPasswordReset asks for a link to set a new password.
var RequestPasswordReset = op.New[RequestPasswordResetIn, op.None](op.Spec{
	Name: "request-password-reset", Module: Module, Method: "POST", Path: "/api/auth/password-reset-request", Access: op.Public, Effect: op.Write, Status: 202,
	Summary: "Ask for a link to set a new password",
	Description: "Sends a link to each active account of the address, one for each tenant that administers one. The answer is the same whether or not there is an account. " +
		"Attempts are throttled by address and by client.",
})

// ResetPasswordIn is the token of a link and the new password.
type ResetPasswordIn struct {
	Token       string `json:"token" required:"true" maxLength:"200" doc:"The token in the link."`
	NewPassword string `json:"newPassword" required:"true" minLength:"12" maxLength:"256" doc:"The new password: 12 characters or more, not the account's own name."`
}

// ResetPassword sets a new password by the token of a link.
var ResetPassword = op.New[ResetPasswordIn, op.None](op.Spec{
	Name: "reset-password", Module: Module, Method: "POST", Path: "/api/auth/password-reset", Access: op.Public, Effect: op.Write, Status: 204, Secret: true,
	Summary: "Set a new password with the token of a reset link",
	Description: "A token is good once, for 30 minutes. Every session of the account ends, in every tenant. An unknown, used or expired token is one and the same error. " +
		"Attempts are throttled by client.",
})

// ResetRequest is the payload of EventResetRequested.
type ResetRequest struct {
	Email string `json:"email"`
}
