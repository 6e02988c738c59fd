package op

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"parapet/internal/fault"
)

// Document is an OpenAPI 3.1 document that can be marshaled to JSON.
type Document map[string]any

// OpenAPI returns the OpenAPI 3.1 document of the operations.
func OpenAPI(title, version string, operations []*Operation) (Document, error) {
	paths := map[string]map[string]any{}
	tags := map[string]bool{}
	for _, o := range operations {
		item, err := o.openAPI()
		if err != nil {
			return nil, err
		}
		path := strings.ReplaceAll(o.Path, "...}", "}")
		if paths[path] == nil {
			paths[path] = map[string]any{}
		}
		method := strings.ToLower(o.Method)
		if _, duplicate := paths[path][method]; duplicate {
			return nil, fmt.Errorf("op: two operations have the route %s %s", o.Method, path)
		}
		paths[path][method] = item
		tags[o.Module] = true
	}
	return Document{
		"openapi": "3.1.0",
		"info":    map[string]any{"title": title, "version": version},
		"paths":   paths,
		"tags":    tagList(tags),
		"components": map[string]any{
			"securitySchemes": map[string]any{
				"bearer":  map[string]any{"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": "A session token or an API key."},
				"session": map[string]any{"type": "apiKey", "in": "cookie", "name": "pt_session", "description": "A browser session."},
			},
			"parameters": map[string]any{
				"ActAsOrg":  header("x-act-as-org", "ID of the organisation to act in, or of its tenant. Default: the tenant of the token.", false),
				"RequestID": header("x-request-id", "Correlates the request with log lines, audit rows and events. Generated if absent.", false),
				"IdempotencyKey": header("Idempotency-Key",
					"Makes a retry safe: a request with the same key and body returns the first response and changes nothing.", false),
			},
			"schemas":   map[string]any{"Error": errorSchema()},
			"responses": map[string]any{"Error": map[string]any{"description": "The request failed.", "content": jsonContent(map[string]any{"$ref": "#/components/schemas/Error"})}},
		},
	}, nil
}

func tagList(tags map[string]bool) []map[string]any {
	names := make([]string, 0, len(tags))
	for t := range tags {
		names = append(names, t)
	}
	sort.Strings(names)
	list := make([]map[string]any, len(names))
	for i, n := range names {
		list[i] = map[string]any{"name": n}
	}
	return list
}

func header(name, description string, required bool) map[string]any {
	return map[string]any{"name": name, "in": "header", "required": required, "description": description, "schema": map[string]any{"type": "string"}}
}

func jsonContent(schema any) map[string]any {
	return map[string]any{"application/json": map[string]any{"schema": schema}}
}

func (o *Operation) openAPI() (map[string]any, error) {
	item := map[string]any{"operationId": o.Name, "summary": o.Summary, "tags": []string{o.Module}}
	if d := o.description(); d != "" {
		item["description"] = d
	}
	parameters := []any{map[string]any{"$ref": "#/components/parameters/RequestID"}}
	if o.Access != Public {
		item["security"] = []any{map[string]any{"bearer": []string{}}, map[string]any{"session": []string{}}}
		parameters = append(parameters, map[string]any{"$ref": "#/components/parameters/ActAsOrg"})
	} else {
		item["security"] = []any{}
	}
	if o.Effect.Changes() && !o.Secret && o.Access != Public {
		parameters = append(parameters, map[string]any{"$ref": "#/components/parameters/IdempotencyKey"})
	}
	for _, f := range o.Fields {
		if f.Source == FromBody {
			continue
		}
		s, err := f.Schema()
		if err != nil {
			return nil, err
		}
		in := "query"
		if f.Source == FromPath {
			in = "path"
		}
		parameters = append(parameters, map[string]any{"name": f.Name, "in": in, "required": f.Required, "description": f.Doc, "schema": s})
	}
	item["parameters"] = parameters
	body, err := o.BodySchema()
	if err != nil {
		return nil, err
	}
	if body != nil {
		item["requestBody"] = map[string]any{"required": len(body.Required) > 0, "content": jsonContent(body)}
	}
	responses, err := o.responses()
	if err != nil {
		return nil, err
	}
	item["responses"] = responses
	if o.Permission != "" {
		item["x-permission"] = o.Permission
	}
	item["x-effect"] = string(o.Effect)
	return item, nil
}

func (o *Operation) description() string {
	parts := []string{}
	if o.Description != "" {
		parts = append(parts, o.Description)
	}
	if o.Permission != "" {
		parts = append(parts, "Requires the permission `"+o.Grant+"`.")
	}
	return strings.Join(parts, " ")
}

func (o *Operation) responses() (map[string]any, error) {
	success := map[string]any{"description": "Success."}
	if o.Status != 204 {
		out, err := o.OutputSchema()
		if err != nil {
			return nil, err
		}
		success["content"] = jsonContent(out)
	}
	ref := map[string]any{"$ref": "#/components/responses/Error"}
	r := map[string]any{strconv.Itoa(o.Status): success, "400": ref, "429": ref, "500": ref, "503": ref}
	// A public operation can return 401 too: a failed login.
	r["401"] = ref
	if o.Access != Public {
		r["403"] = ref
		r["404"] = ref
	}
	if o.Effect.Changes() {
		r["409"] = ref
		r["413"] = ref
		r["415"] = ref
	}
	return r, nil
}

func errorSchema() *jsonschema.Schema {
	code := &jsonschema.Schema{Type: "string", Description: "The error code."}
	for _, c := range fault.Codes() {
		code.Enum = append(code.Enum, string(c))
	}
	str := func(doc string) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Description: doc} }
	return &jsonschema.Schema{Type: "object", Required: []string{"error"}, Properties: map[string]*jsonschema.Schema{
		"error": {Type: "object", Required: []string{"code", "message", "requestId"}, Properties: map[string]*jsonschema.Schema{
			"code":    code,
			"message": str("The error message for people."),
			"reason":  str("Why the credential was rejected, if that may be disclosed."),
			"reasons": {Type: "array", Description: "Why the policies denied the request, most specific reason first.", Items: &jsonschema.Schema{
				Type: "object", Required: []string{"code", "message", "remedy"}, Properties: map[string]*jsonschema.Schema{
					"code":    str("The reason code."),
					"message": str("The reason for people."),
					"remedy":  str("What the caller can do about it."),
				},
			}},
			"field":      str("The invalid field."),
			"permission": str("The permission that the operation requires."),
			"requestId":  str("The request ID."),
			"details":    {Type: "object", Description: "Further information that depends on the code."},
		}},
	}}
}
