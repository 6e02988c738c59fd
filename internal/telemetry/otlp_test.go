package telemetry

import (
	"compress/gzip"
	"context"
	"crypto/x509"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// exportTo sends one span to a collector and returns the error of the export.
func exportTo(t *testing.T, c Collector) error {
	t.Helper()
	c.Timeout = 10 * time.Second
	client := newOTLPClient(c)
	client.wait = time.Millisecond
	err := client.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{Name: "a span"}}}}}})
	if stopErr := client.Stop(t.Context()); stopErr != nil {
		t.Error(stopErr)
	}
	return err
}

func TestCollector_GetsTheSpans(t *testing.T) {
	t.Parallel()
	for _, compressed := range []bool{false, true} {
		var names []string
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := r.Body
			if r.Header.Get("Content-Encoding") == "gzip" {
				body, _ = gzip.NewReader(r.Body)
			}
			text, _ := io.ReadAll(body)
			var data tracepb.TracesData
			if err := proto.Unmarshal(text, &data); err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" || r.Header.Get("X-Key") != "secret" {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			names = append(names, r.URL.Path, data.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()[0].GetName())
		}))
		t.Cleanup(server.Close)
		trusted := x509.NewCertPool()
		trusted.AddCert(server.Certificate())
		c := Collector{Endpoint: server.URL + "/v1/traces", Headers: map[string]string{"X-Key": "secret"}, Gzip: compressed, Certificates: trusted}
		if err := exportTo(t, c); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(names, " "); got != "/v1/traces a span" {
			t.Errorf("compressed %t: the collector got %q, want the path and the span", compressed, got)
		}
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	if err := exportTo(t, Collector{Endpoint: server.URL}); err == nil {
		t.Error("a collector with an unknown certificate: want an error")
	}
}

func TestCollector_RepeatsOnlyTemporaryErrors(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]int64{200: 1, 400: 1, 307: 1, 429: 3, 503: 3} {
		var requests atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			requests.Add(1)
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		}))
		t.Cleanup(server.Close)
		err := exportTo(t, Collector{Endpoint: server.URL})
		if requests.Load() != want || (err == nil) != (status == 200) {
			t.Errorf("status %d: got %d requests and error %v, want %d requests", status, requests.Load(), err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newOTLPClient(Collector{Endpoint: "http://127.0.0.1:1"}).UploadTraces(ctx, nil); err == nil {
		t.Error("a cancelled export: want an error")
	}
}
