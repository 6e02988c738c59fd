// Package client is the HTTP client of Parapet. It executes operations and returns their
// output or a *fault.Error.
//
// The client retries only reads and writes with an idempotency key, and respects
// Retry-After. It stores no cookies and follows no redirects, so that the token is sent
// only to the configured base URL. The token never appears in errors or traces. The
// client distinguishes error responses of the service from those of a proxy or another
// server.
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

// DefaultTimeout is the default time limit of an operation, including all attempts.
const DefaultTimeout = 30 * time.Second

// Config is the configuration of a client. Only BaseURL is required.
type Config struct {
	// BaseURL is the URL of the service, with a path prefix if the service has one.
	BaseURL string
	// Token is the bearer token. Without it, only public operations succeed.
	Token string
	// ActAsOrg is the ID of the organisation, or the ID or slug of the tenant, to act in
	// (x-act-as-org).
	ActAsOrg  string
	UserAgent string
	// Timeout is the time limit of an operation, including all attempts; zero means
	// DefaultTimeout.
	Timeout time.Duration
	// Trace, if set, receives one line per request: method, path, status, duration and
	// request ID.
	Trace io.Writer
	Clock clock.Clock
	// Transport replaces the default transport.
	Transport http.RoundTripper
}

// Client executes operations of one service with one credential. It is safe for
// concurrent use.
type Client struct {
	base    *url.URL
	cfg     Config
	http    *http.Client
	backOff func(try int) time.Duration
}

// ErrBaseURL is the error for text that is not a valid base URL.
var ErrBaseURL = errors.New("must be an http or https URL such as https://parapet.example.org, without user, query or fragment")

// ParseBaseURL parses and normalizes a base URL: scheme and host become lower case, and
// trailing slashes are removed.
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

// New returns a client.
func New(cfg Config) (*Client, error) {
	base, err := ParseBaseURL(cfg.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("base URL: %w", err)
	}
	if strings.ContainsAny(cfg.Token, " \t\r\n") || strings.ContainsAny(cfg.ActAsOrg, "\r\n") {
		return nil, errors.New("the token must not contain white space, and the organisation must not contain line breaks")
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
			// A redirect could send the token or a write to another host.
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

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// BaseURL returns the normalized base URL.
func (c *Client) BaseURL() string { return c.base.String() }

// retryDelay returns the delay before the next attempt: 0.2 s, doubled each time. Half of
// it is random, so that clients that failed together do not retry together.
func retryDelay(try int) time.Duration {
	full := 200 * time.Millisecond << (try - 1)
	return full/2 + rand.N(full/2) //nolint:gosec // jitter needs no cryptographic randomness
}

// NewID returns a random UUID (version 4) for request IDs and idempotency keys. Package
// uid is not used because its library links database/sql.
func NewID() string {
	var b [16]byte
	// Read never returns an error.
	_, _ = crand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// sleep waits for d, or returns the context's error if ctx ends first.
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
