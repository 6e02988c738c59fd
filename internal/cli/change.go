package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parapet/internal/cli/text"
	"parapet/internal/fault"
)

// change is what a command is about to change. The confirmation shows it.
type change struct {
	// question names the change: "Assign the role Member to lin@acme.example (Lin)?".
	question string
	// fields are the fields that change.
	fields []fieldChange
	// effect is a sentence about the consequences, or "".
	effect string
}

// fieldChange is a field with its value before and after the change.
type fieldChange struct{ label, before, after string }

// add appends a field, unless its value stays the same.
func (c *change) add(label, before, after string) {
	if before != after {
		c.fields = append(c.fields, fieldChange{label, before, after})
	}
}

// confirmChange shows a change and asks whether to make it. It returns errCancelled unless
// the answer is yes.
func (inv *invocation) confirmChange(ctx context.Context, c *change) error {
	for _, f := range c.fields {
		fmt.Fprintf(inv.Err, "  %s: %s -> %s\n", f.label, text.Line(firstNonEmpty(f.before, "none")), text.Line(firstNonEmpty(f.after, "none")))
	}
	return inv.confirm(ctx, "%s", strings.TrimSpace(c.question+" "+c.effect))
}

// ignoreForbidden returns a record that a confirmation shows. A caller who may make the
// change but not read the record gets nil: the confirmation then shows less.
func ignoreForbidden[T any](record *T, err error) (*T, error) {
	if fault.HasCode(err, fault.CodeForbidden) {
		return nil, nil //nolint:nilnil // nil is a record that the caller may not read
	}
	return record, err
}

// isRaise reports whether a clearance is higher than another one. levels lists all
// clearances, the lowest first. No clearance is the lowest one.
func isRaise(levels []string, before, after string) bool {
	return slices.Index(levels, after) > max(0, slices.Index(levels, before))
}
