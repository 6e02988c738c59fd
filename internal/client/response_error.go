package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"parapet/internal/fault"
)

// ResponseError is what a *fault.Error of this package wraps where there was an
// answer: which request it was, and whether the service itself wrote it.
type ResponseError struct {
	Status    int
	RequestID string
	// NotParapet says that the answer lacks the service's envelope: it came from a
	// proxy, a firewall or another server and says nothing about the credential.
	NotParapet bool
	// From is how the foreign server names itself, where it does.
	From  string
	cause error
}

// Error says where the answer came from.
func (r *ResponseError) Error() string {
	if r.cause != nil {
		return r.cause.Error()
	}
	if r.NotParapet {
		return fmt.Sprintf("HTTP %d without the service's envelope", r.Status)
	}
	return fmt.Sprintf("HTTP %d", r.Status)
}

// Unwrap gives the cause, where there is one.
func (r *ResponseError) Unwrap() error { return r.cause }

// ResponseErrorOf gives what is known of the answer behind err, or nil.
func ResponseErrorOf(err error) *ResponseError {
	var r *ResponseError
	errors.As(err, &r)
	return r
}

// envelope is the body of the service's errors.
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

// parseErrorResponse makes the error of an answer that is no success.
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
	who := ""
	if from != "" {
		who = fmt.Sprintf(" (it calls itself %q)", cut(from, 60))
	}
	switch {
	case res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden:
		return fmt.Sprintf("HTTP %d came from a proxy or firewall in front of the service%s: it says nothing about your credential.", res.StatusCode, who)
	case res.StatusCode >= 300 && res.StatusCode < 400:
		to := ""
		if u, err := url.Parse(res.Header.Get("Location")); err == nil && u.Host != "" {
			to = " to " + strconv.Quote(cut(u.Scheme+"://"+u.Host, 100))
		}
		return fmt.Sprintf("The address redirects%s (HTTP %d); redirects aren't followed, so that the token stays here.", to, res.StatusCode)
	default:
		return fmt.Sprintf("HTTP %d came without the service's error envelope%s: from a proxy, or from another server than Parapet.", res.StatusCode, who)
	}
}

// notParapetError is the error of a success that can't be read.
func notParapetError(status int, id string, cause error) *fault.Error {
	f := &fault.Error{
		Code:    fault.CodeInternal,
		Message: "The answer isn't what this operation gives: the address may belong to another server, or to another version of Parapet.",
	}
	return f.WithCause(&ResponseError{Status: status, RequestID: id, NotParapet: true, cause: cause})
}

// unsent is the error of a request that got no whole answer. The caller's own
// end (Ctrl-C) is given as it is; the rest is UNAVAILABLE, but for a certificate
// that is not trusted: waiting does not mend that.
func (c *Client) unsent(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		if errors.Is(context.Cause(ctx), errTimeout) {
			f := &fault.Error{Code: fault.CodeUnavailable, Message: fmt.Sprintf("No answer from %s within %s.", c.BaseURL(), c.cfg.Timeout)}
			return f.WithCause(err)
		}
		return ctx.Err()
	}
	var asked *url.Error
	if errors.As(err, &asked) {
		err = asked.Err
	}
	f := &fault.Error{Code: fault.CodeUnavailable, Message: fmt.Sprintf("%s can't be reached: %s.", c.BaseURL(), reason(err))}
	if strings.Contains(err.Error(), "tls: ") || strings.Contains(err.Error(), "x509: ") || strings.Contains(err.Error(), "HTTP response to HTTPS client") {
		f.Code = fault.CodeInternal
	}
	return f.WithCause(err)
}

func reason(err error) string {
	var dns *net.DNSError
	var dial *net.OpError
	switch {
	case errors.As(err, &dns):
		return "there is no such host"
	case errors.As(err, &dial) && dial.Err != nil:
		return dial.Err.Error()
	default:
		return err.Error()
	}
}

// retryAfter reads the header in both its forms; what is neither counts as absent.
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

// cut shortens what a stranger sent to n bytes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
