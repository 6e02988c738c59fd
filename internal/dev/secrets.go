package dev

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// secrets are generated once per data folder and stored in it.
type secrets struct {
	APIKeyJWTSecret string `json:"apiKeyJwtSecret"`
	CronSecret      string `json:"cronSecret"`
	// PasswordSeed derives the passwords of the seeded users, so that they are the same
	// after a restart without being stored.
	PasswordSeed string `json:"passwordSeed"`
}

func loadSecrets(dir string) (secrets, error) {
	path := filepath.Join(dir, "secrets.json")
	var s secrets
	text, err := os.ReadFile(path)
	if err == nil {
		if err := json.Unmarshal(text, &s); err != nil || s.APIKeyJWTSecret == "" || s.CronSecret == "" || s.PasswordSeed == "" {
			return s, fmt.Errorf("%s is damaged; remove the data folder to start again", path)
		}
		return s, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	s = secrets{base64.StdEncoding.EncodeToString(randomSecret()), hex.EncodeToString(randomSecret()), hex.EncodeToString(randomSecret())}
	text, err = json.MarshalIndent(s, "", "  ")
	if err != nil {
		return s, err
	}
	return s, writeFileAtomically(path, append(text, '\n'))
}

func randomSecret() []byte {
	b := make([]byte, 32)
	// crypto/rand.Read never returns an error; it ends the program instead.
	_, _ = rand.Read(b)
	return b
}

// password returns the password of a seeded user. It is the same at every start of the folder.
func (s secrets) password(email string) string {
	mac := hmac.New(sha256.New, []byte(s.PasswordSeed))
	mac.Write([]byte(email))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))[:20]
}
