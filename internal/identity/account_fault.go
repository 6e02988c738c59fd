package identity

import (
	"parapet/internal/authz"
	"parapet/internal/fault"
)

// accountFault turns a verdict of parapet.accounts, parapet.grants or parapet.roles
// into an error: nil for an allow, else the reason's sentence and remedy as the
// policies declare them. A verdict without a reason, or an error of the engine, gets
// the generic denial.
func accountFault(v authz.Verdict, err error) error {
	switch {
	case err == nil && v.Allow:
		return nil
	case err != nil || len(v.Explained) == 0:
		return fault.ForbiddenTenant().WithCause(err)
	case v.Code == string(fault.CodeConflict):
		return fault.Conflict(v.Explained[0].Message).WithReasons(v.Explained)
	default:
		return fault.Denied(v.Permission, v.Explained)
	}
}
