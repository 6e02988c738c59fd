package httpapi

import (
	"net/http"
	"net/url"
	"strings"

	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/principal"
)

// Names of the session cookie. The __Host- prefix, used over https, binds it to this host
// and path.
const (
	SessionCookie       = "pt_session"
	SecureSessionCookie = "__Host-pt_session"
)

// readCredential reads the credential of a request. It returns UNAUTHORIZED for two
// Authorization headers, a header other than "Bearer <token>" with one space, two session
// cookies, or a cookie that differs from the header. It ignores tokens in the query
// string.
func readCredential(r *http.Request, module string) (principal.Credential, error) {
	c := principal.Credential{Module: module}
	if values := r.Header.Values("X-Act-As-Org"); len(values) > 0 {
		c.HasActAs = true
		if len(values) == 1 {
			// Two organisations count as none, which is denied, but only after authentication.
			c.ActAs = values[0]
		}
	}
	cookie, err := cookieToken(r, op.RequestOf(r.Context()).Secure)
	if err != nil {
		return c, err
	}
	c.Token, c.Cookie = cookie, cookie != ""
	headers := r.Header.Values("Authorization")
	switch {
	case len(headers) > 1:
		return c, fault.Unauthorized()
	case len(headers) == 1:
		token, ok := parseBearer(headers[0])
		if !ok || (c.Cookie && cookie != token) {
			return c, fault.Unauthorized()
		}
		c.Token, c.Bearer = token, true
	case !c.Cookie:
		return c, fault.Unauthorized()
	}
	return c, nil
}

// cookieToken reads the token from the session cookie. Over https it ignores the cookie
// without the prefix, because a neighbouring host, or an attacker on a plain http
// connection, could have set it.
func cookieToken(r *http.Request, secure bool) (string, error) {
	found := ""
	for _, c := range r.Cookies() {
		if c.Name != SecureSessionCookie && (secure || c.Name != SessionCookie) {
			continue
		}
		if found != "" && found != c.Value {
			return "", fault.Unauthorized()
		}
		found = c.Value
	}
	return found, nil
}

// parseBearer parses "Bearer <token>": the scheme in any case and exactly one space.
func parseBearer(header string) (string, bool) {
	scheme, token, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || token == "" || strings.ContainsAny(token, " \t,") {
		return "", false
	}
	return token, true
}

// checkSameOrigin returns an error unless a change with a session cookie comes from this site.
// The proof is Sec-Fetch-Site, which a page cannot set, or an Origin with this host.
// Source: the Fetch standard. Unlike Go's net/http.CrossOriginProtection, it rejects a
// request without either header.
func checkSameOrigin(r *http.Request) error {
	denied := fault.ForbiddenBecause("A request that makes changes with a session cookie must come from this site.")
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		if site == "same-origin" {
			return nil
		}
		return denied
	}
	origin, err := url.Parse(r.Header.Get("Origin"))
	if err != nil || origin.Host == "" || origin.Host != r.Host {
		return denied
	}
	return nil
}
