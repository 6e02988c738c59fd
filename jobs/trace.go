package jobs

import (
	"context"
	"errors"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"parapet/internal/telemetry"
)

// middleware returns the middleware of every job: none if tracing is off.
func middleware(t *telemetry.Tracer) []rivertype.Middleware {
	if t == nil {
		return nil
	}
	return []rivertype.Middleware{&traceMiddleware{tracer: t}}
}

// traceMiddleware records a span for each attempt at a job.
type traceMiddleware struct {
	river.MiddlewareDefaults
	tracer *telemetry.Tracer
}

// Work implements rivertype.WorkerMiddleware.
func (m *traceMiddleware) Work(ctx context.Context, job *rivertype.JobRow, doInner func(context.Context) error) (err error) {
	ctx, span := m.tracer.Start(ctx, "job "+job.Kind)
	span.SetString("parapet.job", job.Kind)
	span.SetString("parapet.queue", job.Queue)
	span.SetInt("parapet.attempt", job.Attempt)
	failed := true // also if the job panics
	defer func() { span.End(failed) }()
	err = doInner(ctx)
	var snooze *rivertype.JobSnoozeError
	failed = err != nil && !errors.As(err, &snooze)
	return err
}
