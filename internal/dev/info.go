package dev

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"parapet/internal/op"
)

// Info is what `ptd dev` writes for programs that drive it: its address and its accounts. It
// contains secrets, so only the owner may read the file.
type Info struct {
	BaseURL         string            `json:"baseUrl"`
	DatabaseURL     string            `json:"databaseUrl"`
	DirectURL       string            `json:"directUrl"`
	ModuleURLs      map[string]string `json:"moduleUrls"`
	APIKeyJWTSecret string            `json:"apiKeyJwtSecret"`
	CronSecret      string            `json:"cronSecret"`
	Tenants         []Tenant          `json:"tenants"`
}

// Tenant is a seeded tenant.
type Tenant struct {
	ID            op.UUID        `json:"id"`
	Slug          string         `json:"slug"`
	Type          string         `json:"type"`
	Organisations []Organisation `json:"organisations"`
	Users         []User         `json:"users"`
}

// Organisation is a seeded organisation.
type Organisation struct {
	ID   op.UUID `json:"id"`
	Name string  `json:"name"`
}

// User is a seeded user in one tenant. Password and Clearance, and
// IntegrationKey except for service principals, are null if the user has none.
type User struct {
	ID             op.UUID  `json:"id"`
	Email          string   `json:"email"`
	Password       *string  `json:"password"`
	Roles          []string `json:"roles"`
	Clearance      *string  `json:"clearance"`
	PrincipalKind  string   `json:"principalKind"`
	Status         string   `json:"status"`
	IntegrationKey *string  `json:"integrationKey"`
}

// writeFileAtomically writes a file of mode 0600. A reader sees the old file, the new one or
// none, but never a part of one.
func writeFileAtomically(path string, content []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(content); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Write writes the info to a file.
func (i Info) Write(path string) error {
	text, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return err
	}
	if err := writeFileAtomically(path, append(text, '\n')); err != nil {
		return fmt.Errorf("write the info file: %w", err)
	}
	return nil
}
