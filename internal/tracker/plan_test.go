package tracker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/delegation"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/tracker"
)

// queryRecorder is a query tracer that records every statement and counts round trips; a batch
// is one round trip.
type queryRecorder struct {
	mu         sync.Mutex
	roundTrips int
	queries    []recordedQuery
}

type recordedQuery struct {
	sql  string
	args []any
}

func (e *queryRecorder) add(isRoundTrip bool, sql string, args []any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if isRoundTrip {
		e.roundTrips++
	}
	if sql != "" {
		e.queries = append(e.queries, recordedQuery{sql, args})
	}
}

func (e *queryRecorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	e.add(true, d.SQL, d.Args)
	return ctx
}
func (e *queryRecorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (e *queryRecorder) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	e.add(true, "", nil)
	return ctx
}
func (e *queryRecorder) TraceBatchQuery(_ context.Context, _ *pgx.Conn, d pgx.TraceBatchQueryData) {
	e.add(false, d.SQL, d.Args)
}
func (e *queryRecorder) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// recordQueries rebinds the operations to a pool with the tracer.
func (w *world) recordQueries(e *queryRecorder) {
	w.t.Helper()
	module := executor.New(executor.Config{
		Module: contract.Module, Engine: w.engine, Delegations: delegation.ActiveReader{}, Principals: w, Clock: w, Log: slog.New(slog.DiscardHandler),
		Pool: w.db.PoolWith(w.t, postgres.Config{URL: w.db.RoleURL(postgres.RoleTracker), MaxConns: 2, Tracer: e}),
	})
	for _, b := range tracker.New(tracker.Deps{Executor: module, Directory: w}).Operations() {
		w.operations[b.Name] = b
	}
}

// explain returns the query plan of a statement for the tracker's role, with these
// argument values or, if generic is set, the generic plan.
func (w *world) explain(h recordedQuery, generic bool) string {
	w.t.Helper()
	tx, err := w.db.Pool(w.t, postgres.RoleTracker).Begin(context.Background(), string(w.acme), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	defer tx.Rollback()
	var rows pgx.Rows
	if generic {
		values := make([]string, len(h.args))
		for i, a := range h.args {
			values[i] = sqlLiteral(a)
		}
		for _, sql := range []string{`SET LOCAL plan_cache_mode = force_generic_plan`, `DEALLOCATE ALL`, `PREPARE kept AS ` + h.sql} {
			if _, err := tx.Exec(context.Background(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
				w.t.Fatalf("%s: %v", sql, err)
			}
		}
		rows, err = tx.Query(context.Background(), `EXPLAIN (COSTS OFF) EXECUTE kept(`+strings.Join(values, ", ")+`)`, pgx.QueryExecModeSimpleProtocol)
	} else {
		rows, err = tx.Query(context.Background(), `EXPLAIN (COSTS OFF) `+h.sql, h.args...)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		w.t.Fatalf("%s: %v", h.sql, err)
	}
	return strings.Join(lines, "\n")
}

func sqlLiteral(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case []string:
		return "'{" + strings.Join(v, ",") + "}'"
	case []op.UUID:
		return "'{" + strings.Trim(strings.ReplaceAll(fmt.Sprint(v), " ", ","), "[]") + "}'"
	case json.RawMessage:
		return "'" + string(v) + "'"
	case time.Time:
		return "'" + v.Format(time.RFC3339) + "'"
	default:
		switch p := reflect.ValueOf(v); {
		case (p.Kind() == reflect.Pointer || p.Kind() == reflect.Slice) && p.IsNil():
			return "NULL"
		case p.Kind() == reflect.Pointer:
			return sqlLiteral(p.Elem().Interface())
		}
		return "'" + strings.ReplaceAll(fmt.Sprint(v), "'", "''") + "'"
	}
}

func TestQueryPlans_ListsUseIndexes(t *testing.T) {
	t.Parallel()
	w := newWorldAmongManyTenants(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	member := w.addPerson(person{roles: []string{"Member"}})
	epic := w.createTask(p, "Epic", fields{"issueType": "EPIC"})
	w.createTask(p, "Child", fields{"epicId": epic.ID})
	w.addTasks(p, 2000)
	e := &queryRecorder{}
	w.recordQueries(e)
	// The first call prepares the statements; the second one is measured.
	do[op.Page[contract.TaskSummary]](w, member, "list-tasks", fields{"projectId": p.ID, "limit": 50})
	e.roundTrips, e.queries = 0, nil
	page := do[op.Page[contract.TaskSummary]](w, member, "list-tasks", fields{"projectId": p.ID, "limit": 50})
	if len(page.Items) != 50 || e.roundTrips != 1 || len(e.queries) != 3 {
		t.Errorf("got %d tasks in %d round trips with %d statements, want 50 in 1 with 3", len(page.Items), e.roundTrips, len(e.queries))
	}
	last := func() recordedQuery { return e.queries[len(e.queries)-1] }
	plan := w.explain(last(), true)
	t.Logf("list-tasks:\n%s", plan)
	if !strings.Contains(plan, "Index Scan Backward using tasks_number_once on tasks t") || strings.Contains(plan, "Sort") {
		t.Errorf("list-tasks does not scan the index of task numbers backwards without sorting:\n%s", plan)
	}
	for _, in := range []fields{
		{}, {"status": "DONE"}, {"assignee": w.acme}, {"epicId": epic.ID}, {"cursor": page.NextCursor},
		{"search": "number 7"}, {"issueType": "BUG"}, {"priority": "LOW"}, {"awaitingDecision": true},
	} {
		do[op.Page[contract.TaskSummary]](w, w.manager, "list-tasks", merge(fields{"projectId": p.ID, "limit": 50}, in))
		h := last()
		for i := len(e.queries) - 1; !strings.Contains(h.sql, "tasks t"); i-- {
			h = e.queries[i]
		}
		w.wantIndexed(fmt.Sprint("list-tasks ", in), h)
		if in["awaitingDecision"] != nil {
			if plan := w.explain(h, true); !strings.Contains(plan, "decision_requests_awaiting") || strings.Count(plan, "Sort Key") > 1 {
				t.Errorf("list-tasks does not scan the index of open decision requests in order:\n%s", plan)
			}
		}
	}
	for name, in := range map[string]fields{
		"list-projects": {"limit": 50}, "find-project": {"hint": "APO"}, "get-project": {"projectId": p.ID},
		"get-task": {"projectId": p.ID, "task": epic.Key}, "list-decision-requests": {"projectId": p.ID, "task": epic.Key},
		"get-run": {"runId": w.listRuns(fields{"projectId": p.ID, "limit": 1})[0].ID},
	} {
		if _, err := w.call(member, name, in); err != nil {
			t.Fatal(err)
		}
		w.wantIndexed(name, last())
	}
	for index, in := range map[string]fields{
		"agent_runs_by_age": {}, "agent_runs_by_project": {"projectId": p.ID}, "agent_runs_by_task": {"taskId": epic.ID}, "agent_runs_by_agent": {"agent": w.manager.id},
	} {
		e.queries = nil
		w.listRuns(in, fields{"limit": 50})
		for _, h := range e.queries {
			if strings.Contains(h.sql, "agent_runs") {
				w.wantIndexed(fmt.Sprint("list-runs ", in), h)
			}
			if strings.Contains(h.sql, "ORDER BY r.created_at DESC") {
				if plan := w.explain(h, true); !strings.Contains(plan, "Backward using "+index) || strings.Contains(plan, "Sort") {
					t.Errorf("list-runs %v does not scan the index %s:\n%s", in, index, plan)
				}
			}
		}
	}
}

func TestQueryPlans_InitiativesStagesReposUseIndexes(t *testing.T) {
	t.Parallel()
	w := newWorldAmongManyTenants(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	moon, mars := w.createInitiative("Moon"), w.createInitiative("Mars")
	stage := w.createStage(p.ID, "Design")
	gate := w.createGateAfter(p.ID, stage.ID, "Review")
	repo := w.bindRepo(p.ID, "/src/apollo")
	do[contract.Project](w, w.manager, "update-project", fields{"projectId": p.ID, "initiativeId": moon.ID})
	epic := w.createTask(p, "Epic", fields{"issueType": "EPIC", "initiativeId": moon.ID})
	w.addTasks(p, 2000)
	e := &queryRecorder{}
	w.recordQueries(e)
	for _, call := range []struct {
		name string
		in   fields
	}{
		{"list-initiatives", fields{}}, {"list-initiatives", fields{"status": "ACTIVE"}}, {"list-initiatives", fields{"search": "crowd 7"}},
		{"initiative", fields{"hint": "Crowd 1"}}, {"get-initiative", fields{"initiativeId": moon.ID}},
		{"update-initiative", fields{"initiativeId": moon.ID, "name": "Luna"}},
		{"list-projects", fields{"initiativeId": moon.ID}}, {"find-project", fields{"hint": "/src/apollo/x"}},
		{"get-project-overview", fields{"projectId": p.ID}}, {"workspace", fields{}},
		{"list-stages", fields{"projectId": p.ID}}, {"start-stage", fields{"projectId": p.ID, "stageId": stage.ID}},
		{"create-stage", fields{"projectId": p.ID, "name": "New", "position": 1}},
		{"review-gate", fields{"projectId": p.ID, "gateId": gate.ID, "vote": "PASS"}},
		{"unbind-repo", fields{"projectId": p.ID, "bindingId": repo.ID}},
		{"update-project", fields{"projectId": p.ID, "initiativeId": mars.ID}},
		{"delete-initiative", fields{"initiativeId": moon.ID}},
	} {
		e.queries = nil
		if _, err := w.call(w.manager, call.name, call.in); err != nil {
			t.Fatal(err)
		}
		for _, h := range e.queries {
			// The tenant check of every request and the full task query have their own tests.
			if strings.Contains(h.sql, "projects.") && !strings.Contains(h.sql, "tenant_context") && !strings.Contains(h.sql, "epic_number") {
				w.wantIndexed(call.name, h)
			}
		}
	}
	if got := do[contract.Task](w, w.manager, "get-task", fields{"projectId": p.ID, "task": epic.Key}); got.InitiativeID != "" {
		t.Errorf("got %+v", got.TaskSummary)
	}
}

func (w *world) wantIndexed(name string, h recordedQuery) {
	w.t.Helper()
	h = toPositional(w.t, h)
	for _, generic := range []bool{false, true} {
		if plan := w.explain(h, generic); strings.Contains(plan, "Seq Scan on") {
			w.t.Errorf("%s (generic plan: %v) uses a sequential scan:\n%s", name, generic, plan)
		}
	}
}

// toPositional rewrites named arguments to positional ones, as pgx sends them.
func toPositional(t testing.TB, h recordedQuery) recordedQuery {
	t.Helper()
	if len(h.args) != 1 {
		return h
	}
	named, ok := h.args[0].(postgres.Args)
	if !ok {
		return h
	}
	sql, args, err := named.RewriteQuery(context.Background(), nil, h.sql, h.args)
	if err != nil {
		t.Fatal(err)
	}
	return recordedQuery{sql, args}
}
