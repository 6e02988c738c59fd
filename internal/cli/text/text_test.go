package text

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLine_EscapesUnsafeCharacters(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain | title":                 "plain | title",
		"Überprüfung – 日本語 – café":      "Überprüfung – 日本語 – café",
		"\x1b[31mred\x1b[0m":            `\x1b[31mred\x1b[0m`,
		"a\nb\r\tc\x00\x7f":             `a\nb\r\tc\x00\x7f`,
		"c1 \u009b31m \u0085":           `c1 \u009b31m \u0085`,
		"\u202eevil\u2066 \u200f":       `\u202eevil\u2066 \u200f`,
		"zero\u200bwidth\ufeff\u2060":   `zero\u200bwidth\ufeff\u2060`,
		"soft\u00adhyphen":              `soft\u00adhyphen`,
		"tags \U000e0041\U000e0101":     `tags \U000e0041\U000e0101`,
		"\u2028\u2029\u3164":            `\u2028\u2029\u3164`,
		"\xff\x9b31m":                   `\xff\x9b31m`,
		"⚠\ufe0f 1\ufe0f\u20e3 a\ufe0f": "⚠\ufe0f 1\ufe0f\u20e3 a" + `\ufe0f`,
		"👩\u200d💻":                      "👩" + `\u200d` + "💻",
		"no-break\u00a0space":           "no-break\u00a0space",
		"\ufffd is a character":         "\ufffd is a character",
	} {
		if got := Line(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestBlock_KeepsNewlinesAndTabs(t *testing.T) {
	t.Parallel()
	if got := Block("a\r\nb\n\tc\rd\x1b"); got != "a\nb\n\tc"+`\rd\x1b` {
		t.Fatalf("Block: got %q, want newlines and tabs kept and other control characters escaped", got)
	}
}

func TestCut_TruncatesToWidth(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in   string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"cafe\u0301s", 5, "cafe\u0301s"}, {"", 0, ""}} {
		got := Cut(tc.in, tc.n)
		if got != tc.want || Width(got) > tc.n {
			t.Errorf("Cut(%q, %d) = %q of width %d, want %q", tc.in, tc.n, got, Width(got), tc.want)
		}
	}
}

// isUnsafe reports whether a character must be escaped. It is independent of the code
// under test.
func isUnsafe(r rune) bool {
	return r < 0x20 || (r >= 0x7f && r <= 0x9f) || r == 0xad || r == 0x61c || r == 0x180e || (r >= 0x200b && r <= 0x200f) ||
		(r >= 0x2028 && r <= 0x202e) || (r >= 0x2060 && r <= 0x206f) || r == 0xfeff || (r >= 0xe0000 && r <= 0xe0fff) || (r >= 0xfff9 && r <= 0xfffb)
}

func FuzzVisible(f *testing.F) {
	for _, seed := range []string{"", "a", "\x1b]8;;http://x\x07", "\u202e", "\xc2", "\xe2\x80", "\U000e0001", "⚠\ufe0f", "a\nb", "\xc2\ufe0f", "\x9f\ufe0f", "\u202e\ufe0f", "\ufffd\ufe0f"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		line := Line(s)
		if !utf8.ValidString(line) || strings.ContainsFunc(line, isUnsafe) {
			t.Fatalf("Line(%q): got %q, want one line of safe characters", s, line)
		}
		if again := Line(line); again != line {
			t.Fatalf("Line is not idempotent: %q, then %q", line, again)
		}
		block := strings.NewReplacer("\n", "", "\t", "").Replace(Block(s))
		if !utf8.ValidString(block) || strings.ContainsFunc(block, isUnsafe) {
			t.Fatalf("Block(%q): got %q, want safe characters, newlines and tabs only", s, block)
		}
		if got := Cut(line, 10); Width(got) > 10 {
			t.Fatalf("Cut(%q, 10): got %q, want at most 10 columns", line, got)
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, seed := range []string{"", "a", "\u009b\u202e\u200b\U000e0041", "\n\t\x1b", "⚠\ufe0f"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		doc, err := json.Marshal(map[string]string{"title": s})
		if err != nil {
			t.Fatal(err)
		}
		safe := JSON(doc)
		if strings.ContainsFunc(string(safe), isUnsafe) {
			t.Fatalf("JSON(%q): got %q, want safe characters only", doc, safe)
		}
		var want, got map[string]string
		if err := json.Unmarshal(doc, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(safe, &got); err != nil || want["title"] != got["title"] {
			t.Fatalf("JSON changed the data: got %q, want %q (%v)", got, want, err)
		}
	})
}
