package identity

import (
	"encoding/base64"
	"testing"
)

// A reset token has exactly one spelling. An invalid text gives a token that names no reset.
func FuzzResetToken(f *testing.F) {
	f.Add(resetToken{nilUUID, nilUUID, make([]byte, 32)}.String())
	f.Add("")
	f.Add(base64.RawURLEncoding.EncodeToString(make([]byte, 64)) + "=")
	f.Add(base64.RawURLEncoding.EncodeToString(make([]byte, 63)) + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		token := parseResetToken(text)
		if token.secret == nil {
			if token.tenant != nilUUID || token.id != nilUUID {
				t.Fatalf("parseResetToken(%q) = %+v, want nil ids", text, token)
			}
			return
		}
		if len(token.secret) != 32 || token.String() != text {
			t.Fatalf("parseResetToken(%q).String() = %q, want the same text", text, token.String())
		}
	})
}
