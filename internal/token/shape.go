package token

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// signatureLength is the length of an HS256 signature in base64url.
const signatureLength = 43

// checkCompactForm checks that text has three segments of canonical base64url and a
// signature of the right length, and returns the decoded header. Canonical means that no
// other text decodes to the same bytes: no padding, no line break, no unused bits set at
// the end of a segment.
func checkCompactForm(text string) ([]byte, bool) {
	header, rest, ok := strings.Cut(text, ".")
	if !ok {
		return nil, false
	}
	payload, signature, ok := strings.Cut(rest, ".")
	if !ok || len(signature) != signatureLength {
		return nil, false
	}
	if !isCanonicalBase64URL(payload) || !isCanonicalBase64URL(signature) || !isCanonicalBase64URL(header) {
		return nil, false
	}
	decoded, err := base64.RawURLEncoding.DecodeString(header)
	if err != nil {
		return nil, false
	}
	return decoded, true
}

// isCanonicalBase64URL reports whether a segment is non-empty base64url without padding
// whose unused last bits are zero. It checks the alphabet itself, because encoding/base64
// skips line breaks even in strict mode.
func isCanonicalBase64URL(segment string) bool {
	if segment == "" || len(segment)%4 == 1 {
		return false
	}
	last := byte(0)
	for i := range len(segment) {
		v := decodeBase64Char(segment[i])
		if v > 63 {
			return false
		}
		last = v
	}
	switch len(segment) % 4 {
	case 2:
		return last&0x0f == 0
	case 3:
		return last&0x03 == 0
	default:
		return true
	}
}

// decodeBase64Char returns the six bits that a base64url character encodes, and 255 for any
// other character.
func decodeBase64Char(c byte) byte {
	switch {
	case c >= 'A' && c <= 'Z':
		return c - 'A'
	case c >= 'a' && c <= 'z':
		return c - 'a' + 26
	case c >= '0' && c <= '9':
		return c - '0' + 52
	case c == '-':
		return 62
	case c == '_':
		return 63
	default:
		return 255
	}
}

// readHeader reads {"alg":"HS256","typ":kind} in either order. It rejects any other
// member, for example crit, kid and embedded keys.
func readHeader(header []byte) (Kind, bool) {
	members, ok := readObject(header)
	if !ok || len(members) != 2 {
		return "", false
	}
	alg, ok := readString(members["alg"])
	if !ok || alg != "HS256" {
		return "", false
	}
	typ, ok := readString(members["typ"])
	kind := Kind(typ)
	if !ok || kind.MaxLifetime() == 0 {
		return "", false
	}
	return kind, true
}

// readObject parses text as exactly one JSON object: nothing around it, no duplicate name
// at any depth, valid UTF-8.
func readObject(text []byte) (map[string]jsontext.Value, bool) {
	if len(text) < 2 || text[0] != '{' || text[len(text)-1] != '}' {
		return nil, false
	}
	// IsValid rejects duplicate names and invalid UTF-8 at every depth.
	if !jsontext.Value(text).IsValid() {
		return nil, false
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(text))
	if _, err := dec.ReadToken(); err != nil {
		return nil, false
	}
	members := make(map[string]jsontext.Value, 12)
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		members[key] = value.Clone()
	}
	return members, true
}
