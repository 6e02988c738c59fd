package client

import (
	"errors"
	"fmt"
	"strings"

	"parapet/internal/fault"
)

// DetailKey is the member of the details of OUTCOME_UNKNOWN that holds the
// idempotency key of the request. The same request with the same key gives the
// first outcome, or carries the change out once.
const DetailKey = "idempotencyKey"

// Retryable tells whether the caller may repeat the same call: it may succeed
// later, and it is carried out once. After an unknown outcome only a call with an
// idempotency key that the caller chose may be repeated.
func Retryable(f *fault.Error) bool {
	if f.Code == fault.CodeOutcomeUnknown {
		again, _ := f.Details[fault.DetailRetryable].(bool)
		return again
	}
	return f.Code == fault.CodeUnavailable || f.Code == fault.CodeRateLimited
}

// connectionLost tells whether a try of a change may have carried it out without an answer
// that says so. sent says that a connection was there to send the request on.
func connectionLost(f *fault.Error, sent bool) bool {
	r := ResponseErrorOf(f)
	switch {
	case f.Code == fault.CodeOutcomeUnknown:
		return true
	case r == nil:
		return sent
	default:
		// A proxy may have passed the request on and lost the answer. The service's
		// own 503 says that nothing was changed.
		return r.NotParapet && r.Status >= 500
	}
}

// hasOutcome tells whether an answer to a repeated change says what became of the
// first try. The service looks at the idempotency key before it looks at the
// request: where the first try was carried out it gives that answer again.
func hasOutcome(f *fault.Error) bool {
	r := ResponseErrorOf(f)
	if r == nil || r.NotParapet {
		return false
	}
	switch f.Code {
	case fault.CodeValidation, fault.CodeConflict, fault.CodeDuplicateTask:
		// NOT_FOUND is missing here: it may be the first try that removed the record.
		return true
	default:
		return false
	}
}

// outcomeUnknown is the error of a change that may have happened. last is what the
// last try met.
func outcomeUnknown(r Request, last *fault.Error) *fault.Error {
	f := &fault.Error{
		Code: fault.CodeOutcomeUnknown,
		Message: fmt.Sprintf("The change may or may not have happened: no answer to it arrived. The last attempt: %s",
			strings.TrimSpace(last.Message)),
		Details: map[string]any{fault.DetailRetryable: r.IdempotencyKey != "" && !r.GeneratedKey},
	}
	if last.Code == fault.CodeOutcomeUnknown {
		f.Message = "The change may or may not have happened: the service lost the connection to its database while it saved the change."
	}
	if r.IdempotencyKey != "" {
		f.Details[DetailKey] = r.IdempotencyKey
	}
	return f.WithCause(last)
}

// ErrUnsettled says that a change was interrupted by the caller and may have
// happened.
var ErrUnsettled = errors.New("the change may or may not have happened")

// interruptedError is the error of a request that the caller gave up.
func interruptedError(r Request, err error, unknown bool) error {
	if r.Repeatable || r.Safe || !unknown || isFault(err) != nil {
		return err
	}
	return errors.Join(err, ErrUnsettled)
}

// isFault gives err as a fault, or nil where it is none: the caller's own end.
func isFault(err error) *fault.Error {
	var f *fault.Error
	errors.As(err, &f)
	return f
}
