package webhook

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	"parapet/internal/op"
)

const (
	secretPrefix = "whsec_"
	secretSize   = 32
)

// newSecret returns a random secret, and its text for the receiver.
func newSecret() (key []byte, text string) {
	key = make([]byte, secretSize)
	_, _ = rand.Read(key) // it never fails
	return key, secretPrefix + base64.StdEncoding.EncodeToString(key)
}

// vault encrypts secrets for the database with a key of the installation.
type vault struct {
	current cipher.AEAD
	// previous also decrypts while the secret of the installation is rotated; nil otherwise.
	previous cipher.AEAD
}

// errSealed means that a stored secret cannot be decrypted.
var errSealed = errors.New("webhook: the secret cannot be decrypted with API_KEY_JWT_SECRET or API_KEY_JWT_SECRET_PREVIOUS")

// newVault derives the keys from the secrets of the installation. previous may be empty.
func newVault(secret, previous string) (*vault, error) {
	v := &vault{}
	var err error
	if v.current, err = newCipher(secret); err != nil {
		return nil, err
	}
	if previous != "" {
		v.previous, err = newCipher(previous)
	}
	return v, err
}

func newCipher(secret string) (cipher.AEAD, error) {
	if secret == "" {
		return nil, errors.New("webhook: a secret is required")
	}
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "parapet webhook secrets", 32)
	if err != nil {
		return nil, fmt.Errorf("webhook: derive a key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// seal encrypts the secret of a webhook. The result decrypts only for the same webhook.
func (v *vault) seal(tenant, webhook op.UUID, key []byte) []byte {
	return v.current.Seal(nil, nil, key, owner(tenant, webhook)) //nolint:gosec // the cipher adds a random nonce
}

// open decrypts the secret of a webhook. isOld reports whether it must be encrypted again with
// the current key.
func (v *vault) open(tenant, webhook op.UUID, sealed []byte) (key []byte, isOld bool, err error) {
	if key, err = v.current.Open(nil, nil, sealed, owner(tenant, webhook)); err == nil {
		return key, false, nil
	}
	if v.previous != nil {
		if key, err = v.previous.Open(nil, nil, sealed, owner(tenant, webhook)); err == nil {
			return key, true, nil
		}
	}
	return nil, false, errSealed
}

func owner(tenant, webhook op.UUID) []byte { return []byte(string(tenant) + " " + string(webhook)) }
