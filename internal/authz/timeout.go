package authz

import "errors"

// ErrTimeout says, by errors.Is, that an evaluation was cut off by its time: the
// question is refused now and may be answered later.
var ErrTimeout = errors.New("authz: the evaluation took too long")

// Is tells a time-out from the other failures.
func (f *failure) Is(target error) bool { return target == ErrTimeout && f.reason == ReasonTimeout }
