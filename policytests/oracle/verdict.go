package oracle

// The error codes of denials.
const (
	Forbidden  = "FORBIDDEN"
	NotFound   = "NOT_FOUND"
	Conflict   = "CONFLICT"
	Validation = "VALIDATION"
)

// Verdict is the result of a rule that returns an object. Codes contains the codes of all
// violated conditions; the policies return one of them.
type Verdict struct {
	Allow bool
	Days  int
	Cap   int
	Codes []string
	// Why describes the violated conditions, for messages about differences.
	Why []string
}

// deny adds a violated condition with its error code.
func (v *Verdict) deny(code, why string) {
	v.Codes = append(v.Codes, code)
	v.Why = append(v.Why, why)
}

// require adds a violated condition unless ok is true.
func (v *Verdict) require(ok bool, code, why string) {
	if !ok {
		v.deny(code, why)
	}
}

func (v *Verdict) result() Verdict {
	v.Allow = len(v.Codes) == 0
	if !v.Allow {
		v.Days = 0
	}
	return *v
}
