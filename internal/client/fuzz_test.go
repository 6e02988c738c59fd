package client

import "testing"

// The one spelling of a service's address is read as itself.
func FuzzBaseURL(f *testing.F) {
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
			t.Fatalf("%q became %q, and that %v (%v)", text, u, again, err)
		}
		if u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			t.Fatalf("%q was read as %#v", text, u)
		}
	})
}
