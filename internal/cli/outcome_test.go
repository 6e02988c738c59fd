package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

// The service closes the connection of every request. Only a command with
// --idempotency-key is safe to repeat unchanged.
func TestChanges_LostResponseIsOutcomeUnknown(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args     []string
		code     int
		requests int
		wantErr  string
	}{
		"change":                {[]string{"create-task", "--project", apollo, "--title", "T"}, ExitUnknown, 6, "with --idempotency-key "},
		"change with key":       {[]string{"create-task", "--project", apollo, "--title", "T", "--idempotency-key", "k"}, ExitUnknown, 6, "Repeat the command: "},
		"secret":                {[]string{"issue-key", "--label", "l"}, ExitUnknown, 1, "pt list-keys"},
		"pt api, known route":   {[]string{"api", "POST", "/api/projects", "--field", "name=x"}, ExitUnknown, 6, "with --idempotency-key "},
		"pt api, secret":        {[]string{"api", "POST", "/api/auth/api-keys", "--field", "label=x"}, ExitUnknown, 1, "pt list-keys"},
		"pt api, unknown route": {[]string{"api", "POST", "/api/other", "--field", "label=x"}, ExitUnknown, 1, "Check the record before"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil)
			s.cut = true
			got := invoke(t, s, environment{}, append(tc.args, "--json")...)
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
			if got.code != tc.code || e.Error.Code != "OUTCOME_UNKNOWN" || e.Error.Retryable != (name == "change with key") || !strings.Contains(e.Error.Hint, tc.wantErr) {
				t.Errorf("got %+v, want exit %d and OUTCOME_UNKNOWN with the hint %q", got, tc.code, tc.wantErr)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.requests) != tc.requests {
				t.Errorf("got %d requests, want %d", len(s.requests), tc.requests)
			}
			key, _ := e.Error.Details["idempotencyKey"].(string)
			for _, h := range s.headers {
				if h.Get("Idempotency-Key") != key {
					t.Errorf("Idempotency-Key: got %q, want the key of the error, %q", h.Get("Idempotency-Key"), key)
				}
			}
		})
	}
}

func TestIdempotencyKeyFlag_SetsHeader(t *testing.T) {
	t.Parallel()
	s := serve(t, routes())
	got := invoke(t, s, environment{}, "create-task", "--project", apollo, "--title", "t", "--idempotency-key", "k-1")
	if got.code != 0 || s.headers[0].Get("Idempotency-Key") != "k-1" {
		t.Fatalf("create-task --idempotency-key k-1: got %+v and the header %q, want exit %d and k-1", got, s.headers[0].Get("Idempotency-Key"), ExitDone)
	}
}
