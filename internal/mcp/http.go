package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	// maxMessage is the maximum size of a message in bytes: the default maximum body of an
	// operation plus the JSON-RPC envelope.
	maxMessage = op.DefaultMaxBody + 64<<10
	// messageTimeout is the time limit of a message. It is shorter than the HTTP server's
	// write timeout, so that the client gets a response.
	messageTimeout = 110 * time.Second
)

// HTTP returns a handler that serves tools, prompts and resources over streamable HTTP
// without sessions. A tool call becomes a request to api in the same process with the
// caller's credential, so the API authorizes it as usual. The caller of HTTP must check the
// credential and the origin of a request first.
//
// Query parameters select the tools: toolsets (comma-separated), read-only and
// allow-destructive (booleans).
func (s *Server) HTTP(api http.Handler) http.Handler {
	// Progress notifications need a stream. All other responses are plain JSON.
	plain, stream := s.newHandler(true), s.newHandler(false)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := readView(r.URL.Query())
		if err != nil {
			writeError(w, http.StatusBadRequest, err.Error())
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			writeError(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("a message has at most %d bytes", maxMessage))
			return
		}
		if err != nil {
			writeError(w, http.StatusBadRequest, "the message is incomplete")
			return
		}
		if isBatch(body) {
			writeError(w, http.StatusBadRequest, "batches are not supported; send one message per request")
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		ctx, cancel := context.WithTimeout(r.Context(), messageTimeout)
		defer cancel()
		apiClient, err := client.New(client.Config{
			BaseURL: "http://" + internalHost, Timeout: messageTimeout, Transport: &inProcess{api: api, outer: r},
		})
		if err != nil {
			writeError(w, http.StatusInternalServerError, "internal error: cannot reach the API")
			return
		}
		handler := plain
		if wantsProgress(body) {
			handler = stream
		}
		handler.ServeHTTP(w, r.WithContext(withExchange(ctx, &exchange{view: v, sender: apiClient, requestCtx: ctx})))
	})
}

// newHandler returns the handler of the library, which responds with JSON or with a stream
// of events.
func (s *Server) newHandler(asJSON bool) http.Handler {
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.sdk }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: asJSON, PropagateRequestCancellation: true,
		MaxRequestBodyBytes: maxMessage,
		// The caller checks the host, because it knows the trusted proxies.
		DisableLocalhostProtection: true,
	})
}

// wantsProgress reports whether a message is a tool call with a progress token.
func wantsProgress(body []byte) bool {
	if !bytes.Contains(body, []byte("progressToken")) {
		return false
	}
	var message struct {
		Method string `json:"method"`
		Params struct {
			Meta struct {
				ProgressToken any `json:"progressToken"`
			} `json:"_meta"`
		} `json:"params"`
	}
	return json.Unmarshal(body, &message) == nil && message.Method == "tools/call" && message.Params.Meta.ProgressToken != nil
}

// writeError writes a JSON-RPC error for a request that is not a valid message.
func writeError(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A write error means that the client disconnected.
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":%q}}`, message)
}

// isBatch reports whether a message is a JSON array. Batches are rejected because one
// request could contain thousands of calls, and newer protocol versions removed them.
func isBatch(body []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("["))
}

// readView parses the query parameters. It rejects unknown ones, so that a misspelled
// parameter never exposes more tools than intended.
func readView(query url.Values) (View, error) {
	var v View
	for name, values := range query {
		if len(values) != 1 {
			return v, fmt.Errorf("duplicate parameter %q", truncate(name, 64))
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
			err = fmt.Errorf("unknown parameter %q; allowed: toolsets, read-only, allow-destructive", truncate(name, 64))
		}
		if err != nil {
			return v, err
		}
	}
	return v, nil
}

// internalHost is the host in URLs of in-process requests. It is not a real host.
const internalHost = "parapet.invalid"

// inProcess is a transport that passes requests to a handler in the same process. The
// requests get the credential, organisation, client address and request ID of the MCP
// request (outer).
type inProcess struct {
	api   http.Handler
	outer *http.Request
}

// forwardedHeaders are the headers that are copied from the outer request. Cookies are
// not copied, to prevent cross-site request forgery.
var forwardedHeaders = []string{"Authorization", "X-Act-As-Org", "X-Forwarded-For", "X-Forwarded-Proto"}

// RoundTrip implements http.RoundTripper.
func (t *inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	inner := r.Clone(r.Context())
	inner.RequestURI = inner.URL.RequestURI()
	inner.URL.Scheme, inner.URL.Host = "", ""
	inner.Host, inner.RemoteAddr, inner.TLS = t.outer.Host, t.outer.RemoteAddr, t.outer.TLS
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	for _, name := range forwardedHeaders {
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

// recorder is an http.ResponseWriter that stores the response.
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
