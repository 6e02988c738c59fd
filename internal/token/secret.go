package token

import (
	"encoding/base64"
	"fmt"

	"parapet/internal/fault"
)

// SecretSetting is the name of the setting that holds the signing secret.
const SecretSetting = "API_KEY_JWT_SECRET" //nolint:gosec // G101: a setting's name, not its value

// minSecret is the shortest secret, in bytes, that may sign: HS256's own length.
const minSecret = 32

// ParseSecret reads the signing secret as it was written in API_KEY_JWT_SECRET.
//
// The value is base64 when it is canonical, padded, standard base64 of at least
// 32 bytes and is not made of hexadecimal digits alone; then the secret is what
// it decodes to. Every other value is raw: the secret is its bytes as they
// stand. So the output of `openssl rand -base64 32` is base64, and that of
// `openssl rand -hex 32`, or any text with a character outside base64's
// alphabet, is raw. A secret shorter than 32 bytes is refused.
func ParseSecret(text string) ([]byte, error) {
	secret := []byte(text)
	if !isHex(text) {
		if decoded, err := base64.StdEncoding.Strict().DecodeString(text); err == nil && len(decoded) >= minSecret &&
			base64.StdEncoding.EncodeToString(decoded) == text {
			secret = decoded
		}
	}
	if len(secret) < minSecret {
		return nil, fault.Validation(SecretSetting,
			fmt.Sprintf("%s must be at least %d bytes, raw or as base64; it has %d.", SecretSetting, minSecret, len(secret)))
	}
	return secret, nil
}

func isHex(text string) bool {
	for _, c := range []byte(text) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}
