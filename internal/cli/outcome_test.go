package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestOutcomeUnknown cuts the connection under changes. Only a command that names
// its own key may be repeated as it stands.
func TestOutcomeUnknown(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args     []string
		code     int
		requests int
		says     string
	}{
		"a change":                 {[]string{"create-task", "--project", apollo, "--title", "T"}, ExitUnknown, 6, "with --idempotency-key "},
		"a change with a key":      {[]string{"create-task", "--project", apollo, "--title", "T", "--idempotency-key", "k"}, ExitUnknown, 6, "The same command again"},
		"a secret":                 {[]string{"issue-key", "--label", "l"}, ExitUnknown, 1, "pt list-keys"},
		"pt api, a known route":    {[]string{"api", "POST", "/api/projects", "--field", "name=x"}, ExitUnknown, 6, "with --idempotency-key "},
		"pt api, a secret":         {[]string{"api", "POST", "/api/auth/api-keys", "--field", "label=x"}, ExitUnknown, 1, "pt list-keys"},
		"pt api, an unknown route": {[]string{"api", "POST", "/api/other", "--field", "label=x"}, ExitUnknown, 1, "Look before"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil)
			s.cut = true
			got := invoke(t, s, world{}, append(tc.args, "--json")...)
			var e struct {
				Error struct {
					Code, Message, Hint string
					Retryable           bool
					Details             map[string]any
				}
			}
			if err := json.Unmarshal([]byte(got.err), &e); err != nil {
				t.Fatalf("%v: %+v", err, got)
			}
			if got.code != tc.code || e.Error.Code != "OUTCOME_UNKNOWN" || e.Error.Retryable != (name == "a change with a key") || !strings.Contains(e.Error.Hint, tc.says) {
				t.Errorf("got %+v", got)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.requests) != tc.requests {
				t.Errorf("%d requests, want %d", len(s.requests), tc.requests)
			}
			key, _ := e.Error.Details["idempotencyKey"].(string)
			for _, h := range s.headers {
				if h.Get("Idempotency-Key") != key {
					t.Errorf("a request carries the key %q, the error names %q", h.Get("Idempotency-Key"), key)
				}
			}
		})
	}
}

func TestIdempotencyKeyIsSent(t *testing.T) {
	t.Parallel()
	s := serve(t, routes())
	got := invoke(t, s, world{}, "create-task", "--project", apollo, "--title", "t", "--idempotency-key", "k-1")
	if got.code != 0 || s.headers[0].Get("Idempotency-Key") != "k-1" {
		t.Fatalf("got %+v, %q", got, s.headers[0].Get("Idempotency-Key"))
	}
}
