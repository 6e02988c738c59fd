package cli

import (
	"encoding/base64"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// tokenFacts are unverified claims of a token. pt uses them only for messages and to
// recognise a session; only the service verifies tokens.
type tokenFacts struct {
	session bool
	expires time.Time
}

// tokenFactsOf parses a token without verifying it. It returns false if the token is not
// a JWT.
func tokenFactsOf(token string) (tokenFacts, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || parts[2] == "" {
		return tokenFacts{}, false
	}
	var header struct {
		Type string `json:"typ"`
	}
	var claims struct {
		Expires float64 `json:"exp"`
	}
	if !decodeSegment(parts[0], &header) || !decodeSegment(parts[1], &claims) {
		return tokenFacts{}, false
	}
	f := tokenFacts{session: header.Type == "pt-session+jwt"}
	if claims.Expires > 0 && claims.Expires < 1<<40 {
		f.expires = time.Unix(int64(claims.Expires), 0).UTC()
	}
	return f, true
}

func decodeSegment(text string, into any) bool {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && json.Unmarshal(raw, into) == nil
}
