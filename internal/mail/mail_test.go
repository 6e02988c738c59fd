package mail

import (
	"bufio"
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"
)

func TestNewSMTP_Addresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]server{
		"smtp://mail.example.org":               {host: "mail.example.org", port: 587},
		"smtp://u:p%40ss@mail.example.org:2525": {host: "mail.example.org", port: 2525, user: "u", password: "p@ss"},
		"smtps://mail.example.org/":             {host: "mail.example.org", port: 465, tls: true},
		"smtp://127.0.0.1:25?tls=off":           {host: "127.0.0.1", port: 25, plaintext: true},
		"smtp://[::1]:25":                       {host: "::1", port: 25},
	} {
		got, err := parseServer(address)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", address, got, err, want)
		}
	}
	for _, address := range []string{
		"", "mail.example.org", "http://mail.example.org", "smtp://", "smtp://h:0", "smtp://h:70000", "smtp://h/path", "smtp://h#f",
		"smtp://h?tls=on", "smtps://h?tls=off", "smtp://h?tls=off&tls=off", "smtp://h?x=1", "smtp://user:secret@h:port", "smtp://user:secret@%zz",
	} {
		_, err := NewSMTP(address, "noreply@example.org")
		if err == nil {
			t.Errorf("%q is an address", address)
			continue
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error for %q repeats it: %v", address, err)
		}
	}
	for from, good := range map[string]bool{"noreply@example.org": true, "Parapet <noreply@example.org>": true, "": false, "nobody": false, "a@b\nBcc: c@d": false} {
		if _, err := NewSMTP("smtp://h", from); (err == nil) != good {
			t.Errorf("from %q: %v", from, err)
		}
	}
}

// serve answers one SMTP conversation without encryption and gives what it was told.
func serve(t *testing.T, greeting ...string) (address string, told <-chan string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	out := make(chan string, 1)
	go func() {
		defer close(out)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		say := func(line string) { _, _ = conn.Write([]byte(line + "\r\n")) }
		say("220 test")
		var all bytes.Buffer
		lines, data := bufio.NewScanner(conn), false
		for lines.Scan() {
			line := lines.Text()
			all.WriteString(line + "\n")
			switch {
			case data && line == ".":
				data = false
				say("250 kept")
			case data:
			case strings.HasPrefix(line, "EHLO"):
				for _, extension := range greeting {
					say("250-" + extension)
				}
				say("250 8BITMIME")
			case line == "DATA":
				data = true
				say("354 go on")
			case line == "QUIT":
				say("221 bye")
				out <- all.String()
				return
			default:
				say("250 ok")
			}
		}
		out <- all.String()
	}()
	return l.Addr().String(), out
}

func TestSMTP_SendsOneMessage(t *testing.T) {
	t.Parallel()
	address, told := serve(t)
	s, err := NewSMTP("smtp://"+address+"?tls=off", "Parapet <noreply@example.org>")
	if err != nil {
		t.Fatal(err)
	}
	err = s.Send(t.Context(), Message{To: "worker@example.org", Subject: "Set a new password", Text: "Open this link:\n\nhttps://x.example/reset-password#abc\n"})
	if err != nil {
		t.Fatal(err)
	}
	said := <-told
	for _, want := range []string{"MAIL FROM:<noreply@example.org>", "RCPT TO:<worker@example.org>", "Subject: Set a new password", "https://x.example/reset-password#abc"} {
		if !strings.Contains(said, want) {
			t.Errorf("the server was not told %q:\n%s", want, said)
		}
	}
}

// A server that offers no encryption gets no message, unless the address allows it.
func TestSMTP_RefusesPlaintext(t *testing.T) {
	t.Parallel()
	address, told := serve(t)
	s, err := NewSMTP("smtp://user:secret@"+address, "noreply@example.org")
	if err != nil {
		t.Fatal(err)
	}
	err = s.Send(t.Context(), Message{To: "worker@example.org", Subject: "x", Text: "a secret link"})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("sent, or the error tells a secret: %v", err)
	}
	if said := <-told; strings.Contains(said, "secret link") || strings.Contains(said, "AUTH") {
		t.Errorf("the server was told %s", said)
	}
}

func TestSMTP_RejectsHeaderInjection(t *testing.T) {
	t.Parallel()
	s, err := NewSMTP("smtp://127.0.0.1:1?tls=off", "noreply@example.org")
	if err != nil {
		t.Fatal(err)
	}
	err = s.Send(t.Context(), Message{To: "a@example.org\r\nBcc: b@example.org", Subject: "x", Text: "y"})
	if err == nil || !strings.Contains(err.Error(), "recipient") {
		t.Errorf("a recipient of two lines: %v", err)
	}
}

func TestLog_WritesTheMessage(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := Log{slog.New(slog.NewTextHandler(&out, nil))}.Send(context.Background(), Message{To: "a@example.org", Subject: "s", Text: "the link"})
	if err != nil || !strings.Contains(out.String(), "the link") || !strings.Contains(out.String(), "a@example.org") {
		t.Errorf("%q, %v", out.String(), err)
	}
}
