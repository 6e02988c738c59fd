package op

import (
	"bytes"
	"encoding/base64"
	"time"

	"github.com/go-json-experiment/json"

	"parapet/internal/fault"
)

// MaxCursor is the length in characters of the longest cursor that is read.
const MaxCursor = 1024

// cursor is what a page's cursor holds: whose list it belongs to, and the sort
// key of the last item that was given. It grants nothing: a forged one only
// moves the start of a list that the tenant and the policy bound all the same.
type cursor struct {
	Operation string   `json:"o"`
	Tenant    UUID     `json:"t"`
	Keys      []string `json:"k"`
}

// WrongCursor refuses a cursor, or a sort key in it, that no list gave.
func WrongCursor() *fault.Error {
	return fault.Validation("cursor", "The cursor is not one that this list gave. Start again without it.")
}

// NewCursor makes the cursor that stands behind the item with these sort keys.
func NewCursor(operation string, tenant UUID, keys ...string) string {
	b, err := json.Marshal(cursor{operation, tenant, keys})
	if err != nil {
		// Three strings always marshal; invalid UTF-8 in a key does not.
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// ReadCursor gives the sort keys in a cursor that NewCursor made for the same
// operation and tenant with n keys. The empty cursor gives nil: the start.
func ReadCursor(text, operation string, tenant UUID, n int) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	wrong := WrongCursor()
	if len(text) > MaxCursor {
		return nil, wrong
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, wrong.WithCause(err)
	}
	var c cursor
	if err := json.Unmarshal(b, &c, json.RejectUnknownMembers(true)); err != nil {
		return nil, wrong.WithCause(err)
	}
	if c.Operation != operation || c.Tenant != tenant || len(c.Keys) != n || bytes.ContainsRune(b, 0) {
		return nil, wrong
	}
	for _, k := range c.Keys {
		if bytes.ContainsRune([]byte(k), 0) {
			return nil, wrong
		}
	}
	return c.Keys, nil
}

// CursorTime formats a moment as a sort key, to the microsecond.
func CursorTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// ParseCursorTime reads a sort key that CursorTime made.
func ParseCursorTime(key string) (time.Time, error) {
	t, err := time.Parse("2006-01-02T15:04:05.000000Z", key)
	if err != nil {
		return t, WrongCursor().WithCause(err)
	}
	return t, nil
}
