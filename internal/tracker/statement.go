package tracker

import (
	"strconv"
	"strings"

	"parapet/internal/authz"
)

// statement builds the text of a list: its conditions depend on what was asked
// for, and two policy filters can stand in one text, so that its arguments are
// numbered. Text is the program's own; a value gets in as an argument only.
type statement struct {
	text strings.Builder
	args []any
}

// add appends the program's text.
func (s *statement) add(text ...string) *statement {
	for _, t := range text {
		s.text.WriteString(t)
	}
	return s
}

// arg adds a value and gives its place.
func (s *statement) arg(value any) string {
	s.args = append(s.args, value)
	return "$" + strconv.Itoa(len(s.args))
}

// filter appends a policy filter, in parentheses.
func (s *statement) filter(f authz.Filter) *statement {
	text, args := f.Positional(len(s.args))
	s.args = append(s.args, args...)
	return s.add(text)
}

// sql is the whole text.
func (s *statement) sql() string { return s.text.String() }

// containsPattern is the pattern of ILIKE for texts that contain part, whose own
// wildcards stand for themselves.
func containsPattern(part string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(part) + "%"
}
