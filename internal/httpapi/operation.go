package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/principal"
)

// newOperationHandler returns the handler of one operation: it reads the credential and the input,
// calls the operation and writes the response.
func (a *API) newOperationHandler(b op.Bound) gin.HandlerFunc {
	hasBody := b.HasBody()
	return func(c *gin.Context) {
		c.Set(operationKey, b.Name)
		ctx := c.Request.Context()
		if b.Access != op.Public {
			cred, err := readCredential(c.Request, b.Module)
			var caller *principal.Principal
			if err == nil {
				caller, err = a.authenticate(c, cred)
			}
			if err == nil && !cred.Bearer && b.Effect.Changes() {
				err = checkSameOrigin(c.Request)
			}
			if err != nil {
				a.writeError(c, err)
				return
			}
			ctx = principal.NewContext(ctx, caller)
		}
		body, err := readBody(c.Request, hasBody, b.MaxBody)
		if err != nil {
			a.writeError(c, err)
			return
		}
		// Not URL.Query: it ignores malformed pairs, which could drop a filter.
		query, err := url.ParseQuery(c.Request.URL.RawQuery)
		if err != nil {
			a.writeError(c, fault.Validation("query", "The query string is malformed: separate pairs by &, and encode a literal % as %25.").WithCause(err))
			return
		}
		if strings.HasSuffix(b.Path, "...}") && hasEncodedSlash(c.Request.URL) {
			a.writeError(c, fault.Validation("path", "The path must not contain an encoded slash (%2F) or backslash (%5C)."))
			return
		}
		in, err := b.Read(op.Raw{
			Path:  func(name string) string { return strings.TrimPrefix(c.Param(name), "/") },
			Query: query,
			Body:  body,

			IfMatch:     strings.Join(c.Request.Header.Values("If-Match"), ", "),
			IfNoneMatch: strings.Join(c.Request.Header.Values("If-None-Match"), ", "),
		})
		if err != nil {
			a.writeError(c, err)
			return
		}
		out, err := b.Call(ctx, in)
		if err != nil {
			a.writeError(c, err)
			return
		}
		a.writeResponse(c, b.Operation, out)
	}
}

// hasEncodedSlash reports whether the path has an encoded slash or backslash, which would
// become a separator when the path is decoded.
func hasEncodedSlash(u *url.URL) bool {
	escaped := strings.ToLower(u.EscapedPath())
	return strings.Contains(escaped, "%2f") || strings.Contains(escaped, "%5c")
}

// authenticate returns the caller of a request and keeps it for the log line.
func (a *API) authenticate(c *gin.Context, cred principal.Credential) (*principal.Principal, error) {
	p, err := a.cfg.Auth.Authenticate(c.Request.Context(), cred)
	if err != nil {
		return nil, err
	}
	c.Set(principalKey, p)
	return p, nil
}

// SessionResponse is implemented by responses that start or end a browser session. The token
// is stored in the session cookie until expires; an empty token deletes the cookie. Contracts
// implement it without depending on HTTP.
type SessionResponse interface {
	SessionCookie() (token string, expires time.Time)
}

// sessionCookies returns the cookies of the response. Over https, the name has the prefix
// __Host-. At the end of a session, the cookies of both names are deleted.
func sessionCookies(r SessionResponse, secure bool) []*http.Cookie {
	cookie := func(name string, secure bool, token string, expires time.Time) *http.Cookie {
		c := &http.Cookie{Name: name, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: secure, Expires: expires}
		if token == "" {
			c.MaxAge, c.Expires = -1, time.Time{}
		}
		return c
	}
	token, expires := r.SessionCookie()
	switch {
	case token == "" && secure:
		return []*http.Cookie{cookie(SecureSessionCookie, true, "", expires), cookie(SessionCookie, true, "", expires)}
	case token == "" || !secure:
		return []*http.Cookie{cookie(SessionCookie, false, token, expires)}
	default:
		return []*http.Cookie{cookie(SecureSessionCookie, true, token, expires)}
	}
}

func (a *API) writeResponse(c *gin.Context, o *op.Operation, out any) {
	if r, ok := out.(SessionResponse); ok {
		for _, cookie := range sessionCookies(r, op.RequestOf(c.Request.Context()).Secure) {
			http.SetCookie(c.Writer, cookie)
		}
	}
	if r, ok := out.(op.Versioned); ok {
		c.Header("ETag", r.EntityTag())
	}
	if o.Secret {
		c.Header("Cache-Control", "no-store")
	}
	if o.Status == http.StatusNoContent {
		c.Status(o.Status)
		c.Writer.WriteHeaderNow()
		return
	}
	if d, ok := out.(op.DocumentOutput); ok && c.Request.Header.Get("Accept") != "application/json" {
		if mediaType, document := d.Document(); mediaType != "" {
			c.Header("Vary", "Accept")
			c.Data(o.Status, mediaType, []byte(document))
			return
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		a.writeError(c, fault.Internal(err))
		return
	}
	c.Data(o.Status, "application/json", text)
}

// readBody reads a body of at most limit bytes. If the operation has a body, its content
// type must be JSON. A body of an operation without one is returned too: b.Read rejects it.
func readBody(r *http.Request, hasBody bool, limit int64) ([]byte, error) {
	if r.Body == nil || r.ContentLength == 0 {
		return nil, nil
	}
	if r.ContentLength > limit {
		return nil, errTooLarge(limit)
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, limit))
	if err != nil {
		var over *http.MaxBytesError
		if errors.As(err, &over) {
			return nil, errTooLarge(limit)
		}
		return nil, fault.Validation("body", "The body could not be read.").WithCause(err)
	}
	if len(body) == 0 {
		return nil, nil
	}
	if !hasBody {
		return body, nil
	}
	types := r.Header.Values("Content-Type")
	if len(types) != 1 {
		return nil, errUnsupported()
	}
	mediaType, params, err := mime.ParseMediaType(types[0])
	if charset := params["charset"]; err != nil || mediaType != "application/json" || (charset != "" && !strings.EqualFold(charset, "utf-8")) {
		return nil, errUnsupported()
	}
	return body, nil
}

func errTooLarge(limit int64) error {
	f := &fault.Error{Code: fault.CodePayloadTooLarge, Message: "The body is too large."}
	return f.WithDetails(map[string]any{"maxBytes": limit})
}

func errUnsupported() error {
	return &fault.Error{Code: fault.CodeUnsupportedMedia, Message: "The body must be JSON: send Content-Type: application/json."}
}
