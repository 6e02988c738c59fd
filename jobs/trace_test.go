package jobs_test

import (
	"testing"
	"time"

	"parapet/internal/postgres/pgtest"
	"parapet/internal/telemetry"
	"parapet/jobs"
)

func TestRunner_TracesEachJob(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	recorder, tracer := telemetry.NewRecorder()
	start(t, jobs.Deps{Pool: jobsPool(t, db), Tracer: tracer})
	pgtest.Eventually(t, time.Minute, "a span of a job", func() bool {
		for _, s := range recorder.Spans() {
			if s.Name == "job retention" {
				return !s.Failed && s.Attributes["parapet.queue"] == "default" && s.Attributes["parapet.attempt"] == int64(1)
			}
		}
		return false
	})
}
