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
	good    = `{"id":"1","name":"n"}`
	taken   = `{"error":{"code":"CONFLICT","message":"Taken.","requestId":"11111111-1111-4111-8111-111111111111"}}`
	expired = `{"error":{"code":"UNAUTHORIZED","message":"Expired.","requestId":"11111111-1111-4111-8111-111111111111"}}`
	busy    = `{"error":{"code":"UNAVAILABLE","message":"Busy.","requestId":"11111111-1111-4111-8111-111111111111"}}`
	unsaid  = `{"error":{"code":"OUTCOME_UNKNOWN","message":"Lost.","requestId":"11111111-1111-4111-8111-111111111111"}}`
)

// step is what the server does with one request: 0 cuts the connection.
type step struct {
	status int
	body   string
}

// TestLostAnswers lets a server carry a change out and lose the answer in every
// way, and wants the client to find out, or to say that it cannot.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	cut := step{}
	own := func(ctx context.Context, c *Client) error {
		_, err := Do(ctx, c, renameThing, &renameIn{ID: "1", Name: "n"}, WithIdempotencyKey("mine"))
		return err
	}
	raw := func(ctx context.Context, c *Client) error {
		_, err := c.Send(ctx, Request{Method: http.MethodPost, Target: "/api/other", Body: []byte("{}")})
		return err
	}
	cases := []struct {
		name string
		do   func(context.Context, *Client) error
		// steps are what the server does; the last one is repeated.
		steps     []step
		requests  int
		code      fault.Code
		retryable bool
	}{
		{"cut, then the first answer again", write, []step{cut, {200, good}}, 2, "", false},
		{"cut three times, then an answer", write, []step{cut, cut, cut, {200, good}}, 4, "", false},
		{"the service's own unknown outcome, then an answer", write, []step{{500, unsaid}, {200, good}}, 2, "", false},
		{"a gateway's error, then an answer", write, []step{{502, "<html>"}, {200, good}}, 2, "", false},
		{"always cut", write, []step{cut}, connectionLostTries, fault.CodeOutcomeUnknown, false},
		{"always cut, with the caller's key", own, []step{cut}, connectionLostTries, fault.CodeOutcomeUnknown, true},
		{"always the service's own unknown outcome", write, []step{{500, unsaid}}, connectionLostTries, fault.CodeOutcomeUnknown, false},
		{"always a gateway's error", write, []step{{504, "<html>"}}, connectionLostTries, fault.CodeOutcomeUnknown, false},
		{"cut, then busy", write, []step{cut, {503, busy}}, connectionLostTries, fault.CodeOutcomeUnknown, false},
		{"cut, then a credential that expired", write, []step{cut, {401, expired}}, 2, fault.CodeOutcomeUnknown, false},
		{"cut, then an answer to the change itself", write, []step{cut, {409, taken}}, 2, fault.CodeConflict, false},
		{"busy, and nothing was changed", write, []step{{503, busy}}, tries, fault.CodeUnavailable, true},
		{"a secret, cut", issue, []step{cut}, 1, fault.CodeOutcomeUnknown, false},
		{"a secret, a gateway's error", issue, []step{{502, ""}}, 1, fault.CodeOutcomeUnknown, false},
		{"a secret, busy", issue, []step{{503, busy}}, 1, fault.CodeUnavailable, true},
		{"no key, cut", raw, []step{cut}, 1, fault.CodeOutcomeUnknown, false},
		{"a read, cut", read, []step{cut}, tries, fault.CodeUnavailable, true},
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
				answer(w, now.status, now.body)
			})
			err := tc.do(t.Context(), c)
			mu.Lock() // a cut connection says nothing of its handler's end
			defer mu.Unlock()
			if len(keys) != tc.requests {
				t.Errorf("%d requests, want %d", len(keys), tc.requests)
			}
			if len(slices.Compact(keys)) != 1 {
				t.Errorf("the tries carry the keys %q, want one", keys)
			}
			f := fault.From(err)
			switch {
			case tc.code == "" && err != nil, tc.code != "" && (f == nil || f.Code != tc.code):
				t.Fatalf("got %v, want %q", err, tc.code)
			case tc.code == "":
				if keys[0] == "" {
					t.Error("the change carries no key")
				}
				return
			}
			if Retryable(f) != tc.retryable {
				t.Errorf("retryable is %v, want %v: %v", Retryable(f), tc.retryable, err)
			}
			if tc.code == fault.CodeOutcomeUnknown {
				if !strings.Contains(f.Message, "may or may not have happened") {
					t.Errorf("the message is %q", f.Message)
				}
				if key, _ := f.Details[DetailKey].(string); key != keys[0] {
					t.Errorf("the error names the key %q, the requests %q", key, keys[0])
				}
			}
		})
	}
}

// A change that no server can have seen did not happen.
func TestUnsentChange_IsNotUnknown(t *testing.T) {
	t.Parallel()
	c := start(t, Config{BaseURL: "http://127.0.0.1:1"}, nil)
	if err := write(t.Context(), c); !fault.HasCode(err, fault.CodeUnavailable) || !Retryable(fault.From(err)) {
		t.Fatalf("got %v, want UNAVAILABLE", err)
	}
}

func TestHungChange_IsUnknown(t *testing.T) {
	t.Parallel()
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the end of the client shows behind the body alone
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
		t.Fatalf("got %v, want the caller's end and that the outcome is unknown", err)
	}
}
