// Package fault defines the product's error type: a code, a public message and a private
// cause, which is only logged.
//
// Every other error is internal: From turns it into an Error whose message reveals
// nothing. The codes are those of the error envelope. The table in status.go maps them to
// HTTP and back, so that client and server use the same codes.
package fault

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code is a class of errors: error.code in the envelope.
type Code string

// Codes of the envelope.
const (
	CodeUnauthorized     Code = "UNAUTHORIZED"
	CodeForbidden        Code = "FORBIDDEN"
	CodeNotFound         Code = "NOT_FOUND"
	CodeMethodNotAllowed Code = "METHOD_NOT_ALLOWED"
	CodeValidation       Code = "VALIDATION"
	CodeConflict         Code = "CONFLICT"
	CodePrecondition     Code = "PRECONDITION_FAILED"
	CodeDuplicateTask    Code = "DUPLICATE_TASK"
	CodePayloadTooLarge  Code = "PAYLOAD_TOO_LARGE"
	CodeUnsupportedMedia Code = "UNSUPPORTED_MEDIA_TYPE"
	CodeRateLimited      Code = "RATE_LIMITED"
	CodeInternal         Code = "INTERNAL"
	CodeUnavailable      Code = "UNAVAILABLE"
	CodeOutcomeUnknown   Code = "OUTCOME_UNKNOWN"
)

// Reason is one reason of a policy denial, with the message and remedy that the policies
// declare for its code.
type Reason struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Remedy  string `json:"remedy"`
}

// Error is an error that may be returned to a caller. Message, Reason, Reasons, Field,
// Permission and Details are public; the cause is only logged.
type Error struct {
	Code    Code
	Message string
	Reason  string
	// Reasons are the reasons of a policy denial, most specific first.
	Reasons    []Reason
	Field      string
	Permission string
	Details    map[string]any
	// RetryAfter is how long the caller should wait before a retry; zero if a retry does not help.
	RetryAfter time.Duration

	cause error
}

// Error returns the code, the message and the cause, for logs. Return Message to
// callers.
func (e *Error) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap returns the private cause.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether target is an Error with the same code, as in
// errors.Is(err, &Error{Code: CodeNotFound}).
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && (t.Message == "" || t.Message == e.Message)
}

// WithCause returns a copy of the error with a private cause.
func (e *Error) WithCause(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// WithReason returns a copy of the error with a public reason code.
func (e *Error) WithReason(reason string) *Error {
	c := *e
	c.Reason = reason
	return &c
}

// WithReasons returns a copy of the error with the reasons of a policy denial. It replaces
// {permission} in their texts by the error's permission.
func (e *Error) WithReasons(reasons []Reason) *Error {
	c := *e
	c.Reasons = nil
	inMessage, inRemedy := e.Permission, e.Permission
	if e.Permission == "" {
		inMessage, inRemedy = "needed", "it"
	}
	for _, r := range reasons {
		r.Message = strings.ReplaceAll(r.Message, PermissionPlaceholder, inMessage)
		r.Remedy = strings.ReplaceAll(r.Remedy, PermissionPlaceholder, inRemedy)
		c.Reasons = append(c.Reasons, r)
	}
	return &c
}

// PermissionPlaceholder is the placeholder for the permission in the texts of a reason.
const PermissionPlaceholder = "{permission}"

// WithDetails returns a copy of the error with public details.
func (e *Error) WithDetails(details map[string]any) *Error {
	c := *e
	c.Details = details
	return &c
}

// From returns err as an *Error. Any other error becomes INTERNAL with a generic message;
// nil remains nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var f *Error
	if errors.As(err, &f) {
		return f
	}
	return Internal(err)
}

// HasCode reports whether err is, or wraps, an Error with this code.
func HasCode(err error, code Code) bool {
	var f *Error
	return errors.As(err, &f) && f.Code == code
}

// Unauthorized returns the one error for every problem of a bearer token.
func Unauthorized() *Error {
	return &Error{Code: CodeUnauthorized, Message: "The request needs a valid credential."}
}

// Forbidden returns a policy denial that names the missing permission.
func Forbidden(permission string) *Error {
	return &Error{
		Code:       CodeForbidden,
		Message:    fmt.Sprintf("The permission %s is missing.", permission),
		Permission: permission,
	}
}

// Denied returns a policy denial with reasons; its message is that of the first one.
// permission is the permission that the operation requires.
func Denied(permission string, reasons []Reason) *Error {
	f := ForbiddenTenant()
	if permission != "" {
		f = Forbidden(permission)
	}
	f = f.WithReasons(reasons)
	if len(f.Reasons) > 0 {
		f.Message = f.Reasons[0].Message
	}
	return f
}

// ForbiddenTenant returns the generic denial of a tenant context, which reveals nothing.
func ForbiddenTenant() *Error {
	return &Error{Code: CodeForbidden, Message: "This request is not allowed."}
}

// ForbiddenBecause returns a denial that no permission would lift. The message names the rule.
func ForbiddenBecause(message string) *Error {
	return &Error{Code: CodeForbidden, Message: message}
}

// NotFound returns the error for a record that does not exist or is not visible to the
// caller. what is a noun such as "project".
func NotFound(what string) *Error {
	return &Error{Code: CodeNotFound, Message: fmt.Sprintf("There is no such %s.", what)}
}

// Validation returns an error about a field of the input.
func Validation(field, message string) *Error {
	return &Error{Code: CodeValidation, Field: field, Message: message}
}

// Conflict returns an error about a rule that the current state violates.
func Conflict(message string) *Error {
	return &Error{Code: CodeConflict, Message: message}
}

// RateLimited returns an error that tells the caller to wait.
func RateLimited(wait time.Duration) *Error {
	return &Error{Code: CodeRateLimited, Message: "Too many requests. Try again later.", RetryAfter: wait}
}

// Internal returns an error with a generic message and a private cause.
func Internal(cause error) *Error {
	return &Error{Code: CodeInternal, Message: "Something went wrong on the server.", cause: cause}
}

// Unavailable returns an error for requests that may succeed later.
func Unavailable(cause error) *Error {
	return &Error{Code: CodeUnavailable, Message: "The service is busy or starting. Try again shortly.", RetryAfter: 2 * time.Second, cause: cause}
}

// OutcomeUnknown returns an error for a change that may or may not have been saved, because
// the connection was lost during its commit. The request must not be retried automatically.
func OutcomeUnknown(cause error) *Error {
	return &Error{
		Code:    CodeOutcomeUnknown,
		Message: "The connection was lost while the change was being saved, so it may or may not have been saved. Check the record before you repeat the request.",
		Details: map[string]any{DetailRetryable: false},
		cause:   cause,
	}
}

// DetailRetryable is the detail of OUTCOME_UNKNOWN that reports whether the same request
// can be repeated. Only a request with an idempotency key can.
const DetailRetryable = "retryable"

// OutcomeUnknownWithKey is OutcomeUnknown for a request with an idempotency key, which can
// safely be repeated with the same key.
func OutcomeUnknownWithKey(cause error) *Error {
	f := OutcomeUnknown(cause)
	f.Message = "The connection was lost while the change was being saved, so it may or may not have been saved. Repeat the request with the same Idempotency-Key."
	f.Details = map[string]any{DetailRetryable: true}
	return f
}
