package httpapi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"parapet/internal/telemetry"
)

const callerTrace = "0af7651916cd43dd8448eb211c80319c"

func TestTrace_DescribesTheRequestWithoutNamesOfUsers(t *testing.T) {
	t.Parallel()
	recorder, tracer := telemetry.NewRecorder()
	api := newTestAPI(t, io.Discard, func(c *Config) { c.Auth, c.Tracer = slowPolicies{}, tracer })
	serve(api, request(`{"text":"written-by-a-user"}`, "Authorization", "Bearer good", "X-Request-Id", thingID))
	serve(api, httptest.NewRequest(http.MethodGet, "/api/leak", nil))
	serve(api, httptest.NewRequest("INVENTED", "/a-path-of-a-client", nil))

	spans := recorder.Spans()
	if len(spans) != 3 {
		t.Fatalf("got %d spans, want 3", len(spans))
	}
	want := map[string]any{
		"http.request.method": "POST", "http.route": "/api/things/:id/echo", "http.response.status_code": int64(201),
		"parapet.operation": "echo", "parapet.request_id": thingID, "parapet.tenant": loggedTenant,
	}
	if spans[0].Name != "POST /api/things/:id/echo" || spans[0].Failed {
		t.Errorf("span of a request: got %+v, want method and route, and no failure", spans[0])
	}
	for name, got := range spans[0].Attributes {
		if want[name] != got {
			t.Errorf("attribute %s: got %v, want %v", name, got, want[name])
		}
	}
	if len(spans[0].Attributes) != len(want) {
		t.Errorf("got the attributes %v, want %v", spans[0].Attributes, want)
	}
	if !spans[1].Failed || spans[1].Attributes["error.type"] != "INTERNAL" {
		t.Errorf("span of an internal error: got %+v, want a failure of type INTERNAL", spans[1])
	}
	if spans[2].Name != "_OTHER" || spans[2].Failed {
		t.Errorf("span of an unknown route: got %+v, want the name _OTHER", spans[2])
	}
}

func TestTrace_ContinuesTracesOfTrustedProxiesOnly(t *testing.T) {
	t.Parallel()
	recorder, tracer := telemetry.NewRecorder()
	api := newTestAPI(t, io.Discard, func(c *Config) {
		c.Tracer, c.TrustedProxies = tracer, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	})
	for _, peer := range []string{"10.1.2.3:1000", "192.0.2.1:1000"} {
		r := httptest.NewRequest(http.MethodGet, "/healthz", nil)
		r.RemoteAddr = peer
		r.Header.Set("Traceparent", "00-"+callerTrace+"-b7ad6b7169203331-01")
		serve(api, r)
	}
	spans := recorder.Spans()
	if spans[0].TraceID != callerTrace || spans[1].TraceID == callerTrace {
		t.Errorf("got the traces %s (proxy) and %s (stranger), want %s only for the proxy", spans[0].TraceID, spans[1].TraceID, callerTrace)
	}
}

// metricsText returns /metrics in the format that accept asks for.
func metricsText(api *API, accept string) (contentType, text string) {
	w := get(api, "/metrics", accept)
	return w.Header().Get("Content-Type"), w.Body.String()
}

func TestMetrics_ExemplarsNameSampledTraces(t *testing.T) {
	t.Parallel()
	const openMetrics = "application/openmetrics-text; version=1.0.0"
	recorder, tracer := telemetry.NewRecorder()
	for _, c := range []struct {
		note   string
		tracer *telemetry.Tracer
	}{{"on", tracer}, {"off", nil}} {
		api := newTestAPI(t, io.Discard, func(cfg *Config) { cfg.Auth, cfg.Tracer = slowPolicies{}, c.tracer })
		serve(api, request(`{"text":"x"}`, "Authorization", "Bearer good"))
		kind, text := metricsText(api, openMetrics)
		if !strings.HasPrefix(kind, "application/openmetrics-text") {
			t.Fatalf("tracing %s: got the format %s, want OpenMetrics", c.note, kind)
		}
		exemplars := strings.Count(text, `# {trace_id="`)
		if c.tracer == nil && exemplars != 0 {
			t.Errorf("tracing off: got %d exemplars, want none:\n%s", exemplars, text)
		}
		if c.tracer == nil {
			continue
		}
		for _, metric := range []string{"parapet_http_request_seconds_bucket{operation=\"echo\"", "parapet_request_decision_seconds_bucket{"} {
			found := false
			for line := range strings.Lines(text) {
				found = found || strings.HasPrefix(line, metric) && strings.Contains(line, `# {trace_id="`+recorder.Spans()[0].TraceID+`"}`)
			}
			if !found {
				t.Errorf("tracing on: %s has no exemplar of the trace:\n%s", metric, text)
			}
		}
		if kind, text := metricsText(api, "*/*"); !strings.HasPrefix(kind, "text/plain") || strings.Contains(text, "trace_id") {
			t.Errorf("plain format: got %s, want text/plain without exemplars", kind)
		}
	}
}
