package httpapi

import (
	"net/http"
	"net/url"
	"strings"

	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/principal"
)

// The names of the session cookie. Over https it has the __Host- prefix, which
// binds it to this host and path.
const (
	SessionCookie       = "pt_session"
	SecureSessionCookie = "__Host-pt_session"
)

// credentialOf takes the token out of a request. Two Authorization headers, a
// header that is not "Bearer <token>" with one space, two session cookies, or a
// cookie that disagrees with the header are all the same UNAUTHORIZED. A token in
// the query string is none.
func credentialOf(r *http.Request, module string) (principal.Credential, error) {
	c := principal.Credential{Module: module}
	if values := r.Header.Values("X-Act-As-Org"); len(values) > 0 {
		c.ActAs, c.HasActAs = values[0], true
		if len(values) > 1 {
			return c, fault.ForbiddenTenant()
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
		token, ok := bearer(headers[0])
		if !ok || (c.Cookie && cookie != token) {
			return c, fault.Unauthorized()
		}
		c.Token, c.Bearer = token, true
	case !c.Cookie:
		return c, fault.Unauthorized()
	}
	return c, nil
}

// cookieToken takes the token out of the session cookie. Over https the name
// without the prefix is no session's: a neighbouring host, or anybody on the way
// of a plain http request, can set it.
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

// bearer reads "Bearer <token>": the scheme in any case, one space, no more.
func bearer(header string) (string, bool) {
	scheme, token, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || token == "" || strings.ContainsAny(token, " \t,") {
		return "", false
	}
	return token, true
}

// sameOrigin asks for proof that a cookie-borne change comes from our own
// pages: Sec-Fetch-Site, which no page can set, or an Origin that is this host.
// Source: the Fetch standard; Go's net/http.CrossOriginProtection, which lets a
// request without either header pass, as a cookie-borne one must not.
func sameOrigin(r *http.Request) error {
	refused := fault.ForbiddenBecause("A change that comes by cookie must come from this site.")
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		if site == "same-origin" {
			return nil
		}
		return refused
	}
	origin, err := url.Parse(r.Header.Get("Origin"))
	if err != nil || origin.Host == "" || origin.Host != r.Host {
		return refused
	}
	return nil
}
