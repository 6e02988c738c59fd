package cli

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parapet/internal/contract/tracker"
)

// serveWait returns a fake service that calls answers for the n-th request to the wait
// route.
func serveWait(t *testing.T, answers func(n int32, w http.ResponseWriter, r *http.Request)) *service {
	t.Helper()
	var n atomic.Int32
	s := &service{t: t, replies: routes()}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/wait") {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("X-Request-Id", requestID)
			answers(n.Add(1), w, r)
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	s.url = h.URL
	return s
}

func writeReply(w http.ResponseWriter, v any) {
	w.Write([]byte(jsonReply(v).body)) // the client has gone, or the test fails
}

// The service may return an open request, for example when it shuts down. Then pt polls
// again, but not in a busy loop.
func TestWaitDecision_PollsUntilAnswered(t *testing.T) {
	t.Parallel()
	s := serveWait(t, func(n int32, w http.ResponseWriter, _ *http.Request) {
		switch n {
		case 1:
			writeReply(w, exampleDecision(tracker.DecisionOpen))
		default:
			writeReply(w, exampleDecision(tracker.DecisionAnswered))
		}
	})
	start := time.Now()
	got := invoke(t, s, environment{}, "wait-decision", apollo, "APOLLO-18", "--jq", ".data.status, .data.chosenOptionIndex")
	if got.code != ExitDone || got.out != "answered\n1\n" {
		t.Fatalf("wait-decision with an answer: got %+v, want exit %d and option 1", got, ExitDone)
	}
	if took := time.Since(start); took < minPollInterval {
		t.Errorf("second poll after %s, want at least %s", took, minPollInterval)
	}
}

func TestWaitDecision_TimeoutExitsWithPending(t *testing.T) {
	t.Parallel()
	s := serveWait(t, func(_ int32, w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("timeoutSeconds") != "1" {
			t.Errorf("timeoutSeconds: got %s, want 1", r.URL.Query().Get("timeoutSeconds"))
		}
		writeReply(w, exampleDecision(tracker.DecisionOpen))
	})
	args := []string{"wait-decision", apollo, "APOLLO-18", "--timeout", "1ms"}
	got := invoke(t, s, environment{ticks: true}, args...)
	if got.code != ExitPending || got.out != "" || !strings.Contains(got.err, decisionID+" on APOLLO-17 is still pending") {
		t.Fatalf("wait-decision after its timeout: got %+v, want exit %d, no output and a pending decision", got, ExitPending)
	}
	got = invoke(t, s, environment{ticks: true}, append(args, "--json")...)
	if got.code != ExitPending || !strings.Contains(got.err, `{"error":{"code":"DECISION_PENDING"`) || !strings.Contains(got.err, `"retryable":true`) {
		t.Fatalf("wait-decision --json after its timeout: got %+v, want exit %d and the retryable error DECISION_PENDING", got, ExitPending)
	}
}

func TestWaitDecision_StopsWhenContextIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := serveWait(t, func(_ int32, _ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	got := invokeContext(ctx, t, s, environment{}, "wait-decision", apollo, "APOLLO-18")
	if got.code != ExitCancelled {
		t.Fatalf("wait-decision with a cancelled context: got %+v, want exit %d", got, ExitCancelled)
	}
}

func TestCommands_InvalidCommandLineSendsNoRequest(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x,", 10) + "x"
	for _, args := range [][]string{
		{"mark-awaiting-decision", apollo, "APOLLO-17"},
		{"mark-awaiting-decision", apollo, "APOLLO-17", "--question", " "},
		{"mark-awaiting-decision", apollo, "APOLLO-17", "--question", "q", "--options", long},
		{"answer-decision", apollo, "APOLLO-17", "--answer", "a"},
		{"answer-decision", apollo, "APOLLO-17", "--request-id", decisionID, "--chosen-option-index", "-1"},
		{"answer-decision", apollo, "APOLLO-17", "--request-id", decisionID, "--answer", ""},
		{"answer-decision", apollo, "APOLLO-17", "--request-id", "nonsense", "--answer", "a"},
		{"cancel-decision", apollo, "APOLLO-17"},
		{"cancel-decision", apollo, "APOLLO-17", "--request-id", decisionID, "--agent", "x"},
		{"wait-decision", apollo, "APOLLO-17", "--timeout", "soon"},
		{"wait-decision", apollo, "APOLLO-17", "--request-id", "x"},
		{"list-tasks", apollo, "--awaiting-decision", "--review"},
		{"list-tasks", apollo, "--review", "--ready"},
		{"assign-issue", "ISS-4"},
		{"escalate-issue", "ISS-4"},
		{"escalate-issue", "ISS-4", "--severity", "URGENT"},
		{"transition-issue", "ISS-4", "--to", "RESOLVED"},
		{"resolve-issue", "ISS-4", "--resolution", "DONE"},
		{"create-issue", "--project", apollo, "--title", "t", "--assignee", worker},
		{"create-issue", "--title", "t"},
		{"update-issue", "ISS-4"},
		{"create-initiative", "--name", "n"},
		{"create-initiative", "--start", "2027-01-04"},
		{"update-initiative", "moon"},
		{"create-project", "--name", "n"},
		{"create-task", "--title", "t"},
		{"create-task", "--project", apollo},
		{"update-task", apollo, "APOLLO-17", "--progress", "101"},
		{"list-tasks", apollo, "--limit", "201"},
		{"delete-issue", "ISS-4"},
		{"delete-initiative", "moon"},
		{"create-comment", "--task", taskID, "--issue", issueID, "--body", "b"},
		{"create-comment", "--body", "b"},
		{"claim-next-ready", apollo, "--lease", "25h"},
		{"keep-claim", apollo, "APOLLO-17"},
		{"create-time-entry", "--task", taskID, "--minutes", "1441"},
		{"review-gate", apollo, gateID, "--vote", "MAYBE"},
		{"set-custom-field-values", apollo, "APOLLO-17", "--value", "Crew"},
		{"export", apollo, "file.jsonl", "--json"},
		{"man", "nonsense"},
		{"man", "--json"},
	} {
		s := serve(t, routes())
		if got := invoke(t, s, environment{}, args...); got.code != ExitUsage || len(s.requests) > 0 || got.out != "" {
			t.Errorf("%v: got %+v with requests %v, want a usage error without requests", args, got, s.requests)
		}
	}
}
