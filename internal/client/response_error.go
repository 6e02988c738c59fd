package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"parapet/internal/fault"
)

// ResponseError describes the HTTP response behind an error. The *fault.Error values of
// this package wrap it if there was a response.
type ResponseError struct {
	Status    int
	RequestID string
	// NotParapet reports whether the response lacks the error envelope of the service. It
	// then came from a proxy, a firewall or another server, and does not depend on the
	// credential.
	NotParapet bool
	// From is the Server header of such a response, or "".
	From  string
	cause error
}

// Error implements error.
func (r *ResponseError) Error() string {
	if r.cause != nil {
		return r.cause.Error()
	}
	if r.NotParapet {
		return fmt.Sprintf("HTTP %d without the error envelope of the service", r.Status)
	}
	return fmt.Sprintf("HTTP %d", r.Status)
}

// Unwrap returns the cause, or nil.
func (r *ResponseError) Unwrap() error { return r.cause }

// ResponseErrorOf returns the ResponseError that err wraps, or nil.
func ResponseErrorOf(err error) *ResponseError {
	var r *ResponseError
	errors.As(err, &r)
	return r
}

// envelope is the body of the service's error responses.
type envelope struct {
	Error struct {
		Code       fault.Code     `json:"code"`
		Message    string         `json:"message"`
		Reason     string         `json:"reason"`
		Reasons    []fault.Reason `json:"reasons"`
		Field      string         `json:"field"`
		Permission string         `json:"permission"`
		RequestID  string         `json:"requestId"`
		Details    map[string]any `json:"details"`
	} `json:"error"`
}

// parseErrorResponse returns the error for a response that is not 2xx.
func parseErrorResponse(res *http.Response, body []byte, id string, now time.Time) *fault.Error {
	var e envelope
	f := &fault.Error{Code: fault.FromStatus(res.StatusCode)}
	r := &ResponseError{Status: res.StatusCode, RequestID: id}
	if err := json.Unmarshal(body, &e); err == nil && e.Error.Code != "" && e.Error.RequestID != "" {
		f = &fault.Error{
			Code: e.Error.Code, Message: e.Error.Message, Reason: e.Error.Reason, Reasons: e.Error.Reasons,
			Field: e.Error.Field, Permission: e.Error.Permission, Details: e.Error.Details,
		}
		r.RequestID = e.Error.RequestID
	} else {
		r.NotParapet, r.From = true, res.Header.Get("Server")
		f.Message = notParapetMessage(res, r.From)
	}
	f.RetryAfter = retryAfter(res.Header.Get("Retry-After"), now)
	return f.WithCause(r)
}

func notParapetMessage(res *http.Response, from string) string {
	server := ""
	if from != "" {
		server = fmt.Sprintf(" (Server: %q)", truncate(from, 60))
	}
	switch {
	case res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden:
		return fmt.Sprintf("HTTP %d came from a proxy or firewall in front of the service%s; your credential is not the cause.", res.StatusCode, server)
	case res.StatusCode >= 300 && res.StatusCode < 400:
		to := ""
		if u, err := url.Parse(res.Header.Get("Location")); err == nil && u.Host != "" {
			to = " to " + strconv.Quote(truncate(u.Scheme+"://"+u.Host, 100))
		}
		return fmt.Sprintf("The URL redirects%s (HTTP %d). Redirects are not followed, to protect the token; set the final URL.", to, res.StatusCode)
	default:
		return fmt.Sprintf("HTTP %d without the error envelope of the service%s; it came from a proxy or from a server that is not Parapet.", res.StatusCode, server)
	}
}

// notParapetError returns the error for a 2xx response that cannot be decoded.
func notParapetError(status int, id string, cause error) *fault.Error {
	f := &fault.Error{
		Code:    fault.CodeInternal,
		Message: "The response is not valid for this operation. Check the URL: it may belong to another server or to another version of Parapet.",
	}
	return f.WithCause(&ResponseError{Status: status, RequestID: id, NotParapet: true, cause: cause})
}

// transportError returns the error for a request without a complete response. It returns
// the context's error if the caller cancelled. Otherwise the code is UNAVAILABLE, except
// for TLS errors, which a retry cannot fix.
func (c *Client) transportError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		if errors.Is(context.Cause(ctx), errTimeout) {
			f := &fault.Error{Code: fault.CodeUnavailable, Message: fmt.Sprintf("No response from %s within %s.", c.BaseURL(), c.cfg.Timeout)}
			return f.WithCause(err)
		}
		return ctx.Err()
	}
	var urlError *url.Error
	if errors.As(err, &urlError) {
		err = urlError.Err
	}
	if wrong := c.schemeError(err.Error()); wrong != nil {
		return wrong.fault()
	}
	f := &fault.Error{Code: fault.CodeUnavailable, Message: fmt.Sprintf("Cannot reach %s: %s.", c.BaseURL(), c.transportReason(err))}
	if strings.Contains(err.Error(), "tls: ") || strings.Contains(err.Error(), "x509: ") {
		f.Code = fault.CodeInternal
	}
	return f.WithCause(err)
}

func (c *Client) transportReason(err error) string {
	var dns *net.DNSError
	var dial *net.OpError
	switch {
	case errors.As(err, &dns):
		return "unknown host"
	case errors.Is(err, io.EOF) && c.base.Scheme == "http":
		// Some TLS servers close the connection when they receive plain HTTP.
		return "the server closed the connection without a response; perhaps it expects https"
	case errors.As(err, &dial) && dial.Err != nil:
		return dial.Err.Error()
	default:
		return err.Error()
	}
}

// retryAfter parses a Retry-After header, in seconds or as a date. It returns 0 for any
// other text.
func retryAfter(header string, now time.Time) time.Duration {
	if header == "" {
		return 0
	}
	if n, err := strconv.Atoi(header); err == nil {
		return time.Duration(min(max(n, 0), 86400)) * time.Second
	}
	if t, err := http.ParseTime(header); err == nil {
		return max(t.Sub(now), 0)
	}
	return 0
}

// truncate shortens untrusted text to n bytes.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
