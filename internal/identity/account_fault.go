package identity

import (
	"parapet/internal/authz"
	"parapet/internal/fault"
)

// accountFault returns nil if the verdict of parapet.accounts, parapet.grants or
// parapet.roles allows the request. Otherwise it returns an error with the policy's message
// and remedy for the first reason. A verdict without a reason, or an error of the policy
// engine, gives the generic denial.
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
