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
	// tries is how often what may be repeated is sent at most.
	tries = 3
	// connectionLostTries is that number for a change whose answer was lost: some seconds,
	// in which a service that restarts comes back and tells what became of it.
	connectionLostTries = 6
	// maxWait is the longest Retry-After that is waited for; a longer one is
	// the caller's to decide on.
	maxWait = 10 * time.Second
	// maxAnswer bounds what is read of an answer.
	maxAnswer = 64 << 20
)

// Option changes how one operation is sent.
type Option func(*Request)

// WithIdempotencyKey gives the request a key of the caller's, so that it may be
// sent again, also by a later call, without being carried out twice.
func WithIdempotencyKey(key string) Option {
	return func(r *Request) { r.IdempotencyKey = key }
}

// Request is what Send sends.
type Request struct {
	Method string
	// Target is the escaped path below the base URL, with its query.
	Target string
	// Body is JSON, or nil where there is none.
	Body           []byte
	IdempotencyKey string
	// GeneratedKey says that the key was made for this call alone: the caller cannot
	// repeat the call with it.
	GeneratedKey bool
	// Repeatable says that sending it twice does no more than sending it once.
	Repeatable bool
	// Safe says that it does not matter whether a request without an answer was
	// carried out: a login.
	Safe bool
	// Hold is how long the service itself may keep the request before it answers:
	// the client's time limit comes on top.
	Hold time.Duration
}

// Answer is a success as it came.
type Answer struct {
	Status    int
	RequestID string
	Body      []byte
}

// Do carries out an operation: it sends in and gives the answer, or a
// *fault.Error. A context that ended is given as its own error.
func Do[In, Out any](ctx context.Context, c *Client, o op.Op[In, Out], in *In, opts ...Option) (*Out, error) {
	wire, err := o.Write(in)
	if err != nil {
		return nil, err
	}
	req := Request{Method: wire.Method, Target: wire.Target, Body: wire.Body, Repeatable: !o.Effect.Changes(), Safe: o.Access == op.Public}
	for _, opt := range opts {
		opt(&req)
	}
	if req.IdempotencyKey == "" && TakesIdempotencyKey(o.Operation) {
		req.IdempotencyKey, req.GeneratedKey = NewID(), true
	}
	answer, err := c.Send(ctx, req)
	if err != nil {
		return nil, err
	}
	out := new(Out)
	if len(answer.Body) == 0 {
		return out, nil
	}
	if err := json.Unmarshal(answer.Body, out); err != nil {
		return nil, notParapetError(answer.Status, answer.RequestID, fmt.Errorf("%s: %w", o.Name, err))
	}
	return out, nil
}

// TakesIdempotencyKey tells whether the service takes an idempotency key with the
// operation: a change that gives out no secret, by a caller with a credential.
func TakesIdempotencyKey(o *op.Operation) bool {
	return o.Effect.Changes() && !o.Secret && o.Access != op.Public
}

// Send sends a request and gives the answer of a 2xx status; every other answer
// is a *fault.Error that wraps a *Refusal. Where a change may have happened
// although no answer says so, the error is OUTCOME_UNKNOWN.
func (c *Client) Send(ctx context.Context, r Request) (*Answer, error) {
	limit := c.cfg.Timeout + r.Hold
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	repeatable := r.Repeatable || r.IdempotencyKey != ""
	id := NewID()
	end := c.cfg.Clock.Now().Add(limit)
	// unknown says that an earlier try may have carried the change out.
	unknown := false
	for try := 1; ; try++ {
		answer, sent, err := c.once(ctx, r, id)
		if err == nil {
			return answer, nil
		}
		f := isFault(err)
		if f == nil {
			return nil, interruptedError(r, err, unknown || sent)
		}
		gone := !r.Repeatable && !r.Safe && connectionLost(f, sent)
		unknown = gone || (unknown && !hasOutcome(f))
		wait := max(f.RetryAfter, c.backOff(try))
		switch {
		case repeatable && try < maxTries(unknown) && (gone || Retryable(f)) && f.RetryAfter <= maxWait && !c.cfg.Clock.Now().Add(wait).After(end):
			if err := sleep(ctx, wait); err != nil {
				return nil, interruptedError(r, c.unsent(ctx, err), unknown)
			}
		case unknown:
			return nil, outcomeUnknown(r, f)
		default:
			return nil, err
		}
	}
}

// maxTries is how often a request is sent at most.
func maxTries(unknown bool) int {
	if unknown {
		return connectionLostTries
	}
	return tries
}

// errTimeout tells the client's own time limit from the caller's.
var errTimeout = errors.New("time limit")

// once sends the request. sent says that it may have reached a server.
func (c *Client) once(ctx context.Context, r Request, id string) (_ *Answer, sent bool, _ error) {
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
		return nil, false, c.unsent(ctx, err)
	}
	defer res.Body.Close()
	if theirs, err := op.ParseUUID(res.Header.Get("X-Request-Id")); err == nil {
		id = string(theirs)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	c.trace(r, strconv.Itoa(res.StatusCode), start, id)
	switch {
	case err != nil:
		return nil, false, c.unsent(ctx, err)
	case len(body) > maxAnswer:
		return nil, false, notParapetError(res.StatusCode, id, fmt.Errorf("the answer is larger than %d bytes", maxAnswer))
	case res.StatusCode < 200 || res.StatusCode > 299:
		return nil, false, parseErrorResponse(res, body, id, c.cfg.Clock.Now())
	}
	return &Answer{Status: res.StatusCode, RequestID: id, Body: body}, true, nil
}

func (c *Client) request(ctx context.Context, r Request, id string) (*http.Request, error) {
	target, err := url.Parse(r.Target)
	if err != nil || target.IsAbs() || target.Host != "" || !strings.HasPrefix(r.Target, "/") {
		return nil, fault.Validation("path", "The path must start with one slash and name no other host.")
	}
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, c.base.String()+r.Target, body)
	if err != nil {
		return nil, fault.Validation("path", "The method or path can't be sent.").WithCause(err)
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

// trace writes a request's line. The query stays out of it: it holds what
// people search for.
func (c *Client) trace(r Request, status string, start time.Time, id string) {
	if c.cfg.Trace == nil {
		return
	}
	path, _, _ := strings.Cut(r.Target, "?")
	took := c.cfg.Clock.Now().Sub(start)
	fmt.Fprintf(c.cfg.Trace, "api: %s %s %s %dms request-id=%s\n", r.Method, path, status, took.Milliseconds(), id)
}
