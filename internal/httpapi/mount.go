package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"parapet/internal/fault"
)

// Mount serves h at the path, for a handler with its own protocol over HTTP that calls
// operations. Like every route, it gets a request id, a log line, metrics and security
// headers. A request without an active bearer credential is a 401, and one from a page of
// another site a 403. Cookies are not accepted as credentials.
func (a *API) Mount(path, name string, h http.Handler) {
	a.engine.Any(path, func(c *gin.Context) {
		c.Set(operationKey, name)
		r := c.Request
		err := a.checkOwnHost(r)
		if err == nil {
			// The operations that the handler calls check the organisation.
			copied := r.Clone(r.Context())
			copied.Header.Del("X-Act-As-Org")
			cred, credentialErr := readCredential(copied, "")
			if credentialErr == nil && !cred.Bearer {
				credentialErr = fault.Unauthorized()
			}
			if err = credentialErr; err == nil {
				_, err = a.authenticate(c, cred)
			}
		}
		if err != nil {
			a.writeError(c, err)
			return
		}
		h.ServeHTTP(c.Writer, r)
	})
}

// checkOwnHost rejects requests that a page of another site sends through a user's browser.
// Such a request has an Origin with another host. In a DNS rebinding attack, it has a host
// name that the page has bound to the address of a server on the user's machine.
// Source: the Model Context Protocol, Transports, Security Warning.
func (a *API) checkOwnHost(r *http.Request) error {
	for _, value := range r.Header.Values("Origin") {
		origin, err := url.Parse(value)
		if err != nil || origin.Host == "" || origin.Host != r.Host {
			return fault.ForbiddenBecause("Requests from pages of other sites are rejected: the Origin header does not name this host.")
		}
	}
	if peer, _, err := net.SplitHostPort(r.RemoteAddr); err == nil && a.isTrustedProxy(peer) {
		return nil
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local == nil || !isLoopback(local.String()) || isLoopback(r.Host) {
		return nil
	}
	return fault.ForbiddenBecause("The Host header does not name this machine. If a proxy runs on this machine, add it to PT_TRUSTED_PROXIES.")
}

// isLoopback reports whether a host, with or without a port, is this machine.
func isLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && addr.Unmap().IsLoopback())
}
