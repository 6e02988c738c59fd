package op

import (
	"bytes"
	"encoding/base64"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"parapet/internal/fault"
)

// MaxCursor is the maximum length of a cursor in bytes.
const MaxCursor = 1024

// cursor is the content of a page cursor: the list that it belongs to and the sort keys
// of the last returned item. A cursor grants no access: a forged one only changes the
// start of a list, which the tenant and the policies still restrict.
type cursor struct {
	Operation string   `json:"o"`
	Tenant    UUID     `json:"t"`
	Keys      []string `json:"k"`
}

// WrongCursor returns the error for a cursor that this list did not create.
func WrongCursor() *fault.Error {
	return fault.Validation("cursor", "The cursor does not belong to this list in this order. Omit it to start from the first page.")
}

// NewCursor returns the cursor of the page that starts after the item with these sort
// keys. It returns "" if a key is not valid UTF-8.
func NewCursor(operation string, tenant UUID, keys ...string) string {
	b, err := json.Marshal(cursor{operation, tenant, keys})
	if err != nil {
		// Only invalid UTF-8 in a key makes Marshal fail.
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// ReadCursor returns the n sort keys in a cursor that NewCursor returned for the same
// operation and tenant. It returns nil for the empty cursor, which means the first page.
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

// CursorTime formats a timestamp as a sort key, with microsecond precision.
func CursorTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// ParseCursorTime parses a sort key that CursorTime returned.
func ParseCursorTime(key string) (time.Time, error) {
	t, err := time.Parse("2006-01-02T15:04:05.000000Z", key)
	if err != nil {
		return t, WrongCursor().WithCause(err)
	}
	return t, nil
}

// TimeCursor is the position of an item in a list that is ordered by a timestamp and an id.
type TimeCursor struct {
	At time.Time
	ID UUID
}

// ReadTimeCursor returns the position in a cursor with the sort keys CursorTime(at) and id. In
// some lists these follow other keys, which must be equal to keys. ReadTimeCursor returns nil
// for the empty cursor, which means the first page.
func ReadTimeCursor(text, operation string, tenant UUID, keys ...string) (*TimeCursor, error) {
	found, err := ReadCursor(text, operation, tenant, len(keys)+2)
	if err != nil || found == nil {
		return nil, err
	}
	if !slices.Equal(found[:len(keys)], keys) {
		return nil, WrongCursor()
	}
	at, err := ParseCursorTime(found[len(keys)])
	if err != nil {
		return nil, err
	}
	id, err := ParseUUID(found[len(keys)+1])
	if err != nil {
		return nil, WrongCursor().WithCause(err)
	}
	return &TimeCursor{at, id}, nil
}
