package token

import (
	"bytes"
	"encoding/base64"
	"fmt"

	"parapet/internal/fault"
)

// The settings that hold the secrets. The first signs and verifies. The second
// verifies only, so that the secret can be replaced while tokens that it signed
// are still in use.
const (
	SecretSetting         = "API_KEY_JWT_SECRET"          //nolint:gosec // G101: a setting's name, not its value
	PreviousSecretSetting = "API_KEY_JWT_SECRET_PREVIOUS" //nolint:gosec // G101: a setting's name, not its value
)

// minSecret is the shortest secret, in bytes, that may sign: HS256's own length.
const minSecret = 32

// readSecrets reads both settings; previous may be empty. The error names the
// setting that is wrong.
func readSecrets(current, previous string) (sign, verify []byte, err error) {
	if sign, err = parseSecret(SecretSetting, current); err != nil || previous == "" {
		return sign, nil, err
	}
	if verify, err = parseSecret(PreviousSecretSetting, previous); err != nil {
		return nil, nil, err
	}
	if bytes.Equal(sign, verify) {
		return nil, nil, fault.Validation(PreviousSecretSetting,
			fmt.Sprintf("%s is the same secret as %s: set it to the secret that was replaced, or remove it.", PreviousSecretSetting, SecretSetting))
	}
	return sign, verify, nil
}

// parseSecret reads a secret as it was written in the setting.
//
// The value is base64 when it is canonical, padded, standard base64 of at least
// 32 bytes and is not made of hexadecimal digits alone; then the secret is what
// it decodes to. Every other value is raw: the secret is its bytes as they
// stand. So the output of `openssl rand -base64 32` is base64, and that of
// `openssl rand -hex 32`, or any text with a character outside base64's
// alphabet, is raw. A secret shorter than 32 bytes is refused.
func parseSecret(setting, text string) ([]byte, error) {
	secret := []byte(text)
	if !isHex(text) {
		if decoded, err := base64.StdEncoding.Strict().DecodeString(text); err == nil && len(decoded) >= minSecret &&
			base64.StdEncoding.EncodeToString(decoded) == text {
			secret = decoded
		}
	}
	if len(secret) < minSecret {
		return nil, fault.Validation(setting,
			fmt.Sprintf("%s must be at least %d bytes, raw or as base64; it has %d.", setting, minSecret, len(secret)))
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
