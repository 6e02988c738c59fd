// Package httpapi serves operations over HTTP. It mounts each operation at its route, parses
// requests strictly, authenticates the caller, and writes responses and the error
// envelope. It is the only package that imports gin.
//
// It guarantees:
//   - Only well-formed input of the operation's type reaches an operation.
//   - Every response has a request id.
//   - A panic becomes a 500.
//   - Credentials and query strings are never logged.
package httpapi

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/principal"
	"parapet/internal/telemetry"
)

// Authenticator identifies the caller. Its errors are returned to the client: 401 for an
// invalid credential, 403 for a tenant context that is denied.
type Authenticator interface {
	Authenticate(ctx context.Context, c principal.Credential) (*principal.Principal, error)
}

// Config configures an API.
type Config struct {
	Operations []op.Bound
	// Off are the routes that settings turn off.
	Off  []DisabledRoute
	Auth Authenticator
	// Ready returns nil if requests can be served, or else the reason.
	Ready func(ctx context.Context) error
	// TrustedProxies are the peers whose X-Forwarded-For and X-Forwarded-Proto headers are
	// used.
	TrustedProxies []netip.Prefix
	Registry       *prometheus.Registry
	Log            *slog.Logger
	Version        string
	// Tracer traces requests; nil if tracing is off.
	Tracer *telemetry.Tracer
	// Documents contains the pages of the documentation, which are public; nil if there are
	// none.
	Documents fs.FS
}

// API serves HTTP requests.
type API struct {
	cfg     Config
	engine  *gin.Engine
	metrics *metrics
	// off are the routes that settings turn off.
	off []DisabledRoute
}

// New mounts the operations. It returns an error if two of them have the same route or
// name.
func New(cfg Config) (*API, error) {
	gin.SetMode(gin.ReleaseMode)
	a := &API{cfg: cfg, engine: gin.New(), metrics: newMetrics(cfg.Registry), off: cfg.Off}
	e := a.engine
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	e.ContextWithFallback = true
	if err := e.SetTrustedProxies(nil); err != nil {
		return nil, err
	}
	e.Use(a.observe, secureHeaders)
	e.NoRoute(a.noRoute)
	e.NoMethod(func(c *gin.Context) {
		a.writeError(c, &fault.Error{Code: fault.CodeMethodNotAllowed, Message: fmt.Sprintf("The method %s is not allowed for this path.", c.Request.Method)})
	})
	if err := a.mount(); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *API) mount() error {
	names := map[string]bool{}
	var definitions []*op.Operation
	for _, b := range a.cfg.Operations {
		if names[b.Name] {
			return fmt.Errorf("httpapi: duplicate operation %s", b.Name)
		}
		names[b.Name] = true
		definitions = append(definitions, b.Operation)
		a.engine.Handle(b.Method, ginPath(b.Path), a.newOperationHandler(b))
	}
	doc, err := op.OpenAPI("Parapet", a.cfg.Version, definitions)
	if err != nil {
		return err
	}
	text, err := json.Marshal(doc, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("httpapi: openapi: %w", err)
	}
	a.engine.GET("/openapi.json", func(c *gin.Context) { c.Data(http.StatusOK, "application/json", text) })
	a.engine.GET("/healthz", func(c *gin.Context) { c.Data(http.StatusOK, "application/json", []byte(`{"status":"ok"}`)) })
	a.engine.GET("/readyz", a.ready)
	a.engine.GET("/metrics", gin.WrapH(promhttp.HandlerFor(a.cfg.Registry, promhttp.HandlerOpts{EnableOpenMetrics: true})))
	return a.mountRoot()
}

// ginPath converts {name} to :name and {name...} to *name.
func ginPath(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if name, ok := strings.CutPrefix(p, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			if rest, ok := strings.CutSuffix(name, "..."); ok {
				parts[i] = "*" + rest
			} else {
				parts[i] = ":" + name
			}
		}
	}
	return strings.Join(parts, "/")
}

func (a *API) ready(c *gin.Context) {
	if a.cfg.Ready != nil {
		if err := a.cfg.Ready(c.Request.Context()); err != nil {
			a.writeError(c, fault.Unavailable(err))
			return
		}
	}
	c.Data(http.StatusOK, "application/json", []byte(`{"status":"ready"}`))
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.engine.ServeHTTP(w, r) }
