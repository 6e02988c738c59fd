package authz

import "errors"

// ErrTimeout matches, with errors.Is, an evaluation that exceeded its timeout. The request
// is denied; a retry may succeed.
var ErrTimeout = errors.New("authz: evaluation timed out")

// Is reports whether the failure is a timeout.
func (f *failure) Is(target error) bool { return target == ErrTimeout && f.reason == ReasonTimeout }
