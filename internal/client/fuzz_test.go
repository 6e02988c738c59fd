package client

import "testing"

// Parsing a normalized base URL again must return the same URL.
func FuzzParseBaseURL(f *testing.F) {
	for _, seed := range []string{"https://Parapet.example.org/", " http://[::1]:3000//api// ", "https://h/%2F", "https://h/a%20b", "http://h:99999", "https://h?", "https://u@h", "HTTPS://é.example"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := ParseBaseURL(text)
		if err != nil {
			return
		}
		again, err := ParseBaseURL(u.String())
		if err != nil || again.String() != u.String() {
			t.Fatalf("ParseBaseURL(%q): got %q; parsed again: %v (%v)", text, u, again, err)
		}
		if u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			t.Fatalf("ParseBaseURL(%q): got %#v, want no user, query or fragment", text, u)
		}
	})
}
