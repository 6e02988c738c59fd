package audit

// Canonical is the record as it is hashed.
func (r *Record) Canonical() []byte { return r.appendCanonical(nil) }

// Link is the hash of a record behind another.
func (r *Record) Link(previous []byte) []byte {
	sum := r.hash(previous)
	return sum[:]
}

// CanonicalChanges is what is stored of a value.
func CanonicalChanges(v any) ([]byte, error) { return canonicalChanges(v) }

// CanonicalJSON is what is stored of JSON.
func CanonicalJSON(text []byte) ([]byte, error) { return canonicalJSON(text) }

// Few is up to how many entries the server links.
const Few = smallBatch

// ParseCheckpoint reads the text of a checkpoint.
func ParseCheckpoint(text string) (Signed, error) { return parseCheckpoint(text) }
