package op

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// UUID is the ID of a record in canonical form: 36 characters, lower case. The empty UUID
// means that there is none.
type UUID string

// ErrUUID is the error for text that is not a UUID.
var ErrUUID = errors.New("must be a UUID such as 018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f")

// ParseUUID parses a UUID in hyphenated form, in upper or lower case.
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

// UnmarshalText parses a UUID. It rejects the empty text.
func (u *UUID) UnmarshalText(text []byte) error {
	id, err := ParseUUID(string(text))
	if err != nil {
		return err
	}
	*u = id
	return nil
}

// Date is a date in the form YYYY-MM-DD. The empty Date means that there is none.
type Date string

// ErrDate is the error for text that is not a date.
var ErrDate = errors.New("must be a date such as 2027-03-31")

// ParseDate parses a date. It also accepts an RFC 3339 timestamp and returns its date in
// UTC.
func ParseDate(text string) (Date, error) {
	if t, err := time.Parse(time.DateOnly, text); err == nil && t.Year() >= 1 {
		return Date(t.Format(time.DateOnly)), nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil && t.UTC().Year() >= 1 && t.UTC().Year() <= 9999 {
		return Date(t.UTC().Format(time.DateOnly)), nil
	}
	return "", ErrDate
}

// UnmarshalText parses a date. It rejects the empty text.
func (d *Date) UnmarshalText(text []byte) error {
	day, err := ParseDate(string(text))
	if err != nil {
		return err
	}
	*d = day
	return nil
}

// Opt is an optional field of an update. If the field is absent, the stored value does
// not change. Null or the zero value clears it, if the field can be cleared.
type Opt[T any] struct {
	// Set reports whether the field was present.
	Set bool
	// Null reports whether the field was null.
	Null  bool
	Value T
}

// Some returns a field that is set to v.
func Some[T any](v T) Opt[T] { return Opt[T]{Set: true, Value: v} }

// Clear returns a field that is set to null.
func Clear[T any]() Opt[T] { return Opt[T]{Set: true, Null: true} }

// Or returns the value of the field, old if the field is absent, or the zero value if it
// is null.
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

// Ptr returns a pointer to the value, or nil if the field is null or absent.
func (o Opt[T]) Ptr() *T {
	if !o.Set || o.Null {
		return nil
	}
	return &o.Value
}

// UnmarshalJSONFrom decodes a value or null.
func (o *Opt[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	o.Set = true
	if dec.PeekKind() == 'n' {
		o.Null = true
		return dec.SkipValue()
	}
	return json.UnmarshalDecode(dec, &o.Value)
}

// MarshalJSONTo encodes the value or null.
func (o Opt[T]) MarshalJSONTo(enc *jsontext.Encoder) error {
	if !o.Set || o.Null {
		return enc.WriteToken(jsontext.Null)
	}
	return json.MarshalEncode(enc, o.Value)
}

func (o Opt[T]) state() (set, null bool, value any) { return o.Set, o.Null, o.Value }

// optional is implemented by Opt for every type parameter.
type optional interface {
	state() (set, null bool, value any)
}

// Page is a page of a list. NextCursor is empty on the last page.
type Page[T any] struct {
	Items      []T    `json:"items" doc:"The items of this page, in the order of the list."`
	NextCursor string `json:"nextCursor,omitempty" doc:"Cursor of the next page; absent on the last page."`
}

// NewPage returns the first limit items as a page. items has one more item if there is another
// page: then the cursor after the page's last item is the page's NextCursor.
func NewPage[T any](items []T, limit int, cursor func(last *T) string) *Page[T] {
	page := &Page[T]{Items: items}
	if len(items) > limit {
		page.Items = items[:limit]
		page.NextCursor = cursor(&items[limit-1])
	}
	return page
}

// MapPage returns the page with each item converted.
func MapPage[T, U any](page *Page[T], convert func(*T) U) *Page[U] {
	out := &Page[U]{Items: make([]U, len(page.Items)), NextCursor: page.NextCursor}
	for i := range page.Items {
		out.Items[i] = convert(&page.Items[i])
	}
	return out
}

// None is the output of an operation that returns nothing.
type None struct{}

// Days returns n days as a duration.
func Days(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }

var _ fmt.Stringer = UUID("")

// String implements fmt.Stringer.
func (u UUID) String() string { return string(u) }
