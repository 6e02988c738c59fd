package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"parapet/internal/cli/text"
	"parapet/internal/client"
	"parapet/internal/fault"
)

// The exit codes of pt. `pt help exit-codes` prints them.
const (
	ExitDone           = 0
	ExitError          = 1
	ExitCancelled      = 2
	ExitNotFound       = 3
	ExitAuthentication = 4
	ExitConflict       = 5
	ExitForbidden      = 6
	ExitLater          = 7
	ExitPending        = 8
	ExitUnknown        = 9
	ExitUsage          = 64
)

var errCancelled = errors.New("cancelled")

// errReported ends a command with ExitError and prints nothing: the command has
// already reported its errors.
var errReported = errors.New("reported")

// errNoAnswer ends pt wait-decision with ExitCancelled and prints nothing: the command
// has already reported that the request was cancelled.
var errNoAnswer = errors.New("the decision request was cancelled")

// usageError is the error for a wrong command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usage(err error) error { return &usageError{err} }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// notLoggedInError is the error of a command that needs a credential and has none.
type notLoggedInError struct{ message string }

func (e *notLoggedInError) Error() string { return e.message }

// rejectedLoginError is the error for a login that the service rejected. The service does
// not say whether the email address or the password is wrong.
type rejectedLoginError struct{ error }

func (e *rejectedLoginError) Unwrap() error { return e.error }

// exitCode returns the exit code for an error.
func exitCode(err error) int {
	var wrong *usageError
	var notLoggedIn *notLoggedInError
	var notBound *notBoundError
	var noRequest *noRequestError
	var pending *pendingError
	var f *fault.Error
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, errCancelled), errors.Is(err, errNoAnswer), errors.Is(err, context.Canceled):
		return ExitCancelled
	case errors.Is(err, errDenied):
		return ExitForbidden
	case errors.As(err, &wrong):
		return ExitUsage
	case errors.As(err, &notLoggedIn):
		return ExitAuthentication
	case errors.As(err, &notBound), errors.As(err, &noRequest):
		return ExitNotFound
	case errors.As(err, &pending):
		return ExitPending
	case errors.As(err, &f):
		return faultExitCode(f)
	default:
		return ExitError
	}
}

func faultExitCode(f *fault.Error) int {
	switch f.Code {
	case fault.CodeNotFound:
		return ExitNotFound
	case fault.CodeUnauthorized:
		return ExitAuthentication
	case fault.CodeConflict, fault.CodeDuplicateTask, fault.CodePrecondition:
		return ExitConflict
	case fault.CodeForbidden:
		return ExitForbidden
	case fault.CodeUnavailable, fault.CodeRateLimited:
		return ExitLater
	case fault.CodeOutcomeUnknown:
		return ExitUnknown
	case fault.CodeValidation, fault.CodeMethodNotAllowed, fault.CodePayloadTooLarge, fault.CodeUnsupportedMedia, fault.CodeInternal:
		return ExitError
	default:
		return ExitError
	}
}

// errorReport is an error as pt prints it: what happened, why, and what to try.
type errorReport struct {
	Code       string         `json:"code"`
	Message    string         `json:"message"`
	Hint       string         `json:"hint"`
	RequestID  string         `json:"requestId"`
	Retryable  bool           `json:"retryable"`
	Reason     string         `json:"reason,omitempty"`
	Reasons    []fault.Reason `json:"reasons,omitempty"`
	Field      string         `json:"field,omitempty"`
	Permission string         `json:"permission,omitempty"`
	Details    map[string]any `json:"details,omitempty"`
}

// reportError prints err to the error stream and returns the exit code.
func (inv *invocation) reportError(err error, args []string) int {
	code := exitCode(err)
	if err == nil || errors.Is(err, errReported) || errors.Is(err, errNoAnswer) || errors.Is(err, errDenied) {
		return code
	}
	p := inv.newErrorReport(err, code)
	// If the command line could not be parsed, the flags are not set yet.
	if inv.wantsJSON() || (!inv.started && slices.Contains(args, "--json")) {
		doc, marshalErr := json.Marshal(map[string]errorReport{"error": p}, json.Deterministic(true))
		if marshalErr == nil {
			fmt.Fprintf(inv.Err, "%s\n", text.JSON(doc))
			return code
		}
	}
	fmt.Fprintf(inv.Err, "pt: %s\n", text.Line(p.Message))
	for _, line := range candidates(p.Details) {
		fmt.Fprintf(inv.Err, "  %s\n", text.Line(line))
	}
	if p.Reason != "" {
		fmt.Fprintf(inv.Err, "Why: %s\n", text.Line(p.Reason))
	}
	if p.Hint != "" {
		fmt.Fprintf(inv.Err, "Try: %s\n", text.Line(p.Hint))
	}
	if p.RequestID != "" {
		fmt.Fprintf(inv.Err, "Request: %s\n", text.Line(p.RequestID))
	}
	return code
}

// newErrorReport returns the report for err. code is the exit code for err.
func (inv *invocation) newErrorReport(err error, code int) errorReport {
	var wrong *usageError
	var notLoggedIn *notLoggedInError
	var notBound *notBoundError
	var noRequest *noRequestError
	var pending *pendingError
	var f *fault.Error
	switch {
	case code == ExitCancelled && errors.Is(err, client.ErrUnsettled):
		return errorReport{Code: "CANCELLED", Message: "Cancelled. The change may or may not have happened.", Hint: "Check the record before you repeat the command."}
	case code == ExitCancelled:
		return errorReport{Code: "CANCELLED", Message: "Cancelled."}
	case errors.As(err, &wrong):
		p := errorReport{Code: "USAGE", Message: wrong.Error(), Hint: inv.usageHint()}
		if errors.As(err, &f) {
			p.Message, p.Field = f.Message, f.Field
		}
		return p
	case errors.As(err, &notLoggedIn):
		return errorReport{Code: string(fault.CodeUnauthorized), Message: notLoggedIn.message, Hint: "Run pt auth login, or set PT_AUTH_TOKEN (pt help environment)."}
	case errors.As(err, &notBound):
		return errorReport{Code: string(fault.CodeNotFound), Message: notBound.Error(), Hint: "Name a project, set PT_PROJECT, or bind the directory: pt bind-repo <project>."}
	case errors.As(err, &noRequest):
		return errorReport{Code: string(fault.CodeNotFound), Message: noRequest.Error(), Hint: "pt list-decision-requests " + noRequest.task + " lists its resolved requests; pt inbox lists the open requests that you may answer."}
	case errors.As(err, &pending):
		return errorReport{
			Code: "DECISION_PENDING", Message: pending.Error(), Retryable: true,
			Hint: "Repeat the command; --timeout sets how long it waits. pt list-tasks --awaiting-decision lists the tasks that wait for an answer.",
		}
	case !errors.As(err, &f):
		return errorReport{Code: "ERROR", Message: err.Error()}
	}
	r := client.ResponseErrorOf(err)
	p := errorReport{
		Code: string(f.Code), Message: f.Message, Reason: f.Reason, Reasons: f.Reasons, Field: f.Field, Permission: f.Permission,
		Details: f.Details, Retryable: client.Retryable(f), Hint: inv.hint(f, r),
	}
	if r != nil {
		p.RequestID = r.RequestID
	}
	if f.Code == fault.CodeUnauthorized && (r == nil || !r.NotParapet) {
		inv.expiredReport(&p)
	}
	if login := (*rejectedLoginError)(nil); errors.As(err, &login) && (r == nil || !r.NotParapet) {
		p.Message = "The email address or the password is wrong, or the account is suspended."
		p.Hint = "Enter both again. An administrator can check whether the account is suspended."
	}
	return p
}
