package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	fastjson "github.com/go-json-experiment/json"

	"parapet/internal/clock"
)

var update = flag.Bool("update", false, "regenerate the golden files")

// reply is the response of the fake service to one route.
type reply struct {
	status int
	body   string
	header map[string]string
}

// service is a fake of the service. It sends canned replies and records the requests.
type service struct {
	t       *testing.T
	url     string
	replies map[string]reply
	// cut makes the service close the connection of every request without a response.
	cut bool

	mu       sync.Mutex
	requests []string
	headers  []http.Header
	bodies   []string
}

const requestID = "0a1b2c3d-0000-4000-8000-00000000000a"

func serve(t *testing.T, replies map[string]reply) *service {
	t.Helper()
	s := &service{t: t, replies: replies}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.url = h.URL
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.requests = append(s.requests, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
	s.headers = append(s.headers, r.Header.Clone())
	s.bodies = append(s.bodies, string(body))
	// Like the service, the fake accepts the prefix of the project in place of its id.
	byID := strings.NewReplacer("/api/projects/APOLLO", "/api/projects/"+apollo)
	a, ok := s.replies[r.Method+" "+byID.Replace(r.URL.RequestURI())]
	if !ok {
		a, ok = s.replies[r.Method+" "+byID.Replace(r.URL.Path)]
	}
	s.mu.Unlock()
	if s.cut {
		panic(http.ErrAbortHandler)
	}
	if !ok {
		a = errorReply(404, "NOT_FOUND", "There is no such route.", "")
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Request-Id", requestID)
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(a.status)
	io.WriteString(w, a.body)
}

// jsonReply returns a successful reply with v as its JSON body.
func jsonReply(v any) reply {
	body, err := fastjson.Marshal(v, fastjson.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return reply{status: 200, body: string(body)}
}

func okReply(body string) reply { return reply{status: 200, body: body} }

// errorReply returns an error in the envelope of the service. more has further members of
// the JSON object.
func errorReply(status int, code, message, more string) reply {
	return reply{status: status, body: fmt.Sprintf(`{"error":{"code":%q,"message":%q,"requestId":%q%s}}`, code, message, requestID, more)}
}

// now is the fixed current time of the tests.
var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// token returns a token of the given type with an invalid signature.
func token(kind string, expires time.Time) string {
	part := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return b64(text)
	}
	return part(map[string]string{"typ": kind, "alg": "HS256"}) + "." + part(map[string]int64{"exp": expires.Unix()}) + ".c2lnbmF0dXJl"
}

// runResult is the result of one run of pt.
type runResult struct {
	code     int
	out, err string
}

// environment is the environment in which pt runs.
type environment struct {
	env      map[string]string
	stdin    string
	terminal bool
	secret   string
	width    int
	height   int
	// dir is the working directory, or "" for an unknown one.
	dir string
	// sleep replaces the waiting between two requests of --follow.
	sleep func(ctx context.Context) error
	// ticks makes the clock advance by a millisecond on each reading.
	ticks bool
}

func invoke(t *testing.T, s *service, w environment, args ...string) runResult {
	t.Helper()
	return invokeContext(t.Context(), t, s, w, args...)
}

func invokeContext(ctx context.Context, t *testing.T, s *service, w environment, args ...string) runResult {
	t.Helper()
	env := map[string]string{"PT_AUTH_TOKEN": token("pt-api-key+jwt", now.AddDate(0, 0, 60)), "PT_CONFIG_DIR": t.TempDir()}
	if s != nil {
		env["PT_BASE_URL"] = s.url
	}
	for k, v := range w.env {
		env[k] = v
	}
	var out, errs bytes.Buffer
	p := Program{
		Streams: Streams{
			In: strings.NewReader(w.stdin), Out: &out, Err: &errs,
			InTerminal: w.terminal, OutTerminal: w.terminal, ErrTerminal: w.terminal, Width: w.width, Height: w.height,
			ReadSecret: func(_ context.Context, prompt string) (string, error) {
				_, err := io.WriteString(&errs, prompt)
				return w.secret, err
			},
		},
		Getenv: func(k string) string { return env[k] }, Version: "1.2.3",
		Clock: clock.Func(func() time.Time { return now }), Dir: w.dir,
	}
	if w.sleep != nil {
		p.Sleep = func(ctx context.Context, _ time.Duration) error { return w.sleep(ctx) }
	}
	if w.ticks {
		var n atomic.Int64
		p.Clock = clock.Func(func() time.Time { return now.Add(time.Duration(n.Add(1)) * time.Millisecond) })
	}
	code := p.Run(ctx, args)
	got := runResult{code: code, out: out.String(), err: errs.String()}
	if s != nil {
		got.out = strings.ReplaceAll(got.out, s.url, "http://service")
		got.err = strings.ReplaceAll(got.err, s.url, "http://service")
	}
	for _, secret := range []string{env["PT_AUTH_TOKEN"], w.secret} {
		if secret != "" && strings.Contains(got.out+got.err, secret) {
			t.Errorf("the output contains a secret:\n%s%s", got.out, got.err)
		}
	}
	return got
}

// golden compares a text with a golden file, or writes the file if -update is set.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run go test ./internal/cli -update to write it)", err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

// transcript returns the content of a golden file for a run: the command line, exit code,
// requests and outputs.
func transcript(args []string, s *service, got runResult) string {
	var b strings.Builder
	fmt.Fprintf(&b, "pt %s\nexit %d\n", strings.Join(args, " "), got.code)
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := slices.Clone(s.requests)
	if slices.Contains([]string{"get-task", "inbox", "status"}, args[0]) {
		slices.Sort(requests) // it sends them at the same time
	}
	for _, r := range requests {
		fmt.Fprintf(&b, "request: %s\n", r)
	}
	fmt.Fprintf(&b, "-- stdout --\n%s-- stderr --\n%s", got.out, got.err)
	return b.String()
}
