package httpapi

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/principal"
	"parapet/internal/telemetry"
	"parapet/internal/uid"
)

// Keys of gin's context with which handlers pass values to the log line and metrics.
const (
	operationKey = "operation"
	errorCodeKey = "errorCode"
	abandonedKey = "abandoned"
	principalKey = "principal"
)

// observe assigns the request id, serves the request, and writes its log line and metrics.
// A panic becomes a 500 and the connection stays open.
func (a *API) observe(c *gin.Context) {
	start := time.Now()
	r := op.Request{
		ID:             requestID(c.Request),
		IdempotencyKey: c.Request.Header.Get("Idempotency-Key"),
	}
	r.ClientAddr, r.Secure = a.clientAddress(c.Request)
	ctx, measured := telemetry.NewContext(op.WithRequest(c.Request.Context(), r))
	ctx, span := a.cfg.Tracer.StartRequest(ctx, c.Request.Header, a.isFromTrustedProxy(c.Request))
	c.Request = c.Request.WithContext(ctx)
	c.Header("X-Request-Id", r.ID)
	a.metrics.inFlight.Inc()
	defer a.metrics.inFlight.Dec()
	func() {
		defer func() {
			if p := recover(); p != nil {
				a.cfg.Log.Error("panic", slog.String("requestId", r.ID), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
				if !c.Writer.Written() {
					a.writeError(c, fault.Internal(fmt.Errorf("panic: %v", p)))
				}
				c.Abort()
			}
		}()
		c.Next()
	}()
	a.record(c, r, span, time.Since(start), measured.DecisionTime())
}

// record writes the log line and the metrics of a request, and ends its span. deciding is how
// long its policy evaluations took.
func (a *API) record(c *gin.Context, r op.Request, span telemetry.Span, took, deciding time.Duration) {
	name := c.GetString(operationKey)
	if name == "" {
		// Unknown routes share one series, so that clients cannot create new ones.
		name = "-"
	}
	status := c.Writer.Status()
	a.metrics.requests.WithLabelValues(name, strconv.Itoa(status)).Inc()
	traceID := span.TraceID()
	observe(a.metrics.seconds.WithLabelValues(name), took, traceID)
	if deciding > 0 {
		observe(a.metrics.decisionSeconds, deciding, traceID)
	}
	level := slog.LevelInfo
	if name == "-" && status < 400 {
		// Probes and scrapes are frequent.
		level = slog.LevelDebug
	}
	attrs := []slog.Attr{
		slog.String("method", c.Request.Method), slog.String("path", loggedPath(c.Request)), slog.Int("status", status),
		slog.Int64("micros", took.Microseconds()), slog.Int64("decisionMicros", deciding.Microseconds()),
		slog.String("operation", name), slog.String("requestId", r.ID), slog.String("client", r.ClientAddr),
	}
	if traceID != "" {
		attrs = append(attrs, slog.String("traceId", traceID))
	}
	caller, _ := c.Value(principalKey).(*principal.Principal)
	if p := caller; p != nil {
		credential := p.Credential()
		attrs = append(attrs, slog.String("tenant", string(p.Tenant)), slog.String("subject", string(p.UserID)),
			slog.String("credentialKind", credential.Kind), slog.String("credential", credential.ID))
	}
	if code := c.GetString(errorCodeKey); code != "" {
		attrs = append(attrs, slog.String("code", code))
	}
	if c.GetBool(abandonedKey) {
		attrs = append(attrs, slog.Bool("abandoned", true))
	}
	a.cfg.Log.LogAttrs(c.Request.Context(), level, "request", attrs...)
	endRequestSpan(span, c, r, caller)
}

// observe adds a duration to a histogram. A sampled trace becomes its exemplar, which leads
// from a slow bucket to an example.
func observe(h prometheus.Observer, d time.Duration, traceID string) {
	if e, ok := h.(prometheus.ExemplarObserver); ok && traceID != "" {
		e.ObserveWithExemplar(d.Seconds(), prometheus.Labels{"trace_id": traceID})
		return
	}
	h.Observe(d.Seconds())
}

// endRequestSpan describes the request in its span. It uses the pattern of the route and not
// the path, which contains names that users chose.
func endRequestSpan(span telemetry.Span, c *gin.Context, r op.Request, caller *principal.Principal) {
	if !span.IsRecording() {
		return
	}
	method, route := knownMethod(c.Request.Method), c.FullPath()
	span.SetName(strings.TrimSpace(method + " " + route))
	span.SetString("http.request.method", method)
	span.SetString("http.route", route)
	span.SetInt("http.response.status_code", c.Writer.Status())
	span.SetString("parapet.operation", c.GetString(operationKey))
	span.SetString("parapet.request_id", r.ID)
	span.SetString("error.type", c.GetString(errorCodeKey))
	if caller != nil {
		span.SetString("parapet.tenant", string(caller.Tenant))
	}
	span.End(c.Writer.Status() >= http.StatusInternalServerError)
}

// knownMethod replaces a method that a client invented, as the semantic conventions of
// OpenTelemetry require.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	default:
		return "_OTHER"
	}
}

// Limits of the path in the log, in bytes: a client chooses its length. Ids are shorter than
// maxLoggedSegment; a token that somebody put into a path by mistake is longer.
const (
	maxLoggedPath    = 256
	maxLoggedSegment = 48
)

// loggedPath returns the path of the request as the client encoded it, without the query
// string, which can contain what a user searched for. It omits long segments, and segments
// with other characters than ids and keys have: they can be the address of a person or the
// name of a project.
func loggedPath(r *http.Request) string {
	segments := strings.Split(r.URL.EscapedPath(), "/")
	for i, s := range segments {
		if len(s) > maxLoggedSegment || strings.ContainsFunc(s, isNameCharacter) {
			segments[i] = "…"
		}
	}
	path := strings.Join(segments, "/")
	if len(path) > maxLoggedPath {
		return path[:maxLoggedPath] + "…"
	}
	return path
}

// isNameCharacter reports whether a character occurs in names but not in ids and keys.
func isNameCharacter(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.:", r)
}

// requestID returns the client's request id if it is a UUID, otherwise a new one. Audit
// entries store it, and their column has the type uuid.
func requestID(r *http.Request) string {
	if id, err := op.ParseUUID(r.Header.Get("X-Request-Id")); err == nil {
		return string(id)
	}
	return string(uid.Random())
}

// clientAddress returns the client's address, and reports whether the request came over
// https. It uses X-Forwarded-For and X-Forwarded-Proto only from trusted proxies.
func (a *API) clientAddress(r *http.Request) (string, bool) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	secure := r.TLS != nil
	if !a.isTrustedProxy(host) {
		return host, secure
	}
	secure = secure || r.Header.Get("X-Forwarded-Proto") == "https"
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop := strings.TrimSpace(hops[i])
		if _, err := netip.ParseAddr(hop); err != nil {
			break
		}
		host = hop
		if !a.isTrustedProxy(hop) {
			break
		}
	}
	return host, secure
}

// isFromTrustedProxy reports whether a trusted proxy sent the request.
func (a *API) isFromTrustedProxy(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	return err == nil && a.isTrustedProxy(host)
}

func (a *API) isTrustedProxy(host string) bool {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	for _, p := range a.cfg.TrustedProxies {
		if p.Contains(addr.Unmap()) {
			return true
		}
	}
	return false
}

// secureHeaders sets the headers of every response. Responses are data: a browser must not
// sniff, frame or execute them.
func secureHeaders(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	c.Next()
}

type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
	// decisionSeconds has no label: the log line of a request has its operation.
	decisionSeconds prometheus.Histogram
}

func newMetrics(reg *prometheus.Registry) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "parapet_http_requests_total", Help: "Completed requests, by operation and status.",
		}, []string{"operation", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "parapet_http_request_seconds", Help: "Duration of requests, by operation.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"operation"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "parapet_http_requests_in_flight", Help: "Requests in progress.",
		}),
	}
	m.decisionSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "parapet_request_decision_seconds", Help: "Time that a request spent in policy evaluations.",
		Buckets: []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .5},
	})
	reg.MustRegister(m.requests, m.seconds, m.inFlight, m.decisionSeconds)
	return m
}
