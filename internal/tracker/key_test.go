package tracker

import (
	"testing"
	"unicode/utf8"

	"parapet/internal/op"
)

func TestDerivePrefix(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Apollo": "APOL", "Lunar Lander": "LL", "one two three four five": "OTTF", "x": "XX", "9": "P9", "9 lives": "P9L",
		"Ärger": "RGER", "项目": "PRJ", "--": "PRJ", "a.b": "AB",
	} {
		if got := derivePrefix(name); got != want || !isValidPrefix(got) {
			t.Errorf("derivePrefix(%q): got %q, want %q", name, got, want)
		}
	}
	for n, want := range map[int]string{1: "APOL", 2: "APOL2", 1000: "APOL1000"} {
		if got := numberedPrefix("APOL", n); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := numberedPrefix("ABCDEFGHIJ", 12); got != "ABCDEFGH12" {
		t.Errorf("numberedPrefix(ABCDEFGHIJ, 12): got %s, want ABCDEFGH12", got)
	}
}

func TestOpaqueID_IsStableAndDiffersByTenant(t *testing.T) {
	t.Parallel()
	const a, b, id = op.UUID("00000000-0000-7000-8000-000000000001"), op.UUID("00000000-0000-7000-8000-000000000002"), op.UUID("00000000-0000-7000-8000-0000000000c1")
	one := opaqueID(a, id)
	if parsed, err := op.ParseUUID(string(one)); err != nil || parsed != one {
		t.Errorf("opaqueID: got %s, want a UUID: %v", one, err)
	}
	if one != opaqueID(a, id) || one == opaqueID(b, id) || one == opaqueID(a, b) || one == id {
		t.Errorf("opaqueID: got %s, want the same id for the same tenant and record, and other ids otherwise", one)
	}
}

func FuzzTaskRef(f *testing.F) {
	for _, seed := range []string{"APO-1", "apo-17", "A-1", "APO-0", "APO-+1", "APO-1-2", "018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f", "ABCDEFGHIJK-1", "APO-9223372036854775808", "ſA-1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ref, err := parseTaskRef(text)
		if err != nil {
			return
		}
		if ref.id != "" {
			if len(text) != 36 {
				t.Fatalf("parseTaskRef(%q): got the id %q, want a key or an error", text, ref.id)
			}
			return
		}
		if ref.number < 1 || !isValidPrefix(ref.prefix) || !utf8.ValidString(text) {
			t.Fatalf("parseTaskRef(%q): got the key %+v, want a valid prefix and a positive number", text, ref)
		}
		again, ok := parseTaskKey(taskKey(ref.prefix, ref.number))
		if !ok || again != ref {
			t.Fatalf("key of %q parsed again: got %+v, want %+v", text, again, ref)
		}
	})
}
