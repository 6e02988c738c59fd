package dev

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"parapet/internal/cli"
	"parapet/internal/clock"
)

// TestPt_LostResponse_ExecutesChangeOnce uses a proxy between pt and the real server that
// cuts the connection after the server has executed a change.
func TestPt_LostResponse_ExecutesChangeOnce(t *testing.T) {
	t.Parallel()
	d := startDev(t)
	token := d.login(t, "project-manager@acme.example")
	upstream, err := url.Parse(d.App().BaseURL())
	if err != nil {
		t.Fatal(err)
	}
	var cuts atomic.Int32
	proxy := httputil.NewSingleHostReverseProxy(upstream)
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.Request.Method == http.MethodPost && cuts.Add(-1) >= 0 {
			panic(http.ErrAbortHandler)
		}
		return nil
	}
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	config := t.TempDir()
	pt := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		env := map[string]string{"PT_BASE_URL": front.URL, "PT_AUTH_TOKEN": token, "PT_CONFIG_DIR": config}
		program := cli.Program{Streams: cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, Getenv: func(n string) string { return env[n] }, Version: "test", Clock: clock.System{}}
		return program.Run(t.Context(), args), out.String() + errs.String()
	}
	count := func(search string) int {
		_, out := pt("list-projects", "--search", search, "--jq", ".data | length")
		n := 0
		for _, c := range strings.TrimSpace(out) {
			n = n*10 + int(c-'0')
		}
		return n
	}

	cuts.Store(1)
	if code, out := pt("create-project", "--name", "Lostonce", "--start", "2027-01-01"); code != cli.ExitDone {
		t.Errorf("one lost response: got exit code %d: %s", code, out)
	}
	if n := count("Lostonce"); n != 1 {
		t.Errorf("one lost response: got %d projects, want 1", n)
	}

	// Every response is lost: pt reports that, and the command in its hint finds the result.
	cuts.Store(1000)
	code, out := pt("create-project", "--name", "Lostforever", "--start", "2027-01-01")
	if code != cli.ExitUnknown || !strings.Contains(out, "may or may not have happened") {
		t.Errorf("all responses lost: got exit code %d: %s", code, out)
	}
	_, key, _ := strings.Cut(out, "--idempotency-key ")
	key, _, _ = strings.Cut(key, " ")
	cuts.Store(0)
	if code, out := pt("create-project", "--name", "Lostforever", "--start", "2027-01-01", "--idempotency-key", key); code != cli.ExitDone {
		t.Errorf("command in the hint: got exit code %d: %s", code, out)
	}
	if n := count("Lostforever"); n != 1 {
		t.Errorf("all responses lost: got %d projects, want 1", n)
	}

	// An operation that returns a secret accepts no idempotency key, so it is sent once.
	cuts.Store(1000)
	session := d.login(t, "member@acme.example")
	env := token
	token = session
	code, out = pt("issue-key", "--label", "lost")
	if code != cli.ExitUnknown || !strings.Contains(out, "may or may not have happened") || !strings.Contains(out, "pt list-keys") {
		t.Errorf("lost response with a secret: got exit code %d: %s", code, out)
	}
	cuts.Store(0)
	if _, out := pt("list-keys", "--jq", "[.data[] | select(.label == \"lost\")] | length"); strings.TrimSpace(out) != "1" {
		t.Errorf("lost response with a secret: got %s keys, want 1", out)
	}
	token = env
}
