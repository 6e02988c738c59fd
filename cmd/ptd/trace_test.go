package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// collector is an OpenTelemetry collector that keeps what it receives.
type collector struct {
	mu   sync.Mutex
	path string
	body []byte
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.path, c.body = r.URL.Path, append(c.body, body...)
	w.WriteHeader(http.StatusOK)
}

// TestServe_ExportsTraces starts ptd with the standard settings of OpenTelemetry. The end of the
// process sends the remaining spans.
func TestServe_ExportsTraces(t *testing.T) {
	t.Parallel()
	received := &collector{}
	server := httptest.NewServer(received)
	t.Cleanup(server.Close)
	p, info := seededServer(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL, "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=staging")
	admin := login(t, info, info.BaseURL, "admin@acme.example")
	admin.requireStatus(200, "GET", "/api/projects", nil)
	admin.requireStatus(200, "GET", "/api/auth/me", nil)
	if err := p.stop(); err != nil {
		t.Fatalf("stop: %v\n%s", err, p.err.String())
	}
	received.mu.Lock()
	defer received.mu.Unlock()
	if received.path != "/v1/traces" {
		t.Fatalf("the collector got a request for %q, want /v1/traces\n%s", received.path, p.err.String())
	}
	for _, text := range []string{"GET /api/projects", "decision", "parapet/open/verdict", "SELECT projects.projects", "staging"} {
		if !bytes.Contains(received.body, []byte(text)) {
			t.Errorf("the spans do not contain %q", text)
		}
	}
}
