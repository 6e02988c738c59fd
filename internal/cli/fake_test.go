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
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	fastjson "github.com/go-json-experiment/json"

	"parapet/internal/clock"
)

var update = flag.Bool("update", false, "write the golden files anew")

// reply is what the fake service answers to one method and path.
type reply struct {
	status int
	body   string
	header map[string]string
}

// service is a fake of the service: answers that were written down, and the
// requests that came.
type service struct {
	t       *testing.T
	url     string
	replies map[string]reply
	// cut closes the connection of every request instead of an answer.
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
	a, ok := s.replies[r.Method+" "+r.URL.RequestURI()]
	if !ok {
		a, ok = s.replies[r.Method+" "+r.URL.Path]
	}
	s.mu.Unlock()
	if s.cut {
		panic(http.ErrAbortHandler)
	}
	if !ok {
		a = refuse(404, "NOT_FOUND", "There is no such route.", "")
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Request-Id", requestID)
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(a.status)
	io.WriteString(w, a.body)
}

// answer is a success with a value of a contract as its body.
func answer(v any) reply {
	body, err := fastjson.Marshal(v, fastjson.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return reply{status: 200, body: string(body)}
}

func ok(body string) reply { return reply{status: 200, body: body} }

// refuse is an error in the service's envelope; more is further members.
func refuse(status int, code, message, more string) reply {
	return reply{status: status, body: fmt.Sprintf(`{"error":{"code":%q,"message":%q,"requestId":%q%s}}`, code, message, requestID, more)}
}

// now is the present moment of every test.
var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// token makes a token of a kind that expires at a moment; its signature is none.
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

// invoked is one run of pt and what came of it.
type invoked struct {
	code     int
	out, err string
}

// terminal, stdin and env change how pt is run.
type world struct {
	env      map[string]string
	stdin    string
	terminal bool
	secret   string
	width    int
	// dir is the folder that pt is run in; none unless told.
	dir string
	// ticks lets the clock go on by a millisecond each time that it is asked.
	ticks bool
}

func invoke(t *testing.T, s *service, w world, args ...string) invoked {
	t.Helper()
	return invokeContext(t.Context(), t, s, w, args...)
}

func invokeContext(ctx context.Context, t *testing.T, s *service, w world, args ...string) invoked {
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
			InTerminal: w.terminal, OutTerminal: w.terminal, ErrTerminal: w.terminal, Width: w.width,
			ReadSecret: func(context.Context) (string, error) { return w.secret, nil },
		},
		Getenv: func(k string) string { return env[k] }, Version: "1.2.3",
		Clock: clock.Func(func() time.Time { return now }), Dir: w.dir,
	}
	if w.ticks {
		var n atomic.Int64
		p.Clock = clock.Func(func() time.Time { return now.Add(time.Duration(n.Add(1)) * time.Millisecond) })
	}
	code := p.Run(ctx, args)
	got := invoked{code: code, out: out.String(), err: errs.String()}
	if s != nil {
		got.out = strings.ReplaceAll(got.out, s.url, "http://service")
		got.err = strings.ReplaceAll(got.err, s.url, "http://service")
	}
	for _, secret := range []string{env["PT_AUTH_TOKEN"], w.secret} {
		if secret != "" && strings.Contains(got.out+got.err, secret) {
			t.Errorf("a secret was shown:\n%s%s", got.out, got.err)
		}
	}
	return got
}

// golden holds text against a file of testdata.
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
		t.Fatalf("%v (go test ./internal/cli -update writes it)", err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

// transcript is what a golden file holds of a run.
func transcript(args []string, s *service, got invoked) string {
	var b strings.Builder
	fmt.Fprintf(&b, "pt %s\nexit %d\n", strings.Join(args, " "), got.code)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		fmt.Fprintf(&b, "request: %s\n", r)
	}
	fmt.Fprintf(&b, "-- stdout --\n%s-- stderr --\n%s", got.out, got.err)
	return b.String()
}
