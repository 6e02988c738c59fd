package cli

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"parapet/internal/op"
)

// errDuration is the error for text that is not a duration.
var errDuration = errors.New("must be a duration such as 90m, 1h30m, 2h or 1d")

// durationUnits are the units of a duration. A day has 24 hours.
var durationUnits = []struct {
	name string
	unit time.Duration
}{
	{"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour}, {"w", 7 * 24 * time.Hour},
}

// parseDuration parses a positive duration: numbers with units from ms to w, such as 1h30m,
// "1h 30m", 1.5h or 1d. A number without a unit counts in unit.
func parseDuration(text string, unit time.Duration) (time.Duration, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	if n, err := strconv.ParseInt(text, 10, 32); err == nil && text[0] != '+' {
		return positive(float64(n) * float64(unit))
	}
	var total float64
	for text != "" {
		digits := len(text) - len(strings.TrimLeft(text, "0123456789."))
		n, err := strconv.ParseFloat(text[:digits], 64)
		if err != nil {
			return 0, errDuration
		}
		text = text[digits:]
		letters := len(text) - len(strings.TrimLeft(text, "dhmsw"))
		factor, ok := unitOf(text[:letters])
		if !ok {
			return 0, errDuration
		}
		total += n * float64(factor)
		text = strings.TrimLeft(text[letters:], " ")
	}
	return positive(total)
}

func unitOf(name string) (time.Duration, bool) {
	for _, u := range durationUnits {
		if u.name == name {
			return u.unit, true
		}
	}
	return 0, false
}

// positive returns a number of nanoseconds as a duration, or an error if it is not positive
// or longer than ten years.
func positive(nanoseconds float64) (time.Duration, error) {
	if nanoseconds < 1 || nanoseconds > float64(op.Days(3660)) {
		return 0, errDuration
	}
	return time.Duration(math.Round(nanoseconds)), nil
}

// unitOfField returns the unit of a field that is a number of seconds, minutes or days, with
// its name, or 0. The name of the field ends with the name of the unit.
func unitOfField(f op.Field) (unit time.Duration, name string) {
	for name, unit := range map[string]time.Duration{"seconds": time.Second, "minutes": time.Minute, "days": op.Days(1)} {
		if strings.HasSuffix(strings.ToLower(f.Name), name) {
			return unit, name
		}
	}
	return 0, ""
}
