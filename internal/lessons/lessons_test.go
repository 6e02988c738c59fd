package lessons

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parapet/internal/contract/tracker"
	"parapet/internal/op"
)

const (
	tenant = op.UUID("018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f")
	other  = op.UUID("018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e40")
)

// newToken returns an unsigned token.
func newToken(kind string, tenant op.UUID) string {
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	return part(`{"alg":"HS256","typ":"`+kind+`"}`) + "." + part(`{"tenant_id":"`+string(tenant)+`","jti":"secret-jti"}`) + ".signature"
}

func reply(status int, mediaType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func newTask(title string) *tracker.Task {
	task := &tracker.Task{}
	task.Key, task.Title = "APOLLO-17", title
	return task
}

func TestFind_ReturnsPagesOfTheProjectThatMatchTheTitle(t *testing.T) {
	t.Parallel()
	var searched string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/pages/search", func(w http.ResponseWriter, r *http.Request) {
		searched = r.URL.Query().Get("search") + " in " + r.URL.Query().Get("prefix") + " " + r.Header.Get("Authorization")
		reply(200, "application/json", `{"items":[{"path":"lessons/APOLLO/über hatches"}]}`)(w, r)
	})
	mux.HandleFunc("GET /api/pages/by-path/lessons/APOLLO/über hatches", reply(200, "application/json; charset=utf-8",
		`{"path":"lessons/APOLLO/über hatches","title":"Hatches","markdown":"`+strings.Repeat("é", maxText)+`"}`))
	server := httptest.NewServer(mux)
	defer server.Close()
	token := newToken(apiKeyType, tenant)
	got := New(Config{BaseURL: server.URL, Tokens: map[op.UUID]string{tenant: token}, Prefix: "lessons", Log: slog.New(slog.DiscardHandler)}).
		Find(t.Context(), tenant, newTask("Fix the Hatch: it doesn't close"))
	if !got.Found || len(got.Lessons) != 1 || got.Lessons[0].Title != "Hatches" || got.Lessons[0].Markdown != strings.Repeat("é", maxText/2) {
		t.Errorf("got %.200v, want one lesson with the start of its text", got)
	}
	if want := "hatch OR doesn OR close in lessons/APOLLO Bearer " + token; searched != want {
		t.Errorf("got the search %q, want %q", searched, want)
	}
}

// Whatever is missing or wrong, the result is empty and a warning says why, without the token.
func TestFind_ProblemGivesNoLessonsAndAWarning(t *testing.T) {
	t.Parallel()
	good := newToken(apiKeyType, tenant)
	hit := `{"items":[{"path":"lessons/APOLLO/a"}]}`
	for _, c := range []struct {
		name    string
		tokens  map[op.UUID]string
		noURL   bool
		handler http.HandlerFunc
		log     string
	}{
		{"no address", map[op.UUID]string{tenant: good}, true, nil, "must be set"},
		{"no tokens", nil, false, nil, "must be set"},
		{"no token for the tenant", map[op.UUID]string{other: newToken(apiKeyType, other)}, false, nil, "no token for the tenant"},
		{"token of a session", map[op.UUID]string{tenant: newToken("pt-session+jwt", tenant)}, false, nil, "not an API key"},
		{"internal token", map[op.UUID]string{tenant: newToken("pt-internal+jwt", tenant)}, false, nil, "not an API key"},
		{"token without a type", map[op.UUID]string{tenant: newToken("", tenant)}, false, nil, "not an API key"},
		{"token of another tenant", map[op.UUID]string{tenant: newToken(apiKeyType, other)}, false, nil, "another tenant"},
		{"no token", map[op.UUID]string{tenant: "secret"}, false, nil, "not a JWT"},
		{"401 of the wiki", nil, false, reply(401, "application/json", `{"error":{"code":"UNAUTHORIZED"}}`), `401 \"UNAUTHORIZED\"`},
		{"403 of the wiki", nil, false, reply(403, "application/json", `{"error":{"code":"FORBIDDEN"}}`), `403 \"FORBIDDEN\"`},
		{"403 of a proxy", nil, false, reply(403, "text/html", "<html>Forbidden"), "in front of the wiki answered 403"},
		{"page of a proxy", nil, false, reply(200, "text/html", "<html>Log in"), "not JSON"},
		{"not JSON", nil, false, reply(200, "application/json", "<html>"), "not JSON"},
		{"wrong JSON", nil, false, reply(200, "application/json", `{"items":7}`), "not JSON"},
		{"too large", nil, false, reply(200, "application/json", `{"items":[]`+strings.Repeat(" ", maxResponse)+`}`), "too large"},
		{"redirect", nil, false, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://evil.example/", http.StatusFound)
		}, "answered 302"},
		{"server error", nil, false, reply(503, "text/plain", ""), "answered 503"},
		{"invalid path", nil, false, reply(200, "application/json", `{"items":[{"path":"../../auth/me"}]}`), "invalid path"},
		{"page is gone", nil, false, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/api/pages/search") {
				reply(200, "application/json", hit)(w, r)
				return
			}
			reply(404, "application/json", `{"error":{"code":"NOT_FOUND"}}`)(w, r)
		}, `404 \"NOT_FOUND\"`},
		{"connection closed", nil, false, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "cannot be reached"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				calls++
				if c.handler != nil {
					c.handler(w, r)
				}
			}))
			defer server.Close()
			var log bytes.Buffer
			cfg := Config{BaseURL: server.URL, Tokens: c.tokens, Prefix: "lessons", Log: slog.New(slog.NewJSONHandler(&log, nil))}
			if c.handler != nil {
				cfg.Tokens = map[op.UUID]string{tenant: good}
			}
			if c.noURL {
				cfg.BaseURL = ""
			}
			got := New(cfg).Find(t.Context(), tenant, newTask("Fix the hatch"))
			if got.Found || got.Lessons == nil || len(got.Lessons) > 0 {
				t.Errorf("got %+v, want found: false and an empty list", got)
			}
			if !strings.Contains(log.String(), `"level":"WARN"`) || !strings.Contains(log.String(), c.log) {
				t.Errorf("got the log %q, want a warning with %q", log.String(), c.log)
			}
			for _, token := range cfg.Tokens {
				if strings.Contains(log.String(), token) || strings.Contains(log.String(), "secret") {
					t.Errorf("the log contains the token: %s", log.String())
				}
			}
			if c.handler == nil && calls > 0 {
				t.Errorf("got %d requests, want none", calls)
			}
		})
	}
}

func TestFind_NoMatchIsNoProblem(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(reply(200, "application/json", `{"items":[]}`))
	defer server.Close()
	var log bytes.Buffer
	c := New(Config{BaseURL: server.URL, Tokens: map[op.UUID]string{tenant: newToken(apiKeyType, tenant)}, Prefix: "lessons", Log: slog.New(slog.NewJSONHandler(&log, nil))})
	for _, title := range []string{"Fix the hatch", "a b c"} {
		if got := c.Find(t.Context(), tenant, newTask(title)); got.Found || fmt.Sprint(got.Lessons) != "[]" || log.Len() > 0 {
			t.Errorf("%q: got %+v with the log %q, want nothing", title, got, log.String())
		}
	}
}

// A wiki that hangs ends the search with the context, and with the timeout of the client.
func TestFind_HangingWiki(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	}))
	defer server.Close()
	defer close(stop)
	c := New(Config{BaseURL: server.URL, Tokens: map[op.UUID]string{tenant: newToken(apiKeyType, tenant)}, Prefix: "lessons", Log: slog.New(slog.DiscardHandler)})
	c.http.Timeout = 1 // nanosecond
	if got := c.Find(t.Context(), tenant, newTask("Fix the hatch")); got.Found {
		t.Errorf("got %+v, want nothing", got)
	}
}
