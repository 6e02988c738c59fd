package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"parapet/internal/postgres"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/telemetry"
	"parapet/internal/uid"
)

func TestStatementTracer_RecordsOneSpanForEachRoundTrip(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	pool := db.PoolWith(t, postgres.Config{URL: db.RoleURL(postgres.RoleTracker), MaxConns: 2, Tracer: postgres.StatementTracer()})
	recorder, tracer := telemetry.NewRecorder()
	tenant, secret := string(uid.New()), "an-argument"

	const sql = "\n  SELECT id FROM projects.tasks WHERE tenant_id = $1 AND title = $2"
	if _, err := postgres.CollectScalars[string](t.Context(), pool.Read(tenant, nil), sql, tenant, secret); err != nil {
		t.Fatal(err)
	}
	if spans := recorder.Spans(); len(spans) != 0 {
		t.Fatalf("statements without a trace: got the spans %v, want none", spans)
	}
	ctx, request := tracer.Start(t.Context(), "request")
	if _, err := postgres.CollectScalars[string](ctx, pool.Read(tenant, nil), sql, tenant, secret); err != nil {
		t.Fatal(err)
	}
	err := pool.InTx(ctx, tenant, nil, func(tx *postgres.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE projects.tasks SET title = $1 WHERE tenant_id = $2`, secret, secret)
		return err
	})
	if err == nil {
		t.Fatal("a text that is no UUID: want an error")
	}
	request.End(false)

	spans := recorder.Spans()
	if len(spans) < 4 {
		t.Fatalf("got the spans %+v, want the read, the begin, the update and the request", spans)
	}
	read, update := spans[0], spans[2]
	if read.Name != "SELECT projects.tasks" || read.Attributes["db.operation.batch.size"] != int64(2) || read.Attributes["db.user"] != postgres.RoleTracker || read.Failed {
		t.Errorf("read: got %+v, want a batch of the setting and the query", read)
	}
	if update.Name != "UPDATE projects.tasks" || !update.Failed || update.Attributes["db.response.status_code"] == nil {
		t.Errorf("failed update: got %+v, want a failure with its SQLSTATE", update)
	}
	root := spans[len(spans)-1]
	for _, s := range spans[:len(spans)-1] {
		if s.ParentID != root.SpanID {
			t.Errorf("span %+v: want a child of the request", s)
		}
		if text := fmt.Sprint(s); strings.Contains(text, secret) || strings.Contains(text, tenant) {
			t.Errorf("span %s: contains an argument", text)
		}
	}
}
