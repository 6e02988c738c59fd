package prose

import (
	"strings"
	"testing"

	"parapet/internal/cli/text"
)

const example = "# Goal\n\nWrite down **every crack** that is *wider* than `2 mm`. See [the method](https://example.org/method).\n\n" +
	"- measure\n- take a photo\n  - from the water\n- [x] done\n\n1. North\n2. East\n\n> The tide table is\n> in the office.\n\n" +
	"```sh\ngauge --unit mm\n```\n\n| Section | Cracks |\n| --- | --- |\n| N1 | 12 |\n\n---\n\na &amp; b \\* <b>raw</b>\n"

func TestRender_LaysMarkdownOutForTerminal(t *testing.T) {
	t.Parallel()
	want := `Goal

Write down **every crack** that is
*wider* than ` + "`2 mm`" + `. See the method
(https://example.org/method).

• measure
• take a photo
  • from the water
• [x] done

1. North
2. East

│ The tide table is in the office.

    gauge --unit mm

Section  Cracks
N1       12

────────────────────────────────────

a & b * <b>raw</b>`
	if got := strings.Join(Render("| a\\|b | c |\n|:--|--:|\n| \x1b | |\n| d |\n", Options{}), "\n"); got != "a|b   c\n\\x1b\nd" {
		t.Errorf("table: got %q", got)
	}
	if got := strings.Join(Render(example, Options{Width: 36}), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	colored := strings.Join(Render(example, Options{Width: 36, Color: true, Links: true}), "\n")
	for _, part := range []string{bold + "every" + reset, magenta + "2" + reset, linkStart + "https://example.org/method" + linkEnd + underline + "the" + reset} {
		if !strings.Contains(colored, part) {
			t.Errorf("with colors: got\n%q\nwant %q in it", colored, part)
		}
	}
	for _, line := range strings.Split(colored, "\n") {
		if n := text.Width(Strip(line)); n > 36 {
			t.Errorf("the line %q has %d columns, want at most 36", line, n)
		}
	}
}

func TestRender_EscapesControlCharacters(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"a\x1b[31mb":      `a\x1b[31mb`,
		"a&#27;[31mb":     `a\x1b[31mb`,
		"`a\x07b`":        "`" + `a\x07b` + "`",
		"[a](\x1bfoo)":    `a (\x1bfoo)`,
		"[a](&#x1b;foo)":  `a (\x1bfoo)`,
		"&#x202e;abc":     `\u202eabc`,
		"    code\u009b1": `    code\u009b1`,
	} {
		if got := strings.Join(Render(source, Options{}), "\n"); !strings.Contains(got, want) || strings.ContainsAny(got, "\x1b\x07\u202e\u009b") {
			t.Errorf("%q: got %q, want %q", source, got, want)
		}
	}
}

func TestRender_LinksOnlyToPagesAndMessages(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://a.example/x?y=1": true, "mailto:a@b.example": true, "javascript:alert(1)": false, "file:///etc/passwd": false, "/relative": false,
	} {
		got := strings.Join(Render("[the text]("+address+")", Options{Color: true, Links: true}), "\n")
		if strings.Contains(got, linkStart+address) != want || !strings.Contains(Strip(got), "("+address+")") {
			t.Errorf("%s: got %q, want a link: %v, and the address visible", address, got, want)
		}
	}
}

func TestRender_LinkLeadsToVisibleAddress(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]struct{ visible, link string }{
		"[docs](https://good.example&sol;x@evil.example/)": {"docs (https://good.example/x@evil.example/)", "https://good.example/x@evil.example/"},
		"[docs](https://good.example\\/x@evil.example/)":   {"docs (https://good.example/x@evil.example/)", "https://good.example/x@evil.example/"},
		"[docs](https://good.example&#92;x@evil.example/)": {`docs (https://good.example\x@evil.example/)`, ""},
		"[docs](https://good.example@evil.example/)":       {"docs (https://good.example@evil.example/)", ""},
		"<https://good.example&sol;x@evil.example/>":       {"https://good.example&sol;x@evil.example/", ""},
	} {
		got := strings.Join(Render(source, Options{Color: true, Links: true}), "\n")
		_, link, _ := strings.Cut(got, linkStart)
		link, _, _ = strings.Cut(link, linkEnd)
		if Strip(got) != want.visible || link != want.link {
			t.Errorf("%s: got %q with a link to %q, want %q with a link to %q", source, Strip(got), link, want.visible, want.link)
		}
	}
}

// Nested blocks and unclosed brackets take the parser quadratic time.
func TestRender_DocumentWithTooManyMarksStaysAsItIs(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"> ", ">", "- ", "1. ", "+ > ", "a [", "a *b ", "a ![", "a ` ``", "<a ", "a &", "\n[a]: b"} {
		source := strings.Repeat(part, 100_000/len(part))
		if got := strings.Join(Render(source, Options{Width: 80, Color: true}), "\n"); got != strings.TrimRight(source, "\n") {
			t.Errorf("%q repeated: got %d bytes, want the %d of the source", part, len(got), len(source))
		}
	}
	for _, part := range []string{"a b\n\n", "- a\n", "a\n---\n", "| a | b |\n", "| a | b |\n| - | - |\n", strings.Repeat("-", 200) + "\n"} {
		source := strings.Repeat(part, 20_000/len(part))
		if got := strings.Join(Render(source, Options{Width: 80}), "\n"); got == "" {
			t.Errorf("%q repeated: got no lines", part)
		}
	}
}

func FuzzRender(f *testing.F) {
	f.Add(example, 20, true)
	f.Add("- > 1. **a\n\n\t`x", 1, false)
	f.Add("[a](<b\x1b>)\n\n|a|\n|-|\n|&#27;|", 80, true)
	f.Fuzz(func(t *testing.T, source string, width int, color bool) {
		source = source[:min(len(source), 2000)]
		for _, line := range Render(source, Options{Width: width, Color: color, Links: color}) {
			visible := Strip(line)
			if text.Line(visible) != visible {
				t.Fatalf("%q: the line %q has control characters", source, line)
			}
			if !color && strings.Contains(line, "\x1b") {
				t.Fatalf("%q: the line %q has escape sequences", source, line)
			}
		}
	})
}
