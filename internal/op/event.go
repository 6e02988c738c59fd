package op

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"
)

// EventType is a type of event that a module emits.
type EventType struct {
	// Name is <area>.<record>.<past-tense verb>, for example projects.task.created.
	Name string
	// Record is the type of the record that the event is about: the middle part of Name, unless
	// About says otherwise.
	Record string
	// Version counts the incompatible changes of Payload, from 1.
	Version int
	// Payload is the type of the record in the event.
	Payload reflect.Type
	// Doc says in one or two sentences what happened.
	Doc string
}

// String implements fmt.Stringer.
func (e *EventType) String() string { return e.Name }

var eventPattern = regexp.MustCompile(`^[a-z][a-z0-9_]*\.([a-z][a-z0-9_]*)\.[a-z][a-z0-9_]*$`)

// DeclareEvent declares a type of event of the module. It panics if the name is malformed.
// Like Declare, call it only to initialize package variables.
func DeclareEvent[Payload any](m *Module, name, doc string) *EventType {
	parts := eventPattern.FindStringSubmatch(name)
	if parts == nil || doc == "" {
		panic(fmt.Sprintf("op: event type %q needs a name of the form <area>.<record>.<past-tense verb> and a description", name))
	}
	e := &EventType{Name: name, Record: parts[1], Version: 1, Payload: reflect.TypeFor[Payload](), Doc: doc}
	m.events = append(m.events, e)
	return e
}

// About sets the type of the record that the event is about, where it is not the middle part
// of the name.
func (e *EventType) About(record string) *EventType {
	e.Record = record
	return e
}

// Events returns the module's types of events, in the order of their declarations.
func (m *Module) Events() []*EventType { return m.events }

// Schema returns the JSON Schema of an event of the type, in the form in which it is delivered
// to other systems. It allows unknown members, because a new member is not an incompatible
// change.
func (e *EventType) Schema() (*jsonschema.Schema, error) {
	resource, err := schemaOf(e.Payload)
	if err != nil {
		return nil, fmt.Errorf("op: event %s: %w", e, err)
	}
	allowUnknownMembers(resource)
	text := func(format, description string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Format: format, Description: description}
	}
	constant := func(value, description string) *jsonschema.Schema {
		var v any = value
		return &jsonschema.Schema{Type: "string", Const: &v, Description: description}
	}
	payload := &jsonschema.Schema{
		Type: "object", Description: "The record after the change.", Required: []string{"resource"},
		Properties: map[string]*jsonschema.Schema{
			"resource":       resource,
			"changed":        {Type: "array", Items: &jsonschema.Schema{Type: "string"}, Description: "The names of the changed fields; absent if the event is not an update."},
			"classification": text("", "The classification of the record. Only readers with this clearance receive the event."),
		},
		PropertyOrder: []string{"resource", "changed", "classification"},
	}
	return &jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema", ID: "urn:parapet:event:" + e.Name + ":" + strconv.Itoa(e.Version),
		Title: e.Name, Description: e.Doc, Type: "object",
		Properties: map[string]*jsonschema.Schema{
			"id":            text("uuid", "The event's id. A repeated delivery of the event has the same id."),
			"type":          constant(e.Name, "The type of the event."),
			"tenantId":      text("uuid", "The tenant."),
			"aggregateType": constant(e.Record, "The type of the record that the event is about."),
			"aggregateId":   text("", "The id of the record that the event is about."),
			"sequence":      {Type: "integer", Description: "Later events about the same record have higher numbers."},
			"occurredAt":    text("date-time", "When the event happened."),
			"actorId":       text("uuid", "The user who caused the event; absent if the system did."),
			"correlationId": text("uuid", "The x-request-id of the request that caused the event."),
			"payload":       payload,
		},
		PropertyOrder: []string{"id", "type", "tenantId", "aggregateType", "aggregateId", "sequence", "occurredAt", "actorId", "correlationId", "payload"},
		Required:      []string{"id", "type", "tenantId", "aggregateType", "aggregateId", "sequence", "occurredAt", "correlationId", "payload"},
	}, nil
}

// allowUnknownMembers removes the rule against unknown members from the schemas of objects.
func allowUnknownMembers(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil {
		s.AdditionalProperties = nil
	}
	allowUnknownMembers(s.AdditionalProperties)
	allowUnknownMembers(s.Items)
	for _, p := range s.Properties {
		allowUnknownMembers(p)
	}
}
