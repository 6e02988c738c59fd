package oracle

// The ladder of the specification, in ascending rank.
var ladder = []string{"UNCLASSIFIED", "INTERNAL", "RESTRICTED", "CONFIDENTIAL", "SECRET"}

const unclassified = "UNCLASSIFIED"

// Rank of a tier; -1 for what is not on the ladder. Names are compared whole and
// as they are written.
func Rank(tier string) int {
	for rank, name := range ladder {
		if name == tier {
			return rank
		}
	}
	return -1
}

// claim reads a clearance claim as application code does: what is missing or not
// recognised is discarded and counts as UNCLASSIFIED.
func (o Oracle) claim(v any) string {
	s, _ := v.(string)
	if Rank(s) < 0 {
		if o.broken(UnknownClearanceIsSecret) && s != "" {
			return "SECRET"
		}
		return unclassified
	}
	return s
}

// readable are the tiers up to a clearance.
func readable(clearance string) set {
	out := set{}
	for rank, tier := range ladder {
		if rank <= Rank(clearance) {
			out.add(tier)
		}
	}
	return out
}

// reads tells whether a set of readable tiers reaches a classification. An
// unrecognised one ranks -1, under every tier, so that everybody reads it; one
// that is missing or no text is nobody's.
func (o Oracle) reads(tiers set, classification any) bool {
	s, ok := classification.(string)
	switch {
	case !ok:
		return o.broken(MissingClassificationIsOpen)
	case o.broken(ClassificationIgnored):
		return true
	case Rank(s) < 0:
		return !o.broken(UnknownClassificationIsClosed)
	default:
		return tiers.has(s)
	}
}

// MayRead answers parapet.clearance.may_read: {clearance, classification}.
func (o Oracle) MayRead(in any) bool {
	doc := asObject(in)
	claim, classification := o.claim(doc["clearance"]), doc["classification"]
	if o.broken(ClearanceByName) {
		s, ok := classification.(string)
		return ok && (Rank(s) < 0 || s <= claim)
	}
	return o.reads(readable(claim), classification)
}

// MayReadStored answers the same for the database, where an unrecognised
// clearance ranks -1 and reads nothing; nil is NULL.
func MayReadStored(clearance, classification *string) bool {
	if clearance == nil || classification == nil || Rank(*clearance) < 0 {
		return false
	}
	return Rank(*classification) <= Rank(*clearance)
}
