package op

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"parapet/internal/fault"
)

// versionField is the field for the version that a record must have. Over HTTP, the headers
// If-Match and If-None-Match set it, too.
const versionField = "ifVersion"

// Versioned is implemented by outputs with a version, which the response has as its ETag.
type Versioned interface {
	// EntityTag returns the version in double quotes.
	EntityTag() string
}

// DocumentOutput is implemented by outputs that can also be sent as a document of another media
// type than JSON.
type DocumentOutput interface {
	// Document returns "" as the media type if the output is JSON.
	Document() (mediaType, text string)
}

// readPrecondition sets the field ifVersion from the header If-Match: "3", or from
// If-None-Match: *, which means that the record must not exist (version 0). It ignores the
// headers of an operation without the field.
func (o *Operation) readPrecondition(in reflect.Value, raw Raw, present []bool) error {
	i := slices.IndexFunc(o.Fields, func(f Field) bool { return f.Name == versionField })
	if i < 0 || raw.IfMatch == "" && raw.IfNoneMatch == "" {
		return nil
	}
	f := o.Fields[i]
	switch {
	case present[i] || raw.IfMatch != "" && raw.IfNoneMatch != "":
		return fault.Validation(versionField, "Give only one of the field ifVersion and the headers If-Match and If-None-Match.")
	case raw.IfNoneMatch == "*" && *f.Minimum == 0:
		present[i] = true
		return setText(f, in.Field(f.Index), "0")
	case raw.IfNoneMatch != "" && *f.Minimum == 0:
		return fault.Validation("If-None-Match", "The header If-None-Match must be *.")
	case raw.IfNoneMatch != "":
		return fault.Validation("If-None-Match", "This operation does not accept the header If-None-Match.")
	}
	text, isQuoted := strings.CutPrefix(strings.TrimSuffix(raw.IfMatch, `"`), `"`)
	version, err := strconv.ParseUint(text, 10, 31)
	if err != nil || !isQuoted || raw.IfMatch != fmt.Sprintf("%q", text) {
		return fault.Validation("If-Match", `The header If-Match must be one version in double quotes, such as "3".`)
	}
	present[i] = true
	return setText(f, in.Field(f.Index), strconv.FormatUint(version, 10))
}
