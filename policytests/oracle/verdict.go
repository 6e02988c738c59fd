package oracle

// Codes of refusals, as the error envelope has them.
const (
	Forbidden  = "FORBIDDEN"
	NotFound   = "NOT_FOUND"
	Conflict   = "CONFLICT"
	Validation = "VALIDATION"
)

// Verdict answers a question about keys, profiles or acting as. Codes are those
// of every rule that is broken; the policies name one of them.
type Verdict struct {
	Allow bool
	Days  int
	Cap   int
	Codes []string
	// Why names the rules that are broken, for whoever looks at a disagreement.
	Why []string
}

// refuse notes a broken rule, with the code that its refusal has.
func (v *Verdict) refuse(code, why string) {
	v.Codes = append(v.Codes, code)
	v.Why = append(v.Why, why)
}

// require refuses unless the condition holds.
func (v *Verdict) require(ok bool, code, why string) {
	if !ok {
		v.refuse(code, why)
	}
}

func (v *Verdict) done() Verdict {
	v.Allow = len(v.Codes) == 0
	if !v.Allow {
		v.Days = 0
	}
	return *v
}
