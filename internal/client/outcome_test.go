package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parapet/internal/fault"
)

const (
	renamed = `{"id":"1","name":"n"}`
	taken   = `{"error":{"code":"CONFLICT","message":"Taken.","requestId":"11111111-1111-4111-8111-111111111111"}}`
	expired = `{"error":{"code":"UNAUTHORIZED","message":"Expired.","requestId":"11111111-1111-4111-8111-111111111111"}}`
	busy    = `{"error":{"code":"UNAVAILABLE","message":"Busy.","requestId":"11111111-1111-4111-8111-111111111111"}}`
	unknown = `{"error":{"code":"OUTCOME_UNKNOWN","message":"Lost.","requestId":"11111111-1111-4111-8111-111111111111"}}`
)

// step is the server's response to one request. Status 0 closes the connection without a
// response.
type step struct {
	status int
	body   string
}

// The server makes a change and its response is lost in different ways. The client must
// find out the outcome, or return OUTCOME_UNKNOWN.
func TestSend_LostResponses(t *testing.T) {
	t.Parallel()
	closed := step{}
	writeWithKey := func(ctx context.Context, c *Client) error {
		_, err := Do(ctx, c, renameThing, &renameIn{ID: "1", Name: "n"}, WithIdempotencyKey("mine"))
		return err
	}
	writeWithoutKey := func(ctx context.Context, c *Client) error {
		_, err := c.Send(ctx, Request{Method: http.MethodPost, Target: "/api/other", Body: []byte("{}")})
		return err
	}
	cases := []struct {
		name string
		do   func(context.Context, *Client) error
		// steps are the responses of the server; the last one is repeated.
		steps     []step
		requests  int
		code      fault.Code
		retryable bool
	}{
		{"connection closed once, then success", write, []step{closed, {200, renamed}}, 2, "", false},
		{"connection closed three times, then success", write, []step{closed, closed, closed, {200, renamed}}, 4, "", false},
		{"OUTCOME_UNKNOWN of the service, then success", write, []step{{500, unknown}, {200, renamed}}, 2, "", false},
		{"gateway error, then success", write, []step{{502, "<html>"}, {200, renamed}}, 2, "", false},
		{"connection always closed", write, []step{closed}, maxAttemptsOutcomeUnknown, fault.CodeOutcomeUnknown, false},
		{"connection always closed, key of the caller", writeWithKey, []step{closed}, maxAttemptsOutcomeUnknown, fault.CodeOutcomeUnknown, true},
		{"always OUTCOME_UNKNOWN of the service", write, []step{{500, unknown}}, maxAttemptsOutcomeUnknown, fault.CodeOutcomeUnknown, false},
		{"always gateway error", write, []step{{504, "<html>"}}, maxAttemptsOutcomeUnknown, fault.CodeOutcomeUnknown, false},
		{"connection closed, then busy", write, []step{closed, {503, busy}}, maxAttemptsOutcomeUnknown, fault.CodeOutcomeUnknown, false},
		{"connection closed, then expired credential", write, []step{closed, {401, expired}}, 2, fault.CodeOutcomeUnknown, false},
		{"connection closed, then conflict", write, []step{closed, {409, taken}}, 2, fault.CodeConflict, false},
		{"always busy", write, []step{{503, busy}}, maxAttempts, fault.CodeUnavailable, true},
		{"operation with secret, connection closed", issue, []step{closed}, 1, fault.CodeOutcomeUnknown, false},
		{"operation with secret, gateway error", issue, []step{{502, ""}}, 1, fault.CodeOutcomeUnknown, false},
		{"operation with secret, busy", issue, []step{{503, busy}}, 1, fault.CodeUnavailable, true},
		{"write without key, connection closed", writeWithoutKey, []step{closed}, 1, fault.CodeOutcomeUnknown, false},
		{"read, connection closed", read, []step{closed}, maxAttempts, fault.CodeUnavailable, true},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var keys []string
			c := start(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				keys = append(keys, r.Header.Get("Idempotency-Key"))
				now := tc.steps[min(len(keys), len(tc.steps))-1]
				mu.Unlock()
				if now.status == 0 {
					conn, _, err := w.(http.Hijacker).Hijack()
					if err == nil {
						_ = conn.Close()
					}
					return
				}
				writeReply(w, now.status, now.body)
			})
			err := tc.do(t.Context(), c)
			mu.Lock() // the handler of a closed connection may still run
			defer mu.Unlock()
			if len(keys) != tc.requests {
				t.Errorf("got %d requests, want %d", len(keys), tc.requests)
			}
			if len(slices.Compact(keys)) != 1 {
				t.Errorf("idempotency keys: got %q, want the same key in all attempts", keys)
			}
			f := fault.From(err)
			switch {
			case tc.code == "" && err != nil, tc.code != "" && (f == nil || f.Code != tc.code):
				t.Fatalf("got %v, want %q", err, tc.code)
			case tc.code == "":
				if keys[0] == "" {
					t.Error("the change has no idempotency key")
				}
				return
			}
			if Retryable(f) != tc.retryable {
				t.Errorf("Retryable: got %v, want %v: %v", Retryable(f), tc.retryable, err)
			}
			if tc.code == fault.CodeOutcomeUnknown {
				if !strings.Contains(f.Message, "may or may not have happened") {
					t.Errorf("message: got %q, want that the change may have happened", f.Message)
				}
				if key, _ := f.Details[DetailKey].(string); key != keys[0] {
					t.Errorf("key in the error: got %q, want %q", key, keys[0])
				}
			}
		})
	}
}

func TestSend_ConnectionRefusedIsUnavailable(t *testing.T) {
	t.Parallel()
	c := start(t, Config{BaseURL: "http://127.0.0.1:1"}, nil)
	if err := write(t.Context(), c); !fault.HasCode(err, fault.CodeUnavailable) || !Retryable(fault.From(err)) {
		t.Fatalf("got %v, want UNAVAILABLE", err)
	}
}

func TestSend_TimeoutOrCancelOfChangeIsOutcomeUnknown(t *testing.T) {
	t.Parallel()
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server notices that the client left only after the body
		<-r.Context().Done()
	}
	c := start(t, Config{Timeout: 50 * time.Millisecond}, hang)
	if err := write(t.Context(), c); !fault.HasCode(err, fault.CodeOutcomeUnknown) || Retryable(fault.From(err)) {
		t.Fatalf("got %v, want OUTCOME_UNKNOWN", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	arrived := make(chan struct{})
	c = start(t, Config{}, func(w http.ResponseWriter, r *http.Request) { close(arrived); hang(w, r) })
	go func() { <-arrived; cancel() }()
	if err := write(ctx, c); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrUnsettled) {
		t.Fatalf("got %v, want context.Canceled and ErrUnsettled", err)
	}
}
