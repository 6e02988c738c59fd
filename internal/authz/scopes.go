package authz

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Scopes are where a permission holds: the whole tenant, or some organisations
// and projects of it.
type Scopes struct {
	Tenant        bool
	Organisations []string
	Projects      []string
}

// Scopes gives where the subject holds a permission, by a name that Permissions
// lists. It is for showing: a decision is asked of the engine.
func (s *Subject) Scopes(permission string) Scopes {
	o, ok := s.term.Value.(ast.Object)
	if !ok {
		return Scopes{}
	}
	var grant ast.Value
	if scope, audit := strings.CutPrefix(permission, "audit.read."); audit {
		grant = member(field(o, "audit"), scope)
	} else if name, own := strings.CutSuffix(permission, ".own"); own {
		grant = member(member(field(o, "grants"), name), "own")
	} else {
		grant = member(field(o, "grants"), permission)
	}
	g, ok := grant.(ast.Object)
	if !ok {
		return Scopes{}
	}
	return Scopes{Tenant: boolean(g, "tenant"), Organisations: stringsAt(g, "organisations"), Projects: stringsAt(g, "projects")}
}

func member(v ast.Value, key string) ast.Value {
	if o, ok := v.(ast.Object); ok {
		return field(o, key)
	}
	return nil
}
