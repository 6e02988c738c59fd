package audit

import (
	"strconv"
	"testing"

	"parapet/internal/fault"
	"parapet/internal/op"
)

// A cursor of the audit entries contains a sequence of this tenant's chain; any other text
// is a VALIDATION fault of the field cursor.
func FuzzCursor(f *testing.F) {
	const tenant op.UUID = "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f"
	for _, key := range []string{"1", "0", "-1", "+7", "9223372036854775808", "x"} {
		f.Add(op.NewCursor(cursorName, tenant, key))
	}
	f.Add(op.NewCursor(cursorName, "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e40", "1"))
	f.Fuzz(func(t *testing.T, text string) {
		seq, err := readCursor(tenant, cursorName, text, 1)
		if err != nil {
			if e := fault.From(err); e.Code != fault.CodeValidation || e.Field != "cursor" {
				t.Fatalf("readCursor(%q): got %v, want VALIDATION of cursor", text, err)
			}
			return
		}
		if seq < 1 {
			t.Fatalf("readCursor(%q): got %d", text, seq)
		}
		if again, err := readCursor(tenant, cursorName, op.NewCursor(cursorName, tenant, strconv.FormatInt(seq, 10)), 1); text != "" && (err != nil || again != seq) {
			t.Fatalf("readCursor(%q): got %d, and of its cursor %d, %v", text, seq, again, err)
		}
	})
}
