package wiki

import (
	"bytes"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"parapet/internal/wikipath"
)

// Limits of syntax highlighting for each page. The regular expressions of a language can take
// long for some texts; the rest of the code is then not highlighted.
const (
	maxHighlightTime  = 200 * time.Millisecond
	maxHighlightBytes = 100_000
)

// renderHTML returns the page's text as sanitized HTML: GitHub Flavored Markdown with tables
// and task lists, and code with the CSS classes of Pygments. Raw HTML in the text is omitted.
// Links to other pages lead to their HTML.
func renderHTML(path wikipath.Path, markdown string, now func() time.Time) (string, error) {
	md := goldmark.New(
		goldmark.WithExtensions(
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
			extension.Strikethrough, extension.Linkify, extension.TaskList,
		),
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(pageLinks{path}, 100))),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(&codeRenderer{now: now, deadline: now().Add(maxHighlightTime)}, 100))),
	)
	var out bytes.Buffer
	if err := md.Convert([]byte(markdown), &out); err != nil {
		return "", fmt.Errorf("wiki: render %s: %w", path, err)
	}
	return sanitizer().SanitizeReader(&out).String(), nil
}

// sanitizer allows what the renderer produces and nothing else. It is the second line of
// defense: the renderer already omits raw HTML and dangerous links.
var sanitizer = sync.OnceValue(func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li", "em", "strong", "del", "pre", "code",
		"table", "thead", "tbody", "tr", "th", "td")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(true)
	p.RequireParseableURLs(true)
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("src", "alt").OnElements("img")
	p.AllowAttrs("title").OnElements("a", "img")
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	p.AllowAttrs("start").Matching(regexp.MustCompile(`^[0-9]{1,9}$`)).OnElements("ol")
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(left|center|right)$`)).OnElements("th", "td")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^language-[a-zA-Z0-9_+#.-]{1,40}$`)).OnElements("code")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^[a-z][a-z0-9]{0,2}$`)).OnElements("span")
	p.AllowAttrs("type").Matching(regexp.MustCompile(`^checkbox$`)).OnElements("input")
	p.AllowAttrs("checked", "disabled").Matching(regexp.MustCompile(`^$`)).OnElements("input")
	return p
})

// pageLinks makes the links to other pages lead to their HTML.
type pageLinks struct{ page wikipath.Path }

// Transform implements parser.ASTTransformer.
func (l pageLinks) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		link, ok := n.(*ast.Link)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		if target, ok := wikipath.Resolve(l.page, string(link.Destination)); ok {
			_, fragment, _ := strings.Cut(string(link.Destination), "#")
			link.Destination = []byte(htmlURL(target, fragment))
		}
		return ast.WalkContinue, nil
	})
}

// htmlURL returns the URL of a page's HTML on this server.
func htmlURL(path wikipath.Path, fragment string) string {
	u := url.URL{Path: "/api/pages/by-path/" + string(path), RawQuery: "format=html", Fragment: fragment}
	return u.String()
}

// codeRenderer renders code blocks. It is used for one page.
type codeRenderer struct {
	now      func() time.Time
	deadline time.Time
	bytes    int
}

// RegisterFuncs implements renderer.NodeRenderer.
func (r *codeRenderer) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	register.Register(ast.KindFencedCodeBlock, r.render)
}

func (r *codeRenderer) render(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	block, ok := n.(*ast.FencedCodeBlock)
	if !ok || !entering {
		return ast.WalkContinue, nil
	}
	var code strings.Builder
	for i := range block.Lines().Len() {
		line := block.Lines().At(i)
		code.Write(line.Value(source))
	}
	language := string(block.Language(source))
	open := "<pre><code>"
	if language != "" {
		open = `<pre><code class="language-` + html.EscapeString(language) + `">`
	}
	_, err := w.WriteString(open + r.highlight(language, code.String()) + "</code></pre>\n")
	return ast.WalkSkipChildren, err
}

// highlight returns code as HTML with a span for each token. A diagram, code in an unknown
// language, and code after the limits are only escaped.
func (r *codeRenderer) highlight(language, code string) string {
	r.bytes += len(code)
	var lexer chroma.Lexer
	if language != "" && language != "mermaid" && r.bytes <= maxHighlightBytes {
		lexer = lexers.Get(language)
	}
	if lexer == nil {
		return html.EscapeString(code)
	}
	tokens, err := chroma.Coalesce(lexer).Tokenise(&chroma.TokeniseOptions{State: "root", EnsureLF: false}, code)
	if err != nil {
		return html.EscapeString(code)
	}
	var out strings.Builder
	rest := code
	for token := tokens(); token != chroma.EOF; token = tokens() {
		after, ok := strings.CutPrefix(rest, token.Value)
		if !ok || r.now().After(r.deadline) {
			break
		}
		rest = after
		class := chroma.StandardTypes[token.Type]
		if class == "" {
			out.WriteString(html.EscapeString(token.Value))
			continue
		}
		out.WriteString(`<span class="` + class + `">` + html.EscapeString(token.Value) + `</span>`)
	}
	return out.String() + html.EscapeString(rest)
}
