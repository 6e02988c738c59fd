package op

import (
	"fmt"
	"reflect"
	"regexp"
)

// EventType is a type of event that a module emits.
type EventType struct {
	// Name is <area>.<record>.<past-tense verb>, for example projects.task.created.
	Name string
	// Record is the type of the record that the event is about: the middle part of Name.
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

// Events returns the module's types of events, in the order of their declarations.
func (m *Module) Events() []*EventType { return m.events }
