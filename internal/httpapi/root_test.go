package httpapi

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func get(api *API, path, accept string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	return w
}

func withDocuments(cfg *Config) {
	cfg.Documents = fstest.MapFS{"http-api.md": {Data: []byte("# HTTP API\n")}, "docs.go": {Data: []byte("package docs\n")}}
}

func TestRoot_DescribesTheServer(t *testing.T) {
	t.Parallel()
	api := newTestAPI(t, io.Discard, withDocuments)
	w := get(api, "/", "*/*")
	var page struct {
		Name, Version string
		Links         map[string]string
		Documents     []string
	}
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != 200 || page.Name != "Parapet" || page.Version != "test" {
		t.Fatalf("GET /: got %d %s (%v), want the name and the version", w.Code, w.Body, err)
	}
	if len(page.Links) != 4 || len(page.Documents) != 1 {
		t.Errorf("GET /: got links %v and documents %v, want 4 links and 1 document", page.Links, page.Documents)
	}
	for purpose, path := range page.Links {
		want := 200
		if purpose == "readiness" {
			want = 503 // the test API is not ready
		}
		if got := get(api, path, "*/*").Code; purpose != "readiness" && got != want {
			t.Errorf("GET %s (%s): got %d, want %d", path, purpose, got, want)
		}
	}
	html := get(api, "/", "text/html,application/xhtml+xml")
	if got := html.Header().Get("Content-Type"); got != "text/html; charset=utf-8" || !strings.Contains(html.Body.String(), `<a href="/docs/http-api.md">`) {
		t.Errorf("GET / for a browser: got %s %s, want a page with links", got, html.Body)
	}
	if csp := html.Header().Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") {
		t.Errorf("GET / for a browser: got the policy %q, want default-src 'none'", csp)
	}
}

func TestRoot_EscapesThePage(t *testing.T) {
	t.Parallel()
	api := newTestAPI(t, io.Discard, func(c *Config) { c.Version = "<v1>" })
	if text := get(api, "/", "text/html").Body.String(); strings.Contains(text, "<v1>") || !strings.Contains(text, "Version &lt;v1&gt;.") {
		t.Errorf("got %s, want the version escaped", text)
	}
}

func TestRoot_ServesOnlyPagesOfTheDocumentation(t *testing.T) {
	t.Parallel()
	api := newTestAPI(t, io.Discard, withDocuments)
	if w := get(api, "/docs/http-api.md", "*/*"); w.Code != 200 || w.Body.String() != "# HTTP API\n" || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("GET /docs/http-api.md: got %d %q, want the page as text", w.Code, w.Body)
	}
	unknown := get(api, "/nothing", "*/*")
	for _, path := range []string{"/docs/nothing.md", "/docs/docs.go", "/docs/..", "/docs/%2e%2e%2fgo.mod", "/docs/", "/docs/.", "/docs/a%00b"} {
		w := get(api, path, "*/*")
		if w.Code != 404 || len(w.Body.String()) != len(unknown.Body.String()) {
			t.Errorf("GET %s: got %d %s, want the response for an unknown route", path, w.Code, w.Body)
		}
	}
}
