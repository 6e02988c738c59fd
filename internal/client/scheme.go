package client

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"parapet/internal/fault"
)

// SchemeError is the cause of an error if the URL has http for a server that expects https,
// or the reverse. The request had no effect.
type SchemeError struct {
	// URL is the base URL, and Want the same URL with the scheme that the server expects.
	URL, Want string
}

// Error implements error.
func (e *SchemeError) Error() string {
	if strings.HasPrefix(e.URL, "https:") {
		return fmt.Sprintf("The server at %s does not use TLS: it expects http.", e.URL)
	}
	return fmt.Sprintf("The server at %s uses TLS: it expects https.", e.URL)
}

// SchemeErrorOf returns the SchemeError that err wraps, or nil.
func SchemeErrorOf(err error) *SchemeError {
	var wrong *SchemeError
	errors.As(err, &wrong)
	return wrong
}

// fault returns the error of the request.
func (e *SchemeError) fault() *fault.Error {
	return (&fault.Error{Code: fault.CodeUnavailable, Message: e.Error()}).WithCause(e)
}

// schemeError returns the error for the wrong scheme in the base URL, or nil. text is what
// shows it: the error of the request or the response. TLS servers send an alert, which is
// no HTTP response, or status 400 with an explanation.
func (c *Client) schemeError(text string) *SchemeError {
	want := *c.base
	text = strings.ToLower(text)
	isTLS := strings.Contains(text, `malformed http response "\x15\x03`) || strings.Contains(text, "http request to an https server") ||
		strings.Contains(text, "plain http request was sent to https port") || strings.Contains(text, "speaking plain http to an ssl-enabled server port")
	switch {
	case c.base.Scheme == "https" && strings.Contains(text, "http response to https client"):
		want.Scheme = "http"
	case c.base.Scheme == "http" && isTLS:
		want.Scheme = "https"
	default:
		return nil
	}
	return &SchemeError{URL: c.BaseURL(), Want: want.String()}
}

// responseError returns the error for a response that is not 2xx.
func (c *Client) responseError(res *http.Response, body []byte, id string) *fault.Error {
	f := parseErrorResponse(res, body, id, c.cfg.Clock.Now())
	if !ResponseErrorOf(f).NotParapet || res.StatusCode != http.StatusBadRequest {
		return f
	}
	if wrong := c.schemeError(string(body)); wrong != nil {
		return wrong.fault()
	}
	return f
}
