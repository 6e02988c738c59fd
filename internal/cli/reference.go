package cli

import (
	"strings"

	"parapet/internal/op"
)

// personName returns the name of a person for a table or a detail line. Without a
// reference, as from an older server, and for a person that the caller may not read, it
// returns the id.
func personName(r *op.Reference, id op.UUID) string {
	if r == nil || r.Name == op.Redacted {
		return string(id)
	}
	return firstNonEmpty(r.Name, r.Email, string(id))
}

// personAddress returns the address of a person, which two people never share, unlike a
// name. Without one, it returns the id.
func personAddress(r *op.Reference, id op.UUID) string {
	if r == nil {
		return string(id)
	}
	return firstNonEmpty(r.Email, string(id))
}

// recordName returns the name of a record, with its key if it has one: "APOLLO-17 Write
// the flight plan". Without a reference it returns the id.
func recordName(r *op.Reference, id op.UUID) string {
	if r == nil {
		return string(id)
	}
	return strings.TrimSpace(r.Key + " " + r.Name)
}

// typedRecord returns the type of a record and its name: "task APOLLO-17 Write the flight
// plan" or "user lin@acme.example". Without a name that the caller may read, it returns the
// type and the id.
func typedRecord(recordType string, r *op.Reference, id string) string {
	name := id
	switch {
	case r == nil || r.Name == op.Redacted:
	case r.Key == "" && r.Email != "":
		name = r.Email
	default:
		name = recordName(r, r.ID)
	}
	return strings.TrimSpace(recordType + " " + name)
}
