package cli

import (
	"encoding/base64"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// tokenFacts are what a token says of itself. Nothing is decided by them: the
// service alone verifies a token.
type tokenFacts struct {
	session bool
	expires time.Time
}

// tokenFactsOf reads a token without verifying it; false where it is no JWT.
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
	if !segment(parts[0], &header) || !segment(parts[1], &claims) {
		return tokenFacts{}, false
	}
	f := tokenFacts{session: header.Type == "pt-session+jwt"}
	if claims.Expires > 0 && claims.Expires < 1<<40 {
		f.expires = time.Unix(int64(claims.Expires), 0).UTC()
	}
	return f, true
}

func segment(text string, into any) bool {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && json.Unmarshal(raw, into) == nil
}
