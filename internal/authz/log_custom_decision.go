package authz

import (
	"encoding/json"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// callerKey is the field of an input that may contain the subject again. The log contains
// actorPlaceholder instead.
const (
	callerKey        = "caller"
	actorPlaceholder = "actor"
)

// maxRoleName is the maximum length of a role name.
const maxRoleName = 100

// maskCustomDecision returns the input of a custom decision without its subject, whose
// snapshot is stored separately. It keeps role names, because rules compare them. Any other
// text that is not an id or a code is masked.
func maskCustomDecision(input ast.Value, actor *Subject) map[string]any {
	o, ok := input.(ast.Object)
	if !ok {
		return nil
	}
	m := customDecisionMask{}
	if actor != nil {
		m.actor = actor.term
	}
	out := m.object(o)
	delete(out, "actor")
	return out
}

type customDecisionMask struct{ actor *ast.Term }

func (m customDecisionMask) object(o ast.Object) map[string]any {
	out := make(map[string]any, o.Len())
	o.Foreach(func(k, v *ast.Term) {
		key, _ := k.Value.(ast.String)
		switch text, isText := v.Value.(ast.String); {
		case v == m.actor:
			out[string(key)] = actorPlaceholder
		case isText && (key == "name" || key == "spelling") && len(text) <= maxRoleName*4:
			out[string(key)] = string(text)
		default:
			out[string(key)] = m.value(v.Value)
		}
	})
	return out
}

func (m customDecisionMask) value(v ast.Value) any {
	switch v := v.(type) {
	case ast.Object:
		return m.object(v)
	case *ast.Array:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = m.value(v.Elem(i).Value)
		}
		return out
	case ast.String:
		return maskCode(string(v))
	case ast.Boolean:
		return bool(v)
	case ast.Number:
		return json.Number(v)
	case ast.Null:
		return nil
	}
	return masked
}

// maskCode returns ids and codes such as a permission, a status or a tier; any other text is
// masked.
func maskCode(s string) string {
	if len(s) > 100 {
		return masked
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.', c == ':':
		default:
			return masked
		}
	}
	return s
}

// MaskedColumn says how the rows of a list provide an attribute: in a column of this type,
// or as one value for all rows.
type MaskedColumn struct {
	Column string `json:"column,omitempty"`
	Value  string `json:"value,omitempty"`
}

// The types of columns.
const (
	columnUUID = "uuid"
	columnText = "text"
)

// masked returns the columns as they are logged.
func (c *Columns) masked() map[string]MaskedColumn {
	out := make(map[string]MaskedColumn, len(c.byName))
	for name, c := range c.byName {
		name = strings.TrimPrefix(name, rowPrefix)
		switch {
		case c.fixed:
			out[name] = MaskedColumn{Value: maskCode(c.literal)}
		case c.sql != "" && c.uuid:
			out[name] = MaskedColumn{Column: columnUUID}
		case c.sql != "":
			out[name] = MaskedColumn{Column: columnText}
		}
	}
	return out
}
