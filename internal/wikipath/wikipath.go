// Package wikipath parses the paths of wiki pages. The server, pt and the links in pages
// use it, so a path means the same page everywhere. It imports only the standard library
// and the tables of Unicode normalization.
package wikipath

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits of a path. Lengths are in bytes of UTF-8.
const (
	MaxLength  = 512
	MaxSegment = 200
	MaxDepth   = 16
)

// Path is the path of a wiki page, for example "specs/0474-path-reform". Its segments are
// separated by slashes. Upper and lower case are different. Only Parse and Resolve return
// a Path that is not empty.
type Path string

// Parse returns the path in its only form: Unicode NFC, without a slash at the start or the
// end. The error says what the path must be, to follow "the path ".
func Parse(text string) (Path, error) {
	if !utf8.ValidString(text) {
		return "", errors.New("must be valid UTF-8")
	}
	if len(text) > 4*MaxLength {
		return "", errLength() // normalize no text of any length
	}
	text = norm.NFC.String(text)
	switch {
	case text == "":
		return "", errors.New("must not be empty")
	case len(text) > MaxLength:
		return "", errLength()
	case strings.HasPrefix(text, "/") || strings.HasSuffix(text, "/"):
		return "", errors.New("must not start or end with a slash")
	}
	segments := strings.Split(text, "/")
	if len(segments) > MaxDepth {
		return "", fmt.Errorf("must have at most %d segments", MaxDepth)
	}
	for _, segment := range segments {
		if err := checkSegment(segment); err != nil {
			return "", err
		}
	}
	return Path(text), nil
}

func errLength() error { return fmt.Errorf("must have at most %d bytes", MaxLength) }

func checkSegment(segment string) error {
	switch {
	case segment == "":
		return errors.New("must not contain an empty segment")
	case segment == "." || segment == "..":
		return errors.New(`must not contain the segments "." and ".."`)
	case len(segment) > MaxSegment:
		return fmt.Errorf("must not contain a segment of more than %d bytes", MaxSegment)
	case strings.TrimSpace(segment) != segment:
		return errors.New("must not contain a segment that starts or ends with a space")
	}
	for i, r := range segment {
		switch {
		case r == '\\':
			return errors.New("must not contain a backslash; separate segments by /")
		case r == '%' && isEscape(segment[i:]):
			return errors.New("must not contain a percent-encoded character such as %2F")
		case !isVisible(r):
			return fmt.Errorf("must not contain the invisible or special character %U", r)
		case i == 0 && unicode.In(r, unicode.M):
			return fmt.Errorf("must not contain a segment that starts with the combining character %U", r)
		}
	}
	return nil
}

// isEscape reports whether text starts with a percent-encoded byte.
func isEscape(text string) bool { return len(text) >= 3 && isHex(text[1]) && isHex(text[2]) }

func isHex(c byte) bool {
	return (c >= '0' && c <= '9') || (c|0x20 >= 'a' && c|0x20 <= 'f')
}

// isVisible reports whether a character has a shape that readers can see. The space is
// visible because it is between other characters. Source: general categories C and Z, and
// the property Default_Ignorable_Code_Point.
func isVisible(r rune) bool {
	switch {
	case r == ' ':
		return true
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r >= 0x180b && r <= 0x180f,
		r == 0x2800, r == 0x3164, r >= 0xfe00 && r <= 0xfe0f, r == 0xffa0, r >= 0xe0100 && r <= 0xe01ef:
		return false
	default:
		return unicode.IsPrint(r) && r != utf8.RuneError
	}
}

// Segments returns the parts between the slashes.
func (p Path) Segments() []string {
	if p == "" {
		return nil
	}
	return strings.Split(string(p), "/")
}

// Name returns the last segment.
func (p Path) Name() string { return string(p[strings.LastIndexByte(string(p), '/')+1:]) }

// Parent returns the path without its last segment, or "" if it has only one.
func (p Path) Parent() Path { return p[:max(strings.LastIndexByte(string(p), '/'), 0)] }

// Resolve returns the path to which a link in the page leads. ok is false if the link does
// not lead to a page: it leads to another site, to a place within the same page, above the
// root, or it is malformed. A link that starts with a slash is relative to the root of the
// wiki, any other one to the parent of the page. The extension .md is not part of a path.
func Resolve(page Path, link string) (target Path, ok bool) {
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Opaque != "" || u.Path == "" || u.RawPath != "" && hasEncodedSlash(u.RawPath) {
		return "", false
	}
	base := page.Parent().Segments()
	text := strings.TrimSuffix(u.Path, "/")
	if rest, isAbsolute := strings.CutPrefix(text, "/"); isAbsolute {
		base, text = nil, rest
	}
	for segment := range strings.SplitSeq(text, "/") {
		switch {
		case segment == ".":
		case segment == ".." && len(base) == 0:
			return "", false
		case segment == "..":
			base = base[:len(base)-1]
		default:
			base = append(base[:len(base):len(base)], segment)
		}
	}
	target, err = Parse(TrimExtension(strings.Join(base, "/")))
	return target, err == nil
}

// hasEncodedSlash reports whether an escaped URL path has a slash or a backslash within a
// segment.
func hasEncodedSlash(escaped string) bool {
	lower := strings.ToLower(escaped)
	return strings.Contains(lower, "%2f") || strings.Contains(lower, "%5c")
}

// TrimExtension removes the extension of a Markdown file: .md or .markdown, in any case.
func TrimExtension(name string) string {
	for _, extension := range []string{".md", ".markdown"} {
		if cut := len(name) - len(extension); cut > 0 && strings.EqualFold(name[cut:], extension) {
			return name[:cut]
		}
	}
	return name
}
