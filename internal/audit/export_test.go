package audit

// Canonical returns the hashed form of the record.
func (r *Record) Canonical() []byte { return r.appendCanonical(nil) }

// Link returns the hash of a record after a previous one.
func (r *Record) Link(previous []byte) []byte {
	sum := r.hash(previous)
	return sum[:]
}

// CanonicalChanges returns the stored form of a value.
func CanonicalChanges(v any) ([]byte, error) { return canonicalChanges(v) }

// CanonicalJSON returns the stored form of JSON.
func CanonicalJSON(text []byte) ([]byte, error) { return canonicalJSON(text) }

// SmallBatch is the largest number of entries that are linked one by one.
const SmallBatch = smallBatch

// ParseCheckpoint parses the text of a checkpoint.
func ParseCheckpoint(text string) (Signed, error) { return parseCheckpoint(text) }
