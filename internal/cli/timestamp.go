package cli

import (
	"errors"
	"time"
)

// timestampFlag returns a flag for a field that is an RFC 3339 timestamp. parse parses the
// text of the user; now is the current time in the time zone of the user.
func timestampFlag[In any](
	field, name, help string, parse func(text string, now time.Time) (time.Time, error), set func(in *In, timestamp string),
) customFlag {
	return customFlag{field: field, name: name, help: help, applyAt: func(in any, now time.Time, text string) error {
		typed, ok := in.(*In)
		if !ok {
			return usagef("--%s does not fit the command", name)
		}
		t, err := parse(text, now)
		if err != nil {
			return usagef("--%s %q: %w", name, text, err)
		}
		set(typed, t.UTC().Format(time.RFC3339Nano))
		return nil
	}}
}

// parsePastTime parses a time span before now (30m, 2h, 7d), a date in the time zone of
// now, or an RFC 3339 timestamp. A date is the start of the day.
func parsePastTime(text string, now time.Time) (time.Time, error) {
	if t, ok := parseTimestamp(text, now, 0); ok {
		return t, nil
	}
	// A number without a unit is not a time span.
	if span, err := parseDuration(text, 0); err == nil {
		return now.Add(-span), nil
	}
	return time.Time{}, errors.New("must be a time span such as 30m, 2h or 7d, a date such as 2027-03-01 or yesterday, or a timestamp such as 2027-03-01T09:00:00Z")
}

// parseStart parses a time span after now (8h, 2w), a date in the time zone of now, or an
// RFC 3339 timestamp. A date is the start of the day.
func parseStart(text string, now time.Time) (time.Time, error) { return parseFutureTime(text, now, 0) }

// parseEnd is like parseStart, but a date is the end of the day.
func parseEnd(text string, now time.Time) (time.Time, error) { return parseFutureTime(text, now, 1) }

func parseFutureTime(text string, now time.Time, daysLater int) (time.Time, error) {
	if t, ok := parseTimestamp(text, now, daysLater); ok {
		return t, nil
	}
	if span, err := parseDuration(text, 0); err == nil {
		return now.Add(span), nil
	}
	return time.Time{}, errors.New("must be a time span such as 8h or 2w, a date such as 2027-03-31 or friday, or a timestamp such as 2027-03-31T17:00:00Z")
}

// parseTimestamp parses an RFC 3339 timestamp, or a date in the time zone of now. A date is
// the start of the day that is daysLater days after it.
func parseTimestamp(text string, now time.Time, daysLater int) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		date, err := parseDate(text, now)
		if err != nil {
			return time.Time{}, false
		}
		if t, err = time.ParseInLocation(time.DateOnly, string(date), now.Location()); err != nil {
			return time.Time{}, false
		}
		t = t.AddDate(0, 0, daysLater)
	}
	year := t.UTC().Year()
	return t, year >= 1 && year <= 9999
}
