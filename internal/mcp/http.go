package mcp

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parapet/internal/client"
	"parapet/internal/op"
)

const (
	// maxMessage bounds a message: a body of the API's usual size and some room
	// for what stands around it.
	maxMessage = op.DefaultMaxBody + 64<<10
	// longest is how long one message may take. It ends before the listener cuts
	// the connection off.
	longest = 110 * time.Second
)

// HTTP serves the tools over streamable HTTP, without sessions: each request
// stands for itself. What a tool asks goes to api in the same process, as a
// request of its own with the caller's credential, so that nothing is allowed
// here which is not allowed there. Whoever mounts it has checked that there is a
// credential and where the request comes from.
//
// The query says what is offered: toolsets (a comma list), read-only and
// allow-destructive (true).
func (s *Server) HTTP(api http.Handler) http.Handler {
	stream := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.sdk }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, PropagateRequestCancellation: true,
		MaxRequestBodyBytes: maxMessage,
		// The mount does it, and knows the trusted proxies.
		DisableLocalhostProtection: true,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := readView(r.URL.Query())
		if err != nil {
			toolErrorResult(w, http.StatusBadRequest, err.Error())
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxMessage)
		if batch(r) {
			toolErrorResult(w, http.StatusBadRequest, "batches are not taken: send one message a request")
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), longest)
		defer cancel()
		inside, err := client.New(client.Config{
			BaseURL: "http://" + internalHost, Timeout: longest, Transport: &inProcess{api: api, outer: r},
		})
		if err != nil {
			toolErrorResult(w, http.StatusInternalServerError, "the tools can't be reached")
			return
		}
		stream.ServeHTTP(w, r.WithContext(withExchange(ctx, &exchange{view: v, sender: inside, until: ctx})))
	})
}

// toolErrorResult answers what is no message of the protocol, in its form.
func toolErrorResult(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// Nobody is left to tell when the answer can't be written.
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":%q}}`, why)
}

// batch tells a body that is a JSON array: one request could carry thousands of
// calls, and the protocol has given batches up.
func batch(r *http.Request) bool {
	in := bufio.NewReader(r.Body)
	for {
		// A body that can't be read is the reader's to find, behind.
		c, err := in.ReadByte()
		if err == nil && strings.IndexByte(" \t\r\n", c) >= 0 {
			continue
		}
		if err == nil {
			_ = in.UnreadByte() // a byte was read just now
		}
		r.Body = struct {
			io.Reader
			io.Closer
		}{in, r.Body}
		return err == nil && c == '['
	}
}

// readView reads the query. It is strict: a misspelt word must not offer more
// than was meant.
func readView(query url.Values) (View, error) {
	var v View
	for name, values := range query {
		if len(values) != 1 {
			return v, fmt.Errorf("the parameter %q is given more than once", shortened(name, 64))
		}
		var err error
		switch name {
		case "toolsets":
			v.Toolsets = strings.Split(values[0], ",")
			err = CheckToolsets(v.Toolsets)
		case "read-only":
			v.ReadOnly, err = strconv.ParseBool(values[0])
		case "allow-destructive":
			v.AllowDestructive, err = strconv.ParseBool(values[0])
		default:
			err = fmt.Errorf("there is no parameter %q; known: toolsets, read-only, allow-destructive", shortened(name, 64))
		}
		if err != nil {
			return v, err
		}
	}
	return v, nil
}

// internalHost is no host's name: requests to it never leave the process.
const internalHost = "parapet.invalid"

// inProcess carries requests to a handler of the same process, in the name of
// the request that they are made for: same credential, organisation, address
// and request id.
type inProcess struct {
	api   http.Handler
	outer *http.Request
}

// carried are the headers that go along. A cookie does not: it is no proof that
// its owner wants what a page asks for.
var carried = []string{"Authorization", "X-Act-As-Org", "X-Forwarded-For", "X-Forwarded-Proto"}

// RoundTrip serves the request.
func (t *inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	inner := r.Clone(r.Context())
	inner.RequestURI = inner.URL.RequestURI()
	inner.URL.Scheme, inner.URL.Host = "", ""
	inner.Host, inner.RemoteAddr, inner.TLS = t.outer.Host, t.outer.RemoteAddr, t.outer.TLS
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	for _, name := range carried {
		inner.Header.Del(name)
		if values := t.outer.Header.Values(name); len(values) > 0 {
			inner.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	if id := op.RequestID(t.outer.Context()); id != "" {
		inner.Header.Set("X-Request-Id", id)
	}
	w := &recorder{header: http.Header{}}
	t.api.ServeHTTP(w, inner)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}
