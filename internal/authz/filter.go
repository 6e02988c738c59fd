package authz

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Column says where a row keeps an attribute of the resource: an SQL
// expression of the caller's query, a value that all rows share, or nothing.
// The SQL is the program's own text, never a user's.
type Column struct {
	sql     string
	uuid    bool
	literal string
	fixed   bool
}

// UUID is a column (or expression) of type uuid.
func UUID(sql string) Column { return Column{sql: sql, uuid: true} }

// Text is a column (or expression) of type text.
func Text(sql string) Column { return Column{sql: sql} }

// Literal is a value that every row has, such as "UNCLASSIFIED" for a type that
// carries no classification.
func Literal(value string) Column { return Column{literal: value, fixed: true} }

// Absent is the column that a type does not have: every row lacks it.
func Absent() Column { return Column{} }

// Columns maps the attributes of a resource ("resource.tenant",
// "resource.organisation", "resource.project", "resource.creator",
// "resource.owner", "resource.classification", "resource.id", "resource.type")
// to where rows keep them. What is not named is Absent. Make one for each query
// with NewColumns and keep it: the engine remembers it by its address.
type Columns struct {
	byName map[string]Column
}

// NewColumns copies the map.
func NewColumns(byName map[string]Column) *Columns {
	c := &Columns{byName: make(map[string]Column, len(byName))}
	for k, v := range byName {
		c.byName[k] = v
	}
	return c
}

// Filter is a condition on rows that is true for those, and only those, that
// Decide would allow. The zero Filter admits nothing.
type Filter struct {
	bound *boundFilter
}

// boundFilter is the text for an actor's shape, with its values. An actor that
// acts on behalf of others has a part for each of them, of which one is enough.
type boundFilter struct {
	parts    []boundPart
	named    string
	verdict  kind
	revision string
	columns  *Columns
	args     []any
}

// boundPart is the text for one actor; its first value is args[at].
type boundPart struct {
	shape *shape
	at    int
}

// None tells that no row can pass, so that the query need not run.
func (f Filter) None() bool { return f.bound == nil || f.bound.verdict == isFalse }

// SQL is the condition with named arguments (@policy_1, @policy_2 …), in
// parentheses, ready to follow AND. AddTo gives the arguments.
func (f Filter) SQL() string {
	if f.bound == nil {
		return "(FALSE)"
	}
	return f.bound.named
}

// AddTo adds the arguments of SQL to a statement's named arguments.
func (f Filter) AddTo(args map[string]any) {
	if f.bound == nil {
		return
	}
	for i, arg := range f.bound.args {
		args["policy_"+strconv.Itoa(i+1)] = arg
	}
}

// Positional is the condition with arguments $offset+1, $offset+2 … and their
// values.
func (f Filter) Positional(offset int) (string, []any) {
	if f.bound == nil {
		return "(FALSE)", nil
	}
	return f.bound.render("$", offset), f.bound.args
}

func (b *boundFilter) render(prefix string, offset int) string {
	if len(b.parts) == 1 {
		return b.parts[0].shape.render(prefix, offset+b.parts[0].at)
	}
	var text strings.Builder
	text.WriteByte('(')
	for i, part := range b.parts {
		if i > 0 {
			text.WriteString(" OR ")
		}
		text.WriteString(part.shape.render(prefix, offset+part.at))
	}
	text.WriteByte(')')
	return text.String()
}

// filterKey names a plan among those of a set, and a bound filter among those
// of a subject.
type filterKey struct {
	permission string
	columns    *Columns
}

// Filter gives the condition that selects the rows which Decide would allow
// with this permission. It is bound once for a subject and a query, and kept
// with the subject. A permission that the policies do not know is an error,
// and the filter admits nothing.
func (e *Engine) Filter(_ context.Context, permission string, actor *Subject, columns *Columns) (Filter, error) {
	if actor == nil || columns == nil {
		e.counts.failed(ReasonNoActor)
		return Filter{}, &failure{reason: ReasonNoActor}
	}
	s := e.current.Load().set
	key := filterKey{permission, columns}
	if kept, ok := actor.filters.Load(key); ok {
		if b, ok := kept.(*boundFilter); ok && b.revision == s.revision {
			return Filter{b}, nil
		}
	}
	p, keep := s.plan(key)
	if p == nil {
		e.counts.failed(ReasonUndefined)
		return Filter{}, &failure{ReasonUndefined, fmt.Errorf("no policy knows the permission %q", permission)}
	}
	b := p.bind(actor)
	b.revision, b.columns = s.revision, columns
	if keep {
		actor.filters.Store(key, b)
	}
	return Filter{b}, nil
}

// maxPlans bounds the plans that are kept, should a caller make its columns anew
// for every query.
const maxPlans = 4096

// plan gives the permission's template in these columns, nil where no policy
// knows the permission, and whether it is one that is kept.
func (s *set) plan(key filterKey) (p *plan, keep bool) {
	if kept, ok := s.plans.Load(key); ok {
		p, _ = kept.(*plan)
		return p, true
	}
	template, ok := s.templates[key.permission]
	if !ok {
		return nil, false
	}
	p = template.plan(key.columns)
	if keep = s.planCount.Add(1) <= maxPlans; keep {
		s.plans.Store(key, p)
	}
	return p, keep
}
