package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"parapet/internal/fault"
)

func TestMountCron_RequiresTheSecret(t *testing.T) {
	t.Parallel()
	const secret = "0123456789abcdef0123456789abcdef"
	ran := 0
	serve := func(secret string, headers ...string) *httptest.ResponseRecorder {
		t.Helper()
		a, err := New(Config{Auth: fakeAuthenticator{}, Registry: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		a.MountCron(secret, Cron{Name: "work", Path: "/api/cron/work", Run: func(context.Context) (any, error) {
			ran++
			return map[string]int{"done": 3}, nil
		}}, Cron{Name: "broken", Path: "/api/cron/broken", Run: func(context.Context) (any, error) { return nil, fault.Unavailable(nil) }})
		r := httptest.NewRequest(http.MethodGet, "/api/cron/work", http.NoBody)
		for _, h := range headers {
			r.Header.Add("Authorization", h)
		}
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		return w
	}
	if w := serve(secret, "Bearer "+secret); w.Code != http.StatusOK || w.Body.String() != `{"done":3}` || ran != 1 {
		t.Errorf("with the secret: got %d %s, %d runs; want 200 and one run", w.Code, w.Body, ran)
	}
	for _, headers := range [][]string{
		nil, {""}, {"Bearer "}, {secret}, {"Basic " + secret}, {"Bearer " + secret + "0"}, {"Bearer " + secret[:31]}, {"Bearer  " + secret},
		{"Bearer " + strings.ToUpper(secret)}, {"Bearer " + secret, "Bearer " + secret},
	} {
		if w := serve(secret, headers...); w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), `"UNAUTHORIZED"`) {
			t.Errorf("Authorization %q: got %d %s, want 401", headers, w.Code, w.Body)
		}
	}
	// Without a configured secret, the routes do not exist.
	for _, headers := range [][]string{nil, {"Bearer "}, {"Bearer " + secret}} {
		if w := serve("", headers...); w.Code != http.StatusNotFound {
			t.Errorf("no secret configured, Authorization %q: got %d %s, want 404", headers, w.Code, w.Body)
		}
	}
	if ran != 1 {
		t.Errorf("got %d runs, want 1", ran)
	}
}
