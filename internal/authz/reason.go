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

// explainVerdict is explain for a verdict. It inserts the permission and the limit of the
// verdict into the messages.
func (s *set) explainVerdict(v *Verdict) []fault.Reason {
	reasons := s.explain(v.Reasons)
	replacements := []string{"{cap}", strconv.Itoa(v.Cap)}
	if v.Permission != "" {
		replacements = append(replacements, fault.PermissionPlaceholder, v.Permission)
	}
	replacer := strings.NewReplacer(replacements...)
	for i := range reasons {
		reasons[i].Message, reasons[i].Remedy = replacer.Replace(reasons[i].Message), replacer.Replace(reasons[i].Remedy)
	}
	return reasons
}
