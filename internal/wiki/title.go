package wiki

import (
	"cmp"
	"strings"
	"unicode/utf8"

	contract "parapet/internal/contract/wiki"
	"parapet/internal/wikipath"
)

// maxTitle is the maximum length of a title in characters.
const maxTitle = 200

// titleOf returns the title of a page: the one in the input, or else the heading of level 1
// with which the text starts, or else the last segment of the path.
func titleOf(in *contract.PutPageIn, path wikipath.Path) string {
	title := cmp.Or(strings.TrimSpace(in.Title), headingOf(in.Markdown), path.Name())
	for utf8.RuneCountInString(title) > maxTitle {
		_, size := utf8.DecodeLastRuneInString(title)
		title = title[:len(title)-size]
	}
	return title
}

// headingOf returns the heading of level 1 with which a Markdown text starts, or "".
func headingOf(markdown string) string {
	line, _, _ := strings.Cut(strings.TrimLeft(markdown, "\n\r\t \ufeff"), "\n")
	heading, ok := strings.CutPrefix(line, "#")
	if !ok || !strings.HasPrefix(heading, " ") && !strings.HasPrefix(heading, "\t") {
		return ""
	}
	heading = strings.TrimSpace(heading)
	// A sequence of # at the end closes the heading if a space precedes it.
	if closed := strings.TrimRight(heading, "#"); closed == "" || strings.HasSuffix(closed, " ") {
		heading = strings.TrimSpace(closed)
	}
	return heading
}
