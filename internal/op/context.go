package op

import "context"

// Request has the properties of a request that do not depend on its credential.
type Request struct {
	// ID is the request ID (x-request-id). It correlates responses, log lines, audit rows
	// and events.
	ID string
	// ClientAddr is the address of the peer, or the client address from a trusted proxy.
	ClientAddr string
	// IdempotencyKey is the client's idempotency key, or "".
	IdempotencyKey string
	// Secure reports whether the client used HTTPS.
	Secure bool
}

type requestKey struct{}

// WithRequest returns a context with the request.
func WithRequest(ctx context.Context, r Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// RequestOf returns the request of the context, or the zero value.
func RequestOf(ctx context.Context) Request {
	r, _ := ctx.Value(requestKey{}).(Request)
	return r
}

// RequestID returns the ID of the context's request, or "".
func RequestID(ctx context.Context) string { return RequestOf(ctx).ID }

// ClientAddr returns the client address of the context's request, or "".
func ClientAddr(ctx context.Context) string { return RequestOf(ctx).ClientAddr }
