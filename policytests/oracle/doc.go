// Package oracle evaluates the rules of the policies with a second implementation: plain Go,
// written from the specification and never from the Rego. No product code uses it. If the
// oracle and the policies disagree, one of them is wrong.
//
// The oracle accepts any document as input: fields may be missing, null, unknown or of
// another type. Malformed fields grant nothing. Unknown fields have no effect.
//
// Every rule can get a fault on purpose (Fault). The differential test must detect each
// fault, which shows that it covers the rule.
package oracle

// Oracle evaluates the rules. The zero value is correct; With returns one with a fault.
type Oracle struct {
	fault Fault
}

// With returns an oracle with a fault in one rule.
func With(f Fault) Oracle { return Oracle{fault: f} }

func (o Oracle) hasFault(f Fault) bool { return o.fault == f }
