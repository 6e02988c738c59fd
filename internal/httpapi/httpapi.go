// Package httpapi serves operations over HTTP: it mounts each one at its route,
// reads requests strictly, asks who is calling, and writes answers and the one
// error envelope. It is the only importer of gin.
//
// It promises that nothing but a well-formed input of the operation's type
// reaches an operation, that every answer carries its request id, that a panic
// is a 500 and no more, and that neither a credential nor a query string is
// ever logged.
package httpapi

import (
	"context"
	"fmt"
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
)

// Authenticator finds out who is calling. Its errors are the answer: 401 for a
// bearer problem, 403 for a tenant context that is refused.
type Authenticator interface {
	Authenticate(ctx context.Context, c principal.Credential) (*principal.Principal, error)
}

// Config is what an API is made of.
type Config struct {
	Operations []op.Bound
	Auth       Authenticator
	// Ready tells why requests can't be served yet, or nil.
	Ready func(ctx context.Context) error
	// TrustedProxies are the peers whose X-Forwarded-For and -Proto count. None
	// unless configured.
	TrustedProxies []netip.Prefix
	Registry       *prometheus.Registry
	Log            *slog.Logger
	Version        string
}

// API answers HTTP requests.
type API struct {
	cfg     Config
	engine  *gin.Engine
	metrics *metrics
}

// New mounts the operations. It fails when two of them claim one route or one
// name.
func New(cfg Config) (*API, error) {
	gin.SetMode(gin.ReleaseMode)
	a := &API{cfg: cfg, engine: gin.New(), metrics: newMetrics(cfg.Registry)}
	e := a.engine
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	e.ContextWithFallback = true
	if err := e.SetTrustedProxies(nil); err != nil {
		return nil, err
	}
	e.Use(a.observe, secureHeaders)
	e.NoRoute(func(c *gin.Context) { a.writeError(c, fault.NotFound("route")) })
	e.NoMethod(func(c *gin.Context) {
		a.writeError(c, &fault.Error{Code: fault.CodeMethodNotAllowed, Message: fmt.Sprintf("%s is not allowed here.", c.Request.Method)})
	})
	if err := a.mount(); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *API) mount() error {
	names := map[string]bool{}
	var erased []*op.Operation
	for _, b := range a.cfg.Operations {
		if names[b.Name] {
			return fmt.Errorf("httpapi: the operation %s is mounted twice", b.Name)
		}
		names[b.Name] = true
		erased = append(erased, b.Operation)
		a.engine.Handle(b.Method, ginPath(b.Path), a.operation(b))
	}
	doc, err := op.OpenAPI("Parapet", a.cfg.Version, erased)
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
	a.engine.GET("/metrics", gin.WrapH(promhttp.HandlerFor(a.cfg.Registry, promhttp.HandlerOpts{})))
	return nil
}

// ginPath turns {name} into :name and {name...} into *name.
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

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.engine.ServeHTTP(w, r) }
