package op_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	strict "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	"parapet/internal/contract"
	"parapet/internal/op"
)

func allOperations() []*op.Operation {
	return contract.Operations()
}

// document returns the OpenAPI document of all modules as JSON and decoded.
func document(t *testing.T) (text []byte, doc map[string]any) {
	t.Helper()
	d, err := op.OpenAPI("Parapet", "1", allOperations())
	if err != nil {
		t.Fatal(err)
	}
	text, err = strict.Marshal(d, strict.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return text, doc
}

// at returns the value at a path of names in a decoded document.
func at(t *testing.T, doc any, names ...string) map[string]any {
	t.Helper()
	for _, name := range names {
		object, ok := doc.(map[string]any)
		if !ok || object[name] == nil {
			t.Fatalf("the document has no %s", strings.Join(names, "."))
		}
		doc = object[name]
	}
	return doc.(map[string]any)
}

// walk calls f for every object of a decoded document.
func walk(value any, path string, f func(path string, object map[string]any)) {
	switch v := value.(type) {
	case map[string]any:
		f(path, v)
		for name, member := range v {
			walk(member, path+"/"+name, f)
		}
	case []any:
		for i, item := range v {
			walk(item, fmt.Sprintf("%s/%d", path, i), f)
		}
	}
}

func TestOpenAPI_NamesSchemas(t *testing.T) {
	t.Parallel()
	text, doc := document(t)
	schemas := at(t, doc, "components", "schemas")
	for _, name := range []string{
		"Task", "TaskSummary", "TaskSummaryPage", "Project", "ProjectSummaryPage", "TimeEntryPage", "Error", "ErrorCode",
		"CreateTaskRequest", "UpdateTaskRequest", "LoginResult", "Priority", "IssueType", "Severity", "StatusCategory", "Classification", "PrincipalKind",
	} {
		if schemas[name] == nil {
			t.Errorf("the document has no schema %s", name)
		}
	}
	if key := at(t, schemas, "Task", "properties", "key"); key["type"] != "string" {
		t.Errorf("Task.key: got %v, want a string", key)
	}
	for name := range schemas {
		for _, suffix := range []string{"In", "Out", "]"} {
			if strings.HasSuffix(name, suffix) {
				t.Errorf("the schema name %s has the suffix %s", name, suffix)
			}
		}
	}
	if lines := bytes.Count(text, []byte("\n")); lines > 35_000 {
		t.Errorf("the document has %d lines, want at most 35,000", lines)
	}
}

// An inline object would be an unnamed type in generated clients, once for each operation.
func TestOpenAPI_ObjectsAreComponents(t *testing.T) {
	t.Parallel()
	_, doc := document(t)
	walk(doc, "", func(path string, object map[string]any) {
		rest, isComponent := strings.CutPrefix(path, "/components/schemas/")
		if isComponent && !strings.Contains(rest, "/") {
			return
		}
		if _, ok := object["properties"].(map[string]any); ok && object["type"] == "object" {
			t.Errorf("%s: an inline object; use a component", path)
		}
	})
}

func TestOpenAPI_SharedEnumsAreComponents(t *testing.T) {
	t.Parallel()
	_, doc := document(t)
	places := map[string][]string{}
	walk(doc, "", func(path string, object map[string]any) {
		if values, ok := object["enum"].([]any); ok {
			values = slices.DeleteFunc(slices.Clone(values), func(v any) bool { return v == nil })
			key := fmt.Sprint(values)
			places[key] = append(places[key], path)
		}
	})
	for values, paths := range places {
		if len(paths) > 1 {
			t.Errorf("the enum %s occurs at %v, want one component", values, paths)
		}
	}
}

// A list is [] if it is empty. Only null in the body of an update clears a field.
func TestOpenAPI_ListsAreNotNullable(t *testing.T) {
	t.Parallel()
	_, doc := document(t)
	clearable := map[string]bool{}
	for _, o := range allOperations() {
		for _, f := range o.Fields {
			if strings.HasPrefix(f.Type.Name(), "Opt[") {
				clearable["/components/schemas/"+strings.TrimSuffix(o.In.Name(), "In")+"Request/properties/"+f.Name] = true
			}
		}
	}
	walk(doc, "", func(path string, object map[string]any) {
		if types, ok := object["type"].([]any); ok && slices.Contains(types, any("array")) {
			t.Errorf("%s: the type is %v, want array", path, types)
		}
		choices, _ := object["anyOf"].([]any)
		types, _ := object["type"].([]any)
		nullable := slices.Contains(types, any("null")) || slices.ContainsFunc(choices, func(c any) bool { return c.(map[string]any)["type"] == "null" })
		if nullable && !clearable[path] {
			t.Errorf("%s accepts null, but the field is not an Opt", path)
		}
	})
}

// The schemas of MCP tools are inline.
func TestOutputSchema_ListsAreNotNullable(t *testing.T) {
	t.Parallel()
	for _, o := range allOperations() {
		s, err := o.OutputSchema()
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var schema any
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatal(err)
		}
		walk(schema, "", func(path string, object map[string]any) {
			if types, ok := object["type"].([]any); ok && slices.Contains(types, any("array")) {
				t.Errorf("%s%s: the type is %v, want array", o.Name, path, types)
			}
		})
	}
}

func TestOpenAPI_ReferencesResolve(t *testing.T) {
	t.Parallel()
	_, doc := document(t)
	used := map[string]bool{}
	walk(doc, "", func(path string, object map[string]any) {
		ref, ok := object["$ref"].(string)
		if !ok {
			return
		}
		used[ref] = true
		value := any(doc)
		for _, name := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
			members, _ := value.(map[string]any)
			value = members[name]
		}
		if value == nil {
			t.Errorf("%s: %s does not exist", path, ref)
		}
	})
	for kind, all := range at(t, doc, "components") {
		for name := range all.(map[string]any) {
			if ref := "#/components/" + kind + "/" + name; kind != "securitySchemes" && !used[ref] {
				t.Errorf("nothing refers to %s", ref)
			}
		}
	}
}

func TestOpenAPI_OperationsAreDocumented(t *testing.T) {
	t.Parallel()
	_, doc := document(t)
	described := map[string]bool{}
	for _, tag := range doc["tags"].([]any) {
		tag := tag.(map[string]any)
		described[tag["name"].(string)] = tag["description"] != nil
	}
	ids := map[string]bool{}
	for path, methods := range at(t, doc, "paths") {
		for method, item := range methods.(map[string]any) {
			o := item.(map[string]any)
			id, _ := o["operationId"].(string)
			if id == "" || ids[id] {
				t.Errorf("%s %s: operationId %q is missing or a duplicate", method, path, id)
			}
			ids[id] = true
			if tags, _ := o["tags"].([]any); len(tags) != 1 || !described[tags[0].(string)] {
				t.Errorf("%s: tags %v, want one tag with a description: add %s to the tags", id, tags, path)
			}
			if o["deprecated"] != nil {
				t.Errorf("%s is deprecated", id)
			}
			if !strings.Contains(fmt.Sprint(o["description"]), "Requires the permission") && o["x-permission"] != nil {
				t.Errorf("%s: the description does not name the permission", id)
			}
		}
	}
	if info := at(t, doc, "info"); info["description"] == "" || info["license"] != nil {
		t.Errorf("info: got %v, want a description and no license", info)
	}
	if servers := doc["servers"].([]any); len(servers) != 1 || servers[0].(map[string]any)["url"] != "/" {
		t.Errorf("servers: got %v, want the relative URL /", servers)
	}
}

// validators are the schemas of a document, resolved, by name.
type validators map[string]*jsonschema.Resolved

func newValidators(t *testing.T, doc map[string]any) validators {
	t.Helper()
	schemas := at(t, doc, "components", "schemas")
	text, err := json.Marshal(schemas)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("#/components/schemas/"), []byte("#/$defs/"))
	all := validators{}
	for name := range schemas {
		s := &jsonschema.Schema{Ref: "#/$defs/" + name, Defs: definitions(t, text, name)}
		if all[name], err = s.Resolve(nil); err != nil {
			t.Fatalf("schema %s: %v", name, err)
		}
	}
	return all
}

// definitions returns the schema with a name and the schemas that it refers to.
func definitions(t *testing.T, text []byte, name string) map[string]*jsonschema.Schema {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]*jsonschema.Schema{}
	names := []string{name}
	for len(names) > 0 {
		next := names[0]
		names = names[1:]
		if found[next] != nil {
			continue
		}
		s := &jsonschema.Schema{}
		if err := json.Unmarshal(all[next], s); err != nil {
			t.Fatalf("schema %s: %v", next, err)
		}
		found[next] = s
		for _, m := range reference.FindAllSubmatch(all[next], -1) {
			names = append(names, string(m[1]))
		}
	}
	return found
}

var reference = regexp.MustCompile(`"#/\$defs/(\w+)"`)

// validate validates a value against a reference to a schema.
func (v validators) validate(schema any, value any) error {
	ref, _ := schema.(map[string]any)["$ref"].(string)
	resolved := v[strings.TrimPrefix(ref, "#/components/schemas/")]
	if resolved == nil {
		return fmt.Errorf("the schema %v is no reference", schema)
	}
	return resolved.Validate(value)
}

// contentOf returns the schema and the example of a body.
func contentOf(t *testing.T, doc map[string]any, body map[string]any) (schema, example any) {
	t.Helper()
	media := at(t, body, "content", "application/json")
	if example, ok := media["example"]; ok {
		return media["schema"], example
	}
	ref, _ := at(t, media, "examples", "example")["$ref"].(string)
	return media["schema"], at(t, doc, "components", "examples", strings.TrimPrefix(ref, "#/components/examples/"))["value"]
}

// The examples are also valid for the code: the server accepts the example of each request,
// and the output type has the members of the example of each response.
func TestOpenAPI_ExamplesAreValid(t *testing.T) {
	t.Parallel()
	_, doc := document(t)
	schemas := newValidators(t, doc)
	for _, o := range allOperations() {
		item := at(t, doc, "paths", strings.ReplaceAll(o.Path, "...}", "}"), strings.ToLower(o.Method))
		if _, declared := item["requestBody"]; declared != o.HasBody() {
			t.Fatalf("%s: got a request body %t, want %t", o.Name, declared, o.HasBody())
		}
		var body []byte
		if o.HasBody() {
			schema, example := contentOf(t, doc, at(t, item, "requestBody"))
			if err := schemas.validate(schema, example); err != nil {
				t.Errorf("%s: example of the request: %v", o.Name, err)
			}
			body, _ = json.Marshal(example)
		}
		if _, err := o.Read(op.Raw{Path: func(name string) string { return pathExample(t, doc, item, name) }, Query: queryExamples(t, doc, item), Body: body}); err != nil {
			t.Errorf("%s: the server rejects the example %s: %v", o.Name, body, err)
		}
		if o.Status == 204 {
			continue
		}
		schema, example := contentOf(t, doc, at(t, item, "responses", fmt.Sprint(o.Status)))
		if err := schemas.validate(schema, example); err != nil {
			t.Errorf("%s: example of the response: %v", o.Name, err)
		}
		text, _ := json.Marshal(example)
		if err := strict.Unmarshal(text, reflect.New(o.Out).Interface(), strict.RejectUnknownMembers(true)); err != nil {
			t.Errorf("%s: the example %s is not a %s: %v", o.Name, text, o.Out, err)
		}
		inline, err := o.OutputSchema()
		if err != nil {
			t.Fatal(err)
		}
		if resolved, err := inline.Resolve(nil); err != nil || resolved.Validate(example) != nil {
			t.Errorf("%s: the output schema rejects the example: %v", o.Name, cmp.Or(err, resolved.Validate(example)))
		}
	}
	for name, response := range at(t, doc, "components", "responses") {
		schema, example := contentOf(t, doc, response.(map[string]any))
		if err := schemas.validate(schema, example); err != nil {
			t.Errorf("example of the response %s: %v", name, err)
		}
	}
}

// parametersOf returns the parameters of an operation with their references resolved.
func parametersOf(t *testing.T, doc, item map[string]any) []map[string]any {
	t.Helper()
	var list []map[string]any
	for _, p := range item["parameters"].([]any) {
		p := p.(map[string]any)
		if ref, ok := p["$ref"].(string); ok {
			p = at(t, doc, "components", "parameters", strings.TrimPrefix(ref, "#/components/parameters/"))
		}
		list = append(list, p)
	}
	return list
}

func pathExample(t *testing.T, doc, item map[string]any, name string) string {
	t.Helper()
	for _, p := range parametersOf(t, doc, item) {
		if p["in"] == "path" && p["name"] == name {
			return p["example"].(string)
		}
	}
	t.Fatalf("there is no path parameter %s", name)
	return ""
}

func queryExamples(t *testing.T, doc, item map[string]any) map[string][]string {
	t.Helper()
	query := map[string][]string{}
	for _, p := range parametersOf(t, doc, item) {
		if p["in"] == "query" && p["example"] != nil {
			query[p["name"].(string)] = []string{fmt.Sprint(p["example"])}
		}
	}
	return query
}

func TestOpenAPI_SharesParameters(t *testing.T) {
	t.Parallel()
	_, doc := document(t)
	shared := at(t, doc, "components", "parameters")
	for _, name := range []string{"LimitQueryParameter", "CursorQueryParameter", "ProjectIdPathParameter", "RequestId", "ActAsOrg", "IdempotencyKey"} {
		if shared[name] == nil {
			t.Errorf("there is no shared parameter %s", name)
		}
	}
	walk(at(t, doc, "paths"), "", func(path string, object map[string]any) {
		if object["name"] == "cursor" && object["in"] == "query" {
			t.Errorf("%s: the parameter cursor is inline, want the shared one", path)
		}
	})
}

// memberNames returns the names of the members of a type and of the types in it, alone and
// after the name of their type.
func memberNames(t reflect.Type, names map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		memberNames(t.Elem(), names)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				names[name] = true
				names[strings.TrimSuffix(t.Name(), "Summary")+"."+name] = true
				names[strings.TrimSuffix(t.Name(), "In")+"."+name] = true
			}
			memberNames(f.Type, names)
		}
	}
}

// An entry for a field that no longer exists has no effect.
func TestExampleTables_NameExistingFields(t *testing.T) {
	t.Parallel()
	names, operations := map[string]bool{}, map[string]bool{}
	for _, o := range allOperations() {
		operations[o.Name] = true
		memberNames(o.Out, names)
		memberNames(o.In, names)
		for _, f := range o.Fields {
			names[f.Name] = true
			names[strings.TrimSuffix(o.In.Name(), "In")+"."+f.Name] = true
			memberNames(f.Value(), names)
		}
	}
	for key := range op.ExampleValues {
		if !names[key] {
			t.Errorf("exampleValues: there is no field %s", key)
		}
	}
	for _, key := range op.ExampleOmitted {
		if !names[key] {
			t.Errorf("exampleOmitted: there is no field %s", key)
		}
	}
	for name := range op.ExampleFields {
		if !operations[name] {
			t.Errorf("exampleFields: there is no operation %s", name)
		}
	}
}
