package op

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// UUID is the identifier of a record in its canonical form: 36 characters,
// lower case. The empty UUID means none.
type UUID string

// ErrUUID says that a text is not a UUID.
var ErrUUID = errors.New("it must be a UUID such as 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f")

// ParseUUID reads a UUID in its hyphenated form, in either case.
func ParseUUID(text string) (UUID, error) {
	if len(text) != 36 {
		return "", ErrUUID
	}
	b := []byte(text)
	for i, c := range b {
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return "", ErrUUID
			}
		case c >= 'A' && c <= 'F':
			b[i] = c + 'a' - 'A'
		case (c < '0' || c > '9') && (c < 'a' || c > 'f'):
			return "", ErrUUID
		}
	}
	return UUID(b), nil
}

// UnmarshalText reads a UUID; the empty text is refused.
func (u *UUID) UnmarshalText(text []byte) error {
	id, err := ParseUUID(string(text))
	if err != nil {
		return err
	}
	*u = id
	return nil
}

// Date is a day in the form YYYY-MM-DD. The empty Date means none.
type Date string

// ErrDate says that a text is not a date.
var ErrDate = errors.New("it must be a date such as 2027-03-31")

// ParseDate reads a day. A full RFC 3339 moment is taken too, as its day in UTC.
func ParseDate(text string) (Date, error) {
	if t, err := time.Parse(time.DateOnly, text); err == nil && t.Year() >= 1 {
		return Date(t.Format(time.DateOnly)), nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil && t.UTC().Year() >= 1 && t.UTC().Year() <= 9999 {
		return Date(t.UTC().Format(time.DateOnly)), nil
	}
	return "", ErrDate
}

// UnmarshalText reads a day; the empty text is refused.
func (d *Date) UnmarshalText(text []byte) error {
	day, err := ParseDate(string(text))
	if err != nil {
		return err
	}
	*d = day
	return nil
}

// Opt is a field of a change: absent leaves what is there, null or the zero
// value clears it where the field may be cleared, a value sets it.
type Opt[T any] struct {
	// Set says that the field was in the body.
	Set bool
	// Null says that it was null.
	Null  bool
	Value T
}

// Some is a field that is set to v.
func Some[T any](v T) Opt[T] { return Opt[T]{Set: true, Value: v} }

// Clear is a field that is set to null.
func Clear[T any]() Opt[T] { return Opt[T]{Set: true, Null: true} }

// Or gives the new value where one was set, the old one where the field was
// absent, and the zero value where it was null.
func (o Opt[T]) Or(old T) T {
	switch {
	case !o.Set:
		return old
	case o.Null:
		var zero T
		return zero
	default:
		return o.Value
	}
}

// Ptr gives nil for null and a pointer to the value otherwise; ask Set first.
func (o Opt[T]) Ptr() *T {
	if !o.Set || o.Null {
		return nil
	}
	return &o.Value
}

// UnmarshalJSONFrom reads a value or null.
func (o *Opt[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	o.Set = true
	if dec.PeekKind() == 'n' {
		o.Null = true
		return dec.SkipValue()
	}
	return json.UnmarshalDecode(dec, &o.Value)
}

// MarshalJSONTo writes the value or null.
func (o Opt[T]) MarshalJSONTo(enc *jsontext.Encoder) error {
	if !o.Set || o.Null {
		return enc.WriteToken(jsontext.Null)
	}
	return json.MarshalEncode(enc, o.Value)
}

func (o Opt[T]) state() (set, null bool, value any) { return o.Set, o.Null, o.Value }

// optional is what every Opt is, whatever it holds.
type optional interface {
	state() (set, null bool, value any)
}

// Page is a part of a list. NextCursor is empty on the last one.
type Page[T any] struct {
	Items      []T    `json:"items" doc:"The items of this page, in the list's order."`
	NextCursor string `json:"nextCursor,omitempty" doc:"Ask for the next page with this cursor; absent on the last page."`
}

// None is the output of an operation that answers nothing.
type None struct{}

// Days is a whole number of days as a duration.
func Days(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }

var _ fmt.Stringer = UUID("")

// String gives the text of the UUID.
func (u UUID) String() string { return string(u) }
