package cli

import (
	"strings"
	"testing"
	"time"
)

func FuzzParseTimeout(f *testing.F) {
	for _, seed := range []string{"", "10s", "90", "-1", "24h", "9223372036854775807", "1e3s", "0x10", "+5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseTimeout(text)
		if err == nil && (d <= 0 || d > 24*time.Hour) {
			t.Fatalf("parseTimeout(%q): got %s, want a duration from 0 to 24h", text, d)
		}
	})
}

// Formatting and parsing a status again must return the same status.
func FuzzParseStatuses(f *testing.F) {
	for _, seed := range []string{"Doing=IN_PROGRESS", " a = todo ", "=", "a=b=c", "none"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		statuses, err := parseStatuses([]string{text})
		if err != nil {
			return
		}
		again, err := parseStatuses([]string{statuses[0].Name + "=" + statuses[0].Category})
		if len(statuses) != 1 || err != nil || strings.TrimSpace(statuses[0].Name) != statuses[0].Name || again[0].Name != statuses[0].Name {
			t.Fatalf("parseStatuses(%q): got %+v; parsed again: got %+v (%v), want the same status", text, statuses, again, err)
		}
	})
}
