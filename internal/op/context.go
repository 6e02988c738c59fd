package op

import "context"

// Request is what is known of a request before anybody looks at its credential.
type Request struct {
	// ID correlates answers, log lines, audit rows and events: x-request-id.
	ID string
	// ClientAddr is the address of the peer, or of the client that a trusted
	// proxy names.
	ClientAddr string
	// IdempotencyKey is the client's name for this very write, or empty.
	IdempotencyKey string
	// Secure says that the client came by https.
	Secure bool
}

type requestKey struct{}

// WithRequest puts the request's facts into the context.
func WithRequest(ctx context.Context, r Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// RequestOf gives the request's facts; the zero value outside a request.
func RequestOf(ctx context.Context) Request {
	r, _ := ctx.Value(requestKey{}).(Request)
	return r
}

// RequestID gives the request's correlation id, or "" outside a request.
func RequestID(ctx context.Context) string { return RequestOf(ctx).ID }

// ClientAddr gives the client's address, or "" outside a request.
func ClientAddr(ctx context.Context) string { return RequestOf(ctx).ClientAddr }
