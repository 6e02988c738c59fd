package authz

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Scopes are the scopes in which a permission is held: the tenant, or some of its
// organisations and projects.
type Scopes struct {
	Tenant        bool
	Organisations []string
	Projects      []string
}

// Scopes returns the scopes in which the subject holds a permission that Permissions lists.
// It is for display only; decisions come from Decide.
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

// IsLimitedToProjects reports whether the caveats of the credential limit the subject to
// certain projects, or to nothing.
func (s *Subject) IsLimitedToProjects() bool {
	o, ok := s.term.Value.(ast.Object)
	return !ok || !boolean(o, "all_projects")
}

// DelegatedPermissions returns the names of the permissions that the subject holds by
// delegation, sorted. A permission held as .own has that suffix. It is for display only;
// decisions come from Decide.
func (s *Subject) DelegatedPermissions() []string {
	var names []string
	for _, delegated := range s.delegatedSubjects {
		o, ok := delegated.(ast.Object)
		if !ok {
			continue
		}
		grants, ok := field(o, "grants").(ast.Object)
		if !ok {
			continue
		}
		grants.Foreach(func(key, value *ast.Term) {
			name, isText := key.Value.(ast.String)
			grant, isObject := value.Value.(ast.Object)
			if !isText || !isObject {
				return
			}
			// The entry for P exists also if only P.own is held; it has no scopes then.
			_, isOwn := strings.CutSuffix(string(name), ".own")
			if isOwn || boolean(grant, "tenant") || len(stringsAt(grant, "organisations"))+len(stringsAt(grant, "projects")) > 0 {
				names = append(names, string(name))
			}
		})
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func member(v ast.Value, key string) ast.Value {
	if o, ok := v.(ast.Object); ok {
		return field(o, key)
	}
	return nil
}
