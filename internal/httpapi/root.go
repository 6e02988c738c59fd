package httpapi

import (
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
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

// rootTemplate has no styles and no scripts, because the security headers forbid them.
var rootTemplate = template.Must(template.New("root").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{{.Name}}</title>
<h1>{{.Name}}</h1>
<p>{{.Description}} Version {{.Version}}.</p>
<ul>
{{- range $purpose, $path := .Links}}
<li>{{$purpose}}: <a href="{{$path}}">{{$path}}</a></li>
{{- end}}
</ul>
{{- if .Documents}}
<h2>Documentation</h2>
<ul>
{{- range .Documents}}
<li><a href="{{.}}">{{.}}</a></li>
{{- end}}
</ul>
{{- end}}
</html>
`))

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
	var html strings.Builder
	if err := rootTemplate.Execute(&html, page); err != nil {
		return fmt.Errorf("httpapi: root page: %w", err)
	}
	a.engine.GET("/", func(c *gin.Context) {
		c.Header("Vary", "Accept")
		if strings.Contains(c.Request.Header.Get("Accept"), "text/html") {
			c.Data(http.StatusOK, "text/html; charset=utf-8", []byte(html.String()))
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
