package wiki

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

func render(t *testing.T, markdown string) string {
	t.Helper()
	out, err := renderHTML("specs/reader", markdown, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRenderHTML_GitHubFlavoredMarkdown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ markdown, want string }{
		{"# A & B", "<h1>A &amp; B</h1>\n"},
		{"| a | b |\n|:--|--:|\n| 1 | 2 |", "<table>\n<thead>\n<tr>\n<th align=\"left\">a</th>\n<th align=\"right\">b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td align=\"left\">1</td>\n<td align=\"right\">2</td>\n</tr>\n</tbody>\n</table>\n"},
		{"- [x] done\n- [ ] open", "<ul>\n<li><input checked=\"\" disabled=\"\" type=\"checkbox\"> done</li>\n<li><input disabled=\"\" type=\"checkbox\"> open</li>\n</ul>\n"},
		{"~~old~~ *new* **both** `code`", "<p><del>old</del> <em>new</em> <strong>both</strong> <code>code</code></p>\n"},
		{"3. three", "<ol start=\"3\">\n<li>three</li>\n</ol>\n"},
		{"```go\nvar x = \"<b>\" // 1\n```", "<pre><code class=\"language-go\"><span class=\"kd\">var</span><span class=\"w\"> </span><span class=\"nx\">x</span><span class=\"w\"> </span><span class=\"p\">=</span><span class=\"w\"> </span><span class=\"s\">&#34;&lt;b&gt;&#34;</span><span class=\"w\"> </span><span class=\"c1\">// 1</span><span class=\"w\">\n</span></code></pre>\n"},
		{"```mermaid\ngraph TD; A-->B\n```", "<pre><code class=\"language-mermaid\">graph TD; A--&gt;B\n</code></pre>\n"},
		{"```no-such-language\na < b\n```", "<pre><code class=\"language-no-such-language\">a &lt; b\n</code></pre>\n"},
		{"```\na < b\n```", "<pre><code>a &lt; b\n</code></pre>\n"},
		{"    a < b", "<pre><code>a &lt; b\n</code></pre>\n"},
		{"[next](next.md#part)", "<p><a href=\"/api/pages/by-path/specs/next?format=html#part\" rel=\"nofollow noreferrer\">next</a></p>\n"},
		{"[top](/home)", "<p><a href=\"/api/pages/by-path/home?format=html\" rel=\"nofollow noreferrer\">top</a></p>\n"},
		{"https://example.org", "<p><a href=\"https://example.org\" rel=\"nofollow noreferrer\">https://example.org</a></p>\n"},
		{"[mail](mailto:a@example.org)", "<p><a href=\"mailto:a@example.org\" rel=\"nofollow noreferrer\">mail</a></p>\n"},
	} {
		if got := render(t, c.markdown); got != c.want {
			t.Errorf("%q: got\n%s\nwant\n%s", c.markdown, got, c.want)
		}
	}
}

// attacks are texts that try to run a script or to leave the page.
var attacks = []string{
	"<script>alert(1)</script>", "<ScRiPt src=//evil.example>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>", "<iframe src=javascript:alert(1)>",
	"<a href=\"javascript:alert(1)\">x</a>", "<style>*{background:url(javascript:alert(1))}</style>", "<base href=//evil.example>", "<meta http-equiv=refresh content=0>",
	"<form action=//evil.example><input name=a>", "<object data=x>", "<math><mtext><script>alert(1)</script>", "<!--><script>alert(1)</script>-->", "<div style=\"x:expression(alert(1))\">",
	"[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](&#106;avascript:alert(1))", "[x](java\tscript:alert(1))", "[x](\x01javascript:alert(1))", "[x](vbscript:x)", "[x](data:text/html;base64,PHNjcmlwdD4=)",
	"[x](<javascript:alert(1)>)", "[x]: javascript:alert(1)\n\n[x]", "<javascript:alert(1)>", "![x](javascript:alert(1))", "![x](data:image/svg+xml,<svg onload=alert(1)>)",
	"![\"onerror=alert(1)](x)", "[x](x \"\\\" onmouseover=alert(1)\")", "[x](x '\" onmouseover=alert(1) a=\"')", "[x](//evil.example\" onclick=\"alert(1))",
	"```\"><script>alert(1)</script>\nx\n```", "```go\" onclick=\"alert(1)\nx\n```", "```html\n<script>alert(1)</script>\n```", "`<script>alert(1)</script>`",
	"| <script>alert(1)</script> |\n|---|\n| <img src=x onerror=alert(1)> |", "- [x] <script>alert(1)</script>", "# <script>alert(1)</script>", "x<br onclick=alert(1)>y",
	"&lt;script&gt;alert(1)&lt;/script&gt;", "\\<script>alert(1)\\</script>", "<a href=\"&#x6a;avascript:alert(1)\">x", "<x:script xmlns:x=\"http://www.w3.org/1999/xhtml\">alert(1)</x:script>",
	"<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">", "<textarea><img title=\"</textarea><img src=x onerror=alert(1)>\">", "https://evil.example/\"onmouseover=alert(1)", "[x](http://a\u2028javascript:alert(1))",
}

func TestRenderHTML_AttackIsHarmless(t *testing.T) {
	t.Parallel()
	for _, attack := range attacks {
		checkHarmless(t, attack, render(t, attack))
	}
}

// allowed are the attributes of each element that the output may contain.
var allowed = map[string]string{
	"a": "href title rel", "img": "src alt title", "code": "class", "span": "class", "input": "type checked disabled", "th": "align", "td": "align", "ol": "start",
	"p": "", "br": "", "hr": "", "h1": "", "h2": "", "h3": "", "h4": "", "h5": "", "h6": "", "blockquote": "", "ul": "", "li": "", "em": "", "strong": "", "del": "", "pre": "",
	"table": "", "thead": "", "tbody": "", "tr": "",
}

var safeURL = regexp.MustCompile(`^(https?:|mailto:|[^:]*$|[^:]*[/?#])`)

// checkHarmless parses the output as a browser does, and looks for elements, attributes and
// URLs that are not allowed.
func checkHarmless(t *testing.T, markdown, out string) {
	t.Helper()
	z := html.NewTokenizer(strings.NewReader(out))
	for z.Next() != html.ErrorToken {
		token := z.Token()
		switch token.Type {
		case html.CommentToken, html.DoctypeToken:
			t.Errorf("%q: got the comment %q in %s", markdown, token.Data, out)
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			attributes, ok := allowed[token.Data]
			if !ok {
				t.Errorf("%q: got the element %s in %s", markdown, token.Data, out)
			}
			for _, a := range token.Attr {
				if !strings.Contains(" "+attributes+" ", " "+a.Key+" ") {
					t.Errorf("%q: got the attribute %s of %s in %s", markdown, a.Key, token.Data, out)
				}
				if (a.Key == "href" || a.Key == "src") && !safeURL.MatchString(strings.ToLower(a.Val)) {
					t.Errorf("%q: got the URL %q in %s", markdown, a.Val, out)
				}
			}
		}
	}
}

func TestRenderHTML_SlowHighlightingEnds(t *testing.T) {
	t.Parallel()
	// The clock passes the deadline at once, so nothing is highlighted and nothing is lost.
	start, calls := time.Now(), 0
	now := func() time.Time {
		calls++
		return start.Add(time.Duration(calls) * time.Second)
	}
	out, err := renderHTML("a", "```go\nvar x = 1\n```", now)
	if err != nil || out != "<pre><code class=\"language-go\">var x = 1\n</code></pre>\n" {
		t.Errorf("after the deadline: got %q, %v", out, err)
	}
	if out := render(t, "```go\n"+strings.Repeat("var x = 1\n", 20_000)+"```"); strings.Contains(out, "<span") || strings.Count(out, "var x = 1\n") != 20_000 {
		t.Errorf("long code: got %d bytes, want the whole code without highlighting", len(out))
	}
}

func FuzzRenderHTML(f *testing.F) {
	for _, attack := range attacks {
		f.Add(attack)
	}
	f.Fuzz(func(t *testing.T, markdown string) {
		if len(markdown) < 10_000 {
			checkHarmless(t, markdown, render(t, markdown))
		}
	})
}
