package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"parapet/internal/op"
	"parapet/internal/principal"
	"parapet/internal/telemetry"
)

// slowPolicies is an Authenticator with one caller, whose policies take three milliseconds.
type slowPolicies struct{}

const (
	loggedTenant = "018f3c5e-7a10-7c3e-9d2b-000000000001"
	loggedUser   = "018f3c5e-7a10-7c3e-9d2b-000000000002"
	loggedKey    = "018f3c5e-7a10-7c3e-9d2b-000000000003"
)

func (slowPolicies) Authenticate(ctx context.Context, c principal.Credential) (*principal.Principal, error) {
	telemetry.AddDecisionTime(ctx, 3*time.Millisecond)
	p, err := fakeAuthenticator{}.Authenticate(ctx, c)
	if err != nil {
		return nil, err
	}
	p.UserID, p.Tenant, p.JTI, p.TokenKind = loggedUser, loggedTenant, op.UUID(loggedKey), "api_key"
	return p, nil
}

// requestLines returns the log lines about requests.
func requestLines(t *testing.T, log []byte) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for _, text := range bytes.Split(bytes.TrimSpace(log), []byte("\n")) {
		var line map[string]any
		if err := json.Unmarshal(text, &line); err != nil {
			t.Fatalf("log line %s: %v", text, err)
		}
		if line["msg"] == "request" {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestRequestLog_NamesCallerPathAndDecisionTime(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	api := newTestAPI(t, &log, func(c *Config) { c.Auth = slowPolicies{} })
	api.Mount("/tools", "tools", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))

	w, _ := serve(api, request(`{"text":"x"}`, "Authorization", "Bearer good"))
	tools := httptest.NewRequest(http.MethodPost, "/tools", nil)
	tools.Header.Set("Authorization", "Bearer good")
	serve(api, tools)
	serve(api, request(`{"text":"x"}`))
	serve(api, httptest.NewRequest(http.MethodGet, "/a%0Ab/"+strings.Repeat("x/", 500), nil))
	serve(api, httptest.NewRequest(http.MethodGet, "/api/things/eyJ"+strings.Repeat("x", maxLoggedSegment)+"/echo", nil))
	serve(api, httptest.NewRequest(http.MethodGet, "/nothing?token=in-the-query", nil))

	lines := requestLines(t, log.Bytes())
	if len(lines) != 6 {
		t.Fatalf("got %d lines about requests, want 6:\n%s", len(lines), log.String())
	}
	want := map[string]any{
		"method": "POST", "path": "/api/things/" + thingID + "/echo", "operation": "echo", "status": 201.0, "decisionMicros": 3000.0,
		"tenant": loggedTenant, "subject": loggedUser, "credential": loggedKey, "credentialKind": "api_key", "requestId": w.Header().Get("X-Request-Id"),
	}
	for name, value := range want {
		if lines[0][name] != value {
			t.Errorf("line of a request: got %s=%v, want %v", name, lines[0][name], value)
		}
	}
	if lines[1]["credential"] != loggedKey || lines[1]["path"] != "/tools" {
		t.Errorf("line of a mounted handler: got %v, want its path and credential", lines[1])
	}
	if _, ok := lines[2]["subject"]; ok || lines[2]["status"] != 401.0 {
		t.Errorf("line of a request without credential: got %v, want 401 and no subject", lines[2])
	}
	if path, _ := lines[3]["path"].(string); !strings.HasPrefix(path, "/…/x/x") || len(path) > maxLoggedPath+len("…") {
		t.Errorf("line of an unknown route: got path %q, want at most %d bytes of the encoded path without the line break", path, maxLoggedPath)
	}
	if lines[4]["path"] != "/api/things/…/echo" {
		t.Errorf("line of a path with a token: got path %q, want it without the token", lines[4]["path"])
	}
	if lines[5]["path"] != "/nothing" || strings.Contains(log.String(), "in-the-query") {
		t.Errorf("the log contains the query string:\n%s", log.String())
	}
}
