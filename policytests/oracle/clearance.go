package oracle

// ladder contains the tiers of the specification in ascending order.
var ladder = []string{"UNCLASSIFIED", "INTERNAL", "RESTRICTED", "CONFIDENTIAL", "SECRET"}

const unclassified = "UNCLASSIFIED"

// Rank returns the rank of a tier, or -1 if it is not a tier. The comparison is
// case-sensitive.
func Rank(tier string) int {
	for rank, name := range ladder {
		if name == tier {
			return rank
		}
	}
	return -1
}

// clearanceOf returns a clearance. A missing or unknown value counts as UNCLASSIFIED.
func (o Oracle) clearanceOf(v any) string {
	s, _ := v.(string)
	if Rank(s) < 0 {
		if o.hasFault(UnknownClearanceIsSecret) && s != "" {
			return "SECRET"
		}
		return unclassified
	}
	return s
}

// readable returns the tiers up to a clearance.
func readable(clearance string) set {
	out := set{}
	for rank, tier := range ladder {
		if rank <= Rank(clearance) {
			out.add(tier)
		}
	}
	return out
}

// canRead reports whether the tiers include a classification. Everyone can read an unknown
// string. Nobody can read a missing value or a value that is not a string.
func (o Oracle) canRead(tiers set, classification any) bool {
	s, ok := classification.(string)
	switch {
	case !ok:
		return o.hasFault(MissingClassificationAllows)
	case o.hasFault(ClassificationIgnored):
		return true
	case Rank(s) < 0:
		return !o.hasFault(UnknownClassificationDenies)
	default:
		return tiers.has(s)
	}
}

// MayRead evaluates parapet.clearance.may_read: {clearance, classification}.
func (o Oracle) MayRead(in any) bool {
	doc := asObject(in)
	claim, classification := o.clearanceOf(doc["clearance"]), doc["classification"]
	if o.hasFault(ClearanceByName) {
		s, ok := classification.(string)
		return ok && (Rank(s) < 0 || s <= claim)
	}
	return o.canRead(readable(claim), classification)
}

// MayReadStored evaluates the same for the database, where an unknown clearance ranks -1 and
// reads nothing. nil is NULL.
func MayReadStored(clearance, classification *string) bool {
	if clearance == nil || classification == nil || Rank(*clearance) < 0 {
		return false
	}
	return Rank(*classification) <= Rank(*clearance)
}
