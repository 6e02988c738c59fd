package token

import (
	"strings"
	"testing"
)

// FuzzSecrets checks that every accepted secret is long enough, and that an error names the
// setting and does not contain its value.
func FuzzSecrets(f *testing.F) {
	f.Add("a secret of at least thirty-two bytes", "")
	f.Add("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=", "0123456789abcdef0123456789abcdef")
	f.Add("0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef")
	f.Add("short but secret", "s")
	f.Fuzz(func(t *testing.T, current, previous string) {
		sign, verify, err := readSecrets(current, previous)
		if err != nil {
			if sign != nil && verify != nil || !strings.Contains(err.Error(), SecretSetting) {
				t.Fatalf("%q, %q: %v", current, previous, err)
			}
			for _, text := range []string{current, previous} {
				if len(text) > 12 && strings.Contains(err.Error(), text) {
					t.Fatalf("the error contains the secret %q: %v", text, err)
				}
			}
			return
		}
		if len(sign) < minSecret || (previous != "") != (verify != nil) || (verify != nil && len(verify) < minSecret) {
			t.Fatalf("%q, %q: got secrets of %d and %d bytes", current, previous, len(sign), len(verify))
		}
	})
}
