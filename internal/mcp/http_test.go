package mcp

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parapet/internal/fault"
)

// serve starts the MCP HTTP handler in front of an API and returns its URL.
func serve(t *testing.T, api http.Handler) string {
	t.Helper()
	return newTestServer(t, newServer(t).HTTP(api))
}

// newTestServer starts an HTTP server and returns its URL.
func newTestServer(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// bearer is a transport that adds a credential and further headers.
type bearer struct{ headers map[string]string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer the-callers-own")
	for name, value := range b.headers {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func dialHTTP(t *testing.T, url, version string, elicit elicitor) *sdk.ClientSession {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{ElicitationHandler: elicit})
	session, err := c.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: bearer{map[string]string{"X-Act-As-Org": "org", "Cookie": "pt_session=x"}}}, DisableStandaloneSSE: true,
	}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func TestHTTP_ForwardsCallerToAPI(t *testing.T) {
	t.Parallel()
	var got *http.Request
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.Header().Set("X-Request-Id", "018f3c5e-0000-7000-8000-0000000000ff")
		if r.Method == http.MethodPatch {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"error":{"code":"FORBIDDEN","message":"The permission task.update is missing.","permission":"task.update","reasons":[{"code":"out_of_scope","message":"The user has task.update, but not in the scope of this record.","remedy":"Ask for a role in this project."}],"requestId":"018f3c5e-0000-7000-8000-0000000000ff"}}`)
			return
		}
		_, _ = io.WriteString(w, `{"key":"A-1"}`)
	}))
	for _, version := range []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"} {
		c := dialHTTP(t, url, version, nil)
		res := call(t, c, "get_task", map[string]any{"project": project, "task": "A-1"})
		if structured(t, res)["key"] != "A-1" {
			t.Errorf("protocol %s: get_task: got %+v, want the task A-1", version, res)
		}
		if got.Header.Get("Authorization") != "Bearer the-callers-own" || got.Header.Get("X-Act-As-Org") != "org" || got.Header.Get("Cookie") != "" ||
			got.URL.Path != "/api/projects/"+project+"/tasks/A-1" || !strings.HasPrefix(got.RemoteAddr, "127.0.0.1:") || got.URL.Host != "" {
			t.Errorf("protocol %s: request to the API: got %s %s %v from %s, want the caller's credential, organisation and address, and no cookie", version, got.Method, got.URL, got.Header, got.RemoteAddr)
		}
		r := errorOf(t, call(t, c, "update_task", map[string]any{"project": project, "task": "A-1", "title": "x"}))
		if r.Code != fault.CodeForbidden || r.Permission != "task.update" || r.RequestID == "" || len(r.Reasons) != 1 || r.Reasons[0].Remedy != "Ask for a role in this project." {
			t.Errorf("protocol %s: update_task: got error %+v, want FORBIDDEN with permission, reason and request ID", version, r)
		}
	}
}

func TestHTTP_QueryParametersSelectTools(t *testing.T) {
	t.Parallel()
	calls := 0
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { calls++; w.WriteHeader(http.StatusNoContent) }))
	agree := func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}, nil
	}
	for _, tc := range []struct {
		query, version string
		elicit         elicitor
		deletes        bool
	}{
		{"?toolsets=tasks", "2026-07-28", nil, false},
		{"?toolsets=tasks", "2026-07-28", agree, true},
		// Without a session, the capabilities of an older client are unknown.
		{"?toolsets=tasks", "2025-06-18", agree, false},
		{"?toolsets=tasks&allow-destructive=true", "2025-06-18", nil, true},
		{"?toolsets=tasks&allow-destructive=true&read-only=true", "2026-07-28", agree, false},
	} {
		before := calls
		c := dialHTTP(t, url+tc.query, tc.version, tc.elicit)
		res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "delete_task", Arguments: map[string]any{"project": project, "task": "A-1"}})
		if done := err == nil && !res.IsError; done != tc.deletes || (calls > before) != tc.deletes {
			t.Errorf("%s %s: got deleted %v (%v), want %v", tc.query, tc.version, done, err, tc.deletes)
		}
	}
}

func post(t *testing.T, url, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

func TestHTTP_RejectsInvalidRequests(t *testing.T) {
	t.Parallel()
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { t.Error("the API got a request") }))
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, tc := range []struct {
		query, body string
		status      int
		want        string
	}{
		{"", ping, 200, `"result"`},
		{"", " \n" + ping, 200, `"result"`},
		{"", "[" + ping + "]", 400, "batches"},
		{"", "\t [" + ping + "]", 400, "batches"},
		{"", "", 400, ""},
		{"", "{", 400, ""},
		{"", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("y", maxMessage) + `"}}`, 413, ""},
		{"", strings.Repeat(" ", maxMessage+10), 413, ""},
		{"?toolsets=everything", ping, 400, "allowed: default, all"},
		{"?toolset=all", ping, 400, "unknown parameter"},
		{"?read-only=maybe", ping, 400, ""},
		{"?toolsets=all&toolsets=tasks", ping, 400, "duplicate parameter"},
		{"", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"issue_key","arguments":{}}}`, 200, "unknown tool"},
	} {
		res, text := post(t, url+tc.query, tc.body)
		if res.StatusCode != tc.status || !strings.Contains(text, tc.want) {
			t.Errorf("%s %.60s: got %d %.200s, want %d with %q", tc.query, tc.body, res.StatusCode, text, tc.status, tc.want)
		}
	}
	if res, _ := post(t, url, ping); res.Header.Get("Mcp-Session-Id") != "" {
		t.Error("response: got the header Mcp-Session-Id, want none")
	}
}

func TestHTTP_ClientDisconnectCancelsOperation(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2026-07-28", "2025-06-18"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			started, ended := make(chan bool, 1), make(chan bool, 1)
			url := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				started <- true
				<-r.Context().Done()
				ended <- true
			}))
			c := dialHTTP(t, url, version, nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				_, _ = c.CallTool(ctx, &sdk.CallToolParams{Name: "get_task", Arguments: map[string]any{"project": project, "task": "A-1"}})
			}()
			<-started
			cancel()
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Fatal("operation after the client disconnected: got a running one, want it cancelled within 20 seconds")
			}
		})
	}
}
