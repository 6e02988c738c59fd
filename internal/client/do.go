package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"parapet/internal/fault"
	"parapet/internal/op"
)

const (
	// maxAttempts is the maximum number of attempts of a repeatable request.
	maxAttempts = 3
	// maxAttemptsOutcomeUnknown is the maximum number of attempts of a change whose
	// response was lost. They take some seconds, enough for a service to restart.
	maxAttemptsOutcomeUnknown = 6
	// maxWait is the longest Retry-After that the client waits for. For a longer one, it
	// returns the error.
	maxWait = 10 * time.Second
	// maxAnswer is the maximum size of a response body in bytes.
	maxAnswer = 64 << 20
)

// Option changes the request of an operation.
type Option func(*Request)

// WithIdempotencyKey sets the idempotency key of the request. A request with the same key
// takes effect only once, also if a later call repeats it.
func WithIdempotencyKey(key string) Option {
	return func(r *Request) { r.IdempotencyKey = key }
}

// Request is a request for Send.
type Request struct {
	Method string
	// Target is the escaped path relative to the base URL, with the query.
	Target string
	// Body is the JSON body, or nil if there is none.
	Body           []byte
	IdempotencyKey string
	// GeneratedKey reports whether the client generated the key for this call. The caller
	// cannot repeat the call with such a key.
	GeneratedKey bool
	// Repeatable reports whether the request can be repeated without an idempotency key.
	Repeatable bool
	// Safe reports whether a lost response has no consequences, for example of a login.
	Safe bool
	// Hold is how long the service may hold the request before it responds, for long
	// polling. It is added to the client's time limit.
	Hold time.Duration
}

// Answer is a successful response.
type Answer struct {
	Status    int
	RequestID string
	Body      []byte
}

// Do executes an operation and returns its output. Errors are those of Call.
func Do[In, Out any](ctx context.Context, c *Client, o op.Op[In, Out], in *In, opts ...Option) (*Out, error) {
	out := new(Out)
	if err := Call(ctx, c, o.Operation, in, out, opts...); err != nil {
		return nil, err
	}
	return out, nil
}

// Call executes an operation and decodes its output into out. in and out point to the
// operation's input and output type. Errors are of type *fault.Error, except the context's
// error if ctx ends.
func Call(ctx context.Context, c *Client, o *op.Operation, in, out any, opts ...Option) error {
	wire, err := o.Write(in)
	if err != nil {
		return err
	}
	req := Request{Method: wire.Method, Target: wire.Target, Body: wire.Body, Repeatable: !o.Effect.Changes(), Safe: o.Access == op.Public}
	for _, opt := range opts {
		opt(&req)
	}
	if req.IdempotencyKey == "" && TakesIdempotencyKey(o) {
		req.IdempotencyKey, req.GeneratedKey = NewID(), true
	}
	answer, err := c.Send(ctx, req)
	if err != nil {
		return err
	}
	if len(answer.Body) == 0 {
		return nil
	}
	if err := json.Unmarshal(answer.Body, out); err != nil {
		return notParapetError(answer.Status, answer.RequestID, fmt.Errorf("%s: %w", o.Name, err))
	}
	return nil
}

// TakesIdempotencyKey reports whether the service accepts an idempotency key for the
// operation: a change that returns no secret and requires a credential.
func TakesIdempotencyKey(o *op.Operation) bool {
	return o.Effect.Changes() && !o.Secret && o.Access != op.Public
}

// Send sends a request and returns the response if its status is 2xx. Any other response
// is a *fault.Error that wraps a *ResponseError. If the response was lost and the change
// may have happened, the code is OUTCOME_UNKNOWN.
func (c *Client) Send(ctx context.Context, r Request) (*Answer, error) {
	limit := c.cfg.Timeout + r.Hold
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	repeatable := r.Repeatable || r.IdempotencyKey != ""
	id := NewID()
	deadline := c.cfg.Clock.Now().Add(limit)
	// unknown reports whether an earlier attempt may have made the change.
	unknown := false
	for attempt := 1; ; attempt++ {
		answer, sent, err := c.attempt(ctx, r, id)
		if err == nil {
			return answer, nil
		}
		f := asFault(err)
		if f == nil {
			return nil, interruptedError(r, err, unknown || sent)
		}
		lost := !r.Repeatable && !r.Safe && responseLost(f, sent)
		unknown = lost || (unknown && !hasOutcome(f))
		wait := max(f.RetryAfter, c.backOff(attempt))
		switch {
		case repeatable && attempt < attemptLimit(unknown) && (lost || Retryable(f)) && f.RetryAfter <= maxWait && !c.cfg.Clock.Now().Add(wait).After(deadline):
			if err := sleep(ctx, wait); err != nil {
				return nil, interruptedError(r, c.transportError(ctx, err), unknown)
			}
		case unknown:
			return nil, outcomeUnknown(r, f)
		default:
			return nil, err
		}
	}
}

// attemptLimit returns the maximum number of attempts of a repeatable request.
func attemptLimit(unknown bool) int {
	if unknown {
		return maxAttemptsOutcomeUnknown
	}
	return maxAttempts
}

// errTimeout is the cause of a context that ends at the client's own time limit.
var errTimeout = errors.New("time limit")

// attempt sends the request once. sent reports whether it may have reached a server.
func (c *Client) attempt(ctx context.Context, r Request, id string) (_ *Answer, sent bool, _ error) {
	var connected atomic.Bool
	defer func() { sent = connected.Load() }()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	req, err := c.request(ctx, r, id)
	if err != nil {
		return nil, false, err
	}
	start := c.cfg.Clock.Now()
	res, err := c.http.Do(req)
	if err != nil {
		c.trace(r, "failed", start, id)
		return nil, false, c.transportError(ctx, err)
	}
	defer res.Body.Close()
	if serverID, err := op.ParseUUID(res.Header.Get("X-Request-Id")); err == nil {
		id = string(serverID)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	c.trace(r, strconv.Itoa(res.StatusCode), start, id)
	switch {
	case err != nil:
		return nil, false, c.transportError(ctx, err)
	case len(body) > maxAnswer:
		return nil, false, notParapetError(res.StatusCode, id, fmt.Errorf("the response is larger than %d bytes", maxAnswer))
	case res.StatusCode < 200 || res.StatusCode > 299:
		return nil, false, c.responseError(res, body, id)
	}
	return &Answer{Status: res.StatusCode, RequestID: id, Body: body}, true, nil
}

func (c *Client) request(ctx context.Context, r Request, id string) (*http.Request, error) {
	target, err := url.Parse(r.Target)
	if err != nil || target.IsAbs() || target.Host != "" || !strings.HasPrefix(r.Target, "/") {
		return nil, fault.Validation("path", "The path must start with exactly one slash and must not name a host.")
	}
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, c.base.String()+r.Target, body)
	if err != nil {
		return nil, fault.Validation("path", "The method or path is not valid in an HTTP request.").WithCause(err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("X-Request-Id", id)
	for name, value := range map[string]string{
		"User-Agent": c.cfg.UserAgent, "X-Act-As-Org": c.cfg.ActAsOrg, "Idempotency-Key": r.IdempotencyKey,
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.cfg.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.Token)
	}
	return req, nil
}

// trace writes the trace line of a request. It omits the query, which may contain search
// terms.
func (c *Client) trace(r Request, status string, start time.Time, id string) {
	if c.cfg.Trace == nil {
		return
	}
	path, _, _ := strings.Cut(r.Target, "?")
	duration := c.cfg.Clock.Now().Sub(start)
	fmt.Fprintf(c.cfg.Trace, "api: %s %s %s %dms request-id=%s\n", r.Method, path, status, duration.Milliseconds(), id)
}
