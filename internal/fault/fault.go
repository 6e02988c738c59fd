// Package fault owns the one error type of the product: a code, a message that
// may be said aloud, and a cause that never leaves the process.
//
// Everything that is not a *Error is internal: From turns it into one whose
// public message says nothing. The codes are those of the error envelope; the
// table in status.go maps them to HTTP and back, so that the client reads the
// same codes that the server wrote.
package fault

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code names a class of errors; it is the envelope's error.code.
type Code string

// The codes of the envelope.
const (
	CodeUnauthorized     Code = "UNAUTHORIZED"
	CodeForbidden        Code = "FORBIDDEN"
	CodeNotFound         Code = "NOT_FOUND"
	CodeMethodNotAllowed Code = "METHOD_NOT_ALLOWED"
	CodeValidation       Code = "VALIDATION"
	CodeConflict         Code = "CONFLICT"
	CodeDuplicateTask    Code = "DUPLICATE_TASK"
	CodePayloadTooLarge  Code = "PAYLOAD_TOO_LARGE"
	CodeUnsupportedMedia Code = "UNSUPPORTED_MEDIA_TYPE"
	CodeRateLimited      Code = "RATE_LIMITED"
	CodeInternal         Code = "INTERNAL"
	CodeUnavailable      Code = "UNAVAILABLE"
	CodeOutcomeUnknown   Code = "OUTCOME_UNKNOWN"
)

// Reason is one cause of a policy denial, with the sentence and the remedy that the
// policies declare for its code.
type Reason struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Remedy  string `json:"remedy"`
}

// Error is an error that may be answered. Message, Reason, Reasons, Field, Permission
// and Details are public; the cause is for the log alone.
type Error struct {
	Code    Code
	Message string
	Reason  string
	// Reasons are the causes of a policy denial, most telling first.
	Reasons    []Reason
	Field      string
	Permission string
	Details    map[string]any
	// RetryAfter is the wait that the answer asks for, where trying again helps.
	RetryAfter time.Duration

	cause error
}

// Error gives the code, the public message and the cause: text for logs. Use
// Message for what is answered.
func (e *Error) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap gives the hidden cause.
func (e *Error) Unwrap() error { return e.cause }

// Is tells two faults of the same code apart from others: errors.Is(err,
// &Error{Code: CodeNotFound}) asks for the code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && (t.Message == "" || t.Message == e.Message)
}

// WithCause returns a copy of the error that hides cause in it.
func (e *Error) WithCause(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// WithReason returns a copy of the error with its public reason set.
func (e *Error) WithReason(reason string) *Error {
	c := *e
	c.Reason = reason
	return &c
}

// WithReasons returns a copy of the error with the causes of a policy denial. In
// their texts {permission} becomes the name of the error's permission.
func (e *Error) WithReasons(reasons []Reason) *Error {
	c := *e
	c.Reasons = nil
	needed, it := e.Permission, e.Permission
	if e.Permission == "" {
		needed, it = "needed", "it"
	}
	for _, r := range reasons {
		r.Message = strings.ReplaceAll(r.Message, PermissionMark, needed)
		r.Remedy = strings.ReplaceAll(r.Remedy, PermissionMark, it)
		c.Reasons = append(c.Reasons, r)
	}
	return &c
}

// PermissionMark stands for the permission in the texts of a reason.
const PermissionMark = "{permission}"

// WithDetails returns a copy of the error with public details.
func (e *Error) WithDetails(details map[string]any) *Error {
	c := *e
	c.Details = details
	return &c
}

// From gives err as a *Error. What is none becomes INTERNAL with a message that
// says nothing; nil stays nil.
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

// HasCode tells whether err is, or wraps, a fault of this code.
func HasCode(err error, code Code) bool {
	var f *Error
	return errors.As(err, &f) && f.Code == code
}

// Unauthorized is the one answer to every bearer problem.
func Unauthorized() *Error {
	return &Error{Code: CodeUnauthorized, Message: "The request needs a valid credential."}
}

// Forbidden is a policy denial that names the missing permission.
func Forbidden(permission string) *Error {
	return &Error{
		Code:       CodeForbidden,
		Message:    fmt.Sprintf("The permission %s is missing.", permission),
		Permission: permission,
	}
}

// Denied is a policy denial for the given reasons: the message is that of the first.
// Permission is the one that the operation asks for.
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

// ForbiddenTenant is the deliberately generic denial of a tenant context.
func ForbiddenTenant() *Error {
	return &Error{Code: CodeForbidden, Message: "This request is not allowed."}
}

// ForbiddenBecause is a denial that no permission would lift; the message names the rule.
func ForbiddenBecause(message string) *Error {
	return &Error{Code: CodeForbidden, Message: message}
}

// NotFound is the answer for what does not exist and for what the caller may
// not know of. what is a noun such as "project".
func NotFound(what string) *Error {
	return &Error{Code: CodeNotFound, Message: fmt.Sprintf("There is no such %s.", what)}
}

// Validation names a field and what is wrong with it.
func Validation(field, message string) *Error {
	return &Error{Code: CodeValidation, Field: field, Message: message}
}

// Conflict says which rule the present state breaks.
func Conflict(message string) *Error {
	return &Error{Code: CodeConflict, Message: message}
}

// RateLimited asks the caller to wait.
func RateLimited(wait time.Duration) *Error {
	return &Error{Code: CodeRateLimited, Message: "Too many requests. Try again later.", RetryAfter: wait}
}

// Internal hides cause behind a message that says nothing.
func Internal(cause error) *Error {
	return &Error{Code: CodeInternal, Message: "Something went wrong on the server.", cause: cause}
}

// Unavailable says that the same request may succeed later.
func Unavailable(cause error) *Error {
	return &Error{Code: CodeUnavailable, Message: "The service is busy or starting. Try again shortly.", RetryAfter: 2 * time.Second, cause: cause}
}

// OutcomeUnknown says that a change may have happened or not: the connection was
// lost while it was committed. Nobody may repeat the request blindly.
func OutcomeUnknown(cause error) *Error {
	return &Error{
		Code:    CodeOutcomeUnknown,
		Message: "The change may have been saved or not: the connection was lost while it was being saved. Check the record before you repeat the request.",
		Details: map[string]any{DetailRetryable: false},
		cause:   cause,
	}
}

// DetailRetryable is the member of the details of OUTCOME_UNKNOWN that says
// whether the same request can be repeated: only one with an idempotency key.
const DetailRetryable = "retryable"

// OutcomeUnknownWithKey is OutcomeUnknown for a request that carries an idempotency
// key: repeated with the same key it happens once.
func OutcomeUnknownWithKey(cause error) *Error {
	f := OutcomeUnknown(cause)
	f.Message = "The change may have been saved or not: the connection was lost while it was being saved. Repeat the request with the same Idempotency-Key."
	f.Details = map[string]any{DetailRetryable: true}
	return f
}
