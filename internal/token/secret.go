package token

import (
	"bytes"
	"encoding/base64"
	"fmt"

	"parapet/internal/fault"
)

// The settings with the secrets. The first one signs and verifies. The second one only
// verifies, so that the secret can be replaced while tokens signed with it are in use.
const (
	SecretSetting         = "API_KEY_JWT_SECRET"          //nolint:gosec // G101: a setting's name, not its value
	PreviousSecretSetting = "API_KEY_JWT_SECRET_PREVIOUS" //nolint:gosec // G101: a setting's name, not its value
)

// minSecret is the minimum length of a secret in bytes: the output size of HS256.
const minSecret = 32

// readSecrets parses both settings; previous may be empty. An error names the invalid
// setting.
func readSecrets(current, previous string) (sign, verify []byte, err error) {
	if sign, err = parseSecret(SecretSetting, current); err != nil || previous == "" {
		return sign, nil, err
	}
	if verify, err = parseSecret(PreviousSecretSetting, previous); err != nil {
		return nil, nil, err
	}
	if bytes.Equal(sign, verify) {
		return nil, nil, fault.Validation(PreviousSecretSetting,
			fmt.Sprintf("%s must differ from %s: set it to the replaced secret, or remove it.", PreviousSecretSetting, SecretSetting))
	}
	return sign, verify, nil
}

// parseSecret returns the secret in a setting's value.
//
// The value is base64 if it is canonical, padded, standard base64 of at least 32 bytes
// and contains a character that is not a hexadecimal digit; the secret is then the decoded
// bytes. Any other value is raw: the secret is its bytes. So the output of
// `openssl rand -base64 32` is base64; the output of `openssl rand -hex 32`, and any text
// with a character outside the base64 alphabet, is raw. A secret shorter than 32 bytes is
// rejected.
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
