// Package text owns how text that a stranger wrote is shown: titles, names,
// questions, messages of a server.
//
// It promises that what it gives holds no character that moves the cursor,
// changes a terminal's state, turns the writing direction or can't be seen:
// each such character appears as a visible escape (\x1b, \u202e), and bytes
// that are not UTF-8 do so too. JSON keeps the data as it is and spells the same
// characters as JSON escapes.
package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line makes text fit for one line: line ends and tabs are escaped as well.
func Line(s string) string { return visible(s, false) }

// Block makes text of several lines fit to be shown: it keeps line ends (as \n)
// and tabs.
func Block(s string) string {
	return visible(strings.ReplaceAll(s, "\r\n", "\n"), true)
}

func visible(s string, lines bool) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	// before is the last character of the result. An escape ends in a hexadecimal
	// digit, which counts for a variation selector behind it: the result is then
	// the same when it is made visible again.
	before := rune(-1)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		shown := s[i : i+size]
		switch {
		case r == utf8.RuneError && size <= 1:
			shown = fmt.Sprintf(`\x%02x`, s[i])
		case lines && (r == '\n' || r == '\t'), !hidden(r, before):
		default:
			shown = escape(r)
		}
		b.WriteString(shown)
		before, _ = utf8.DecodeLastRuneInString(shown)
		i += size
	}
	return b.String()
}

// clean is the quick way out for what nearly every text is: printable ASCII.
func clean(s string) bool {
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

// hidden tells whether r, which stands behind before, is not to be shown as it
// is: controls (C0, DEL, C1), formats (bidirectional, zero-width, tags), line
// and paragraph separators, fillers and blanks that look like nothing, and
// variation selectors except the one that an emoji asks for.
// Source: Unicode's Default_Ignorable_Code_Point and general category C.
func hidden(r, before rune) bool {
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

// JSON spells the characters of valid JSON that a terminal should not get as
// escapes. It is the same document: they can only stand inside strings.
func JSON(doc []byte) []byte {
	if clean(string(doc)) {
		return doc
	}
	out := make([]byte, 0, len(doc)+16)
	before := rune(-1)
	for i := 0; i < len(doc); {
		r, size := utf8.DecodeRune(doc[i:])
		// Below 0x20 JSON allows white space between tokens alone.
		if r >= 0x7f && hidden(r, before) {
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

// Width is the number of terminal columns that a text of Line takes: two for
// wide East Asian characters and emoji, none for combining marks.
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

// Cut shortens a text of Line to n columns, with an ellipsis where it was longer.
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
