package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gowebpki/jcs"

	"parapet/internal/op"
)

// Record is an entry as stored. NULL is nil, or the empty string in columns that
// never store one.
type Record struct {
	Chain          op.UUID
	Seq            int64
	ID             op.UUID
	Tenant         op.UUID
	Actor          op.UUID
	OnBehalfOf     op.UUID
	ActorType      string
	Action         string
	ResourceType   string
	ResourceID     string
	Module         string
	Changes        json.RawMessage
	Correlation    op.UUID
	CreatedAt      time.Time
	Classification *string
	CredentialID   op.UUID
	CredentialKind string
	Version        int
	Hash           []byte
}

// hash returns the hash that links the record to the previous one.
func (r *Record) hash(previous []byte) [sha256.Size]byte {
	buf := make([]byte, 0, 1024)
	buf = append(buf, previous...)
	buf = r.appendCanonical(buf)
	return sha256.Sum256(buf)
}

// appendCanonical appends the record as RFC 8785 canonical JSON. The members are written
// in order, and Changes is already canonical, so only strings need encoding. A test
// compares it with jcs.Transform.
func (r *Record) appendCanonical(buf []byte) []byte {
	before, between, after := r.encodeParts()
	buf = append(buf, before...)
	buf = r.CreatedAt.UTC().AppendFormat(buf, "2006-01-02T15:04:05.000000Z")
	buf = append(buf, between...)
	buf = strconv.AppendInt(buf, r.Seq, 10)
	return append(buf, after...)
}

// encodeParts returns the canonical JSON without the two values that only the server
// knows: the text before the time, between the time and the sequence, and after it.
func (r *Record) encodeParts() (before, between, after []byte) {
	buf := make([]byte, 0, 640+len(r.Changes))
	buf = appendMember(buf, `{"action":`, r.Action)
	buf = appendOptional(buf, `,"actor_id":`, string(r.Actor))
	buf = appendMember(buf, `,"actor_type":`, r.ActorType)
	buf = appendMember(buf, `,"chain_id":`, string(r.Chain))
	buf = append(buf, `,"changes":`...)
	if r.Changes == nil {
		buf = append(buf, "null"...)
	} else {
		buf = append(buf, r.Changes...)
	}
	if r.Classification == nil {
		buf = append(buf, `,"classification":null`...)
	} else {
		buf = appendMember(buf, `,"classification":`, *r.Classification)
	}
	buf = appendMember(buf, `,"correlation_id":`, string(r.Correlation))
	buf = append(buf, `,"created_at":"`...)
	first := len(buf)
	buf = append(buf, '"')
	if r.Version != versionNoCredential {
		buf = appendOptional(buf, `,"credential_id":`, string(r.CredentialID))
		buf = appendOptional(buf, `,"credential_kind":`, r.CredentialKind)
	}
	buf = appendMember(buf, `,"id":`, string(r.ID))
	buf = appendMember(buf, `,"module":`, r.Module)
	buf = appendOptional(buf, `,"on_behalf_of":`, string(r.OnBehalfOf))
	buf = appendOptional(buf, `,"resource_id":`, r.ResourceID)
	buf = appendMember(buf, `,"resource_type":`, r.ResourceType)
	buf = append(buf, `,"seq":`...)
	second := len(buf)
	buf = appendOptional(buf, `,"tenant_id":`, string(r.Tenant))
	buf = append(buf, `,"version":`...)
	buf = strconv.AppendInt(buf, int64(r.Version), 10)
	buf = append(buf, '}')
	return buf[:first:first], buf[first:second:second], buf[second:]
}

func appendOptional(buf []byte, name, value string) []byte {
	if value == "" {
		return append(append(buf, name...), "null"...)
	}
	return appendMember(buf, name, value)
}

// appendMember appends a member. The name is written as given and the value as a string
// of RFC 8785, section 3.2.2.2: short escapes, \u00xx for other control characters, and
// everything else unchanged.
func appendMember(buf []byte, name, value string) []byte {
	const hex = "0123456789abcdef"
	buf = append(buf, name...)
	buf = append(buf, '"')
	for i := range len(value) {
		switch c := value[i]; c {
		case '"', '\\':
			buf = append(buf, '\\', c)
		case '\b':
			buf = append(buf, `\b`...)
		case '\t':
			buf = append(buf, `\t`...)
		case '\n':
			buf = append(buf, `\n`...)
		case '\f':
			buf = append(buf, `\f`...)
		case '\r':
			buf = append(buf, `\r`...)
		default:
			if c < 0x20 {
				buf = append(buf, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			} else {
				buf = append(buf, c)
			}
		}
	}
	return append(buf, '"')
}

// canonicalChanges returns the canonical JSON of a value, which is stored and hashed; nil
// for nil. It rejects values that would not survive a round trip.
func canonicalChanges(value any) (json.RawMessage, error) {
	if value == nil {
		return nil, nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	if string(text) == "null" {
		return nil, nil
	}
	return canonicalJSON(text)
}

// canonicalJSON applies RFC 8785 to JSON that survives a round trip: unique names, valid
// UTF-8 without NUL or unpaired surrogates, and numbers that are exact as float64.
func canonicalJSON(text []byte) (json.RawMessage, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("text is not valid UTF-8")
	}
	if err := checkRoundTrip(text); err != nil {
		return nil, err
	}
	canonical, err := jcs.Transform(text)
	if err != nil {
		return nil, err
	}
	return canonical, nil
}

// checkRoundTrip rejects values that RFC 8785 would silently change.
func checkRoundTrip(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch v := token.(type) {
		case json.Number:
			if err := checkNumber(string(v)); err != nil {
				return err
			}
		case string:
			if strings.ContainsRune(v, 0) {
				return errors.New("a string contains NUL")
			}
			// The decoder replaces an unpaired surrogate by U+FFFD; json.Marshal wrote it
			// unchanged.
			if strings.ContainsRune(v, '\uFFFD') && !bytes.ContainsRune(text, '\uFFFD') {
				return errors.New("a string contains an unpaired surrogate")
			}
		}
	}
}

// maxInteger is the largest integer up to which float64 represents every integer.
const maxInteger = 1 << 53

func checkNumber(text string) error {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return fmt.Errorf("the number %.40s is out of range", text)
	}
	if math.Abs(f) < maxInteger {
		return nil
	}
	exact, ok := new(big.Rat).SetString(text)
	if !ok || exact.Cmp(new(big.Rat).SetFloat64(f)) != 0 {
		return fmt.Errorf("the number %.40s is not exact as a float64; use a string instead", text)
	}
	return nil
}
