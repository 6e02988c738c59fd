package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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

// errReported ends a command with ExitError after it said all there is to say.
var errReported = errors.New("reported")

// errNoAnswer ends the wait for a decision that was cancelled, after that was said.
var errNoAnswer = errors.New("the decision request was cancelled")

// usageError is a command line that can't be carried out.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usage(err error) error { return &usageError{err} }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// notLoggedIn is the error of a command that needs a credential where none is.
type notLoggedIn struct{ message string }

func (e *notLoggedIn) Error() string { return e.message }

// refusedLogin is the service's refusal of an address with its password. It does
// not say which of them is wrong.
type refusedLogin struct{ error }

func (e *refusedLogin) Unwrap() error { return e.error }

// exitCode maps an error to the code that pt exits with.
func exitCode(err error) int {
	var wrong *usageError
	var nobody *notLoggedIn
	var folder *unboundError
	var pending *pendingError
	var f *fault.Error
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, errCancelled), errors.Is(err, errNoAnswer), errors.Is(err, context.Canceled):
		return ExitCancelled
	case errors.As(err, &wrong):
		return ExitUsage
	case errors.As(err, &nobody):
		return ExitAuthentication
	case errors.As(err, &folder):
		return ExitNotFound
	case errors.As(err, &pending):
		return ExitPending
	case errors.As(err, &f):
		return faultCode(f)
	default:
		return ExitError
	}
}

func faultCode(f *fault.Error) int {
	switch f.Code {
	case fault.CodeNotFound:
		return ExitNotFound
	case fault.CodeUnauthorized:
		return ExitAuthentication
	case fault.CodeConflict, fault.CodeDuplicateTask:
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

// problem is an error as pt tells it: what happened, why, what to try.
type problem struct {
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

// exit tells of an error on the error stream and gives the exit code.
func (inv *invocation) exit(err error, args []string) int {
	code := exitCode(err)
	if err == nil || errors.Is(err, errReported) || errors.Is(err, errNoAnswer) {
		return code
	}
	p := describe(err, code)
	// A command line that could not be read has not set the flags yet.
	if inv.wantsJSON() || (!inv.started && slices.Contains(args, "--json")) {
		doc, merr := json.Marshal(map[string]problem{"error": p}, json.Deterministic(true))
		if merr == nil {
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

func describe(err error, code int) problem {
	var wrong *usageError
	var nobody *notLoggedIn
	var folder *unboundError
	var pending *pendingError
	var f *fault.Error
	switch {
	case code == ExitCancelled && errors.Is(err, client.ErrUnsettled):
		return problem{Code: "CANCELLED", Message: "Cancelled. The change may or may not have happened.", Hint: "Look at the record before you repeat the command."}
	case code == ExitCancelled:
		return problem{Code: "CANCELLED", Message: "Cancelled."}
	case errors.As(err, &wrong):
		p := problem{Code: "USAGE", Message: wrong.Error(), Hint: "pt --help, or --help after the command."}
		if errors.As(err, &f) {
			p.Message, p.Field = f.Message, f.Field
		}
		return p
	case errors.As(err, &nobody):
		return problem{Code: string(fault.CodeUnauthorized), Message: nobody.message, Hint: "pt auth login, or set PT_AUTH_TOKEN (pt help environment)."}
	case errors.As(err, &folder):
		return problem{Code: string(fault.CodeNotFound), Message: folder.Error(), Hint: "Name a project, set PT_PROJECT, or bind the folder: pt bind-repo <project>."}
	case errors.As(err, &pending):
		return problem{
			Code: "DECISION_PENDING", Message: pending.Error(), Retryable: true,
			Hint: "The same command again; --timeout says how long it waits. pt list-tasks --awaiting-decision shows what waits.",
		}
	case !errors.As(err, &f):
		return problem{Code: "ERROR", Message: err.Error()}
	}
	r := client.ResponseErrorOf(err)
	p := problem{
		Code: string(f.Code), Message: f.Message, Reason: f.Reason, Reasons: f.Reasons, Field: f.Field, Permission: f.Permission,
		Details: f.Details, Retryable: client.Retryable(f), Hint: hint(f, r),
	}
	if r != nil {
		p.RequestID = r.RequestID
	}
	if login := (*refusedLogin)(nil); errors.As(err, &login) && (r == nil || !r.NotParapet) {
		p.Message = "No account that can log in has this address and this password."
		p.Hint = "Type both again. An administrator can tell whether the account is suspended."
	}
	return p
}

// hint says what may help against an error of the service.
func hint(f *fault.Error, r *client.ResponseError) string {
	if f.Code == fault.CodeOutcomeUnknown {
		return unknownHint(f)
	}
	if r != nil && r.NotParapet {
		return "Check the address (pt auth status) and what stands between here and there; the request id may be in its log."
	}
	switch f.Code {
	case fault.CodeUnauthorized:
		return "pt auth login. The credential may be expired or revoked, or its owner suspended or no longer a member."
	case fault.CodeForbidden:
		if len(f.Reasons) > 0 {
			return remedy(f.Reasons[0])
		}
		if f.Permission != "" {
			return fmt.Sprintf("Ask an administrator for a role that grants %s; pt auth status shows yours.", f.Permission)
		}
		if f.Message != fault.ForbiddenTenant().Message {
			// The message names the rule; another organisation would not help.
			return ""
		}
		return "pt list-orgs shows where you can act; --org, PT_ORG and the profile choose."
	case fault.CodeNotFound:
		return "Look for a typing error, or another organisation (--org). What you may not see answers like this too."
	case fault.CodeConflict:
		if len(f.Reasons) > 0 {
			return remedy(f.Reasons[0])
		}
		return candidateHint(f.Details)
	case fault.CodeDuplicateTask:
		return "Look at the tasks above first. If it is another one all the same: the same command with --allow-duplicate."
	case fault.CodeUnavailable, fault.CodeRateLimited:
		if f.RetryAfter > 0 {
			return fmt.Sprintf("The same command again in %s.", f.RetryAfter.Round(time.Second))
		}
		return "The same command again in a while."
	case fault.CodeValidation:
		if len(f.Reasons) > 0 {
			return remedy(f.Reasons[0])
		}
		return "--help after the command says what it takes."
	case fault.CodeMethodNotAllowed, fault.CodePayloadTooLarge, fault.CodeUnsupportedMedia:
		return ""
	default:
		return "Give the request id to whoever runs the service."
	}
}

// unknownHint says how to find out what became of a change, and how to repeat it
// safely.
func unknownHint(f *fault.Error) string {
	key, _ := f.Details[client.DetailKey].(string)
	switch {
	case client.Retryable(f):
		return "The same command again: with its --idempotency-key the change is carried out once."
	case key != "":
		return "The same command with --idempotency-key " + key + " carries the change out once and shows what came of it; or look at the record first (pt get-…, pt list-…)."
	default:
		return "Look before you repeat the command, it could be carried out twice: pt get-… and pt list-… show the record. pt list-keys shows a key that was issued; revoke it if you have no token (pt revoke-key)."
	}
}

// remedy is what the policies say would help, and where one's own authority is shown.
func remedy(r fault.Reason) string {
	if r.Code == "permission_missing" {
		return r.Remedy + " pt auth status shows yours."
	}
	return r.Remedy
}

// candidateHint says how one of several candidates is named.
func candidateHint(details map[string]any) string {
	list, _ := details["candidates"].([]any)
	if len(list) == 0 {
		return ""
	}
	if m, ok := list[0].(map[string]any); ok && m["prefix"] != nil {
		return "Name one of them by its id or prefix."
	}
	return "Name one of them by its id."
}

// candidates lists what details.candidates offers, one line each.
func candidates(details map[string]any) []string {
	list, _ := details["candidates"].([]any)
	var lines []string
	for _, c := range list {
		m, _ := c.(map[string]any)
		var parts []string
		for _, name := range []string{"key", "prefix", "name", "title", "id", "similarity"} {
			if v, ok := m[name]; ok {
				parts = append(parts, fmt.Sprint(v))
			}
		}
		if len(parts) > 0 {
			lines = append(lines, strings.Join(parts, "  "))
		}
	}
	return lines
}
