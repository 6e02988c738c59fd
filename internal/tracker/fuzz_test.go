package tracker

import (
	"strings"
	"testing"
	"unicode/utf8"

	contract "parapet/internal/contract/tracker"
)

// FuzzRepoPath checks that normalizing a repository path twice gives the same result. The
// exception is a remote whose host has no dot, because it parses as a relative path.
func FuzzRepoPath(f *testing.F) {
	for _, seed := range []string{
		"/src/mono", "git@github.com:acme/monolith.git", "https://u:p@GitHub.com:8443/acme/./x.git?a#b", `C:\src\x`, "file:///src/../x", "ssh://h/%00", "/..", "a.b/c", "h:.git", "h.x:a.git.git", "h.x:a/.git", "h.x:a .git", "file:///a%20", "ssh://[::1]/a",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		normal, ok := normalizeRepo(text)
		if !ok {
			return
		}
		if len(normal) > maxRepoPath || !utf8.ValidString(normal) || hasControlCharacter(normal) {
			t.Fatalf("normalizeRepo(%q): got %q, want valid UTF-8 of at most %d bytes without control characters", text, normal, maxRepoPath)
		}
		host, _, _ := strings.Cut(normal, "/")
		if strings.Contains(host, ":") {
			return // an IPv6 address
		}
		looksRelative := host != "" && (strings.Trim(host, ".") == "" || !strings.Contains(host, "."))
		if again, ok := normalizeRepo(normal); again != normal && (ok || !looksRelative) {
			t.Fatalf("normalizeRepo(%q): got %q, and %q (%t) from that; want the same", text, normal, again, ok)
		}
	})
}

// FuzzFieldValue checks that a normalized custom field value is parsed to itself.
func FuzzFieldValue(f *testing.F) {
	for _, seed := range []string{"-12.50", "+0.0", "1e3", "0x10", "2027-03-31", "2027-03-31T17:00:00+14:00", "TRUE", " red ", "İ", "1_000"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return // requests with invalid UTF-8 are rejected earlier
		}
		for _, kind := range []string{contract.FieldNumber, contract.FieldDate, contract.FieldBoolean, contract.FieldChoice, contract.FieldText} {
			row := &fieldRow{Type: kind, Options: []string{"red", "blue"}}
			value, problem := row.parseValue(text)
			if problem != "" {
				if value != "" {
					t.Fatalf("%s value %q: got both the value %q and the problem %q, want one", kind, text, value, problem)
				}
				continue
			}
			if again, problem := row.parseValue(value); problem != "" || again != value {
				t.Fatalf("%s value %q: got %q, and %q (%s) from that; want the same", kind, text, value, again, problem)
			}
		}
	})
}
