package client

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parapet/internal/fault"
)

func TestDo_ReportsWrongScheme(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(nil)
	defer plain.Close()
	tls := httptest.NewTLSServer(nil)
	defer tls.Close()
	// A TLS server that sends an alert in place of an HTTP response.
	alert, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer alert.Close()
	go func() {
		for {
			conn, err := alert.Accept()
			if err != nil {
				return
			}
			// Read the request first: closing with unread data would reset the connection.
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, "\x15\x03\x01\x00\x02\x02\x46")
			conn.Close()
		}
	}()
	for url, want := range map[string]string{
		strings.Replace(plain.URL, "http:", "https:", 1):     plain.URL,
		strings.Replace(tls.URL, "https:", "http:", 1):       tls.URL,
		"http://" + alert.Addr().String():                    "https://" + alert.Addr().String(),
		strings.Replace(tls.URL, "https:", "http:", 1) + "/": tls.URL,
	} {
		c := start(t, Config{BaseURL: url}, nil)
		for name, err := range map[string]error{"read": read(t.Context(), c), "change": write(t.Context(), c)} {
			wrong := SchemeErrorOf(err)
			if wrong == nil || wrong.Want != want || !fault.HasCode(err, fault.CodeUnavailable) || Retryable(fault.From(err)) {
				t.Errorf("%s of %s: got %v, want an UNAVAILABLE error that is not retryable and names %s", name, url, err, want)
			}
		}
	}
	// A response of the service can contain the same words.
	c := start(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
		writeReply(w, 400, `{"error":{"code":"VALIDATION","message":"Client sent an HTTP request to an HTTPS server.","requestId":"r"}}`)
	})
	if err := read(t.Context(), c); SchemeErrorOf(err) != nil || !fault.HasCode(err, fault.CodeValidation) {
		t.Errorf("error of the service: got %v, want VALIDATION", err)
	}
}
