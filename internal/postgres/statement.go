package postgres

import (
	"strconv"
	"strings"
)

// Statement builds the SQL text of a query whose conditions depend on the request. Arguments
// are positional ($1, $2, …), because one query can contain two policy filters. The text must
// come from the program; values from a request are added with Arg. The zero value is empty.
type Statement struct {
	text strings.Builder
	args []any
}

// Add appends SQL text.
func (s *Statement) Add(text ...string) *Statement {
	for _, t := range text {
		s.text.WriteString(t)
	}
	return s
}

// Arg adds an argument and returns its placeholder.
func (s *Statement) Arg(value any) string {
	s.args = append(s.args, value)
	return "$" + strconv.Itoa(len(s.args))
}

// Filter appends a policy filter, which is a condition in parentheses.
func (s *Statement) Filter(f interface {
	Positional(offset int) (string, []any)
}) *Statement {
	text, args := f.Positional(len(s.args))
	s.args = append(s.args, args...)
	return s.Add(text)
}

// SQL returns the text, and Args the arguments.
func (s *Statement) SQL() string { return s.text.String() }

// Args returns the arguments of SQL.
func (s *Statement) Args() []any { return s.args }
