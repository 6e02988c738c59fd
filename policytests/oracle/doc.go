// Package oracle decides what the policies decide, a second time and in another
// way: plain Go, written from the specification and never from the Rego. It
// owns nothing that runs in the product. It promises that its answers depend on
// the specification alone, so that where the two disagree one of them is wrong.
//
// It reads the documents that the policies read, whatever is in them: a field
// may be missing, null, of another type or unknown. What is not well-formed
// gives no authority. A field that the specification does not know changes
// nothing.
//
// Every rule can be broken on purpose (Fault); the differential test must then
// notice, which shows that it looks at that rule.
package oracle

// Oracle answers. The zero value is right; With makes one that is wrong.
type Oracle struct {
	fault Fault
}

// With returns an oracle in which one rule is broken.
func With(f Fault) Oracle { return Oracle{fault: f} }

func (o Oracle) broken(f Fault) bool { return o.fault == f }
