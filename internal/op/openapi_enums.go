package op

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// enums are the enums that several fields share. Each is one component.
type enums struct {
	names      map[string]string // by values
	components map[string][]string
}

// enumUse is a field with an enum.
type enumUse struct {
	owner  reflect.Type
	field  string
	values []string
}

// ambiguousNames are the names of fields that need the name of their type to be clear.
var ambiguousNames = []string{"category", "kind", "scope", "state", "status", "type"}

// verb is the first word of the name of an input type, as in ListTasksIn.
var verb = regexp.MustCompile(`^[A-Z][a-z]+`)

// nameEnums returns the enums that at least two fields have. The name of an enum is the
// name that most of its fields propose; of several such names, it is the shortest one. An
// enum whose name is taken remains in the schemas of its fields.
func nameEnums(uses []enumUse, taken map[string]bool) enums {
	proposals := map[string]map[string]int{}
	fields := map[string]int{}
	for _, u := range uses {
		if u.values == nil {
			continue
		}
		key := strings.Join(u.values, "|")
		if proposals[key] == nil {
			proposals[key] = map[string]int{}
		}
		proposals[key][u.proposeName()]++
		fields[key]++
	}
	keys := sortedKeys(proposals)
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(fields[b], fields[a]) })
	all := enums{names: map[string]string{}, components: map[string][]string{}}
	for _, key := range keys {
		if fields[key] < 2 {
			continue
		}
		names := sortedKeys(proposals[key])
		slices.SortStableFunc(names, func(a, b string) int {
			return cmp.Or(cmp.Compare(proposals[key][b], proposals[key][a]), cmp.Compare(len(a), len(b)))
		})
		for _, name := range names {
			if taken[name] {
				continue
			}
			taken[name] = true
			all.names[key] = name
			all.components[name] = strings.Split(key, "|")
			break
		}
	}
	return all
}

// proposeName returns the name that a field proposes for its enum: the name of the field,
// after the noun of its type if the name of the field alone is ambiguous.
func (u enumUse) proposeName() string {
	name := upperFirst(u.field)
	if !slices.Contains(ambiguousNames, u.field) {
		return name
	}
	noun := u.owner.Name()
	if base, isInput := strings.CutSuffix(noun, "In"); isInput {
		noun = cmp.Or(strings.TrimSuffix(strings.TrimPrefix(base, verb.FindString(base)), "s"), base)
	}
	return strings.TrimSuffix(noun, "Summary") + name
}

// schema returns a reference to the component of an enum, with the description and the
// default of s. If the enum is no component, it returns s with the values.
func (e enums) schema(values []string, s *jsonschema.Schema) *jsonschema.Schema {
	name := e.names[strings.Join(values, "|")]
	if name == "" {
		s.Enum = toAny(values)
		return s
	}
	return &jsonschema.Schema{Ref: schemaPrefix + name, Description: s.Description, Default: s.Default}
}
