package searchterms

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzSearchQuery checks that user input becomes a tsquery in which all input is inside
// quoted terms, so that it cannot end a term or inject an operator.
func FuzzSearchQuery(f *testing.F) {
	for _, seed := range []string{"land on moon", `"whole word" -not OR x`, `it's \ :* & | ! ( )`, "APO-17", "\u212aelvin", "ſ İ", "OR -", `""`, "日本 語"} {
		f.Add(seed)
	}
	terms := New("018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f")
	f.Fuzz(func(t *testing.T, input string) {
		if !utf8.ValidString(input) {
			return // requests with invalid UTF-8 are rejected earlier
		}
		query := terms.Query(input)
		isOutsideTerm := true
		depth := 0
		for _, part := range strings.Split(query, "'") {
			if isOutsideTerm {
				if strings.Trim(part, " &|!():*") != "" {
					t.Fatalf("search %q: got the query %q with %q outside a term, want only operators", input, query, part)
				}
				depth += strings.Count(part, "(") - strings.Count(part, ")")
			} else if strings.ContainsAny(part, `\&|!():*`) {
				t.Fatalf("search %q: got the query %q with an operator in the term %q, want none", input, query, part)
			}
			isOutsideTerm = !isOutsideTerm
		}
		if isOutsideTerm || depth != 0 {
			t.Fatalf("search %q: got the query %q, want balanced quotes and parentheses", input, query)
		}
	})
}
