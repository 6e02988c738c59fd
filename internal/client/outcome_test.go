package client

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parapet/internal/fault"
)

// TestUnknownOutcome: a change that was sent and not answered may have happened.
// It is never reported as something to try again, unless it has a key.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	cut := func(w http.ResponseWriter) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	}
	keyed := func(ctx context.Context, c *Client) error {
		_, err := Do(ctx, c, renameThing, &renameIn{ID: "1", Name: "n"}, WithIdempotencyKey("k1"))
		return err
	}
	const fromServer = `{"error":{"code":"OUTCOME_UNKNOWN","message":"It may have happened.","requestId":"11111111-1111-4111-8111-111111111111","details":{"retryable":RETRYABLE}}}`
	for name, c := range map[string]struct {
		timeout time.Duration
		serve   func(try int32, w http.ResponseWriter, r *http.Request)
		do      func(context.Context, *Client) error
		code    fault.Code
		key     string
		tries   int32
	}{
		"a write whose connection is cut": {serve: func(_ int32, w http.ResponseWriter, _ *http.Request) { cut(w) }, do: write, code: fault.CodeOutcomeUnknown, tries: 1},
		"a write without an answer in time": {
			timeout: 50 * time.Millisecond, serve: func(_ int32, _ http.ResponseWriter, r *http.Request) {
				// The server notices that the client has gone once the body is read.
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
			},
			do: write, code: fault.CodeOutcomeUnknown, tries: 1,
		},
		"a write behind a gateway that timed out": {serve: func(_ int32, w http.ResponseWriter, _ *http.Request) { answer(w, 504, "slow") }, do: write, code: fault.CodeOutcomeUnknown, tries: 1},
		"a write of unknown outcome": {
			serve: func(_ int32, w http.ResponseWriter, _ *http.Request) {
				answer(w, 500, strings.ReplaceAll(fromServer, "RETRYABLE", "false"))
			}, do: write, code: fault.CodeOutcomeUnknown, tries: 1,
		},
		"a write with a key of unknown outcome is repeated": {
			serve: func(try int32, w http.ResponseWriter, _ *http.Request) {
				if try < 3 {
					answer(w, 500, strings.ReplaceAll(fromServer, "RETRYABLE", "true"))
					return
				}
				answer(w, 200, `{"id":"1"}`)
			}, do: keyed, tries: 3,
		},
		"a write with a key that stays unknown": {serve: func(_ int32, w http.ResponseWriter, _ *http.Request) { cut(w) }, do: keyed, code: fault.CodeOutcomeUnknown, key: "k1", tries: 3},
		"a busy service does not hide an earlier try": {
			serve: func(try int32, w http.ResponseWriter, _ *http.Request) {
				if try == 1 {
					cut(w)
					return
				}
				answer(w, 503, `{"error":{"code":"UNAVAILABLE","message":"Busy.","requestId":"11111111-1111-4111-8111-111111111111"}}`)
			}, do: keyed, code: fault.CodeOutcomeUnknown, key: "k1", tries: 3,
		},
		"a read whose connection is cut is repeated": {serve: func(_ int32, w http.ResponseWriter, _ *http.Request) { cut(w) }, do: read, code: fault.CodeUnavailable, tries: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int32
			client := start(t, Config{Timeout: c.timeout}, func(w http.ResponseWriter, r *http.Request) { c.serve(n.Add(1), w, r) })
			err := c.do(t.Context(), client)
			if c.code == "" {
				if err != nil {
					t.Errorf("got %v, want an answer", err)
				}
			} else if f := fault.From(err); f == nil || f.Code != c.code {
				t.Errorf("got %v, want %s", err, c.code)
			} else if key, _ := f.Details[DetailKey].(string); key != c.key || (f.Code == fault.CodeOutcomeUnknown && Retryable(f) != (c.key != "")) {
				t.Errorf("got details %v, want the key %q", f.Details, c.key)
			}
			if n.Load() != c.tries {
				t.Errorf("%d requests, want %d", n.Load(), c.tries)
			}
		})
	}
}
