package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"parapet/internal/client"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// noSuchRecord starts the message of fault.NotFound.
const noSuchRecord = "There is no such "

// hint returns what the user can try after an error of the service.
func (inv *invocation) hint(f *fault.Error, r *client.ResponseError) string {
	if f.Code == fault.CodeOutcomeUnknown {
		return unknownHint(f)
	}
	if r != nil && r.NotParapet {
		return "Check the URL (pt auth status) and the proxies on the way; their logs may contain the request ID."
	}
	if wrong := client.SchemeErrorOf(f); wrong != nil {
		return "Use " + wrong.Want + ": set it in PT_BASE_URL or with pt auth login --base-url."
	}
	switch f.Code {
	case fault.CodeUnauthorized:
		return "Run pt auth login. The credential may be expired or revoked, or its owner may be suspended or no longer a member."
	case fault.CodeForbidden:
		if len(f.Reasons) > 0 {
			return remedy(f.Reasons[0])
		}
		if f.Permission != "" {
			return fmt.Sprintf("Ask an administrator for a role that grants %s.", f.Permission) + ownRolesHint
		}
		if f.Message != fault.ForbiddenTenant().Message {
			// The message names the rule. Another organisation would not help.
			return ""
		}
		return "pt list-orgs lists the organisations that you can act in; select one with --org, PT_ORG or the profile."
	case fault.CodeNotFound:
		if !strings.HasPrefix(f.Message, noSuchRecord) {
			// The message says more, such as the setting that turns the route on.
			return ""
		}
		return "Check the spelling, or try another organisation (--org). You get the same error for records that you may not see."
	case fault.CodeConflict:
		if len(f.Reasons) > 0 {
			return remedy(f.Reasons[0])
		}
		return candidateHint(f.Details)
	case fault.CodeDuplicateTask:
		return "Check the tasks above. If yours is a different task, repeat the command with --allow-duplicate."
	case fault.CodeUnavailable, fault.CodeRateLimited:
		if r == nil {
			return "Check that the service runs at this URL (PT_BASE_URL, pt auth status), or repeat the command later."
		}
		if f.RetryAfter > 0 {
			return fmt.Sprintf("Repeat the command in %s.", f.RetryAfter.Round(time.Second))
		}
		return "Repeat the command later."
	case fault.CodeValidation:
		if len(f.Reasons) > 0 {
			return remedy(f.Reasons[0])
		}
		return inv.fieldHint(f.Field)
	case fault.CodeMethodNotAllowed, fault.CodePayloadTooLarge, fault.CodeUnsupportedMedia, fault.CodePrecondition:
		return ""
	default:
		if r == nil {
			return "Check the URL (PT_BASE_URL, pt auth status) and the certificate of the service."
		}
		return "Report the request ID to the operator of the service."
	}
}

// unknownHint returns how to check whether a change happened and how to repeat it
// safely.
func unknownHint(f *fault.Error) string {
	key, _ := f.Details[client.DetailKey].(string)
	switch {
	case client.Retryable(f):
		return "Repeat the command: with the same --idempotency-key the change takes effect only once."
	case key != "":
		return "Repeat the command with --idempotency-key " + key + " to see the result; the change takes effect only once. Or check the record first (pt get-…, pt list-…)."
	default:
		return "Check the record before you repeat the command, because it could take effect twice: pt get-…, pt list-…. If a key was issued whose token you do not have (pt list-keys), revoke it (pt revoke-key)."
	}
}

// ownRolesHint follows the advice to ask for a role. A user may already hold the role: a
// session or key has only the roles that its owner held when it was issued.
const ownRolesHint = " pt auth status shows yours. If you got the role after you logged in, log in again."

// remedy returns the remedy from the policy, and for a missing permission also the
// command that shows the caller's roles.
func remedy(r fault.Reason) string {
	if r.Code == "permission_missing" {
		return r.Remedy + ownRolesHint
	}
	return r.Remedy
}

// candidateHint returns how to select one of several candidates.
func candidateHint(details map[string]any) string {
	list, _ := details["candidates"].([]any)
	if len(list) == 0 {
		return ""
	}
	m, _ := list[0].(map[string]any)
	switch {
	case m["prefix"] != nil:
		return "Name one of them by its ID or prefix."
	case m["id"] != nil:
		return "Name one of them by its ID."
	default:
		return "" // the message says how
	}
}

// candidates returns one line for each record in details.candidates.
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

// usageHint returns where the user finds what the command accepts.
func (inv *invocation) usageHint() string {
	path := inv.command.CommandPath()
	if inv.command.HasSubCommands() {
		return path + " --help lists the commands."
	}
	return path + " --help shows the arguments and flags."
}

// fieldHint names the flag or the argument that sets a field, after the service rejected its
// value.
func (inv *invocation) fieldHint(field string) string {
	if name := inv.call.inputName(field); name != "" {
		return "Change the value of " + name + "."
	}
	return ""
}

// inputName returns the flag or the argument that sets a field, or "". The field may be a
// path such as options.0.
func (k *call) inputName(field string) string {
	if k == nil {
		return ""
	}
	name, _, _ := strings.Cut(field, ".")
	for _, a := range k.args {
		if a.field.Name == name {
			return "<" + a.name + ">"
		}
	}
	for _, c := range k.form.custom {
		if c.field == name {
			return "--" + c.name
		}
	}
	for _, f := range k.op.Fields {
		if flag := k.flagName(f); f.Name == name && flag != "" {
			return "--" + flag
		}
	}
	return ""
}

// inputError returns the usage error for an input that is not valid. It names the flag or
// argument in place of the field.
func (k *call) inputError(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) {
		return usage(err)
	}
	name := k.inputName(f.Field)
	rest, isAboutField := strings.CutPrefix(f.Message, "The field "+f.Field+" ")
	if name == "" || !isAboutField {
		return usage(err)
	}
	g := *f
	g.Message = name + " " + rest
	return usage(&g)
}

// expiredReport changes the report of a rejected credential that has expired: it says when.
func (inv *invocation) expiredReport(p *errorReport) {
	facts, ok := tokenFactsOf(inv.credential.token)
	now := inv.localTime()
	if !ok || facts.expires.IsZero() || facts.expires.After(now) {
		return
	}
	from := inv.credential.tokenFrom
	p.Message = fmt.Sprintf("The credential from %s expired %s ago, on %s.", from, durationText(now.Sub(facts.expires)), facts.expires.In(now.Location()).Format(time.DateOnly))
	p.Hint = "Run pt auth login."
	if from == tokenVariable {
		p.Hint = "Set PT_AUTH_TOKEN to a new key (pt issue-key), or unset it and run pt auth login."
	}
}

// durationText returns a duration in its largest unit: "3 days", "1 hour".
func durationText(d time.Duration) string {
	switch {
	case d >= op.Days(1):
		return countOf(int(d/op.Days(1)), "days")
	case d >= time.Hour:
		return countOf(int(d/time.Hour), "hours")
	default:
		return countOf(max(int(d/time.Minute), 1), "minutes")
	}
}
