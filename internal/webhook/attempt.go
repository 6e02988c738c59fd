package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"parapet/internal/clock"
	"parapet/internal/op"
)

// Limits of one attempt.
const (
	attemptTimeout = 15 * time.Second
	maxResponse    = 4 << 10
	maxExcerpt     = 1 << 10
	maxHeader      = 16 << 10
)

// The outcomes of an attempt, as the contract lists them.
const (
	outcomeAccepted    = "ACCEPTED"
	outcomeStatus      = "STATUS"
	outcomeRedirect    = "REDIRECT"
	outcomeGone        = "GONE"
	outcomeTimeout     = "TIMEOUT"
	outcomeName        = "NAME_NOT_RESOLVED"
	outcomeAddress     = "ADDRESS_NOT_ALLOWED"
	outcomeTLS         = "TLS"
	outcomeConnection  = "CONNECTION"
	outcomeInterrupted = "INTERRUPTED"
	outcomeNotReadable = "NOT_READABLE"
	outcomeDeleted     = "EVENT_DELETED"
	outcomeDisabled    = "WEBHOOK_DISABLED"
)

// result is the result of one attempt.
type result struct {
	outcome, message string
	status           int
	excerpt          string
	retryAfter       time.Duration
	duration         time.Duration
}

// sender sends requests to receivers.
type sender struct {
	secure, plain *http.Client
}

// newSender returns a sender that connects only to public addresses and to allowed networks.
// resolver is nil for that of the system.
func newSender(allowed networks, resolver *net.Resolver, roots *x509.CertPool) *sender {
	client := func(secure bool) *http.Client {
		dialer := net.Dialer{
			Timeout: attemptTimeout, Resolver: resolver,
			// It runs for each resolved address, after the resolution and before the connection.
			ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
				to, err := netip.ParseAddrPort(address)
				if err != nil {
					return errAddress
				}
				return allowed.check(to, secure)
			},
		}
		return &http.Client{
			// A redirect could lead anywhere, and would send the event to an address that nobody has chosen.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				// A proxy would connect in place of this process, and the address would not be checked.
				Proxy: nil, DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
				DisableCompression: true, MaxResponseHeaderBytes: maxHeader, TLSHandshakeTimeout: attemptTimeout,
				MaxIdleConnsPerHost: 2, MaxIdleConns: 256, IdleConnTimeout: 30 * time.Second,
			},
		}
	}
	return &sender{secure: client(true), plain: client(false)}
}

// close closes idle connections.
func (s *sender) close() {
	s.secure.CloseIdleConnections()
	s.plain.CloseIdleConnections()
}

// send makes one attempt to deliver a body.
func (s *sender) send(ctx context.Context, url string, id op.UUID, at time.Time, body []byte, secrets ...[]byte) result {
	began := clock.System{}.Now()
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	r := s.post(ctx, url, id, at, body, secrets)
	r.duration = clock.System{}.Now().Sub(began)
	return r
}

func (s *sender) post(ctx context.Context, url string, id op.UUID, at time.Time, body []byte, secrets [][]byte) result {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return result{outcome: outcomeConnection, message: "The address of the webhook is invalid."}
	}
	// The body can be sent once only; the transport must not repeat the request by itself.
	request.GetBody = nil
	request.Header = http.Header{
		"Content-Type": {"application/json"}, "User-Agent": {"Parapet-Webhooks/1"},
		"Webhook-Id": {string(id)}, "Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)}, "Webhook-Signature": {sign(id, at, body, secrets...)},
	}
	client := s.plain
	if request.URL.Scheme == "https" {
		client = s.secure
	}
	response, err := client.Do(request)
	if err != nil {
		return failedRequest(err)
	}
	defer func() { _ = response.Body.Close() }()
	// What can be read counts; an error after the status does not matter.
	start, _ := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	r := result{status: response.StatusCode, excerpt: excerpt(start)}
	switch {
	case r.status >= 200 && r.status <= 299:
		r.outcome = outcomeAccepted
	case r.status >= 300 && r.status <= 399:
		r.outcome, r.message = outcomeRedirect, "The receiver answered with a redirect. Redirects are not followed; change the URL of the webhook."
	case r.status == http.StatusGone:
		r.outcome, r.message = outcomeGone, "The receiver answered 410: it wants no more events."
	default:
		r.outcome, r.message = outcomeStatus, fmt.Sprintf("The receiver answered with the status %d.", r.status)
		r.retryAfter = parseRetryAfter(response.Header.Get("Retry-After"), at)
	}
	return r
}

// failedRequest describes an attempt without a response. The message contains no address that
// the URL of the webhook does not contain.
func failedRequest(err error) result {
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var header tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.Is(err, errAddress), errors.Is(err, errListedOnly):
		text := errAddress.Error()
		if errors.Is(err, errListedOnly) {
			text = errListedOnly.Error()
		}
		return result{outcome: outcomeAddress, message: "The connection is not allowed: " + text + "."}
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return result{outcome: outcomeTimeout, message: fmt.Sprintf("The receiver did not answer within %d seconds.", int(attemptTimeout.Seconds()))}
	case errors.Is(err, context.Canceled):
		return result{outcome: outcomeInterrupted, message: interruptedMessage}
	case errors.As(err, &name):
		return result{outcome: outcomeName, message: "The host name cannot be resolved."}
	case errors.As(err, &certificate), errors.As(err, &header), errors.As(err, &alert):
		return result{outcome: outcomeTLS, message: "The TLS connection failed: the certificate is not valid for the host, or the server does not support TLS 1.2."}
	default:
		return result{outcome: outcomeConnection, message: "The connection failed or was closed before a response."}
	}
}

const interruptedMessage = "The attempt was interrupted, for example because the server stopped. The receiver may have got the event."

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

// parseRetryAfter returns the wait that a header Retry-After asks for, at most maxRetryAfter,
// or 0.
func parseRetryAfter(header string, now time.Time) time.Duration {
	wait := time.Duration(0)
	if seconds, err := strconv.ParseUint(header, 10, 32); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}

// excerpt returns the start of a response as text of at most maxExcerpt bytes. Control
// characters and invalid bytes are escaped, so that they have no effect on a terminal.
func excerpt(body []byte) string {
	var b strings.Builder
	for len(body) > 0 {
		r, size := utf8.DecodeRune(body)
		part := string(body[:size])
		switch {
		case r == utf8.RuneError && size == 1:
			part = fmt.Sprintf(`\x%02x`, body[0])
		case r == '\n' || r == '\t':
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), unicode.Is(unicode.Cf, r), r == 0x2028, r == 0x2029:
			part = fmt.Sprintf(`\u%04x`, r)
		}
		if b.Len()+len(part) > maxExcerpt {
			break
		}
		b.WriteString(part)
		body = body[size:]
	}
	return b.String()
}
