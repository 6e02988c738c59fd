package op

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"
)

// The parameters of every list.
const (
	limitField  = "limit"
	cursorField = "cursor"
)

// parameters are the path and query parameters of the operations. A parameter that several
// operations have is one component.
type parameters struct {
	components map[string]any
	// references maps the JSON of a shared parameter to its component.
	references map[string]string
}

// newParameters finds the shared parameters. Of several parameters with the same name, the
// one that most operations have is shared.
func (c *components) newParameters(operations []*Operation) (parameters, error) {
	type candidate struct {
		name   string
		object map[string]any
		uses   int
	}
	byText := map[string]*candidate{}
	for _, o := range operations {
		for _, f := range o.Fields {
			if f.Source == FromBody {
				continue
			}
			object, text, err := c.parameter(o, f)
			if err != nil {
				return parameters{}, err
			}
			if byText[text] == nil {
				byText[text] = &candidate{name: parameterName(f), object: object}
			}
			byText[text].uses++
		}
	}
	p := parameters{components: map[string]any{}, references: map[string]string{}}
	texts := sortedKeys(byText)
	slices.SortStableFunc(texts, func(a, b string) int { return cmp.Compare(byText[b].uses, byText[a].uses) })
	for _, text := range texts {
		found := byText[text]
		if found.uses < 2 || p.components[found.name] != nil {
			continue
		}
		p.components[found.name] = found.object
		p.references[text] = found.name
	}
	return p, nil
}

// parameterName returns the name of a shared parameter. It differs from the names of
// schemas, because code generators make a type of each parameter too.
func parameterName(f Field) string {
	if f.Source == FromPath {
		return upperFirst(f.Name) + "PathParameter"
	}
	return upperFirst(f.Name) + "QueryParameter"
}

// parameter returns the parameter of a field, and its JSON.
func (c *components) parameter(o *Operation, f Field) (object map[string]any, text string, err error) {
	s, err := c.fieldSchema(f)
	if err != nil {
		return nil, "", fmt.Errorf("op: %s: parameter %s: %w", o.Name, f.Name, err)
	}
	object = map[string]any{"name": f.Name, "in": "query", "description": parameterDoc(f), "schema": s}
	s.Description = ""
	if f.Name == cursorField && s.MaxLength == nil {
		s.MaxLength = jsonschema.Ptr(MaxCursor)
	}
	if f.Source == FromPath {
		object["in"] = "path"
	}
	if f.Required {
		object["required"] = true
		object["example"] = exampleInput(o, f)
	}
	b, err := json.Marshal(object, json.Deterministic(true))
	return object, string(b), err
}

// parameterDoc returns the description of a parameter. The parameters of pages mean the
// same in every list, although each contract names its own records.
func parameterDoc(f Field) string {
	switch {
	case f.Source == FromQuery && f.Name == limitField:
		return "The maximum number of items to return."
	case f.Source == FromQuery && f.Name == cursorField:
		return "The nextCursor of the previous page. Omit it for the first page."
	default:
		return f.Description()
	}
}

// of returns the parameters of an operation.
func (p parameters) of(c *components, o *Operation) ([]any, error) {
	list := []any{parameterReference("RequestId")}
	if o.Access != Public {
		list = append(list, parameterReference("ActAsOrg"))
	}
	if o.Effect.Changes() && !o.Secret && o.Access != Public {
		list = append(list, parameterReference("IdempotencyKey"))
	}
	if o.HasField(versionField) {
		list = append(list, parameterReference("IfMatch"))
	}
	for _, f := range o.Fields {
		if f.Source == FromBody {
			continue
		}
		object, text, err := c.parameter(o, f)
		if err != nil {
			return nil, err
		}
		if name := p.references[text]; name != "" {
			list = append(list, parameterReference(name))
		} else {
			list = append(list, object)
		}
	}
	return list, nil
}

func parameterReference(name string) map[string]any {
	return map[string]any{"$ref": "#/components/parameters/" + name}
}

// addHeaders adds the header parameters to the shared parameters.
func (p parameters) addHeaders() {
	p.components["ActAsOrg"] = header("x-act-as-org", "", "ID of the organisation to act in, or ID or slug of its tenant. Default: the tenant of the token.")
	p.components["RequestId"] = header("x-request-id", "uuid", "Correlates the request with log lines, audit rows and events. Generated if absent.")
	p.components["IdempotencyKey"] = header("Idempotency-Key", "",
		"Makes a retry safe: a request with the same key and body returns the first response and changes nothing.")
	p.components["IfMatch"] = header("If-Match", "",
		"The ETag of the version that the record must have, such as \"3\". The same as the field ifVersion.")
}

func header(name, format, description string) map[string]any {
	return map[string]any{"name": name, "in": "header", "description": description, "schema": &jsonschema.Schema{Type: "string", Format: format}}
}
