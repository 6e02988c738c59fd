package httpapi

import (
	"errors"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
)

// rootPage is the response of GET /. It contains only what /openapi.json also shows to
// everybody.
type rootPage struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Version     string `json:"version"`
	// Links are paths of this server by purpose.
	Links map[string]string `json:"links"`
	// Documents are the paths of the documentation.
	Documents []string `json:"documents,omitempty"`
}

// html returns the page for browsers. It has no styles and no scripts, because the security
// headers forbid them. It uses no template: a template needs reflection, which makes the linker
// keep every method of every type, and ptd a fifth larger.
func (p rootPage) html() string {
	var b strings.Builder
	escape := html.EscapeString
	link := func(path string) string { return `<a href="` + escape(path) + `">` + escape(path) + `</a>` }
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>%s</title>\n<h1>%s</h1>\n<p>%s Version %s.</p>\n<ul>\n",
		escape(p.Name), escape(p.Name), escape(p.Description), escape(p.Version))
	for _, purpose := range slices.Sorted(maps.Keys(p.Links)) {
		fmt.Fprintf(&b, "<li>%s: %s</li>\n", escape(purpose), link(p.Links[purpose]))
	}
	b.WriteString("</ul>\n")
	if len(p.Documents) > 0 {
		b.WriteString("<h2>Documentation</h2>\n<ul>\n")
		for _, path := range p.Documents {
			fmt.Fprintf(&b, "<li>%s</li>\n", link(path))
		}
		b.WriteString("</ul>\n")
	}
	b.WriteString("</html>\n")
	return b.String()
}

// mountRoot serves GET /, which describes the server, and the pages of the documentation.
// Both need no credential.
func (a *API) mountRoot() error {
	page := rootPage{
		Name:        "Parapet",
		Description: "Parapet is a multi-tenant work tracker. Policies decide whether each request is allowed.",
		Version:     a.cfg.Version,
		Links:       map[string]string{"openapi": "/openapi.json", "health": "/healthz", "readiness": "/readyz"},
	}
	if a.cfg.Documents != nil {
		names, err := fs.Glob(a.cfg.Documents, "*.md")
		if err != nil {
			return fmt.Errorf("httpapi: documentation: %w", err)
		}
		for _, name := range names {
			page.Documents = append(page.Documents, "/docs/"+name)
		}
		page.Links["documentation"] = "/docs/http-api.md"
		a.engine.GET("/docs/:page", a.document)
	}
	text, err := json.Marshal(page, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("httpapi: root page: %w", err)
	}
	forBrowsers := []byte(page.html())
	a.engine.GET("/", func(c *gin.Context) {
		c.Header("Vary", "Accept")
		if strings.Contains(c.Request.Header.Get("Accept"), "text/html") {
			c.Data(http.StatusOK, "text/html; charset=utf-8", forBrowsers)
			return
		}
		c.Data(http.StatusOK, "application/json", text)
	})
	return nil
}

// document serves one page of the documentation as text, which every browser can display.
func (a *API) document(c *gin.Context) {
	page := c.Param("page")
	text, err := fs.ReadFile(a.cfg.Documents, page)
	switch {
	case !strings.HasSuffix(page, ".md"), errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid):
		a.noRoute(c)
	case err != nil:
		a.writeError(c, err)
	default:
		c.Data(http.StatusOK, "text/plain; charset=utf-8", text)
	}
}
