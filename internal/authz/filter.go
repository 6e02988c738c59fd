package authz

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Column says how a query provides an attribute of the resource: as an SQL expression, as
// one value for all rows, or not at all. The SQL is part of the program, never user input.
type Column struct {
	sql     string
	uuid    bool
	literal string
	fixed   bool
}

// UUID returns a column (or expression) of type uuid.
func UUID(sql string) Column { return Column{sql: sql, uuid: true} }

// Text returns a column (or expression) of type text.
func Text(sql string) Column { return Column{sql: sql} }

// Literal returns a column that has the same value in every row, for example "UNCLASSIFIED"
// for a type without classification.
func Literal(value string) Column { return Column{literal: value, fixed: true} }

// Absent returns a column for an attribute that the type does not have.
func Absent() Column { return Column{} }

// Columns maps the attributes of a resource ("resource.tenant", "resource.organisation",
// "resource.project", "resource.creator", "resource.owner", "resource.classification",
// "resource.id", "resource.type") to columns. Attributes that are not listed are Absent.
// Create one value per query with NewColumns and reuse it: the engine caches by its address.
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

// Filter is an SQL condition that is true for exactly the rows that Decide would allow. The
// zero Filter includes no rows.
type Filter struct {
	bound *boundFilter
}

// boundFilter is the SQL text of a filter with its values. It has one part for the actor and
// one for each delegated subject; a row passes if one of them includes it.
type boundFilter struct {
	parts    []boundPart
	named    string
	verdict  kind
	revision string
	columns  *Columns
	args     []any
}

// boundPart is the SQL text for one actor. Its values in boundFilter.args start at the
// index firstArg.
type boundPart struct {
	shape    *shape
	firstArg int
}

// None reports that no row can pass, so the query need not run.
func (f Filter) None() bool { return f.bound == nil || f.bound.verdict == isFalse }

// SQL returns the condition in parentheses with named arguments (@policy_1, @policy_2 …). It
// can follow AND. AddTo adds the arguments.
func (f Filter) SQL() string {
	if f.bound == nil {
		return "(FALSE)"
	}
	return f.bound.named
}

// AddTo adds the arguments of SQL to the named arguments of a statement.
func (f Filter) AddTo(args map[string]any) {
	if f.bound == nil {
		return
	}
	for i, arg := range f.bound.args {
		args["policy_"+strconv.Itoa(i+1)] = arg
	}
}

// Positional returns the condition with the arguments $offset+1, $offset+2 … and their
// values.
func (f Filter) Positional(offset int) (string, []any) {
	if f.bound == nil {
		return "(FALSE)", nil
	}
	return f.bound.render("$", offset), f.bound.args
}

func (b *boundFilter) render(prefix string, offset int) string {
	if len(b.parts) == 1 {
		return b.parts[0].shape.render(prefix, offset+b.parts[0].firstArg)
	}
	var text strings.Builder
	text.WriteByte('(')
	for i, part := range b.parts {
		if i > 0 {
			text.WriteString(" OR ")
		}
		text.WriteString(part.shape.render(prefix, offset+part.firstArg))
	}
	text.WriteByte(')')
	return text.String()
}

// filterKey identifies a plan of a set, or a bound filter of a subject.
type filterKey struct {
	permission string
	columns    *Columns
}

// Filter returns the condition for the rows that Decide would allow with this permission.
// The subject caches it per query. For an unknown permission it returns an error and a
// filter that includes no rows.
func (e *Engine) Filter(_ context.Context, permission string, actor *Subject, columns *Columns) (Filter, error) {
	if actor == nil || columns == nil {
		e.counts.failed(ReasonNoActor)
		return Filter{}, &failure{reason: ReasonNoActor}
	}
	s := e.current.Load().set
	key := filterKey{permission, columns}
	if cached, ok := actor.filters.Load(key); ok {
		if b, ok := cached.(*boundFilter); ok && b.revision == s.revision {
			return Filter{b}, nil
		}
	}
	p, keep := s.plan(key)
	if p == nil {
		e.counts.failed(ReasonUndefined)
		return Filter{}, &failure{ReasonUndefined, fmt.Errorf("unknown permission %q", permission)}
	}
	b := p.bind(actor)
	b.revision, b.columns = s.revision, columns
	if keep {
		actor.filters.Store(key, b)
	}
	return Filter{b}, nil
}

// maxPlans limits the cached plans, in case a caller creates its columns again for every
// query.
const maxPlans = 4096

// plan returns the template of the permission for these columns, or nil if the permission is
// unknown. keep reports whether the plan is cached.
func (s *set) plan(key filterKey) (p *plan, keep bool) {
	if cached, ok := s.plans.Load(key); ok {
		p, _ = cached.(*plan)
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
