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

// Mount serves h at the path, for what speaks a protocol of its own over HTTP
// and does its work by operations. It has the request id, the log line, the
// metrics and the headers of every route; a request without a live bearer
// credential is a 401, and one that a page of another site makes a 403. A cookie
// is no credential here.
func (a *API) Mount(path, name string, h http.Handler) {
	a.engine.Any(path, func(c *gin.Context) {
		c.Set(operationKey, name)
		r := c.Request
		err := a.isOwnHost(r)
		if err == nil {
			// The operations behind it look at the organisation.
			own := r.Clone(r.Context())
			own.Header.Del("X-Act-As-Org")
			cred, cerr := credentialOf(own, "")
			if cerr == nil && !cred.Bearer {
				cerr = fault.Unauthorized()
			}
			if err = cerr; err == nil {
				_, err = a.cfg.Auth.Authenticate(r.Context(), cred)
			}
		}
		if err != nil {
			a.writeError(c, err)
			return
		}
		h.ServeHTTP(c.Writer, r)
	})
}

// isOwnHost refuses what a page of another site sends through its reader's
// browser: an Origin that is not this host, and a name that such a page has bound
// to the address of a server on the reader's own machine.
// Source: the Model Context Protocol, Transports, Security Warning.
func (a *API) isOwnHost(r *http.Request) error {
	for _, value := range r.Header.Values("Origin") {
		origin, err := url.Parse(value)
		if err != nil || origin.Host == "" || origin.Host != r.Host {
			return fault.ForbiddenBecause("The Origin is not this host: pages of other sites are not answered here.")
		}
	}
	if peer, _, err := net.SplitHostPort(r.RemoteAddr); err == nil && a.trusted(peer) {
		return nil
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local == nil || !loopback(local.String()) || loopback(r.Host) {
		return nil
	}
	return fault.ForbiddenBecause("The Host is not this machine. Behind a proxy on this machine, name the proxy in PT_TRUSTED_PROXIES.")
}

// loopback tells whether a host, with or without a port, is this machine.
func loopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && addr.Unmap().IsLoopback())
}
