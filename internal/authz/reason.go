package authz

import (
	"strconv"
	"strings"

	"parapet/internal/fault"
)

// reasonNoAnswer replaces the reason codes of failed evaluations in responses. The log
// contains the original code.
const reasonNoAnswer = "no_answer"

// explain returns the messages and remedies of the reason codes, or nil. A code without a
// message gets the one of reasonNoAnswer.
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

// explainVerdict is explain for a verdict, which contains its own permission and limit.
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
