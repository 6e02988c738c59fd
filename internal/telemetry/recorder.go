package telemetry

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// RecordedSpan is an ended span as a Recorder keeps it.
type RecordedSpan struct {
	Name             string
	TraceID          string
	SpanID, ParentID string
	Failed           bool
	Attributes       map[string]any
}

// Recorder keeps the ended spans of a Tracer in memory, for tests.
type Recorder struct {
	mu    sync.Mutex
	spans []RecordedSpan
}

// NewRecorder returns a Recorder and a Tracer that samples every span and sends it to the
// Recorder.
func NewRecorder() (*Recorder, *Tracer) {
	r := &Recorder{}
	return r, newTracer(sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithSpanProcessor(recorderProcessor{r}))
}

// Spans returns the spans that have ended.
func (r *Recorder) Spans() []RecordedSpan {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]RecordedSpan(nil), r.spans...)
}

// recorderProcessor adds ended spans to a Recorder.
type recorderProcessor struct{ recorder *Recorder }

// OnStart implements sdktrace.SpanProcessor.
func (recorderProcessor) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd implements sdktrace.SpanProcessor.
func (p recorderProcessor) OnEnd(span sdktrace.ReadOnlySpan) {
	recorded := RecordedSpan{
		Name: span.Name(), TraceID: span.SpanContext().TraceID().String(), SpanID: span.SpanContext().SpanID().String(),
		ParentID: span.Parent().SpanID().String(), Failed: span.Status().Code == codes.Error, Attributes: map[string]any{},
	}
	for _, a := range span.Attributes() {
		recorded.Attributes[string(a.Key)] = a.Value.AsInterface()
	}
	p.recorder.mu.Lock()
	defer p.recorder.mu.Unlock()
	p.recorder.spans = append(p.recorder.spans, recorded)
}

// ForceFlush implements sdktrace.SpanProcessor.
func (recorderProcessor) ForceFlush(context.Context) error { return nil }

// Shutdown implements sdktrace.SpanProcessor.
func (recorderProcessor) Shutdown(context.Context) error { return nil }
