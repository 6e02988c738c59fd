package markdown

import (
	"strconv"
	"time"
)

// Time formats a time: relative to the style's time, such as "3 hours ago", or in UTC with a
// precision of one second.
func (d *Doc) Time(t time.Time) string {
	if d.style.Now.IsZero() {
		return t.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return relativeTime(t, d.style.Now)
}

// relativeTime formats a time relative to now, in its largest unit, rounded down: "2 days
// ago", "in 5 minutes", "just now".
func relativeTime(t, now time.Time) string {
	left := t.Sub(now)
	length := max(left, -left)
	text := ""
	for _, unit := range []struct {
		name   string
		length time.Duration
	}{
		{"year", 365 * 24 * time.Hour}, {"month", 30 * 24 * time.Hour}, {"day", 24 * time.Hour},
		{"hour", time.Hour}, {"minute", time.Minute},
	} {
		if n := int(length / unit.length); n > 0 {
			text = strconv.Itoa(n) + " " + unit.name
			if n > 1 {
				text += "s"
			}
			break
		}
	}
	switch {
	case text == "" && left > 0:
		return "in less than a minute"
	case text == "":
		return "just now"
	case left > 0:
		return "in " + text
	default:
		return text + " ago"
	}
}

// IsPast reports whether a date, as YYYY-MM-DD, is before the style's time.
func (d *Doc) IsPast(date string) bool {
	return !d.style.Now.IsZero() && date < d.style.Now.UTC().Format(time.DateOnly)
}
