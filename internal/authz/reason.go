package authz

import (
	"strconv"
	"strings"

	"parapet/internal/fault"
)

// reasonNoAnswer stands, for whoever was denied, for all reason codes that the engine
// gives itself: which of them it was is for the log.
const reasonNoAnswer = "no_answer"

// explain gives the reasons in the policies' words; nil where there are none. A code
// that the policies do not explain says no more than that they gave no answer.
func (s *set) explain(codes []string) []fault.Reason {
	var reasons []fault.Reason
	for _, code := range codes {
		r, ok := s.catalogue.Reasons[code]
		if !ok {
			r = s.catalogue.Reasons[reasonNoAnswer]
		}
		reasons = append(reasons, r)
	}
	return reasons
}

// explainVerdict is explain for a verdict, which names its own permission and limit.
func (s *set) explainVerdict(v *Verdict) []fault.Reason {
	reasons := s.explain(v.Reasons)
	marks := []string{"{cap}", strconv.Itoa(v.Cap)}
	if v.Permission != "" {
		marks = append(marks, fault.PermissionPlaceholder, v.Permission)
	}
	filled := strings.NewReplacer(marks...)
	for i := range reasons {
		reasons[i].Message, reasons[i].Remedy = filled.Replace(reasons[i].Message), filled.Replace(reasons[i].Remedy)
	}
	return reasons
}
