package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	"parapet/internal/clock"

	"parapet/internal/fault"
)

func TestNearest_SuggestsOnlySimilarNames(t *testing.T) {
	t.Parallel()
	names := []string{"list-tasks", "list-projects", "get-task", "list", "get", "status", "search"}
	for typed, want := range map[string]string{
		"lst-tasks": "list-tasks", "LIST-TASKS": "list-tasks", "list-taks": "list-tasks", "lsit": "list", "lst": "list", "statsu": "status",
		"list-p": "list-projects", "sear": "search", "x": "", "quarterly": "", "": "", strings.Repeat("list", 100): "",
	} {
		if got := nearest(typed, names); got != want {
			t.Errorf("nearest(%q): got %q, want %q", typed, got, want)
		}
	}
}

func TestParseDate_AcceptsRelativeDates(t *testing.T) {
	t.Parallel()
	// In this zone, it is still Thursday, 19 November.
	zone := time.FixedZone("west", -13*60*60)
	for text, want := range map[string]string{
		"2026-12-31": "2026-12-31", "today": "2026-11-19", "Tomorrow": "2026-11-20", "yesterday": "2026-11-18",
		"friday": "2026-11-20", "Thu": "2026-11-26", "wednesday": "2026-11-25",
		"+2w": "2026-12-03", "+3d": "2026-11-22", "-1w": "2026-11-12", "+0d": "2026-11-19",
		"2026-12-31T23:30:00Z": "2026-12-31",
		"":                     "", "soon": "", "+2": "", "2w": "", "+d": "", "+99999d": "", "+-1d": "", "2026-02-30": "", "fri day": "", "-65536w": "",
	} {
		got, err := parseDate(text, now.In(zone))
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("parseDate(%q): got %q, %v, want %q", text, got, err, want)
		}
	}
}

func FuzzParseDate(f *testing.F) {
	for _, seed := range []string{"today", "+2w", "-3d", "friday", "2026-12-31", "+65535w", "0001-01-01"} {
		f.Add(seed, int64(0))
	}
	f.Fuzz(func(t *testing.T, text string, seconds int64) {
		date, err := parseDate(text, time.Unix(seconds%(1<<36), 0).UTC())
		if err != nil {
			return
		}
		if again, err := parseDate(string(date), now); err != nil || again != date {
			t.Fatalf("parseDate(%q): got %q, which parses as %q, %v", text, date, again, err)
		}
	})
}

func TestParseDuration_AcceptsUnits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"1h30m": 90 * time.Minute, "90m": 90 * time.Minute, "2h": 2 * time.Hour, "1d": 24 * time.Hour, "1w 2d": 9 * 24 * time.Hour,
		"1H 30M": 90 * time.Minute, "1.5h": 90 * time.Minute, "45": 45 * time.Minute, "500ms": 500 * time.Millisecond, "1m30s": 90 * time.Second,
		"": 0, "0": 0, "-1h": 0, "+5": 0, "1": time.Minute, "1x": 0, "h": 0, "1hm": 0, "1e3s": 0, "1h30": 0, "9999999999d": 0, "1.2.3h": 0,
	} {
		got, err := parseDuration(text, time.Minute)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("parseDuration(%q): got %s, %v, want %s", text, got, err, want)
		}
	}
}

// Every duration in the syntax of Go means the same in pt.
func FuzzParseDuration(f *testing.F) {
	for _, seed := range []string{"1h30m", "1.5h", "90", "2d", "1w", ".5h", "1h 1h", "500ms", "3660d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseDuration(text, time.Second)
		if err != nil {
			return
		}
		if got <= 0 {
			t.Fatalf("parseDuration(%q): got %s, want a positive duration", text, got)
		}
		want, err := time.ParseDuration(strings.ToLower(strings.TrimSpace(text)))
		if err == nil && (got-want).Abs() > want/1e9+1 {
			t.Fatalf("parseDuration(%q): got %s, want %s", text, got, want)
		}
	})
}

func TestFlags_AcceptPeoplesValues(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"create-task", "Do it", "--project", apollo}, `{"title":"Do it"`},
		{[]string{"create-task", "--project", apollo, "--title", "x", "--due", "tomorrow", "--priority", "high"}, `"priority":"HIGH"`},
		{[]string{"update-task", apollo, "APOLLO-17", "--due", "+2w"}, `{"dueDate":"2026-12-04"}`},
		{[]string{"update-task", apollo, "APOLLO-17", "--due", ""}, `{"dueDate":null}`},
		{[]string{"create-time-entry", "--project", apollo, "--minutes", "1h30m"}, `"date":"2026-11-20","minutes":90`},
		{[]string{"create-time-entry", "APOLLO-17", "--minutes", "45"}, `"minutes":45`},
		{[]string{"issue-key", "ci", "--expires-in-days", "2w"}, `"expiresInDays":14`},
		{[]string{"claim-next-ready", apollo, "--lease", "1h30m"}, `"leaseSeconds":5400`},
	} {
		s := serve(t, routes())
		got := invoke(t, s, environment{}, tc.args...)
		if len(s.requests) == 0 || !strings.Contains(s.requests[len(s.requests)-1], tc.want) {
			t.Errorf("%v: got %+v and requests %v, want one with %s", tc.args, got, s.requests, tc.want)
		}
	}
}

// A date is a day in the time zone of the user.
func TestFlags_DateIsInTimeZoneOfUser(t *testing.T) {
	t.Parallel()
	s := serve(t, routes())
	env := map[string]string{"PT_AUTH_TOKEN": token("pt-api-key+jwt", now.AddDate(0, 0, 60)), "PT_BASE_URL": s.url, "PT_CONFIG_DIR": t.TempDir()}
	p := Program{
		Streams: Streams{In: strings.NewReader(""), Out: &strings.Builder{}, Err: &strings.Builder{}},
		Getenv:  func(name string) string { return env[name] }, Clock: clock.Func(func() time.Time { return now }), Zone: time.FixedZone("east", 13*60*60),
	}
	if code := p.Run(context.WithoutCancel(t.Context()), []string{"update-task", apollo, "APOLLO-17", "--due", "today"}); code != ExitDone || !strings.Contains(s.requests[0], `"dueDate":"2026-11-21"`) {
		t.Errorf("got exit %d and requests %v, want the date 2026-11-21", code, s.requests)
	}
}

// An error of the service is never answered with a reference to --help.
func TestHint_NotFoundAdvisesSpellingOnlyForRecords(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]bool{
		fault.NotFound("task").Message: true,
		"The module tracker is off on this server. The operator turns it on with PT_MODULES.": false,
	} {
		s := serve(t, map[string]reply{"GET /api/projects/" + apollo + "/tasks/A-1": errorReply(404, "NOT_FOUND", message, "")})
		got := invoke(t, s, environment{}, "get-task", apollo, "A-1")
		if got.code != ExitNotFound || !strings.Contains(got.err, message) || strings.Contains(got.err, "Try:") != want {
			t.Errorf("%q: got %+v, want a hint: %v", message, got, want)
		}
	}
}

func TestHint_NamesFlagOfRejectedField(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		field, want string
	}{
		{"dueDate", "Try: Change the value of --due.\n"},
		{"labels.3", "Try: Change the value of --labels.\n"},
		{"task", "Try: Change the value of <task>.\n"},
		{"somethingElse", ""},
	} {
		s := serve(t, map[string]reply{"PATCH /api/projects/" + apollo + "/tasks/A-1": errorReply(400, "VALIDATION", "Not like this.", `,"field":"`+tc.field+`"`)})
		got := invoke(t, s, environment{}, "update-task", apollo, "A-1", "--progress", "5")
		if want := "pt: Not like this.\n" + tc.want + "Request: " + requestID + "\n"; got.code != ExitError || got.err != want {
			t.Errorf("field %s: got exit %d and\n%swant\n%s", tc.field, got.code, got.err, want)
		}
	}
}
