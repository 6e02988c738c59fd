// Package text escapes untrusted text for output: user-generated text and messages of a
// server.
//
// Control characters, invisible characters and characters that change the writing
// direction become visible escapes such as \x1b and \u202e, and so do bytes that are not
// UTF-8. JSON replaces the same characters by JSON escapes, which does not change the
// data.
package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line escapes text for output in one line: it also escapes newlines and tabs.
func Line(s string) string { return visible(s, false) }

// Block escapes text for output in several lines: it keeps newlines and tabs, and
// converts CRLF to LF.
func Block(s string) string {
	return visible(strings.ReplaceAll(s, "\r\n", "\n"), true)
}

// visible escapes s. It keeps newlines and tabs if multiline is set.
func visible(s string, multiline bool) string {
	if isPrintableASCII(s) {
		return s
	}
	var b strings.Builder
	// before is the last character of the result, not of the input. An escape ends in a
	// digit, which affects a following variation selector. This makes the function
	// idempotent.
	before := rune(-1)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		shown := s[i : i+size]
		switch {
		case r == utf8.RuneError && size <= 1:
			shown = fmt.Sprintf(`\x%02x`, s[i])
		case multiline && (r == '\n' || r == '\t'), !needsEscape(r, before):
		default:
			shown = escape(r)
		}
		b.WriteString(shown)
		before, _ = utf8.DecodeLastRuneInString(shown)
		i += size
	}
	return b.String()
}

// isPrintableASCII reports whether s has only printable ASCII characters. It is the fast
// path for most texts.
func isPrintableASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func escape(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	default:
		return fmt.Sprintf(`\U%08x`, r)
	}
}

// needsEscape reports whether the character r, which follows before, must be escaped:
// control characters (C0, DEL, C1), format characters (bidirectional, zero-width, tags),
// line and paragraph separators, invisible fillers, and variation selectors except after
// an emoji.
// Source: Unicode property Default_Ignorable_Code_Point and general category C.
func needsEscape(r, before rune) bool {
	switch {
	case r < ' ' || (r >= 0x7f && r < 0xa0):
		return true
	case r < 0xad:
		return false
	case r == 0xfe0e || r == 0xfe0f:
		return !unicode.In(before, unicode.So, unicode.Sm, unicode.Nd) && before != '#' && before != '*' && before != 0x2194 && before != 0x203c
	case r >= 0xfe00 && r <= 0xfe0d, r >= 0xe0000 && r <= 0xe0fff:
		return true
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r >= 0x180b && r <= 0x180f,
		r == 0x2065, r == 0x2800, r == 0x3164, r == 0xffa0, r >= 0xfff0 && r <= 0xfff8:
		return true
	default:
		return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
	}
}

// JSON replaces unsafe characters in valid JSON by JSON escapes. The document stays
// equivalent, because these characters occur only in strings.
func JSON(doc []byte) []byte {
	if isPrintableASCII(string(doc)) {
		return doc
	}
	out := make([]byte, 0, len(doc)+16)
	before := rune(-1)
	for i := 0; i < len(doc); {
		r, size := utf8.DecodeRune(doc[i:])
		// In valid JSON, characters below 0x20 are white space between tokens.
		if r >= 0x7f && needsEscape(r, before) {
			for _, u := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04x`, u)
			}
		} else {
			out = append(out, doc[i:i+size]...)
		}
		before = r
		i += size
	}
	return out
}

// Width returns the number of terminal columns of a text that Line returned: two for wide
// East Asian characters and emoji, none for combining marks.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me) || r == 0xfe0f || r == 0xfe0e:
		return 0
	case (r >= 0x1100 && r <= 0x115f) || (r >= 0x2e80 && r <= 0xa4cf) || (r >= 0xac00 && r <= 0xd7a3) ||
		(r >= 0xf900 && r <= 0xfaff) || (r >= 0xfe30 && r <= 0xfe6f) || (r >= 0xff00 && r <= 0xff60) ||
		(r >= 0xffe0 && r <= 0xffe6) || (r >= 0x1f300 && r <= 0x1faff) || (r >= 0x20000 && r <= 0x3fffd):
		return 2
	default:
		return 1
	}
}

// Cut truncates a text that Line returned to n columns, with an ellipsis if it was longer.
func Cut(s string, n int) string {
	if Width(s) <= n {
		return s
	}
	used := 0
	for i, r := range s {
		w := runeWidth(r)
		if used+w > n-1 {
			return s[:i] + "…"
		}
		used += w
	}
	return s
}
