// Package client owns the HTTP client of Parapet: it sends operations, as their
// contracts declare them, and gives their answers or a *fault.Error back.
//
// It promises: one HTTP request an operation where nothing fails; a retry of
// what may be repeated only (reads, and writes that carry an idempotency key),
// three tries at most, with Retry-After honoured; no cookies, no redirects, so
// that the token goes to the configured address and nowhere else; the token is
// in no error, trace or log. An answer that the service did not write (a
// proxy's, a login page's) is told apart from one that it did.
package client

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"parapet/internal/clock"
)

// DefaultTimeout is how long an operation may take, all its tries together.
const DefaultTimeout = 30 * time.Second

// Config is what a client needs; only BaseURL is required.
type Config struct {
	// BaseURL is the service's address, with a path where one stands before it.
	BaseURL string
	// Token is the bearer token; without one only public operations answer.
	Token string
	// ActAsOrg is an organisation id or tenant id to act in, sent as x-act-as-org.
	ActAsOrg  string
	UserAgent string
	// Timeout bounds an operation with all its tries; zero means DefaultTimeout.
	Timeout time.Duration
	// Trace takes a line a request: method, path, status, time, request id.
	Trace io.Writer
	Clock clock.Clock
	// Transport replaces the client's own, in tests.
	Transport http.RoundTripper
}

// Client sends operations to one service with one credential. It is safe for
// use by several goroutines.
type Client struct {
	base    *url.URL
	cfg     Config
	http    *http.Client
	backOff func(try int) time.Duration
}

// ErrBaseURL says that a text is not an address that a client can use.
var ErrBaseURL = errors.New("it must be an http or https address such as https://parapet.example.org, without user, query or fragment")

// ParseBaseURL reads a service's address and gives it in one spelling: scheme
// and host in lower case, no slash at the end.
func ParseBaseURL(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return nil, ErrBaseURL
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.Opaque != "" ||
		u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return nil, ErrBaseURL
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}

// New makes a client.
func New(cfg Config) (*Client, error) {
	base, err := ParseBaseURL(cfg.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("base URL: %w", err)
	}
	if strings.ContainsAny(cfg.Token, " \t\r\n") || strings.ContainsAny(cfg.ActAsOrg, "\r\n") {
		return nil, errors.New("a token has no spaces or line ends, an organisation no line ends")
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.System{}
	}
	if cfg.Transport == nil {
		cfg.Transport = newTransport()
	}
	return &Client{
		base: base,
		cfg:  cfg,
		http: &http.Client{
			Transport: cfg.Transport,
			// A redirect would carry the token, or a write, elsewhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		backOff: retryDelay,
	}, nil
}

func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   8,
		IdleConnTimeout:       time.Minute,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// Close gives the idle connections back.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// BaseURL is the address that the client talks to, in its one spelling.
func (c *Client) BaseURL() string { return c.base.String() }

// retryDelay is the wait before the next try: 0.2 s, doubled each time, of which a
// random half keeps clients that failed together from coming back together.
func retryDelay(try int) time.Duration {
	full := 200 * time.Millisecond << (try - 1)
	return full/2 + rand.N(full/2) //nolint:gosec // jitter is no secret
}

// NewID makes a random UUID (version 4), for request ids and idempotency keys.
// It stands here and not on package uid, whose library links database/sql.
func NewID() string {
	var b [16]byte
	// Read fills b or ends the process: it gives no error.
	_, _ = crand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// sleep waits, or ends with the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
