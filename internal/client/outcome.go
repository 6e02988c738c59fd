package client

import (
	"errors"
	"fmt"
	"strings"

	"parapet/internal/fault"
)

// DetailKey is the member of an OUTCOME_UNKNOWN error's details with the idempotency key
// of the request. Repeating the request with this key is safe: it returns the first
// result, or makes the change if it has not happened.
const DetailKey = "idempotencyKey"

// Retryable reports whether the caller may safely repeat the same call, because it may
// succeed later and takes effect only once. After an unknown outcome, this is true only
// if the caller chose the idempotency key.
func Retryable(f *fault.Error) bool {
	if f.Code == fault.CodeOutcomeUnknown {
		retryable, _ := f.Details[fault.DetailRetryable].(bool)
		return retryable
	}
	if SchemeErrorOf(f) != nil {
		return false
	}
	return f.Code == fault.CodeUnavailable || f.Code == fault.CodeRateLimited
}

// responseLost reports whether an attempt may have made the change although its response
// does not show it. sent reports whether a connection existed.
func responseLost(f *fault.Error, sent bool) bool {
	r := ResponseErrorOf(f)
	switch {
	case f.Code == fault.CodeOutcomeUnknown:
		return true
	case SchemeErrorOf(f) != nil:
		return false
	case r == nil:
		return sent
	default:
		// A proxy may have forwarded the request and lost the response. A 503 of the
		// service itself means that nothing was changed.
		return r.NotParapet && r.Status >= 500
	}
}

// hasOutcome reports whether the response to a repeated change shows the outcome of the
// first attempt. The service checks the idempotency key first: if the first attempt made
// the change, the service returns that response again. A validation error or conflict
// therefore means that it did not.
func hasOutcome(f *fault.Error) bool {
	r := ResponseErrorOf(f)
	if r == nil || r.NotParapet {
		return false
	}
	switch f.Code {
	case fault.CodeValidation, fault.CodeConflict, fault.CodeDuplicateTask:
		// NOT_FOUND is not in the list: the first attempt may have deleted the record.
		return true
	default:
		return false
	}
}

// outcomeUnknown returns the error for a change that may have happened. last is the error
// of the last attempt.
func outcomeUnknown(r Request, last *fault.Error) *fault.Error {
	f := &fault.Error{
		Code: fault.CodeOutcomeUnknown,
		Message: fmt.Sprintf("The change may or may not have happened: the response was lost. Last attempt: %s",
			strings.TrimSpace(last.Message)),
		Details: map[string]any{fault.DetailRetryable: r.IdempotencyKey != "" && !r.GeneratedKey},
	}
	if last.Code == fault.CodeOutcomeUnknown {
		f.Message = "The change may or may not have happened: the service lost its database connection during the commit."
	}
	if r.IdempotencyKey != "" {
		f.Details[DetailKey] = r.IdempotencyKey
	}
	return f.WithCause(last)
}

// ErrUnsettled means that the caller cancelled a change that may have happened.
var ErrUnsettled = errors.New("the change may or may not have happened")

// interruptedError returns the error for a request that the caller cancelled.
func interruptedError(r Request, err error, unknown bool) error {
	if r.Repeatable || r.Safe || !unknown || asFault(err) != nil {
		return err
	}
	return errors.Join(err, ErrUnsettled)
}

// asFault returns err as a fault, or nil if it is none. The only other errors are those
// of the caller's context.
func asFault(err error) *fault.Error {
	var f *fault.Error
	errors.As(err, &f)
	return f
}
