package events

import (
	stdjson "encoding/json"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"

	"parapet/internal/op"
)

// Payload is the content of an event.
type Payload struct {
	// Resource is the record after the change. Its type is the one that the type of event
	// declares, or a pointer to it.
	Resource any `json:"resource"`
	// Changed lists the fields that an update changed.
	Changed []string `json:"changed,omitempty"`
	// Notify lists the users who get a notification of the event.
	Notify []op.UUID `json:"notify,omitempty"`
	// Classification decides who may see the event. It is empty if the record has none.
	Classification string `json:"classification,omitempty"`
}

// NewPayload marshals a payload in the form of the HTTP API: a list without items is [], not
// null. It returns an error if the record does not have the declared type.
func NewPayload(t *op.EventType, p Payload) (stdjson.RawMessage, error) {
	if got := reflect.TypeOf(p.Resource); got != t.Payload && got != reflect.PointerTo(t.Payload) {
		return nil, fmt.Errorf("events: event %s: the record has the type %v, but the event is declared with %v", t, got, t.Payload)
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("events: event %s: %w", t, err)
	}
	return text, nil
}
