package mail

import (
	"strings"
	"testing"
)

// An accepted server address has a valid host and port. An error does not contain the
// address, because it may contain a password.
func FuzzServerAddress(f *testing.F) {
	for _, seed := range []string{
		"smtp://user:password@mail.example.org:587", "smtps://mail.example.org", "smtp://localhost:25?tls=off", "smtp://[::1%25eth0]:25", "smtp://a b", "smtps://h?tls=off", "smtp://h:0",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		s, err := parseServer(address)
		if err != nil {
			if len(address) > 60 && strings.Contains(err.Error(), address) {
				t.Fatalf("the error contains the address: %v", err)
			}
			return
		}
		if s.host == "" || s.port < 1 || s.port > 65535 || (s.tls && s.plaintext) || strings.ContainsAny(s.host, "\x00\r\n /") {
			t.Fatalf("parseServer(%q): got invalid server %+v", address, s)
		}
	})
}
