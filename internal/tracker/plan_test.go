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
		Module: contract.Module, Engine: w.engine, Delegations: tracker.Delegations{}, Principals: w, Clock: w, Log: slog.New(slog.DiscardHandler),
		Pool: w.db.PoolWith(w.t, postgres.Config{URL: w.db.RoleURL(postgres.RoleTracker), MaxConns: 2, Tracer: e}),
	})
	for _, b := range tracker.New(tracker.Deps{Executor: module, Directory: w}).Operations() {
		w.operations[b.Name] = b
	}
}

// addManyTenants fills the tables with projects and tasks of many tenants: ten projects per
// tenant, and own tasks in acme's project p, which is larger than all others.
func (w *world) addManyTenants(p *contract.Project, tenants, each, own int) {
	w.t.Helper()
	w.exec(`
WITH t AS (SELECT gen_random_uuid() AS tenant FROM generate_series(1, $1::int) UNION ALL SELECT $2::uuid),
p AS (INSERT INTO projects.projects (tenant_id, id, name, start_date, prefix, classification, created_by, created_at, updated_at)
      SELECT tenant, gen_random_uuid(), 'Crowd ' || n, '2027-01-04', 'CRO' || n, 'UNCLASSIFIED', tenant, now(), now()
      FROM t, generate_series(1, 10) n RETURNING tenant_id, id)
INSERT INTO projects.statuses (tenant_id, project_id, name, category, position)
SELECT tenant_id, id, s AS name, s AS category, 1 FROM p, unnest(ARRAY['TODO', 'DONE', 'IN_PROGRESS']) s`, tenants, w.acme)
	w.exec(`
INSERT INTO projects.tasks (tenant_id, id, project_id, number, title, description, status, status_category, issue_type, priority,
                            progress, assignee_id, created_by, created_at, updated_at)
SELECT p.tenant_id, gen_random_uuid(), p.id, 1000 + n, 'Task number ' || n, repeat('text ', 40), s.name, s.category, 'TASK', 'MEDIUM',
       100, CASE WHEN n % 10 = 0 THEN p.created_by END, p.created_by, now(), now()
FROM projects.projects p, LATERAL generate_series(1, CASE WHEN p.id = $2 THEN $3::int ELSE $1::int END) n,
     LATERAL (SELECT c AS name, c AS category FROM (SELECT (ARRAY['TODO', 'DONE', 'IN_PROGRESS'])[1 + n % 3]) x (c)) s`, each, p.ID, own)
	// A third of the tasks have a decision request; some of them are open.
	w.exec(`
INSERT INTO projects.decision_requests (tenant_id, id, project_id, task_id, question, status, answer, raised_by, created_at, resolved_at, resolved_by)
SELECT t.tenant_id, gen_random_uuid(), t.project_id, t.id, 'Question', s, CASE s WHEN 'answered' THEN 'Answer' END, t.created_by,
       now() - number * interval '1 minute', CASE s WHEN 'answered' THEN now() END, CASE s WHEN 'answered' THEN t.created_by END
FROM projects.tasks t, LATERAL (SELECT CASE WHEN t.number % 30 = 0 THEN 'open' ELSE 'answered' END) x (s)
WHERE t.number % 3 = 0`)
	w.exec(`
INSERT INTO projects.agent_runs (tenant_id, id, project_id, task_id, agent_id, status, created_by, created_at)
SELECT t.tenant_id, gen_random_uuid(), t.project_id, t.id, t.created_by, 'QUEUED', t.created_by, now() - number * interval '1 minute'
FROM projects.tasks t WHERE t.number % 2 = 0`)
	//nolint:dupword // SQL
	w.exec(`
WITH i AS (INSERT INTO projects.initiatives (tenant_id, id, name, status, start_date, classification, created_by, created_at, updated_at)
           SELECT DISTINCT ON (p.tenant_id, n) p.tenant_id, gen_random_uuid(), 'Crowd ' || n, 'ACTIVE', '2027-01-04', 'UNCLASSIFIED', p.created_by, now(), now()
           FROM projects.projects p, generate_series(1, 10) n RETURNING tenant_id, id),
r AS (INSERT INTO projects.repo_paths (tenant_id, id, project_id, path, created_by, created_at)
      SELECT p.tenant_id, gen_random_uuid(), p.id, '/src/' || p.id || '/' || n, p.created_by, now() FROM projects.projects p, generate_series(1, 3) n),
n AS (INSERT INTO projects.issues (tenant_id, id, project_id, prefix, number, title, severity, status, first_response_due_at,
                                   resolution_due_at, created_by, created_at, updated_at)
      SELECT p.tenant_id, gen_random_uuid(), p.id, 'CRO', row_number() OVER (), 'Issue', 'LOW', 'OPEN', now(), now(), p.created_by, now(), now()
      FROM projects.projects p, generate_series(1, 3) n),
s AS (INSERT INTO projects.stages (tenant_id, id, project_id, position, name, status, created_by, created_at, updated_at)
      SELECT p.tenant_id, gen_random_uuid(), p.id, n, 'Stage ' || n, 'planned', p.created_by, now(), now()
      FROM projects.projects p, generate_series(1, 3) n RETURNING tenant_id, project_id, id, created_by),
g AS (INSERT INTO projects.gates (tenant_id, id, project_id, stage_id, name, status, created_by, created_at, updated_at)
      SELECT s.tenant_id, s.id, s.project_id, s.id, 'Gate', 'PENDING', s.created_by, now(), now() FROM s RETURNING tenant_id, id, created_by)
INSERT INTO projects.gate_reviews (tenant_id, gate_id, reviewer_id, id, vote, reviewed_at)
SELECT g.tenant_id, g.id, g.created_by, gen_random_uuid(), 'HOLD', now() FROM g`)
	w.exec(`UPDATE projects.projects p SET initiative_id = (SELECT i.id FROM projects.initiatives i WHERE i.tenant_id = p.tenant_id ORDER BY i.id LIMIT 1) WHERE p.prefix LIKE 'CRO%'`)
	w.exec(`
INSERT INTO projects.delegations (tenant_id, id, delegator_id, delegate_id, scope, initiative_id, permissions, starts_at, ends_at, created_by, created_at)
SELECT i.tenant_id, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'INITIATIVE', i.id, '{tasks.read}', now(), now() + interval '1 day', i.created_by, now()
FROM projects.initiatives i WHERE i.name LIKE 'Crowd %'`)
	w.exec(`ANALYZE`)
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
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	member := w.addPerson(person{roles: []string{"Member"}})
	epic := w.createTask(p, "Epic", fields{"issueType": "EPIC"})
	w.createTask(p, "Child", fields{"epicId": epic.ID})
	w.addManyTenants(p, 100, 25, 2000)
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
		"agent_runs_by_age": {}, "agent_runs_by_project": {"projectId": p.ID}, "agent_runs_by_task": {"taskId": epic.ID}, "agent_runs_by_agent": {"agent": w.acme},
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
	w := newWorld(t)
	p := w.createProject("Apollo", fields{"prefix": "APO"})
	moon, mars := w.createInitiative("Moon"), w.createInitiative("Mars")
	stage := w.createStage(p.ID, "Design")
	gate := w.createGateAfter(p.ID, stage.ID, "Review")
	repo := w.bindRepo(p.ID, "/src/apollo")
	do[contract.Project](w, w.manager, "update-project", fields{"projectId": p.ID, "initiativeId": moon.ID})
	epic := w.createTask(p, "Epic", fields{"issueType": "EPIC", "initiativeId": moon.ID})
	w.addManyTenants(p, 200, 25, 2000)
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
