package op

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Document is an OpenAPI 3.1 document that can be marshaled to JSON.
type Document map[string]any

// mediaType is the media type of all bodies.
const mediaType = "application/json"

// overview is the description of the API.
const overview = "The HTTP API of Parapet, an authorization platform with a work tracker. " +
	"Every operation names the permission that it requires. Every error response has the schema Error. " +
	"A list returns one page: send its nextCursor as cursor to get the next page. " +
	"The header Idempotency-Key makes it safe to repeat a write."

// OpenAPI returns the OpenAPI document of the operations. It is an OpenAPI 3.1 document,
// because its schemas are then JSON Schema 2020-12, like those of the MCP tools, and null
// is a type of its own. openapi-typescript and oapi-codegen 2.8 support version 3.1.
func OpenAPI(title, version string, operations []*Operation) (Document, error) {
	c, err := newComponents(operations)
	if err != nil {
		return nil, err
	}
	for name, s := range errorSchemas() {
		if c.schemas[name] != nil {
			return nil, fmt.Errorf("op: a type has the name of the error schema %s in the OpenAPI document: rename it", name)
		}
		c.schemas[name] = s
	}
	shared, err := c.newParameters(operations)
	if err != nil {
		return nil, err
	}
	shared.addHeaders()
	paths := map[string]map[string]any{}
	for _, o := range operations {
		item, err := c.operation(o, shared)
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
	}
	return Document{
		"openapi":  "3.1.0",
		"info":     map[string]any{"title": title, "version": version, "description": overview},
		"servers":  []any{map[string]any{"url": "/", "description": "The server that serves this document."}},
		"security": []any{map[string]any{"bearer": []string{}}, map[string]any{"session": []string{}}},
		"tags":     tagObjects(operations),
		"paths":    paths,
		"components": map[string]any{
			"securitySchemes": securitySchemes(),
			"parameters":      shared.components,
			"schemas":         c.schemas,
			"examples":        c.exampleComponents(operations),
			"responses":       responseComponents(),
		},
	}, nil
}

func securitySchemes() map[string]any {
	return map[string]any{
		"bearer": map[string]any{
			"type": "http", "scheme": "bearer", "bearerFormat": "JWT",
			"description": "The token of a session or an API key.",
		},
		"session": map[string]any{
			"type": "apiKey", "in": "cookie", "name": "pt_session",
			"description": "The session of a browser, which login sets. Over https, the cookie has the name __Host-pt_session. A write must come from a page of the same origin.",
		},
	}
}

// operation returns the Operation Object of an operation.
func (c *components) operation(o *Operation, shared parameters) (map[string]any, error) {
	item := map[string]any{"operationId": o.Name, "summary": o.Summary, "tags": []string{tagOf(o).name}, "x-effect": string(o.Effect)}
	if d := o.description(); d != "" {
		item["description"] = d
	}
	if o.Permission != "" {
		item["x-permission"] = o.Permission
	}
	if o.Access == Public {
		item["security"] = []any{}
	}
	parameters, err := shared.of(c, o)
	if err != nil {
		return nil, err
	}
	item["parameters"] = parameters
	if o.HasBody() {
		item["requestBody"] = map[string]any{"required": o.requiresBody(), "content": content(c.names[o.In])}
	}
	success := map[string]any{"description": "Success."}
	if o.Status != 204 {
		success["content"] = content(c.names[o.Out])
	}
	if reflect.PointerTo(o.Out).Implements(reflect.TypeFor[Versioned]()) {
		success["headers"] = map[string]any{"ETag": map[string]any{
			"description": "The version of the record in double quotes, for the header If-Match.", "schema": &jsonschema.Schema{Type: "string"},
		}}
	}
	responses := errorReferences(o)
	responses[strconv.Itoa(o.Status)] = success
	item["responses"] = responses
	return item, nil
}

// content returns the content of a body with the schema and the example of a component.
func content(name string) map[string]any {
	return map[string]any{mediaType: map[string]any{
		"schema":   map[string]any{"$ref": schemaPrefix + name},
		"examples": map[string]any{"example": map[string]any{"$ref": "#/components/examples/" + name}},
	}}
}

// exampleComponents returns the examples of the bodies by the name of their schema.
func (c *components) exampleComponents(operations []*Operation) map[string]any {
	all := map[string]any{}
	for _, o := range operations {
		for t, used := range map[reflect.Type]bool{o.In: o.HasBody(), o.Out: o.Status != 204} {
			if name := c.names[t]; used {
				all[name] = map[string]any{"value": c.examples[name]}
			}
		}
	}
	return all
}

// requiresBody reports whether a field of the body is required.
func (o *Operation) requiresBody() bool {
	for _, f := range o.Fields {
		if f.Source == FromBody && f.Required {
			return true
		}
	}
	return false
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
