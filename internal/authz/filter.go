package authz

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
	text string
	args []any
	all  bool
}

// None tells that no row can pass, so that the query need not run.
func (f Filter) None() bool { return !f.all && f.text == "" }

// SQL is the condition with named arguments (@policy_1, @policy_2 …), in
// parentheses, ready to follow AND. AddTo gives the arguments.
func (f Filter) SQL() string { return f.text }

// AddTo adds the arguments of SQL to a statement's named arguments.
func (f Filter) AddTo(args map[string]any) {}

// Positional is the condition with arguments $offset+1, $offset+2 … and their
// values.
func (f Filter) Positional(offset int) (string, []any) { return f.text, f.args }
