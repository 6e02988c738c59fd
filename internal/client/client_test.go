package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parapet/internal/fault"
	"parapet/internal/op"
)

type thingIn struct {
	ID    string `path:"id" doc:"Which thing."`
	Query string `query:"query" doc:"What to look for."`
}

type renameIn struct {
	ID   string `path:"id" doc:"Which thing."`
	Name string `json:"name" required:"true" doc:"Its new name."`
}

type thing struct {
	ID   string `json:"id" doc:"Its id."`
	Name string `json:"name" doc:"Its name."`
}

var (
	getThing    = op.New[thingIn, thing](op.Spec{Name: "get-thing", Module: "test", Method: http.MethodGet, Path: "/api/things/{id}", Access: op.Authenticated, Effect: op.Read, Summary: "Gives a thing."})
	renameThing = op.New[renameIn, thing](op.Spec{Name: "rename-thing", Module: "test", Method: http.MethodPost, Path: "/api/things/{id}", Access: op.Authenticated, Effect: op.Write, Summary: "Renames a thing."})
)

// issueThing returns a secret, so it accepts no idempotency key.
var issueThing = op.New[renameIn, thing](op.Spec{Name: "issue-thing", Module: "test", Method: http.MethodPost, Path: "/api/things/{id}/secret", Access: op.Authenticated, Effect: op.Write, Secret: true, Summary: "Issues a thing."})

const token = "aaaa.bbbb.secretsignature"

func start(t *testing.T, cfg Config, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	if cfg.BaseURL == "" {
		cfg.BaseURL = s.URL
	}
	if cfg.Token == "" {
		cfg.Token = token
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.backOff = func(int) time.Duration { return time.Millisecond }
	t.Cleanup(c.Close)
	return c
}

func writeReply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, body)
}

const envelopeText = `{"error":{"code":"FORBIDDEN","message":"The permission thing.read is missing.","permission":"thing.read","reason":"R","reasons":[{"code":"out_of_scope","message":"M","remedy":"Do this."}],"field":"f","requestId":"11111111-1111-4111-8111-111111111111","details":{"n":1}}}`

func TestDo_SendsRequestAndDecodesOutput(t *testing.T) {
	t.Parallel()
	c := start(t, Config{ActAsOrg: "some-org", UserAgent: "pt/1"}, func(w http.ResponseWriter, r *http.Request) {
		for name, want := range map[string]string{"Authorization": "Bearer " + token, "X-Act-As-Org": "some-org", "User-Agent": "pt/1", "Accept": "application/json"} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
		if _, err := op.ParseUUID(r.Header.Get("X-Request-Id")); err != nil {
			t.Errorf("X-Request-Id: got %q, want a UUID", r.Header.Get("X-Request-Id"))
		}
		if r.URL.EscapedPath() != "/api/things/a%2Fb" || r.URL.Query().Get("query") != "x&y" {
			t.Errorf("URL: got %s?%s, want the escaped id in the path and the escaped query", r.URL.EscapedPath(), r.URL.RawQuery)
		}
		writeReply(w, 200, `{"id":"a/b","name":"N","later":true}`)
	})
	got, err := Do(t.Context(), c, getThing, &thingIn{ID: "a/b", Query: "x&y"})
	if err != nil || got.Name != "N" {
		t.Fatalf("output: got %+v, %v, want the name N", got, err)
	}
}

func TestDo_DecodesErrorEnvelope(t *testing.T) {
	t.Parallel()
	c := start(t, Config{}, func(w http.ResponseWriter, _ *http.Request) { writeReply(w, 403, envelopeText) })
	_, err := Do(t.Context(), c, getThing, &thingIn{ID: "1"})
	f := fault.From(err)
	if f.Code != fault.CodeForbidden || f.Permission != "thing.read" || f.Reason != "R" || f.Field != "f" || f.Details["n"] != 1.0 ||
		!slices.Equal(f.Reasons, []fault.Reason{{Code: "out_of_scope", Message: "M", Remedy: "Do this."}}) {
		t.Fatalf("fault: got %+v, want all fields of the envelope", f)
	}
	r := ResponseErrorOf(err)
	if r == nil || r.NotParapet || r.RequestID != "11111111-1111-4111-8111-111111111111" || r.Status != 403 {
		t.Fatalf("response error: got %+v, want the request id and status 403", r)
	}
}

func TestDo_RecognizesForeignResponses(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		status  int
		header  map[string]string
		body    string
		code    fault.Code
		wantErr string
	}{
		{"401 of a firewall", 401, map[string]string{"Server": "edge\u202e"}, "<html>Log in</html>", fault.CodeUnauthorized, "proxy or firewall"},
		{"403 of a firewall in JSON", 403, nil, `{"error":"denied"}`, fault.CodeForbidden, "proxy or firewall"},
		{"envelope without request ID", 403, nil, `{"error":{"code":"FORBIDDEN","message":"m"}}`, fault.CodeForbidden, "proxy or firewall"},
		{"redirect to a login page", 302, map[string]string{"Location": "https://login.example.org/?token=1"}, "", fault.CodeInternal, `redirects to "https://login.example.org"`},
		{"HTML page with status 200", 200, nil, "<html>hello</html>", fault.CodeInternal, "another server"},
		{"404 without envelope", 404, nil, "404 page not found", fault.CodeNotFound, "without the error envelope"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := start(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
				for k, v := range tc.header {
					w.Header().Set(k, v)
				}
				writeReply(w, tc.status, tc.body)
			})
			_, err := Do(t.Context(), c, getThing, &thingIn{ID: "1"})
			f, r := fault.From(err), ResponseErrorOf(err)
			if f == nil || f.Code != tc.code || !strings.Contains(f.Message, tc.wantErr) {
				t.Fatalf("got %v, want %s with %q", f, tc.code, tc.wantErr)
			}
			if r == nil || !r.NotParapet {
				t.Fatalf("got %+v, want NotParapet", r)
			}
			if strings.Contains(f.Message, "\u202e") {
				t.Fatalf("message %q contains the unescaped Server header", f.Message)
			}
		})
	}
}

func TestDo_RetriesRepeatableRequests(t *testing.T) {
	t.Parallel()
	busy := `{"error":{"code":"UNAVAILABLE","message":"Busy.","requestId":"11111111-1111-4111-8111-111111111111"}}`
	cases := []struct {
		name   string
		status int
		after  string
		do     func(context.Context, *Client) error
		want   int32
	}{
		{"read, 503", 503, "", read, 3},
		{"read, 504 of a gateway", 504, "", read, 3},
		{"read, short Retry-After", 429, "0", read, 3},
		{"read, long Retry-After", 429, "3600", read, 1},
		{"read, 400", 400, "", read, 1},
		{"write with generated key, 503", 503, "", write, 3},
		{"write that returns a secret, 503", 503, "", issue, 1},
		{"write with key of the caller, 503", 503, "", func(ctx context.Context, c *Client) error {
			_, err := Do(ctx, c, renameThing, &renameIn{ID: "1", Name: "n"}, WithIdempotencyKey("k1"))
			return err
		}, 3},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int32
			ids := make(chan string, 8)
			c := start(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
				n.Add(1)
				ids <- r.Header.Get("X-Request-Id") + r.Header.Get("Idempotency-Key")
				if tc.after != "" {
					w.Header().Set("Retry-After", tc.after)
				}
				body := busy
				if tc.status == 400 {
					body = "{}"
				}
				writeReply(w, tc.status, body)
			})
			if err := tc.do(t.Context(), c); err == nil {
				t.Fatal("want an error")
			}
			if n.Load() != tc.want {
				t.Fatalf("got %d requests, want %d", n.Load(), tc.want)
			}
			first := <-ids
			for range tc.want - 1 {
				if id := <-ids; id != first {
					t.Fatalf("attempts have the IDs %s and %s, want the same", first, id)
				}
			}
		})
	}
}

func read(ctx context.Context, c *Client) error {
	_, err := Do(ctx, c, getThing, &thingIn{ID: "1"})
	return err
}

func write(ctx context.Context, c *Client) error {
	_, err := Do(ctx, c, renameThing, &renameIn{ID: "1", Name: "n"})
	return err
}

func issue(ctx context.Context, c *Client) error {
	_, err := Do(ctx, c, issueThing, &renameIn{ID: "1", Name: "n"})
	return err
}

func TestDo_TimeoutAndCancel(t *testing.T) {
	t.Parallel()
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	c := start(t, Config{Timeout: 30 * time.Millisecond}, hang)
	if err := read(t.Context(), c); !fault.HasCode(err, fault.CodeUnavailable) || !strings.Contains(err.Error(), "within 30ms") {
		t.Fatalf("got %v, want UNAVAILABLE with the time limit", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c = start(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		cancel()
		hang(w, r)
	})
	if err := read(ctx, c); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want context.Canceled", err)
	}
}

func TestDo_UnreachableServer(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(nil)
	s.Close()
	c := start(t, Config{BaseURL: s.URL}, nil)
	if err := read(t.Context(), c); !fault.HasCode(err, fault.CodeUnavailable) || !strings.Contains(fault.From(err).Message, "connection refused") {
		t.Fatalf("unreachable server: got %v, want UNAVAILABLE with \"connection refused\"", err)
	}
	tls := httptest.NewTLSServer(nil)
	defer tls.Close()
	c = start(t, Config{BaseURL: tls.URL}, nil)
	if err := read(t.Context(), c); !fault.HasCode(err, fault.CodeInternal) {
		t.Fatalf("untrusted certificate: got %v, want INTERNAL, which is not retried", err)
	}
}

func TestTrace_OmitsTokenAndQuery(t *testing.T) {
	t.Parallel()
	var trace bytes.Buffer
	c := start(t, Config{Trace: &trace}, func(w http.ResponseWriter, _ *http.Request) { writeReply(w, 403, envelopeText) })
	_, err := Do(t.Context(), c, getThing, &thingIn{ID: "1", Query: "private words"})
	line := trace.String()
	for _, want := range []string{"GET /api/things/1 403 ", "ms request-id="} {
		if !strings.Contains(line, want) {
			t.Errorf("trace %q does not contain %q", line, want)
		}
	}
	for _, never := range []string{token, "private"} {
		if strings.Contains(line, never) || strings.Contains(err.Error(), never) {
			t.Errorf("the trace or the error contains %q", never)
		}
	}
}

func TestClient_ReusesConnectionAndSendsNoCookies(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 8)
	c := start(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		seen <- r.RemoteAddr
		if r.Header.Get("Cookie") != "" {
			t.Error("a cookie was sent")
		}
		http.SetCookie(w, &http.Cookie{Name: "pt_session", Value: "x"})
		writeReply(w, 200, `{"id":"1"}`)
	})
	for range 3 {
		if err := read(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if a, b, d := <-seen, <-seen, <-seen; a != b || b != d {
		t.Fatalf("connections: got %s, %s and %s, want the same", a, b, d)
	}
}

func TestSend_RejectsTargetOnOtherHost(t *testing.T) {
	t.Parallel()
	c := start(t, Config{}, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	for _, target := range []string{"https://evil.example/", "//evil.example/x", "api/x", "", "/\x00", "@evil.example"} {
		if _, err := c.Send(t.Context(), Request{Method: http.MethodGet, Target: target}); !fault.HasCode(err, fault.CodeValidation) {
			t.Errorf("%q: got %v, want VALIDATION", target, err)
		}
	}
}

func TestParseBaseURL_NormalizesAndRejects(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"HTTPS://Parapet.Example.org/":   "https://parapet.example.org",
		" http://localhost:3000/base// ": "http://localhost:3000/base",
	} {
		if u, err := ParseBaseURL(text); err != nil || u.String() != want {
			t.Errorf("%q: got %v, %v, want %s", text, u, err, want)
		}
	}
	for _, text := range []string{"", "localhost:3000", "ftp://x", "http://", "http://u:p@x", "http://x?a=1", "http://x#f", "http://x\n"} {
		if u, err := ParseBaseURL(text); err == nil && text != "http://x\n" {
			t.Errorf("%q: got %v, want an error", text, u)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "2", "-1", "99999999999", "Fri, 20 Nov 2026 12:00:00 GMT", "soon"} {
		f.Add(seed)
	}
	now := time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, header string) {
		if d := retryAfter(header, now); d < 0 {
			t.Fatalf("%q: %s is negative", header, d)
		}
	})
}
