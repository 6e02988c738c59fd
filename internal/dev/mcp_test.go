package dev

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// dialTools connects an MCP client to the running server, with additional headers.
func (d *Dev) dialTools(t *testing.T, headers map[string]string, query string) (*sdk.ClientSession, error) {
	t.Helper()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: d.App().BaseURL() + "/mcp" + query, HTTPClient: &http.Client{Transport: withHeaders(headers)}, DisableStandaloneSSE: true, MaxRetries: -1,
	}, nil)
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}

type withHeaders map[string]string

func (h withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func callTool(t *testing.T, c *sdk.ClientSession, name string, args map[string]any) map[string]any {
	t.Helper()
	res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil || res.IsError {
		t.Fatalf("tool %s %v: got %v %+v", name, args, err, res)
	}
	data, _ := res.StructuredContent.(map[string]any)
	return data
}

// TestMCP_ToolsHaveTheCallersAuthority verifies on the real server that a tool can do exactly
// what its caller may do.
func TestMCP_ToolsHaveTheCallersAuthority(t *testing.T) {
	t.Parallel()
	log := &logged{}
	d := startDevWith(t, nil, slog.NewJSONHandler(log, nil))
	s := &stage{Dev: d, t: t, log: log}
	send := func(status int, says string, headers ...string) {
		t.Helper()
		headers = append(headers, "Accept", "application/json, text/event-stream")
		s.want(status, says, "POST", "/mcp", "", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, headers...)
	}
	session := s.loginAs("project-manager@acme.example")
	key := s.key(session)
	bearer := "Bearer " + key
	send(401, "UNAUTHORIZED")
	send(401, "UNAUTHORIZED", "Authorization", "Bearer x")
	send(401, "UNAUTHORIZED", "Cookie", "pt_session="+session)
	send(403, "Origin", "Authorization", bearer, "Origin", "https://elsewhere.example")
	send(200, "find_project", "Authorization", bearer)

	c, err := d.dialTools(t, map[string]string{"Authorization": bearer}, "?toolsets=account,projects")
	if err != nil {
		t.Fatal(err)
	}
	s.offersRecordsOf(bearer, session)
	me := callTool(t, c, "me", nil)
	if me["tokenId"] != s.claims(key)["jti"] {
		t.Errorf("tool me: got %v", me)
	}
	visiting, err := d.dialTools(t, map[string]string{"Authorization": "Bearer " + s.loginAs(visitor+"@"+office+".example"), "X-Act-As-Org": string(s.tenant(visitedTenant).ID)}, "?toolsets=account")
	if err != nil {
		t.Fatal(err)
	}
	if me := callTool(t, visiting, "me", nil); me["tenantSlug"] != visitedTenant {
		t.Errorf("tool with x-act-as-org: got the tenant %v", me["tenantSlug"])
	}
	lost, err := d.dialTools(t, map[string]string{"Authorization": bearer, "X-Act-As-Org": string(s.tenant("globex").ID)}, "?toolsets=account")
	if err != nil {
		t.Fatal(err)
	}
	if res, err := lost.CallTool(t.Context(), &sdk.CallToolParams{Name: "me"}); err != nil || !res.IsError {
		t.Errorf("tool in a foreign tenant: got %+v, %v, want an error", res, err)
	}
	s.want(200, "", "DELETE", "/api/auth/api-keys/"+fmt.Sprint(s.claims(key)["jti"]), session, nil)
	if res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "me"}); err == nil {
		t.Errorf("tool with a revoked key: got %+v, want an error", res)
	}
	send(401, "UNAUTHORIZED", "Authorization", bearer)
	if strings.Contains(log.String(), key) || strings.Contains(log.String(), session) {
		t.Error("the log contains a credential")
	}
}

// offersRecordsOf verifies that prompts, resources and completion offer the records that the
// caller may read, in both kinds of protocol versions. manager is the credential of a person
// who may read confidential projects.
func (s *stage) offersRecordsOf(manager, session string) {
	s.t.Helper()
	s.want(201, "", "POST", "/api/projects", session, body{"name": "Open quay", "prefix": "QUAY", "startDate": "2027-01-01"})
	s.want(201, "", "POST", "/api/projects", session, body{"name": "Vault", "prefix": "VAULT", "startDate": "2027-01-01", "classification": "CONFIDENTIAL"})
	s.want(201, "", "POST", "/api/projects/VAULT/tasks", session, body{"title": "Hide the gold"})
	member := "Bearer " + s.loginAs("member@acme.example")
	for _, version := range []string{"2026-07-28", "2025-06-18"} {
		for who, credential := range map[string]string{"manager": manager, "member": member} {
			c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(s.t.Context(), &sdk.StreamableClientTransport{
				Endpoint: s.App().BaseURL() + "/mcp", HTTPClient: &http.Client{Transport: withHeaders{"Authorization": credential}}, DisableStandaloneSSE: true, MaxRetries: -1,
			}, &sdk.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				s.t.Fatal(err)
			}
			read := func(uri string) string {
				res, err := c.ReadResource(s.t.Context(), &sdk.ReadResourceParams{URI: uri})
				if err != nil {
					return strings.ReplaceAll(err.Error(), uri, "")
				}
				return res.Contents[0].Text
			}
			isManager := who == "manager"
			for hidden, missing := range map[string]string{"parapet://projects/VAULT": "parapet://projects/NOSUCH", "parapet://tasks/VAULT-1": "parapet://tasks/NOSUCH-1"} {
				if (read(hidden) == read(missing)) == isManager {
					s.t.Errorf("%s, protocol %s: %s: got %q, and %q for a missing one", who, version, hidden, read(hidden), read(missing))
				}
			}
			var listed []string
			for r, err := range c.Resources(s.t.Context(), nil) {
				if err != nil {
					s.t.Fatal(err)
				}
				listed = append(listed, r.URI)
			}
			if !slices.Contains(listed, "parapet://projects/QUAY") || slices.Contains(listed, "parapet://projects/VAULT") != isManager {
				s.t.Errorf("%s, protocol %s: got the resources %v", who, version, listed)
			}
			for _, value := range []string{"VAU", "VAULT-"} {
				res, err := c.Complete(s.t.Context(), &sdk.CompleteParams{Ref: &sdk.CompleteReference{Type: "ref/prompt", Name: "report_on_task"}, Argument: sdk.CompleteParamsArgument{Name: "task", Value: value}})
				if err != nil || (len(res.Completion.Values) == 1) != isManager {
					s.t.Errorf("%s, protocol %s: completion of %s: got %+v, %v", who, version, value, res, err)
				}
			}
			if _, err := c.GetPrompt(s.t.Context(), &sdk.GetPromptParams{Name: "report_on_task", Arguments: map[string]string{"task": "VAULT-1"}}); (err == nil) != isManager {
				s.t.Errorf("%s, protocol %s: prompt with a confidential task: got %v", who, version, err)
			}
			if err := c.Close(); err != nil {
				s.t.Error(err)
			}
		}
	}
}

// TestMCP_WaitDecisionEnds waits for a decision with the tool. The wait ends with an answer,
// when the client disconnects, and when the server stops.
func TestMCP_WaitDecisionEnds(t *testing.T) {
	t.Parallel()
	d, err := Start(t.Context(), Options{DataDir: t.TempDir(), Getenv: func(n string) string { return map[string]string{"PORT": "0", "PT_DRAIN_SECONDS": "20"}[n] }, Version: "test", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	admin := d.login(t, "admin@acme.example")
	w := newParityWorld(t, d, admin, "QCCC")
	c, err := d.dialTools(t, map[string]string{"Authorization": "Bearer " + admin}, "")
	if err != nil {
		t.Fatal(err)
	}
	args := map[string]any{"projectId": w.ids["projectId"], "task": w.ids["wait-decision task"], "requestId": w.ids["requestId"], "timeoutSeconds": 50}
	type end struct {
		status any
		err    error
	}
	wait := func(ctx context.Context) chan end {
		ended := make(chan end, 1)
		go func() {
			res, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "wait_decision", Arguments: args})
			var e end
			if e.err = err; err == nil {
				data, _ := res.StructuredContent.(map[string]any)
				e.status = data["status"]
			}
			ended <- e
		}()
		d.waitUntilWaiting(t)
		return ended
	}
	within := func(ended chan end) end {
		t.Helper()
		select {
		case e := <-ended:
			return e
		case <-time.After(time.Minute):
			t.Fatal("wait-decision: no result in time")
			return end{}
		}
	}
	gone, leave := context.WithCancel(t.Context())
	ended := wait(gone)
	leave()
	if e := within(ended); e.err == nil {
		t.Errorf("wait-decision after the client disconnected: got %v", e.status)
	}
	d.waitUntilIdle(t)

	ended = wait(t.Context())
	answer, err := json.Marshal(map[string]any{"chosenOptionIndex": 0})
	if err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/api/projects/%s/tasks/%s/decision-requests/%s/answer", args["projectId"], args["task"], args["requestId"])
	if r := d.ask(t, "POST", path, admin, answer); r.Code != 200 {
		t.Fatalf("%d %s", r.Code, r.Body)
	}
	if e := within(ended); e.err != nil || e.status != "answered" {
		t.Errorf("wait-decision after the answer: got %v, %v", e.status, e.err)
	}

	second := w.make(t, fmt.Sprintf("/api/projects/%s/tasks/%s/decision-requests", args["projectId"], args["task"]), map[string]any{"question": "And now?"})
	args["requestId"] = second["id"]
	ended = wait(t.Context())
	stop()
	if e := within(ended); e.err != nil || e.status != "open" {
		t.Errorf("wait-decision when the server stops: got %v, %v", e.status, e.err)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("stop of the server: got error %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("stop of the server: no result in time")
	}
}

// inFlight returns the number of requests in progress, without the request that reads the
// metric.
func (d *Dev) inFlight(t *testing.T) int {
	t.Helper()
	w := d.ask(t, "GET", "/metrics", "", nil)
	for line := range bytes.Lines(w.Body.Bytes()) {
		var n int
		if _, err := fmt.Sscanf(string(line), "parapet_http_requests_in_flight %d", &n); err == nil {
			return n - 1
		}
	}
	t.Fatal("the metric of requests in flight is missing")
	return 0
}

// waitUntilWaiting waits until a tool's request and the operation behind it are in
// progress.
func (d *Dev) waitUntilWaiting(t *testing.T) { t.Helper(); d.waitForRequests(t, 2) }

func (d *Dev) waitUntilIdle(t *testing.T) { t.Helper(); d.waitForRequests(t, 0) }

func (d *Dev) waitForRequests(t *testing.T, n int) {
	t.Helper()
	for range 2000 {
		if d.inFlight(t) == n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("requests in progress: got %d, want %d", d.inFlight(t), n)
}
