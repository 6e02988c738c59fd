package httpapi

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestMount_ChecksCredentialAndOrigin(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, io.Discard, nil)
	served := 0
	a.Mount("/tool", "tool", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { served++; w.WriteHeader(http.StatusAccepted) }))
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 3000}
	for name, tc := range map[string]struct {
		token, host, origin, cookie string
		local                       net.Addr
		status                      int
	}{
		"bearer":                        {token: goodToken, host: "parapet.example", status: 202},
		"no credential":                 {host: "parapet.example", status: 401},
		"invalid credential":            {token: "bad", host: "parapet.example", status: 401},
		"cookie without bearer":         {cookie: goodToken, host: "parapet.example", status: 401},
		"bearer and equal cookie":       {token: goodToken, cookie: goodToken, host: "parapet.example", status: 202},
		"API key in header and cookie":  {token: keyToken, cookie: keyToken, host: "parapet.example", status: 401},
		"origin is this host":           {token: goodToken, host: "parapet.example", origin: "https://parapet.example", status: 202},
		"origin is another site":        {token: goodToken, host: "parapet.example", origin: "https://other.example", status: 403},
		"origin is null":                {token: goodToken, host: "parapet.example", origin: "null", status: 403},
		"loopback by name":              {token: goodToken, host: "localhost:3000", local: loopback, status: 202},
		"loopback by address":           {token: goodToken, host: "[::1]:3000", local: loopback, status: 202},
		"other name bound to loopback":  {token: goodToken, host: "other.example:3000", local: loopback, status: 403},
		"other name as host and origin": {token: goodToken, host: "other.example:3000", origin: "http://other.example:3000", local: loopback, status: 403},
	} {
		r := httptest.NewRequest(http.MethodPost, "/tool", nil)
		r.Host = tc.host
		if tc.local != nil {
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, tc.local))
		}
		if tc.token != "" {
			r.Header.Set("Authorization", "Bearer "+tc.token)
		}
		if tc.origin != "" {
			r.Header.Set("Origin", tc.origin)
		}
		if tc.cookie != "" {
			r.AddCookie(&http.Cookie{Name: SessionCookie, Value: tc.cookie})
		}
		w := httptest.NewRecorder()
		before := served
		a.ServeHTTP(w, r)
		if w.Code != tc.status || (served > before) != (tc.status == 202) || w.Header().Get("X-Request-Id") == "" || (w.Header().Get("WWW-Authenticate") != "") != (tc.status == 401) {
			t.Errorf("%s: got %d %v %s, served %t; want %d with a request id, served only with 202", name, w.Code, w.Header(), w.Body, served > before, tc.status)
		}
	}
}
