package postgres

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"parapet/internal/telemetry"
)

// StatementTracer returns a tracer that records a span for each round trip to the database: a
// batch of statements or a single one. It records only statements whose context has a
// recorded span. The spans contain neither arguments nor the text of statements.
func StatementTracer() pgx.QueryTracer { return statementTracer{} }

type statementTracer struct{}

// TraceQueryStart implements pgx.QueryTracer.
func (statementTracer) TraceQueryStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	ctx, span := telemetry.StartChild(ctx, "statement")
	describe(span, conn, data.SQL)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (statementTracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	endStatement(ctx, data.Err)
}

// TraceBatchStart implements pgx.BatchTracer.
func (statementTracer) TraceBatchStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	ctx, span := telemetry.StartChild(ctx, "batch")
	if span.IsRecording() {
		texts := make([]string, 0, data.Batch.Len())
		for _, q := range data.Batch.QueuedQueries {
			texts = append(texts, q.SQL)
		}
		describe(span, conn, texts...)
	}
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (statementTracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (statementTracer) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	endStatement(ctx, data.Err)
}

// describe names a span after the last statement with a table, because the settings of a
// transaction come first.
func describe(span telemetry.Span, conn *pgx.Conn, texts ...string) {
	if !span.IsRecording() {
		return
	}
	summary := ""
	for _, text := range texts {
		if s := summarize(text); s != "" {
			summary = s
		}
	}
	span.SetString("db.system.name", "postgresql")
	span.SetString("db.query.summary", summary)
	if len(texts) > 1 {
		span.SetInt("db.operation.batch.size", len(texts))
	}
	if conn != nil {
		span.SetString("db.user", conn.Config().User)
	}
	if summary != "" {
		span.SetName(summary)
	}
}

// target finds the first table of a statement.
var target = regexp.MustCompile(`(?i)\b(?:from|into|update|join)\s+(?:only\s+)?([a-z_]+\.[a-z_]+)`)

// summarize returns the first word of a statement and its first table, or "" if it has no
// table. The result contains no values.
func summarize(text string) string {
	table := target.FindStringSubmatch(text)
	if table == nil {
		return ""
	}
	verb, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	verb, _, _ = strings.Cut(verb, "\n")
	return strings.ToUpper(verb) + " " + strings.ToLower(table[1])
}

// endStatement ends the span of ctx. Of an error it records only the SQLSTATE, because the
// message can contain values.
func endStatement(ctx context.Context, err error) {
	span := telemetry.SpanFromContext(ctx)
	var failed *pgconn.PgError
	if errors.As(err, &failed) {
		span.SetString("db.response.status_code", failed.Code)
	}
	span.End(err != nil)
}
