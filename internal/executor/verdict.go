package executor

import (
	"strings"

	"parapet/internal/authz"
	"parapet/internal/fault"
)

// VerdictError converts a verdict that does not allow the action into an error with
// the message of its first reason. field is used in a VALIDATION error if the
// verdict names no field.
func VerdictError(v authz.Verdict, err error, field, noun string) error {
	if v.Code == "NOT_FOUND" {
		return fault.NotFound(noun)
	}
	if err != nil || len(v.Explained) == 0 {
		return fault.Denied(v.Permission, v.Explained).WithCause(err)
	}
	var f *fault.Error
	switch first := v.Explained[0]; v.Code {
	case "VALIDATION":
		if v.Field != "" {
			field = v.Field
		}
		f = fault.Validation(field, first.Message)
	case "CONFLICT":
		f = fault.Conflict(first.Message)
	default:
		return fault.Denied(v.Permission, v.Explained)
	}
	if v.Cap > 0 {
		f = f.WithDetails(map[string]any{"limit": v.Cap})
	}
	return f.WithReason(strings.ToUpper(v.Reasons[0])).WithReasons(v.Explained)
}
