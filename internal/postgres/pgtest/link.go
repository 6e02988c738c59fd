package pgtest

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Link is a proxy to the server that a test can interrupt, to simulate a paused process or a
// failing network. It forwards connections until a client sends a text for which the test
// has set a trap.
type Link struct {
	listener net.Listener
	target   func() (net.Conn, error)

	mu   sync.Mutex
	trap *trap
	open map[net.Conn]bool
}

// trap interrupts the connection whose client first sends the mark.
type trap struct {
	mark []byte
	// requests selects what is interrupted: if set, everything that the client sends after
	// the chunk with the mark is delayed; otherwise the server's responses to it are dropped.
	requests  bool
	triggered chan struct{}
	release   chan struct{}
}

// NewLink opens a link to the server of the database. It is closed when the test
// ends.
func (d *DB) NewLink(tb testing.TB) *Link {
	tb.Helper()
	cfg, err := pgx.ParseConfig(d.URL())
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	return NewLinkTo(tb, cfg.Host, cfg.Port)
}

// NewLinkTo opens a link to a server. A host that begins with a slash is the folder of
// its socket.
func NewLinkTo(tb testing.TB, host string, port uint16) *Link {
	tb.Helper()
	network, address := dialAddress(host, port)
	listener, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	l := &Link{listener: listener, open: map[net.Conn]bool{}, target: func() (net.Conn, error) {
		return net.Dial(network, address)
	}}
	go l.accept()
	tb.Cleanup(l.Close)
	return l
}

// Close cuts every connection and accepts no new ones.
func (l *Link) Close() {
	_ = l.listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		_ = c.Close()
	}
}

// dialAddress returns the arguments of net.Dial for a server.
func dialAddress(host string, port uint16) (network, address string) {
	p := portText(port)
	if filepath.IsAbs(host) {
		return "unix", filepath.Join(host, ".s.PGSQL."+p)
	}
	return "tcp", net.JoinHostPort(host, p)
}

func portText(port uint16) string { return strconv.Itoa(int(port)) }

// URL returns the address of a database with the link in place of its server.
func (l *Link) URL(tb testing.TB, address string) string {
	tb.Helper()
	u, err := url.Parse(address)
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	q := u.Query()
	q.Del("host")
	q.Del("port")
	u.Host, u.RawQuery = l.listener.Addr().String(), q.Encode()
	return u.String()
}

// PauseAfter delays everything that the client sends after the chunk that contains mark, as
// if the client's process were paused. The channel triggered is closed when the pause
// begins. The function release lets the connection continue.
func (l *Link) PauseAfter(mark string) (triggered <-chan struct{}, release func()) {
	return l.set(&trap{mark: []byte(mark), requests: true})
}

// LoseResponseTo drops the server's responses to the chunk that contains mark, and to
// everything after it. The connection stays open until release cuts it.
func (l *Link) LoseResponseTo(mark string) (triggered <-chan struct{}, release func()) {
	return l.set(&trap{mark: []byte(mark)})
}

func (l *Link) set(t *trap) (<-chan struct{}, func()) {
	t.triggered, t.release = make(chan struct{}), make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trap = t
	return t.triggered, sync.OnceFunc(func() { close(t.release) })
}

// trigger returns the trap, once, if the chunk contains its mark.
func (l *Link) trigger(chunk []byte) *trap {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.trap
	if t == nil || !bytes.Contains(chunk, t.mark) {
		return nil
	}
	l.trap = nil
	return t
}

func (l *Link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		server, err := l.target()
		if err != nil {
			_ = client.Close()
			continue
		}
		l.mu.Lock()
		l.open[client], l.open[server] = true, true
		l.mu.Unlock()
		go l.forward(client, server)
	}
}

// forward forwards one connection in both directions until it ends.
func (l *Link) forward(client, server net.Conn) {
	var mu sync.Mutex
	var losing *trap
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			mu.Lock()
			t := losing
			mu.Unlock()
			if t != nil {
				<-t.release
				break
			}
			if n > 0 {
				if _, writeErr := client.Write(buf[:n]); writeErr != nil {
					break
				}
			}
			if err != nil {
				break
			}
		}
		_ = client.Close()
		_ = server.Close()
	}()
	// The client writes a batch in one piece, so one read returns it completely.
	buf := make([]byte, 4<<20)
	for {
		n, err := client.Read(buf)
		t := l.trigger(buf[:n])
		if t != nil && !t.requests {
			mu.Lock()
			losing = t
			mu.Unlock()
		}
		if n > 0 {
			if _, writeErr := io.Copy(server, bytes.NewReader(buf[:n])); writeErr != nil {
				break
			}
		}
		if t != nil {
			close(t.triggered)
			if t.requests {
				<-t.release
			}
		}
		if err != nil {
			break
		}
	}
	_ = client.Close()
	_ = server.Close()
}
