package cli

import (
	"strings"

	"parapet/internal/op"
)

// personName returns the name of a person for a table or a detail line. Without a
// reference, as from an older server, it returns the id.
func personName(r *op.Reference, id op.UUID) string {
	if r == nil {
		return string(id)
	}
	return firstNonEmpty(r.Name, r.Email, string(id))
}

// recordName returns the name of a record, with its key if it has one: "APOLLO-17 Write
// the flight plan". Without a reference it returns the id.
func recordName(r *op.Reference, id op.UUID) string {
	if r == nil {
		return string(id)
	}
	return strings.TrimSpace(r.Key + " " + r.Name)
}
