package op

import "testing"

// A parsed UUID, date or sort key is in canonical form: parsing it again must return the
// same value.
func FuzzParsedValues_AreCanonical(f *testing.F) {
	for _, seed := range []string{
		"018F3C5E-7a10-7c3e-9d2b-5b0a4c1d2e3f", "2027-03-31", "2027-03-31T23:00:00-14:00", "0000-01-01", "9999-12-31T23:59:59-01:00", "2026-01-02T15:04:05.000001Z",
		"2026-01-02T15:04:05,000001Z", "2026-02-30", "10000-01-01",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if id, err := ParseUUID(text); err == nil {
			if again, err := ParseUUID(string(id)); err != nil || again != id || len(id) != 36 {
				t.Fatalf("ParseUUID(%q): got %q; parsed again: %q", text, id, again)
			}
		}
		if day, err := ParseDate(text); err == nil {
			if again, err := ParseDate(string(day)); err != nil || again != day || len(day) != 10 {
				t.Fatalf("ParseDate(%q): got %q; parsed again: %q (%v)", text, day, again, err)
			}
		}
		if at, err := ParseCursorTime(text); err == nil {
			if again, err := ParseCursorTime(CursorTime(at)); err != nil || !again.Equal(at) {
				t.Fatalf("ParseCursorTime(%q): got %s; parsed again: %s (%v)", text, at, again, err)
			}
		}
	})
}
