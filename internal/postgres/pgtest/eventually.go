package pgtest

import (
	"testing"
	"time"
)

// Eventually repeats ok until it returns true, and fails the test after the given time. Use it
// only if nothing signals the condition. within is a deadline for a slow machine, not an
// expectation.
func Eventually(tb testing.TB, within time.Duration, condition string, ok func() bool) {
	tb.Helper()
	for end := time.Now().Add(within); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("not met within %s: %s", within, condition)
		}
	}
}
