package httpapi

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/principal"
)

type echoIn struct {
	ID   op.UUID `path:"id" doc:"The thing."`
	Text string  `json:"text" required:"true" doc:"What to say."`
}

type echoOut struct {
	ID        op.UUID `json:"id" doc:"The thing."`
	Text      string  `json:"text" doc:"What was said."`
	Client    string  `json:"client" doc:"The client's address."`
	Secure    bool    `json:"secure" doc:"Whether it came by https."`
	RequestID string  `json:"requestId" doc:"The request."`
}

type noIn struct{}

const (
	thingID   = "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f"
	goodToken = "good"
	keyToken  = "key"
)

// fakeAuthenticator accepts one session, and one API key if it is not in the cookie.
type fakeAuthenticator struct{}

func (fakeAuthenticator) Authenticate(_ context.Context, c principal.Credential) (*principal.Principal, error) {
	if c.Token != goodToken && (c.Token != keyToken || c.Cookie) {
		return nil, fault.Unauthorized()
	}
	if c.HasActAs && c.ActAs == "" {
		return nil, fault.ForbiddenTenant()
	}
	return &principal.Principal{UserID: thingID}, nil
}

func newTestAPI(t *testing.T, log io.Writer, change func(*Config)) *API {
	t.Helper()
	echo := op.New[echoIn, echoOut](op.Spec{Name: "echo", Module: "tracker", Method: "POST", Path: "/api/things/{id}/echo", Permission: "thing.echo", Effect: op.Write, Status: 201, Summary: "Says it again."})
	boom := op.New[noIn, op.None](op.Spec{Name: "boom", Module: "tracker", Method: "GET", Path: "/api/boom", Access: op.Public, Effect: op.Read, Status: 204, Summary: "Panics."})
	leak := op.New[noIn, op.None](op.Spec{Name: "leak", Module: "tracker", Method: "GET", Path: "/api/leak", Access: op.Public, Effect: op.Read, Status: 204, Summary: "Fails."})
	busy := op.New[noIn, op.None](op.Spec{Name: "busy", Module: "tracker", Method: "GET", Path: "/api/busy", Access: op.Public, Effect: op.Read, Status: 204, Summary: "Is busy."})
	cfg := Config{
		Operations: []op.Bound{
			{Operation: echo.Operation, Call: func(ctx context.Context, in any) (any, error) {
				r := op.RequestOf(ctx)
				if principal.FromContext(ctx) == nil {
					return nil, errors.New("no principal")
				}
				e := in.(*echoIn)
				return &echoOut{ID: e.ID, Text: e.Text, Client: r.ClientAddr, Secure: r.Secure, RequestID: r.ID}, nil
			}},
			{Operation: boom.Operation, Call: func(context.Context, any) (any, error) { panic("secret-of-the-panic") }},
			{Operation: leak.Operation, Call: func(context.Context, any) (any, error) { return nil, errors.New("password=hunter2") }},
			{Operation: busy.Operation, Call: func(context.Context, any) (any, error) { return nil, fault.Unavailable(nil) }},
		},
		Auth:     fakeAuthenticator{},
		Registry: prometheus.NewRegistry(),
		Log:      slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Version:  "test",
	}
	if change != nil {
		change(&cfg)
	}
	api, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func request(body string, headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/api/things/"+thingID+"/echo", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func serve(api *API, r *http.Request) (*httptest.ResponseRecorder, Error) {
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	var e Envelope
	if w.Code >= 400 {
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
			panic(err)
		}
	}
	return w, e.Error
}

func TestCredential_HeaderAndCookieCombinations(t *testing.T) {
	t.Parallel()
	api := newTestAPI(t, io.Discard, nil)
	for _, c := range []struct {
		note    string
		headers []string
		status  int
	}{
		{"bearer header", []string{"Authorization", "Bearer good"}, 201},
		{"scheme in another case", []string{"Authorization", "bEARER good"}, 201},
		{"cookie and origin", []string{"Cookie", "pt_session=good", "Origin", "http://example.com"}, 201},
		{"cookie and fetch metadata", []string{"Cookie", "__Host-pt_session=good", "Sec-Fetch-Site", "same-origin"}, 201},
		{"cookie equal to the header", []string{"Cookie", "pt_session=good", "Authorization", "Bearer good"}, 201},
		{"API key in the header", []string{"Authorization", "Bearer key"}, 201},
		{"API key in the cookie", []string{"Cookie", "pt_session=key", "Origin", "http://example.com"}, 401},
		{"API key in the secure cookie", []string{"Cookie", "__Host-pt_session=key", "Sec-Fetch-Site", "same-origin"}, 401},
		{"API key in the cookie without origin", []string{"Cookie", "pt_session=key"}, 401},
		{"API key in cookie and header", []string{"Cookie", "pt_session=key", "Authorization", "Bearer key"}, 401},
		{"session in the cookie, API key in the header", []string{"Cookie", "pt_session=good", "Authorization", "Bearer key"}, 401},
		{"cookie and empty header", []string{"Cookie", "pt_session=good", "Authorization", "", "Origin", "http://example.com"}, 401},
		{"cookie and another scheme", []string{"Cookie", "pt_session=good", "Authorization", "Basic Z29vZDo=", "Origin", "http://example.com"}, 401},
		{"another cookie", []string{"Cookie", "session=good", "Origin", "http://example.com"}, 401},
		{"other headers", []string{"Proxy-Authorization", "Bearer good", "X-Api-Key", "good"}, 401},
		{"none", nil, 401},
		{"invalid token", []string{"Authorization", "Bearer bad"}, 401},
		{"two headers", []string{"Authorization", "Bearer good", "Authorization", "Bearer good"}, 401},
		{"two spaces", []string{"Authorization", "Bearer  good"}, 401},
		{"trailing space", []string{"Authorization", "Bearer good "}, 401},
		{"other scheme", []string{"Authorization", "Basic good"}, 401},
		{"scheme without token", []string{"Authorization", "Bearer"}, 401},
		{"list of tokens", []string{"Authorization", "Bearer good, Bearer bad"}, 401},
		{"cookie differs from the header", []string{"Cookie", "pt_session=other", "Authorization", "Bearer good"}, 401},
		{"two cookies", []string{"Cookie", "pt_session=good; pt_session=bad", "Origin", "http://example.com"}, 401},
		{"cookie without origin", []string{"Cookie", "pt_session=good"}, 403},
		{"cookie from another origin", []string{"Cookie", "pt_session=good", "Origin", "http://evil.example"}, 403},
		{"cookie from a sandboxed page", []string{"Cookie", "pt_session=good", "Origin", "null"}, 403},
		{"cookie from a sibling site", []string{"Cookie", "pt_session=good", "Sec-Fetch-Site", "same-site", "Origin", "http://example.com"}, 403},
		{"two act-as headers", []string{"Authorization", "Bearer good", "X-Act-As-Org", "a", "X-Act-As-Org", "b"}, 403},
		{"two act-as headers and an invalid token", []string{"Authorization", "Bearer bad", "X-Act-As-Org", "a", "X-Act-As-Org", "b"}, 401},
	} {
		t.Run(c.note, func(t *testing.T) {
			t.Parallel()
			w, e := serve(api, request(`{"text":"x"}`, c.headers...))
			if w.Code != c.status {
				t.Fatalf("echo: got %d %+v, want %d", w.Code, e, c.status)
			}
			if w.Code == 401 && (e.Code != fault.CodeUnauthorized || w.Header().Get("WWW-Authenticate") == "") {
				t.Errorf("401 response: got %+v, want UNAUTHORIZED and a challenge", e)
			}
		})
	}
}

// A token in the query string is ignored, whatever the parameter's name.
func TestCredential_IgnoresTheQueryString(t *testing.T) {
	t.Parallel()
	api := newTestAPI(t, io.Discard, nil)
	for _, name := range []string{"access_token", "token", "api_key", "pt_session", "Authorization"} {
		r := request(`{"text":"x"}`)
		r.URL.RawQuery = name + "=" + goodToken
		if w, e := serve(api, r); w.Code != 401 {
			t.Errorf("?%s: got %d %+v, want 401", name, w.Code, e)
		}
	}
}

// Over https only the cookie with the prefix counts: a neighbouring host could have set
// the other one.
func TestCredential_CookieOverHTTPSNeedsHostPrefix(t *testing.T) {
	t.Parallel()
	api := newTestAPI(t, io.Discard, nil)
	for _, c := range []struct {
		cookie string
		status int
	}{
		{"__Host-pt_session=good", 201},
		{"pt_session=good", 401},
		{"pt_session=bad; __Host-pt_session=good", 201},
		{"pt_session=good; __Host-pt_session=bad", 401},
	} {
		r := request(`{"text":"x"}`, "Cookie", c.cookie, "Sec-Fetch-Site", "same-origin")
		r.TLS = &tls.ConnectionState{}
		if w, e := serve(api, r); w.Code != c.status {
			t.Errorf("%s: got %d %+v, want %d", c.cookie, w.Code, e, c.status)
		}
	}
}

// A malformed query is rejected as a whole, because ignoring a part could drop a filter.
func TestOperation_RejectsMalformedQuery(t *testing.T) {
	t.Parallel()
	api := newTestAPI(t, io.Discard, nil)
	for _, query := range []string{"a=1;b=2", "%", "a=%zz", "a=%f", "loud=true;x"} {
		r := request(`{"text":"x"}`, "Authorization", "Bearer good")
		r.URL.RawQuery = query
		if w, e := serve(api, r); w.Code != 400 || e.Code != fault.CodeValidation || e.Field != "query" {
			t.Errorf("query %s: got %d %+v, want 400 VALIDATION of query", query, w.Code, e)
		}
	}
}

func TestOperation_RejectsInvalidBodies(t *testing.T) {
	t.Parallel()
	api := newTestAPI(t, io.Discard, nil)
	for _, c := range []struct {
		note, kind, body string
		status           int
		code             fault.Code
	}{
		{"charset", "application/json; charset=UTF-8", `{"text":"x"}`, 201, ""},
		{"other charset", "application/json; charset=latin1", `{"text":"x"}`, 415, fault.CodeUnsupportedMedia},
		{"form", "application/x-www-form-urlencoded", `text=x`, 415, fault.CodeUnsupportedMedia},
		{"no content type", "", `{"text":"x"}`, 415, fault.CodeUnsupportedMedia},
		{"too large", "application/json", `{"text":"` + strings.Repeat("x", 1<<20) + `"}`, 413, fault.CodePayloadTooLarge},
		{"unknown field", "application/json", `{"text":"x","x":1}`, 400, fault.CodeValidation},
		{"empty", "application/json", ``, 400, fault.CodeValidation},
	} {
		t.Run(c.note, func(t *testing.T) {
			t.Parallel()
			r := request(c.body, "Authorization", "Bearer good")
			r.Header.Del("Content-Type")
			if c.kind != "" {
				r.Header.Set("Content-Type", c.kind)
			}
			if w, e := serve(api, r); w.Code != c.status || e.Code != c.code {
				t.Fatalf("echo: got %d %+v, want %d %s", w.Code, e, c.status, c.code)
			}
			// The same body without a length (chunked).
			r = request(c.body, "Authorization", "Bearer good")
			r.Header.Del("Content-Type")
			if c.kind != "" {
				r.Header.Set("Content-Type", c.kind)
			}
			r.ContentLength = -1
			if w, e := serve(api, r); w.Code != c.status || e.Code != c.code {
				t.Fatalf("chunked echo: got %d %+v, want %d %s", w.Code, e, c.status, c.code)
			}
		})
	}
}

func TestOperation_InternalErrorsAreHidden(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	api := newTestAPI(t, &log, nil)
	for _, path := range []string{"/api/boom", "/api/leak"} {
		w, e := serve(api, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != 500 || e.Code != fault.CodeInternal || e.RequestID == "" {
			t.Fatalf("%s: got %d %+v, want 500 INTERNAL", path, w.Code, e)
		}
		if body := w.Body.String(); strings.Contains(body, "hunter2") || strings.Contains(body, "secret-of-the-panic") {
			t.Fatalf("%s: got %s, want a response without the cause of the error", path, body)
		}
		if !strings.Contains(log.String(), e.RequestID) {
			t.Errorf("%s: got a log without the request id %s of the response, want it logged", path, e.RequestID)
		}
	}
	w, _ := serve(api, httptest.NewRequest(http.MethodGet, "/api/busy", nil))
	if w.Code != 503 || w.Header().Get("Retry-After") != "2" {
		t.Errorf("/api/busy: got %d with Retry-After %q, want 503 with 2", w.Code, w.Header().Get("Retry-After"))
	}
}

func TestLog_ContainsNoCredential(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	api := newTestAPI(t, &log, nil)
	serve(api, request(`{"text":"body-secret"}`, "Authorization", "Bearer good"))
	r := httptest.NewRequest(http.MethodPost, "/api/things/"+thingID+"/echo?access_token=query-secret", strings.NewReader(`{}`))
	r.Header.Set("Authorization", "Bearer header-secret")
	if w, _ := serve(api, r); w.Code != 401 {
		t.Errorf("token in the query: got %d, want 401", w.Code)
	}
	for _, secret := range []string{"query-secret", "header-secret", "body-secret"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("log: got %s, want it without %s", log.String(), secret)
		}
	}
}

func TestRequestID_FromClientOrGenerated(t *testing.T) {
	t.Parallel()
	api := newTestAPI(t, io.Discard, nil)
	w, _ := serve(api, request(`{"text":"x"}`, "Authorization", "Bearer good", "X-Request-Id", strings.ToUpper(thingID)))
	if got := w.Header().Get("X-Request-Id"); got != thingID {
		t.Errorf("X-Request-Id: got %q, want the client's id", got)
	}
	w, _ = serve(api, request(`{"text":"x"}`, "Authorization", "Bearer good", "X-Request-Id", "<script>"))
	if _, err := op.ParseUUID(w.Header().Get("X-Request-Id")); err != nil {
		t.Errorf("X-Request-Id for an invalid id: got %q, want a UUID", w.Header().Get("X-Request-Id"))
	}
}

func TestClientAddress_UsesForwardedHeadersOfTrustedProxiesOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		note   string
		trust  string
		client string
		secure bool
	}{{"untrusted peer", "", "192.0.2.1", false}, {"trusted proxy", "192.0.2.0/24", "203.0.113.9", true}} {
		api := newTestAPI(t, io.Discard, func(cfg *Config) {
			if c.trust != "" {
				cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(c.trust)}
			}
		})
		r := request(`{"text":"x"}`, "Authorization", "Bearer good", "X-Forwarded-For", "198.51.100.1, 203.0.113.9", "X-Forwarded-Proto", "https")
		w, _ := serve(api, r)
		var out echoOut
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
		if out.Client != c.client || out.Secure != c.secure {
			t.Errorf("%s: got client %s, https %t; want %s, %t", c.note, out.Client, out.Secure, c.client, c.secure)
		}
	}
}

func TestAPI_BuiltInRoutes(t *testing.T) {
	t.Parallel()
	ready := errors.New("no database")
	api := newTestAPI(t, io.Discard, func(cfg *Config) { cfg.Ready = func(context.Context) error { return ready } })
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 503, "/metrics": 200, "/openapi.json": 200, "/api/nothing": 404, "/api/things/" + thingID + "/echo": 405} {
		if w, _ := serve(api, httptest.NewRequest(http.MethodGet, path, nil)); w.Code != want {
			t.Errorf("%s: got %d, want %d", path, w.Code, want)
		}
	}
	ready = nil
	if w, _ := serve(api, httptest.NewRequest(http.MethodGet, "/readyz", nil)); w.Code != 200 {
		t.Errorf("/readyz when ready: got %d, want 200", w.Code)
	}
	w, _ := serve(api, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" || doc.Paths["/api/things/{id}/echo"]["post"].OperationID != "echo" {
		t.Errorf("/openapi.json: got %s, want version 3.1.0 with the operation echo", w.Body)
	}
	if w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Content-Security-Policy") == "" {
		t.Errorf("/openapi.json: got headers %v, want X-Content-Type-Options and Content-Security-Policy", w.Header())
	}
}

func TestServe_CompletesRequestsOnShutdown(t *testing.T) {
	t.Parallel()
	started, release := make(chan struct{}), make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(started)
		<-release
		w.WriteHeader(http.StatusTeapot)
	})
	srv := httptest.NewUnstartedServer(nil)
	l := srv.Listener
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, l, h, 10*time.Second, slog.New(slog.DiscardHandler)) }()
	status := make(chan int, 1)
	go func() {
		resp, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			status <- 0
			return
		}
		defer resp.Body.Close()
		status <- resp.StatusCode
	}()
	<-started
	stop()
	close(release)
	if got := <-status; got != http.StatusTeapot {
		t.Errorf("request during the shutdown: got %d, want 418", got)
	}
	if err := <-done; err != nil {
		t.Errorf("Serve after a shutdown: got %v, want no error", err)
	}
}

func FuzzBearer(f *testing.F) {
	f.Add("Bearer x")
	f.Fuzz(func(t *testing.T, header string) {
		if token, ok := parseBearer(header); ok && (token == "" || strings.ContainsAny(token, " ,\t") || len(header) != len(token)+len("Bearer ")) {
			t.Fatalf("parseBearer(%q): got %q, want the text after one space, without a space, tab or comma", header, token)
		}
	})
}
