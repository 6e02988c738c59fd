// Package uid generates and converts the identifiers of records: UUIDs. New ones are of
// version 7, so that rows are added at the end of an index.
package uid

import (
	"fmt"

	"github.com/google/uuid"

	"parapet/internal/op"
)

// New returns a version 7 UUID.
func New() op.UUID {
	id, err := uuid.NewV7()
	if err != nil {
		// Without a source of randomness, no new identifier or secret would be safe.
		panic(fmt.Sprintf("uid: no randomness: %v", err))
	}
	return op.UUID(id.String())
}

// Random returns a version 4 UUID, for identifiers that must not reveal their creation
// time.
func Random() op.UUID { return op.UUID(uuid.NewString()) }

// Bytes returns the 16 bytes of an identifier, or zeros if it is not a UUID.
func Bytes(id op.UUID) [16]byte {
	b, err := uuid.Parse(string(id))
	if err != nil {
		return [16]byte{}
	}
	return b
}

// FromBytes returns the identifier with these 16 bytes.
func FromBytes(b [16]byte) op.UUID { return op.UUID(uuid.UUID(b).String()) }
