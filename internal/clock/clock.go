// Package clock provides the current time, so that tests can replace it.
package clock

import "time"

// Clock returns the current time.
type Clock interface {
	// Now returns the current time in UTC, truncated to microseconds, the precision of PostgreSQL.
	Now() time.Time
}

// System is the system clock.
type System struct{}

// Now implements Clock.
func (System) Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// Func is a Clock that calls a function, for tests.
type Func func() time.Time

// Now implements Clock.
func (f Func) Now() time.Time { return f().UTC().Truncate(time.Microsecond) }
