package cli

import (
	"strings"
	"testing"
	"time"
)

func TestCreateDelegation_AcceptsDatesAndTimeSpans(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"8h":                        "2026-11-20T20:00:00Z",
		"2026-12-01":                "2026-12-02T00:00:00Z",
		"tomorrow":                  "2026-11-22T00:00:00Z",
		"+2w":                       "2026-12-05T00:00:00Z",
		"2026-12-01T17:00:00+01:00": "2026-12-01T16:00:00Z",
	} {
		s := serve(t, routes())
		got := invoke(t, s, environment{}, "create-delegation", "--delegate", "lin@acme.example", "--permissions", "task.update", "--from", "2026-11-21", "--until", text)
		body := ""
		if len(s.bodies) > 0 {
			body = s.bodies[len(s.bodies)-1]
		}
		if !strings.Contains(body, `"until":"`+want+`"`) || !strings.Contains(body, `"from":"2026-11-21T00:00:00Z"`) {
			t.Errorf("--until %s: got exit %d and the body %s, want until %s\n%s", text, got.code, body, want, got.err)
		}
	}
	for _, text := range []string{"8", "soon", "9999-12-31", "+8h"} {
		got := invoke(t, serve(t, routes()), environment{}, "create-delegation", "--delegate", "lin@acme.example", "--permissions", "task.update", "--until", text)
		if got.code != ExitUsage || !strings.Contains(got.err, "must be a time span such as 8h") {
			t.Errorf("--until %s: got %+v, want exit %d and what is right", text, got, ExitUsage)
		}
	}
}

func FuzzParseTimestampFlags(f *testing.F) {
	for _, text := range []string{"2h", "30m", "7d", "2w", "2027-03-01", "9999-12-31", "2027-03-01T09:00:00Z", "-1h", "99999999999999999999d", "0001-01-01T00:00:00+23:59", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, parse := range map[string]func(string, time.Time) (time.Time, error){"past": parsePastTime, "start": parseStart, "end": parseEnd} {
			at, err := parse(text, now)
			if err != nil {
				continue
			}
			if _, err := time.Parse(time.RFC3339, at.UTC().Format(time.RFC3339Nano)); err != nil {
				t.Errorf("%s: %q becomes %v, which is not a timestamp: %v", name, text, at, err)
			}
		}
	})
}
