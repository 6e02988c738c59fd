package webhook

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"parapet/internal/uid"
)

// nameServer is a DNS server on a pipe that answers each question for an IPv4 address with the
// next of its addresses.
type nameServer struct {
	mu        sync.Mutex
	addresses []netip.Addr
	questions int
}

func (n *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go n.serve(server)
		return client, nil
	}}
}

// serve answers one question in the form of DNS over TCP: with a length in front.
func (n *nameServer) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	size := make([]byte, 2)
	if _, err := io.ReadFull(conn, size); err != nil {
		return
	}
	question := make([]byte, binary.BigEndian.Uint16(size))
	if _, err := io.ReadFull(conn, question); err != nil {
		return
	}
	end := 12 + bytes.IndexByte(question[12:], 0) + 5
	answer := bytes.Clone(question[:end])
	copy(answer[2:12], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0})
	if question[end-3] == 1 {
		n.mu.Lock()
		a := n.addresses[min(n.questions, len(n.addresses)-1)].As4()
		n.questions++
		n.mu.Unlock()
		answer[7] = 1
		answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		answer = append(answer, a[:]...)
	}
	_, _ = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
}

// post makes one attempt with a sender of its own.
func post(t *testing.T, s *sender, url string) result {
	t.Helper()
	t.Cleanup(s.close)
	return s.send(t.Context(), url, uid.New(), time.Now(), []byte(`{}`), []byte("key"))
}

// TestSender_ChecksTheAddressAfterItsResolution answers the questions for a name first with an
// allowed address and then with one that is not.
func TestSender_ChecksTheAddressAfterItsResolution(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(r.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	url := "http://receiver.example:" + port + "/"
	names := &nameServer{addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("127.0.0.2")}}
	s := newSender(networks{netip.MustParsePrefix("127.0.0.1/32")}, names.resolver(), nil)
	for i, want := range []string{outcomeAccepted, outcomeAddress, outcomeAddress} {
		if got := post(t, s, url); got.outcome != want || strings.Contains(got.message, "169.254") || strings.Contains(got.message, "127.0") {
			t.Errorf("attempt %d: got %+v, want %s without the address", i, got, want)
		}
		s.close() // the next attempt resolves the name again
	}
	if n := len(r.taken()); n != 1 {
		t.Errorf("got %d requests, want 1", n)
	}
}

func TestSender_ReachesNoPrivateAddressUnlessItIsListed(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	for _, url := range []string{r.URL, secure.URL, strings.Replace(r.URL, "127.0.0.1", "localhost", 1), strings.Replace(r.URL, "127.0.0.1", "[::ffff:127.0.0.1]", 1), strings.Replace(r.URL, "127.0.0.1", "0.0.0.0", 1)} {
		if got := post(t, newSender(nil, nil, nil), url); got.outcome != outcomeAddress {
			t.Errorf("%s: got %+v, want %s", url, got, outcomeAddress)
		}
	}
	if n := len(r.taken()); n != 0 {
		t.Errorf("got %d requests, want none", n)
	}
}

// TestSender_DoesNotUseTheProxyOfTheEnvironment also applies if every address is allowed.
func TestSender_DoesNotUseTheProxyOfTheEnvironment(t *testing.T) {
	t.Parallel()
	s := newSender(nil, nil, nil)
	for _, c := range []*http.Client{s.secure, s.plain} {
		if c.Transport.(*http.Transport).Proxy != nil {
			t.Error("the transport uses a proxy")
		}
	}
}

var loopback = networks{netip.MustParsePrefix("127.0.0.0/8")}

func TestSender_ReportsEachKindOfFailure(t *testing.T) {
	t.Parallel()
	elsewhere := newReceiver(t)
	r := newReceiver(t)
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	for want, answer := range map[string]http.HandlerFunc{
		outcomeAccepted: status(http.StatusNoContent),
		outcomeStatus:   status(http.StatusInternalServerError),
		outcomeGone:     status(http.StatusGone),
		outcomeRedirect: func(rw http.ResponseWriter, q *http.Request) {
			http.Redirect(rw, q, elsewhere.URL, http.StatusTemporaryRedirect)
		},
		outcomeConnection: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		r.set(answer)
		if got := post(t, newSender(loopback, nil, nil), r.URL); got.outcome != want || (want != outcomeAccepted) != (got.message != "") {
			t.Errorf("got %+v, want %s", got, want)
		}
	}
	if n := len(elsewhere.taken()); n != 0 {
		t.Errorf("a redirect was followed: got %d requests", n)
	}
	if got := post(t, newSender(loopback, nil, nil), secure.URL); got.outcome != outcomeTLS {
		t.Errorf("unknown certificate: got %+v", got)
	}
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	if got := post(t, newSender(loopback, nil, roots), secure.URL); got.status != http.StatusNotFound {
		t.Errorf("known certificate: got %+v", got)
	}
	if got := failedRequest(&net.DNSError{Err: "no such host", IsNotFound: true}); got.outcome != outcomeName {
		t.Errorf("unknown name: got %+v", got)
	}
	if got := failedRequest(errors.New("x")); got.outcome != outcomeConnection {
		t.Errorf("other error: got %+v", got)
	}
}

// TestSender_LimitsWhatAReceiverCanDo has receivers that never answer, that send headers or a body
// without end.
func TestSender_LimitsWhatAReceiverCanDo(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	send := func(ctx context.Context, answer http.HandlerFunc) result {
		r.set(answer)
		s := newSender(loopback, nil, nil)
		defer s.close()
		return s.send(ctx, r.URL, uid.New(), time.Now(), []byte(`{}`), []byte("key"))
	}
	expired, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if got := send(expired, func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() }); got.outcome != outcomeTimeout {
		t.Errorf("a receiver that hangs: got %+v", got)
	}
	flood := func(rw http.ResponseWriter, _ *http.Request) {
		block := bytes.Repeat([]byte("y"), 64<<10)
		for {
			if _, err := rw.Write(block); err != nil {
				return
			}
		}
	}
	if got := send(t.Context(), flood); got.outcome != outcomeAccepted || len(got.excerpt) != maxExcerpt {
		t.Errorf("a receiver that floods: got %s and an excerpt of %d bytes", got.outcome, len(got.excerpt))
	}
	headers := func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("X", strings.Repeat("z", 2*maxHeader))
	}
	if got := send(t.Context(), headers); got.outcome != outcomeConnection {
		t.Errorf("a receiver with large headers: got %+v", got)
	}
	if attemptTimeout+turn >= time.Minute {
		t.Error("a turn can take longer than a job may")
	}
}

func TestExcerpt_EscapesControlCharacters(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"": "", "plain text\n": "plain text\n", "\x1b[2J\r\x00": `\u001b[2J\u000d\u0000`, "a\xffb": `a\xffb`, "\u202eabc": `\u202eabc`, "é\u2028": `é\u2028`,
		strings.Repeat("é", maxResponse/2): strings.Repeat("é", maxExcerpt/2),
	} {
		if got := excerpt([]byte(body)); got != want {
			t.Errorf("%q: got %q, want %q", body, got, want)
		}
	}
}

func TestParseRetryAfter_IsBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "0": 0, "90": 90 * time.Second, "-5": 0, "x": 0, "99999999": maxRetryAfter, "99999999999999999999": 0,
		"Mon, 01 Mar 2027 12:01:00 GMT": time.Minute, "Mon, 01 Mar 2027 11:00:00 GMT": 0, "Tue, 01 Mar 2033 12:00:00 GMT": maxRetryAfter,
	} {
		if got := parseRetryAfter(header, now); got != want {
			t.Errorf("%q: got %s, want %s", header, got, want)
		}
	}
}

func TestVault_OpensOnlyForTheSameWebhook(t *testing.T) {
	t.Parallel()
	old, err := newVault("the first secret", "")
	if err != nil {
		t.Fatal(err)
	}
	rotated, err := newVault("the second secret", "the first secret")
	if err != nil {
		t.Fatal(err)
	}
	tenant, webhook := uid.New(), uid.New()
	key, _ := newSecret()
	sealed := old.seal(tenant, webhook, key)
	if bytes.Contains(sealed, key) {
		t.Error("the sealed secret contains the secret")
	}
	if got, isOld, err := old.open(tenant, webhook, sealed); err != nil || isOld || !bytes.Equal(got, key) {
		t.Errorf("same key: got old %t, error %v", isOld, err)
	}
	if got, isOld, err := rotated.open(tenant, webhook, sealed); err != nil || !isOld || !bytes.Equal(got, key) {
		t.Errorf("previous key: got old %t, error %v", isOld, err)
	}
	if _, _, err := old.open(tenant, webhook, rotated.seal(tenant, webhook, key)); !errors.Is(err, errSealed) {
		t.Errorf("unknown key: got error %v", err)
	}
	if _, _, err := old.open(tenant, uid.New(), sealed); !errors.Is(err, errSealed) {
		t.Errorf("another webhook: got error %v", err)
	}
	sealed[len(sealed)-1] ^= 1
	if _, _, err := old.open(tenant, webhook, sealed); !errors.Is(err, errSealed) {
		t.Errorf("changed text: got error %v", err)
	}
}

func TestNextAttempt_EndsAfterADay(t *testing.T) {
	t.Parallel()
	first := time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)
	now, attempts := first, 1
	for ; ; attempts++ {
		at, ok := nextAttempt(now, first, attempts, 0)
		if !ok {
			break
		}
		if wait, want := at.Sub(now), waitAfter(attempts); wait < want*9/10 || wait > want*11/10 {
			t.Errorf("after attempt %d: got a wait of %s, want about %s", attempts, wait, want)
		}
		now = at
	}
	if total := now.Sub(first); attempts != 11 || total < 21*time.Hour || total > giveUpAfter {
		t.Errorf("got %d attempts in %s, want 11 in at most 24 h", attempts, total)
	}
	if at, ok := nextAttempt(first, first, 1, time.Minute); !ok || at != first.Add(time.Minute) {
		t.Errorf("Retry-After: got %v %t", at, ok)
	}
	if at, ok := nextAttempt(first.Add(23*time.Hour), first, 2, 2*time.Hour); !ok || at != first.Add(giveUpAfter) {
		t.Errorf("a wait beyond the end: got %v %t, want the end", at, ok)
	}
}
