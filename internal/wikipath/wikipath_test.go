package wikipath

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestParse_ReturnsOneFormOrSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want, problem string }{
		{"home", "home", ""},
		{"specs/0474-path-reform", "specs/0474-path-reform", ""},
		{"Specs/README", "Specs/README", ""},
		{"a b/c#d/e?f/100%", "a b/c#d/e?f/100%", ""},
		{"caf\u00e9", "café", ""},
		{"cafe\u0301", "café", ""},
		{"\u212bngstr\u00f6m", "Ångström", ""},
		{"日本語/ページ", "日本語/ページ", ""},
		{"...", "...", ""},
		{".github", ".github", ""},
		{"", "", "must not be empty"},
		{"/a", "", "must not start or end with a slash"},
		{"a/", "", "must not start or end with a slash"},
		{"/", "", "must not start or end with a slash"},
		{"a//b", "", "must not contain an empty segment"},
		{"a/./b", "", `must not contain the segments "." and ".."`},
		{"..", "", `must not contain the segments "." and ".."`},
		{"a/../b", "", `must not contain the segments "." and ".."`},
		{`a\b`, "", "must not contain a backslash; separate segments by /"},
		{"a%2Fb", "", "must not contain a percent-encoded character such as %2F"},
		{"a%2e%2E", "", "must not contain a percent-encoded character such as %2F"},
		{" a", "", "must not contain a segment that starts or ends with a space"},
		{"a /b", "", "must not contain a segment that starts or ends with a space"},
		{"a\tb", "", "must not contain the invisible or special character U+0009"},
		{"a\x00b", "", "must not contain the invisible or special character U+0000"},
		{"a\u00a0b", "", "must not contain the invisible or special character U+00A0"},
		{"a\u200bb", "", "must not contain the invisible or special character U+200B"},
		{"a\u202eb", "", "must not contain the invisible or special character U+202E"},
		{"a\u2066b", "", "must not contain the invisible or special character U+2066"},
		{"a\u00adb", "", "must not contain the invisible or special character U+00AD"},
		{"a\ufe0fb", "", "must not contain the invisible or special character U+FE0F"},
		{"a\u3164b", "", "must not contain the invisible or special character U+3164"},
		{"a\U000e0041b", "", "must not contain the invisible or special character U+E0041"},
		{"a\ue000b", "", "must not contain the invisible or special character U+E000"},
		{"a\ufffdb", "", "must not contain the invisible or special character U+FFFD"},
		{"a/\u0301b", "", "must not contain a segment that starts with the combining character U+0301"},
		{"a\xffb", "", "must be valid UTF-8"},
		{strings.Repeat("a", 201), "", "must not contain a segment of more than 200 bytes"},
		{strings.Repeat("a/", 16) + "a", "", "must have at most 16 segments"},
		{strings.Repeat(strings.Repeat("a", 150)+"/", 3) + strings.Repeat("a", 60), "", "must have at most 512 bytes"},
		{strings.Repeat("a", 1<<20), "", "must have at most 512 bytes"},
	} {
		got, err := Parse(c.text)
		problem := ""
		if err != nil {
			problem = err.Error()
		}
		if string(got) != c.want || problem != c.problem {
			t.Errorf("Parse(%.60q): got %q, problem %q; want %q, problem %q", c.text, got, problem, c.want, c.problem)
		}
	}
}

// segments generates paths with letters that have several Unicode forms.
var segments = rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("aZ9-_. é\u0301\u0327ÅÅΩΩ한각ᄀ")), 1, 8, -1), 1, 6)

func TestParse_NormalizationFormsGiveOnePath(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(segments.Draw(t, "segments"), "/")
		want, err := Parse(text)
		for _, form := range []norm.Form{norm.NFC, norm.NFD} {
			got, formErr := Parse(form.String(text))
			if got != want || (err == nil) != (formErr == nil) {
				t.Fatalf("Parse(%+q): got %q, %v; want %q, %v", form.String(text), got, formErr, want, err)
			}
		}
	})
}

func TestResolve_LinkOfAPage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ page, link, want string }{
		{"specs/a", "b", "specs/b"},
		{"specs/a", "b.md", "specs/b"},
		{"specs/a", "b.Markdown#part", "specs/b"},
		{"specs/a", "./b?x=1", "specs/b"},
		{"specs/a", "../home.md", "home"},
		{"specs/a", "/home", "home"},
		{"specs/a", "sub/c/", "specs/sub/c"},
		{"home", "a%20b", "a b"},
		{"home", "caf%65%CC%81", "cafe\u0301"},
		{"home", "C%23", "C#"},
		{"home", "a/../b", "b"},
		{"home", ".md", ".md"},
		{"home", "..", ""},
		{"specs/a", "../../b", ""},
		{"specs/a", "..", ""},
		{"home", "#part", ""},
		{"home", "?x", ""},
		{"home", "", ""},
		{"home", "/", ""},
		{"home", "https://example.org/a", ""},
		{"home", "//example.org/a", ""},
		{"home", "mailto:a@example.org", ""},
		{"home", "javascript:alert(1)", ""},
		{"home", "a%2Fb", ""},
		{"home", "a%5cb", ""},
		{"home", "a%252Fb", ""},
		{"home", "a%", ""},
		{"home", "a//b", ""},
		{"home", "a%00", ""},
	} {
		want, _ := Parse(c.want)
		got, ok := Resolve(Path(c.page), c.link)
		if got != want || ok != (want != "") {
			t.Errorf("Resolve(%q, %q): got %q, %t, want %q", c.page, c.link, got, ok, want)
		}
	}
}

func TestPath_Parts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, parent Path
		name         string
		segments     int
	}{{"a/b/c", "a/b", "c", 3}, {"a", "", "a", 1}, {"", "", "", 0}} {
		if c.path.Parent() != c.parent || c.path.Name() != c.name || len(c.path.Segments()) != c.segments {
			t.Errorf("%q: got parent %q, name %q, segments %q", c.path, c.path.Parent(), c.path.Name(), c.path.Segments())
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"a/b", "cafe\u0301", "/a", "a//b", "..", "a%2fb", "\u202e", "a\u0338", strings.Repeat("é/", 16)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path, err := Parse(text)
		if err != nil {
			if path != "" || strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Fatalf("Parse(%q): got %q, %q", text, path, err)
			}
			return
		}
		if again, err := Parse(string(path)); err != nil || again != path {
			t.Errorf("Parse is not idempotent: %q, %q, %v", path, again, err)
		}
		if decomposed, err := Parse(norm.NFD.String(string(path))); len(norm.NFD.String(string(path))) <= 4*MaxLength && (err != nil || decomposed != path) {
			t.Errorf("NFD of %q: got %q, %v", path, decomposed, err)
		}
		if len(path) > MaxLength || !utf8.ValidString(string(path)) || len(path.Segments()) > MaxDepth {
			t.Errorf("%q exceeds a limit", path)
		}
		for _, segment := range path.Segments() {
			if segment == "" || segment == "." || segment == ".." {
				t.Errorf("%q has the segment %q", path, segment)
			}
		}
		// The escaped path in a URL, and as a link from the root, is the same page.
		var escaped []string
		for _, segment := range path.Segments() {
			escaped = append(escaped, url.PathEscape(segment))
		}
		want := Path(TrimExtension(string(path)))
		if got, ok := Resolve("", "/"+strings.Join(escaped, "/")); path == want && (!ok || got != want) {
			t.Errorf("link to %q: got %q, %t", path, got, ok)
		}
	})
}

func FuzzResolve(f *testing.F) {
	f.Add("specs/a", "../b.md#c")
	f.Add("a", "%2e%2e/b")
	f.Fuzz(func(t *testing.T, page, link string) {
		from, err := Parse(page)
		if err != nil {
			return
		}
		target, ok := Resolve(from, link)
		if parsed, err := Parse(string(target)); ok != (err == nil) || parsed != target {
			t.Errorf("Resolve(%q, %q): got %q, %t", page, link, target, ok)
		}
	})
}
