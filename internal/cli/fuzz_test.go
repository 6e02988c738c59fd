package cli

import (
	"strings"
	"testing"
	"time"
)

// A time limit that is taken is one that a request can have.
func FuzzTimeout(f *testing.F) {
	for _, seed := range []string{"", "10s", "90", "-1", "24h", "9223372036854775807", "1e3s", "0x10", "+5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseTimeout(text)
		if err == nil && (d <= 0 || d > 24*time.Hour) {
			t.Fatalf("%q is read as %s", text, d)
		}
	})
}

// A status is a name and a category; what is written as they are shown is read again.
func FuzzStatuses(f *testing.F) {
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
			t.Fatalf("%q is read as %+v, and that as %+v (%v)", text, statuses, again, err)
		}
	})
}
