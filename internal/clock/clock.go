// Package clock is where the product asks for the time, so that a test can say
// what time it is.
package clock

import "time"

// Clock tells the time.
type Clock interface {
	// Now is the present moment in UTC, cut to microseconds: what Postgres keeps.
	Now() time.Time
}

// System is the machine's clock.
type System struct{}

// Now is the present moment.
func (System) Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// Func is a clock made from a function, for tests.
type Func func() time.Time

// Now calls the function.
func (f Func) Now() time.Time { return f().UTC().Truncate(time.Microsecond) }
