package tracker

import (
	"strconv"
	"strings"

	"parapet/internal/authz"
)

// statement builds the SQL text of a list query. Arguments are positional ($1, $2,
// ...), because one query can contain two policy filters. The text must come from the
// program; values from a request are added with arg.
type statement struct {
	text strings.Builder
	args []any
}

// add appends SQL text.
func (s *statement) add(text ...string) *statement {
	for _, t := range text {
		s.text.WriteString(t)
	}
	return s
}

// arg adds an argument and returns its placeholder.
func (s *statement) arg(value any) string {
	s.args = append(s.args, value)
	return "$" + strconv.Itoa(len(s.args))
}

// filter appends a policy filter in parentheses.
func (s *statement) filter(f authz.Filter) *statement {
	text, args := f.Positional(len(s.args))
	s.args = append(s.args, args...)
	return s.add(text)
}

func (s *statement) sql() string { return s.text.String() }

// containsPattern returns the ILIKE pattern for texts that contain part. Wildcards in
// part are escaped.
func containsPattern(part string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(part) + "%"
}
