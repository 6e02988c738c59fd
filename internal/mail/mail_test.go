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

func TestNewSMTP_ParsesAddressesAndRejectsInvalidOnes(t *testing.T) {
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
			t.Errorf("%s: got %+v, %v, want %+v", address, got, err, want)
		}
	}
	for _, address := range []string{
		"", "mail.example.org", "http://mail.example.org", "smtp://", "smtp://h:0", "smtp://h:70000", "smtp://h/path", "smtp://h#f",
		"smtp://h?tls=on", "smtps://h?tls=off", "smtp://h?tls=off&tls=off", "smtp://h?x=1", "smtp://user:secret@h:port", "smtp://user:secret@%zz",
	} {
		_, err := NewSMTP(address, "noreply@example.org")
		if err == nil {
			t.Errorf("NewSMTP(%q): got no error", address)
			continue
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("NewSMTP(%q): the error contains the password: %v", address, err)
		}
	}
	for from, good := range map[string]bool{"noreply@example.org": true, "Parapet <noreply@example.org>": true, "": false, "nobody": false, "a@b\nBcc: c@d": false} {
		if _, err := NewSMTP("smtp://h", from); (err == nil) != good {
			t.Errorf("from %q: got error %v, want valid = %t", from, err, good)
		}
	}
}

// startSMTPServer serves one SMTP conversation without encryption and returns what the
// client sent.
func startSMTPServer(t *testing.T, greeting ...string) (address string, received <-chan string) {
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

func TestSMTP_SendsMessage(t *testing.T) {
	t.Parallel()
	address, received := startSMTPServer(t)
	s, err := NewSMTP("smtp://"+address+"?tls=off", "Parapet <noreply@example.org>")
	if err != nil {
		t.Fatal(err)
	}
	err = s.Send(t.Context(), Message{To: "worker@example.org", Subject: "Set a new password", Text: "Open this link:\n\nhttps://x.example/reset-password#abc\n"})
	if err != nil {
		t.Fatal(err)
	}
	conversation := <-received
	for _, want := range []string{"MAIL FROM:<noreply@example.org>", "RCPT TO:<worker@example.org>", "Subject: Set a new password", "https://x.example/reset-password#abc"} {
		if !strings.Contains(conversation, want) {
			t.Errorf("conversation does not contain %q:\n%s", want, conversation)
		}
	}
}

// If the server offers no encryption, no message is sent unless the address allows it.
func TestSMTP_WithoutEncryption_SendsNothing(t *testing.T) {
	t.Parallel()
	address, received := startSMTPServer(t)
	s, err := NewSMTP("smtp://user:secret@"+address, "noreply@example.org")
	if err != nil {
		t.Fatal(err)
	}
	err = s.Send(t.Context(), Message{To: "worker@example.org", Subject: "x", Text: "a secret link"})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("Send: got error %v, want an error without the password", err)
	}
	if conversation := <-received; strings.Contains(conversation, "secret link") || strings.Contains(conversation, "AUTH") {
		t.Errorf("server received the message or credentials: %s", conversation)
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
		t.Errorf("recipient with a line break: got %v, want an error about the recipient", err)
	}
}

func TestLog_WritesMessageToLog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := Log{slog.New(slog.NewTextHandler(&out, nil))}.Send(context.Background(), Message{To: "a@example.org", Subject: "s", Text: "the link"})
	if err != nil || !strings.Contains(out.String(), "the link") || !strings.Contains(out.String(), "a@example.org") {
		t.Errorf("got log %q, %v, want the message", out.String(), err)
	}
}
