// Package uid makes and reads the identifiers of records: UUIDs, version 7
// where Parapet makes them, so that an index grows at its end.
package uid

import (
	"fmt"

	"github.com/google/uuid"

	"parapet/internal/op"
)

// New makes a version 7 UUID.
func New() op.UUID {
	id, err := uuid.NewV7()
	if err != nil {
		// The system has no randomness: nothing that is made from here on is safe.
		panic(fmt.Sprintf("uid: no randomness: %v", err))
	}
	return op.UUID(id.String())
}

// Random makes a version 4 UUID, for identifiers that must not tell when they
// were made.
func Random() op.UUID { return op.UUID(uuid.NewString()) }

// Bytes gives the 16 bytes of an identifier; zeros for what is none.
func Bytes(id op.UUID) [16]byte {
	b, err := uuid.Parse(string(id))
	if err != nil {
		return [16]byte{}
	}
	return b
}

// FromBytes is the identifier of 16 bytes.
func FromBytes(b [16]byte) op.UUID { return op.UUID(uuid.UUID(b).String()) }
