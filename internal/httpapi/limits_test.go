package httpapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestServe_LimitsHeaders sends too large headers, which are rejected, and incomplete
// headers, which time out.
func TestServe_LimitsHeaders(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- Serve(ctx, l, newTestAPI(t, io.Discard, nil), time.Second, slog.New(slog.DiscardHandler))
	}()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Serve after a shutdown: got %v, want no error", err)
		}
	}()
	// status sends text and returns the status of the response, or 0 if the connection ends.
	status := func(text string) int {
		t.Helper()
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if err := c.SetDeadline(time.Now().Add(readHeaderTimeout + 10*time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			if late := net.Error(nil); errors.As(err, &late) && late.Timeout() {
				t.Errorf("%.30q: got an open connection, want it closed after %s", text, readHeaderTimeout)
			}
			return 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	const begin = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
	if got := status(begin + "\r\n"); got != 200 {
		t.Errorf("valid request: got %d, want 200", got)
	}
	if got := status(begin + "X-Long: " + strings.Repeat("x", 2*maxHeaderBytes) + "\r\n\r\n"); got != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("long header: got %d, want 431", got)
	}
	many := ""
	for i := range 4000 {
		many += fmt.Sprintf("X-%d: x\r\n", i)
	}
	if got := status(begin + many + "\r\n"); got != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("many headers: got %d, want 431", got)
	}
	if got := status(begin + "X-Never"); got >= 200 && got < 300 {
		t.Errorf("incomplete headers: got %d, want no success", got)
	}
}
