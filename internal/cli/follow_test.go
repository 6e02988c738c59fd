package cli

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// page returns a page of a log.
func page(next string, items ...string) reply {
	cursor := ""
	if next != "" {
		cursor = `,"nextCursor":"` + next + `"`
	}
	return okReply(`{"items":[` + strings.Join(items, ",") + `]` + cursor + `}`)
}

func auditItem(seq int) string {
	return fmt.Sprintf(`{"id":"018f3c5e-0000-7000-8000-%012d","seq":%d,"actorType":"HUMAN","action":"action.%d","resourceType":"user","module":"identity","correlationId":"%s","createdAt":"2026-11-01T08:00:00Z","hash":""}`, seq, seq, seq, requestID)
}

func decisionItem(n int, at time.Duration, permission string) string {
	return fmt.Sprintf(`{"id":"018f3c5e-0000-7000-8000-%012d","decidedAt":"%s","actorId":"%s","rule":"r","permission":"%s","module":"identity","input":{},"allow":true,"hidden":false,"reasons":[],"revision":"x","requestId":""}`,
		n, now.Add(at).Format(time.RFC3339), worker, permission)
}

// Each step is what the service replies between two waits of the command.
func TestFollow_PrintsEachEntryOnce(t *testing.T) {
	t.Parallel()
	const audit, decisions = "GET /api/audit/entries", "GET /api/decisions"
	next := "?cursor=bmV4dA&limit=200"
	late := []map[string]reply{
		{decisions: page("", decisionItem(2, 100*time.Second, "two"))},
		{decisions: page("", decisionItem(4, 110*time.Second, "four"), decisionItem(5, 110*time.Second, "decision_log.read"), decisionItem(2, 100*time.Second, "two"), decisionItem(1, 90*time.Second, "late"))},
		{decisions: page("", decisionItem(4, 110*time.Second, "four"), decisionItem(2, 100*time.Second, "two"), decisionItem(1, 90*time.Second, "late"), decisionItem(3, time.Second, "old"))},
	}
	cases := []struct {
		name  string
		args  string
		steps []map[string]reply
		want  string
		notes []string
	}{
		{"the last entries, then new ones on two pages", "audit --follow", []map[string]reply{
			{audit: page("", auditItem(2), auditItem(1))},
			{audit: page("bmV4dA", auditItem(4)), audit + next: page("", auditItem(3), auditItem(2))},
			{audit: page("bmV4dA", auditItem(5), auditItem(4))},
		}, "1 2 3 4 5", nil},
		{"an empty log", "audit list -f", []map[string]reply{
			{audit: page("")}, {audit: page("", auditItem(2), auditItem(1))},
		}, "1 2", nil},
		{"the last entries as limited", "audit --follow --limit 1", []map[string]reply{
			{audit: page("", auditItem(2), auditItem(1))}, {audit: page("", auditItem(2), auditItem(1))},
		}, "2", nil},
		{"a failure between two pages", "audit --follow", []map[string]reply{
			{audit: page("", auditItem(1))},
			{audit: page("bmV4dA", auditItem(3)), audit + next: errorReply(503, "UNAVAILABLE", "Restarting.", "")},
			{audit: page("bmV4dA", auditItem(3)), audit + next: page("", auditItem(2), auditItem(1))},
		}, "1 2 3", []string{"Restarting. pt keeps trying.\n", "The service responds again.\n"}},
		{"late decisions, without those about the log", "decisions --follow", late, "two late four", nil},
		{"decisions about the log on request", "decisions --follow --permission decision_log.read", []map[string]reply{
			{decisions: page("", decisionItem(2, 0, "decision_log.read"))},
		}, "decision_log.read", nil},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := serve(t, tc.steps[0])
			step := 0
			w := environment{sleep: func(ctx context.Context) error {
				if step++; step == len(tc.steps) {
					cancel()
					return ctx.Err()
				}
				s.mu.Lock()
				defer s.mu.Unlock()
				s.replies = tc.steps[step]
				return nil
			}}
			got := invokeContext(ctx, t, s, w, append(strings.Fields(tc.args), "--jq", `.data | .action // .permission | ltrimstr("action.")`)...)
			if lines := strings.Join(strings.Fields(got.out), " "); lines != tc.want || got.code != ExitDone {
				t.Errorf("got exit %d and %q, want %q\n%s", got.code, lines, tc.want, got.err)
			}
			if want := strings.Join(tc.notes, ""); got.err != want {
				t.Errorf("stderr: got %q, want %q", got.err, want)
			}
		})
	}
}

func TestFollow_EndsWhenCredentialIsRejected(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]reply{"GET /api/audit/entries": page("", auditItem(1))})
	w := environment{sleep: func(context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.replies = map[string]reply{"GET /api/audit/entries": errorReply(401, "UNAUTHORIZED", "The request needs a valid credential.", "")}
		return nil
	}}
	if got := invoke(t, s, w, "audit", "--follow"); got.code != ExitAuthentication || got.out != "2026-11-01 08:00:00 UTC  action.1  user\n" {
		t.Errorf("got exit %d and %q, want %d after the first entry", got.code, got.out, ExitAuthentication)
	}
}

func TestLogFilters_TimesAndNamesBecomeQuery(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]reply{
		"GET /api/audit/entries":          page("", auditItem(1)),
		"GET /api/users/lin@acme.example": okReply(linJSON),
		"GET /api/decisions":              page("", decisionItem(1, 0, "x")),
	})
	for args, want := range map[string]string{
		"audit list --since 2h --until 30m --record lin@acme.example": "from=2026-11-20T10%3A00%3A00Z&limit=50&resourceId=" + lin + "&until=2026-11-20T11%3A30%3A00Z",
		"audit list --from 2026-11-01T00:00:00+01:00":                 "from=2026-10-31T23%3A00%3A00Z&limit=50",
		"decisions list --since 2w --actor lin@acme.example":          "actorId=lin%40acme.example&from=2026-11-06T12%3A00%3A00Z&limit=50",
		"decisions --since 2026-11-19 --resource-id " + taskID:        "from=2026-11-19T00%3A00%3A00Z&limit=50&resourceId=" + taskID,
	} {
		s.requests = nil
		got := invoke(t, s, environment{}, strings.Fields(args)...)
		if len(s.requests) == 0 {
			t.Fatalf("pt %s: got exit %d and no request\n%s", args, got.code, got.err)
		}
		if last := s.requests[len(s.requests)-1]; got.code != ExitDone || !strings.HasSuffix(last, "?"+want) {
			t.Errorf("pt %s: got exit %d and the request %s, want the query %s\n%s", args, got.code, last, want, got.err)
		}
	}
}
