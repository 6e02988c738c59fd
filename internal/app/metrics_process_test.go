package app

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"parapet/internal/clock"
	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
)

func TestBuildInfo_NamesTheProgram(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	reg.MustRegister(newBuildInfo("v1.2.3"))
	families, err := reg.Gather()
	if err != nil || len(families) != 1 {
		t.Fatalf("got %v, %v, want one metric", families, err)
	}
	labels := map[string]string{}
	for _, l := range families[0].GetMetric()[0].GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	if labels["version"] != "v1.2.3" || labels["revision"] == "" || !strings.HasPrefix(labels["goversion"], "go") || len(labels) != 3 {
		t.Errorf("got the labels %v, want version, revision and goversion", labels)
	}
}

// countingQuerier counts queries, and fails them if failing is set.
type countingQuerier struct {
	postgres.Querier
	queries int
	failing bool
}

func (q *countingQuerier) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	q.queries++
	if q.failing {
		return nil, errors.New("no database")
	}
	return q.Querier.Query(ctx, sql, args...)
}

func TestKeyCollector_CountsAtMostEveryFiveMinutes(t *testing.T) {
	t.Parallel()
	db := &countingQuerier{Querier: pgtest.Shared(t, postgres.RoleJobs)}
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	k := newKeyCollector(db, clock.Func(func() time.Time { return now }))
	for _, step := range []struct {
		note             string
		wait             time.Duration
		failing          bool
		queries, metrics int
	}{
		{"first scrape", 0, false, 1, 3},
		{"next scrape", time.Minute, false, 1, 3},
		{"after five minutes", 4 * time.Minute, false, 2, 3},
		{"after five minutes without a database", 5 * time.Minute, true, 3, 0},
		{"database is back", time.Second, false, 4, 3},
	} {
		now, db.failing = now.Add(step.wait), step.failing
		ch := make(chan prometheus.Metric, 10)
		k.Collect(ch)
		if got := len(ch); got != step.metrics || db.queries != step.queries {
			t.Errorf("%s: got %d metrics after %d queries, want %d after %d", step.note, got, db.queries, step.metrics, step.queries)
		}
	}
}
