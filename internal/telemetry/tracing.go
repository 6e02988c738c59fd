package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// scope is the name of the instrumentation in every span.
const scope = "parapet"

// Tracer starts the spans of a process that have no parent: requests, jobs and deliveries of
// events. The nil Tracer is turned off.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// NewTracer returns a Tracer that sends sampled spans over OTLP. The SDK of OpenTelemetry reads
// the address, the sampler and everything else from the standard OTEL_ variables of the
// process. Export errors go to log.
func NewTracer(ctx context.Context, version string, log *slog.Logger) (*Tracer, error) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("telemetry: exporter: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.WarnContext(ctx, "spans could not be exported", slog.Any("error", err))
	}))
	// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override the attributes before them.
	described, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "parapet"), attribute.String("service.version", version),
	), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("telemetry: resource: %w", err)
	}
	return newTracer(sdktrace.WithBatcher(exporter), sdktrace.WithResource(described)), nil
}

func newTracer(options ...sdktrace.TracerProviderOption) *Tracer {
	provider := sdktrace.NewTracerProvider(options...)
	return &Tracer{provider: provider, tracer: provider.Tracer(scope)}
}

// Close sends the remaining spans. It gives up when ctx ends.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// Span is a span of a trace. The zero Span records nothing, and its methods do nothing.
// Attributes must not contain secrets or text of users, because spans leave the process and
// its access control.
type Span struct{ span trace.Span }

// Start starts a span. It is a child of the span in ctx, or the first of a new trace.
func (t *Tracer) Start(ctx context.Context, name string) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	ctx, span := t.tracer.Start(ctx, name)
	return ctx, recordingSpan(span)
}

// StartRequest starts the span of an HTTP request. If trusted is set, it continues the trace of
// the header traceparent. A header of anybody else could force sampling and add spans to a
// trace of another client.
func (t *Tracer) StartRequest(ctx context.Context, header http.Header, trusted bool) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	if trusted {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(header))
	}
	ctx, span := t.tracer.Start(ctx, "request", trace.WithSpanKind(trace.SpanKindServer))
	return ctx, recordingSpan(span)
}

// StartChild starts a child of the span in ctx. If that span is not recorded, or there is
// none, StartChild returns the zero Span and allocates nothing.
func StartChild(ctx context.Context, name string) (context.Context, Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, Span{}
	}
	ctx, span := parent.TracerProvider().Tracer(scope).Start(ctx, name)
	return ctx, recordingSpan(span)
}

// SpanFromContext returns the span of ctx.
func SpanFromContext(ctx context.Context) Span {
	return recordingSpan(trace.SpanFromContext(ctx))
}

func recordingSpan(span trace.Span) Span {
	if !span.IsRecording() {
		return Span{}
	}
	return Span{span}
}

// IsRecording reports whether the span is recorded. Callers need it only before they compute
// an attribute.
func (s Span) IsRecording() bool { return s.span != nil }

// SetName replaces the name.
func (s Span) SetName(name string) {
	if s.span != nil {
		s.span.SetName(name)
	}
}

// SetString sets an attribute. It ignores an empty value.
func (s Span) SetString(key, value string) {
	if s.span != nil && value != "" {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// SetInt sets an attribute.
func (s Span) SetInt(key string, value int) {
	if s.span != nil {
		s.span.SetAttributes(attribute.Int(key, value))
	}
}

// SetBool sets an attribute.
func (s Span) SetBool(key string, value bool) {
	if s.span != nil {
		s.span.SetAttributes(attribute.Bool(key, value))
	}
}

// End ends the span and marks it as failed if failed is set. It takes no error, because the
// message of an error can contain text of users.
func (s Span) End(failed bool) {
	if s.span == nil {
		return
	}
	if failed {
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End()
}

// TraceID returns the id of the trace if the span is sampled, otherwise "".
func (s Span) TraceID() string {
	if s.span == nil || !s.span.SpanContext().IsSampled() {
		return ""
	}
	return s.span.SpanContext().TraceID().String()
}
