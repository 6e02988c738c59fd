package telemetry

import (
	"context"
	"net/http"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

func TestStart_ChildrenBelongToTheTrace(t *testing.T) {
	t.Parallel()
	recorder, tracer := NewRecorder()
	ctx, request := tracer.StartRequest(t.Context(), http.Header{}, false)
	childContext, child := StartChild(ctx, "decision")
	child.SetString("name", "task.read")
	child.SetString("empty", "")
	child.SetBool("allow", true)
	child.SetInt("n", 3)
	if SpanFromContext(childContext).TraceID() != request.TraceID() || request.TraceID() == "" {
		t.Errorf("trace of the child: got %q, want the trace of the request, %q", SpanFromContext(childContext).TraceID(), request.TraceID())
	}
	child.End(false)
	request.SetName("GET /api/tasks")
	request.End(true)
	spans := recorder.Spans()
	if len(spans) != 2 {
		t.Fatalf("got the spans %+v, want 2", spans)
	}
	c, r := spans[0], spans[1]
	if c.Name != "decision" || c.ParentID != r.SpanID || c.TraceID != r.TraceID || c.Failed || len(c.Attributes) != 3 || c.Attributes["name"] != "task.read" {
		t.Errorf("child: got %+v, want a child of %+v with three attributes", c, r)
	}
	if r.Name != "GET /api/tasks" || !r.Failed {
		t.Errorf("request: got %+v, want its name and that it failed", r)
	}
	if err := tracer.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStartRequest_ContinuesOnlyTrustedTraces(t *testing.T) {
	t.Parallel()
	const traceID = "0af7651916cd43dd8448eb211c80319c"
	header := http.Header{"Traceparent": {"00-" + traceID + "-b7ad6b7169203331-01"}}
	for _, trusted := range []bool{true, false} {
		_, tracer := NewRecorder()
		_, span := tracer.StartRequest(t.Context(), header, trusted)
		if got := span.TraceID() == traceID; got != trusted || span.TraceID() == "" {
			t.Errorf("trusted %t: got the trace %s", trusted, span.TraceID())
		}
	}
}

func TestStartChild_RecordsNothingInAnUnsampledTrace(t *testing.T) {
	recorder := &Recorder{}
	tracer := newTracer(sdktrace.WithSampler(sdktrace.NeverSample()), sdktrace.WithSpanProcessor(recorderProcessor{recorder}))
	ctx, request := tracer.StartRequest(t.Context(), http.Header{}, false)
	_, child := StartChild(ctx, "decision")
	child.End(false)
	request.End(false)
	if child.IsRecording() || request.TraceID() != "" || len(recorder.Spans()) != 0 {
		t.Errorf("got a recorded child (%t), trace %q and spans %v, want none", child.IsRecording(), request.TraceID(), recorder.Spans())
	}
	requireNoAllocation(t, ctx)
}

func TestTracing_AllocatesNothingIfItIsOff(t *testing.T) {
	var tracer *Tracer
	ctx, _ := NewContext(t.Context())
	header := http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}
	if n := testing.AllocsPerRun(100, func() {
		started, span := tracer.StartRequest(ctx, header, true)
		if started != ctx || span.IsRecording() {
			t.Error("a tracer that is off started a span")
		}
		span.SetString("a", "b")
		span.End(false)
		_, span = tracer.Start(ctx, "job")
		span.End(true)
	}); n != 0 {
		t.Errorf("starting spans: got %v allocations, want 0", n)
	}
	requireNoAllocation(t, ctx)
	if err := tracer.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// requireNoAllocation checks that a child of the span in ctx costs no memory. It counts the
// allocations of the whole process, so tests that call it do not run in parallel.
func requireNoAllocation(t *testing.T, ctx context.Context) {
	t.Helper()
	if n := testing.AllocsPerRun(100, func() { startAndEndChild(ctx) }); n != 0 {
		t.Errorf("starting a child: got %v allocations, want 0", n)
	}
}

func startAndEndChild(ctx context.Context) {
	_, span := StartChild(ctx, "decision")
	span.SetString("parapet.permission", "task.read")
	span.SetBool("parapet.allow", true)
	span.End(false)
}

func BenchmarkStartChild(b *testing.B) {
	off, _ := NewContext(b.Context())
	on, _ := newTracer(sdktrace.WithSampler(sdktrace.AlwaysSample())).Start(b.Context(), "request")
	for name, ctx := range map[string]context.Context{"off": off, "sampled": on} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				startAndEndChild(ctx)
			}
		})
	}
}
