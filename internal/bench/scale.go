package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/dev"
)

const (
	// tasksPerTenant is the number of tasks of every tenant, including the measured one, at
	// both sizes: only the surrounding table grows.
	tasksPerTenant = 1000
	smallTenants   = 10
	largeTenants   = 1000
	scaleRounds    = 10
	asksOfARound   = 100
)

// scale measures the most frequent lists in one tenant of 1,000 tasks, in a database of 10
// such tenants and in one of 1,000. The two alternate. It prints the query plans, and fails
// if the large database scans a whole table. In the small one a sequential scan of
// a table with few pages is fine.
func scale(ctx context.Context, r *report) error {
	small, err := newSite(ctx, r, smallTenants)
	if err != nil {
		return err
	}
	defer small.close()
	large, err := newSite(ctx, r, largeTenants)
	if err != nil {
		return err
	}
	defer large.close()
	for _, l := range scaledLists() {
		if err := compare(ctx, r, l, small, large); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}

// scaledList is a measured list; path depends on the ids of the site.
type scaledList struct {
	name string
	path func(s *site) string
	// least is the minimum number of items in a response, so that no empty
	// result is measured.
	least int
}

func scaledLists() []scaledList {
	tasks := func(query string) func(*site) string {
		return func(s *site) string { return "/api/projects/" + s.project + "/tasks?" + query }
	}
	return []scaledList{
		{"list of 50", tasks("limit=50"), 50},
		{"ready set", tasks("ready=true&limit=50"), 50},
		{"search, two words", tasks("limit=50&search=" + url.QueryEscape("harbour beacon")), 1},
		{"search, part of a word", tasks("limit=50&search=arbou"), 1},
		{"search, nothing found", tasks("limit=50&search=" + url.QueryEscape("harbour zeppelin")), 0},
		{"children of an epic", func(s *site) string { return "/api/tasks/" + s.epic + "/children?limit=50" }, 50},
	}
}

// compare measures a list on both sites alternately.
func compare(ctx context.Context, r *report, l scaledList, small, large *site) error {
	for _, s := range []*site{small, large} {
		plan, err := s.plan(ctx, l)
		if err != nil {
			return err
		}
		fmt.Fprintf(r.notes, "\n%s, %d tenants:\n%s\n", l.name, s.tenants, plan)
		if s == large && strings.Contains(plan, "Seq Scan") {
			return errors.New("the plan scans a whole table")
		}
	}
	before, err := large.countSequentialScans(ctx)
	if err != nil {
		return err
	}
	took := map[*site][]time.Duration{}
	for range scaleRounds {
		for _, s := range []*site{small, large} {
			for range asksOfARound {
				d, err := s.measureRequest(ctx, l)
				if err != nil {
					return err
				}
				took[s] = append(took[s], d)
			}
		}
	}
	after, err := large.countSequentialScans(ctx)
	if err != nil {
		return err
	}
	if after != before {
		return fmt.Errorf("with %d tenants, %d sequential scans of a table", large.tenants, after-before)
	}
	slices.Sort(took[small])
	slices.Sort(took[large])
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50", 0.50}, {"p99", 0.99}} {
		base := quantileMillis(took[small], q.at)
		f := figure{
			Name: "scale/" + strings.ReplaceAll(l.name, " ", "-") + "/" + q.name, Value: quantileMillis(took[large], q.at), Unit: "ms",
			Baseline: "10,000 tasks", BaselineValue: &base,
		}
		if err := r.add(f); err != nil {
			return err
		}
	}
	return nil
}

// quantileMillis returns a quantile of sorted durations in milliseconds.
func quantileMillis(sorted []time.Duration, at float64) float64 {
	return float64(sorted[int(at*float64(len(sorted)-1))].Microseconds()) / 1000
}

// site is a running server with a database of many tenants.
type site struct {
	tenants                      int
	dir                          string
	dev                          *dev.Dev
	stop                         context.CancelFunc
	done                         chan error
	db                           *pgx.Conn
	token, tenant, project, epic string
}

func newSite(ctx context.Context, r *report, tenants int) (_ *site, err error) {
	s := &site{tenants: tenants, done: make(chan error, 1)}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.dir, err = os.MkdirTemp("", "parapet-scale-"); err != nil {
		return s, err
	}
	settings := map[string]string{"PORT": "0", "PT_LOG_LEVEL": "error", "PT_POOL_CONNS": "4", "PT_DECISION_LOG": "denied"}
	s.dev, err = dev.Start(ctx, dev.Options{DataDir: s.dir, Getenv: func(n string) string { return settings[n] }, Version: "bench", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return s, err
	}
	running, stop := context.WithCancel(ctx)
	s.stop = stop
	go func() { s.done <- s.dev.Run(running) }()
	if s.db, err = pgx.Connect(ctx, s.dev.Info().DirectURL); err != nil {
		return s, err
	}
	if s.token, s.tenant, s.project, err = createProject(ctx, s.dev.Info()); err != nil {
		return s, err
	}
	began := time.Now()
	if err := s.fill(ctx); err != nil {
		return s, err
	}
	fmt.Fprintf(r.notes, "%d tenants, %d tasks: filled in %s\n", tenants, tenants*tasksPerTenant, time.Since(began).Round(time.Second))
	return s, nil
}

// fill writes the tasks of all tenants: every tenant has ten projects and the same mixture
// of titles, states and dependencies.
func (s *site) fill(ctx context.Context) error {
	for _, sql := range []string{crowdSQL, statusesSQL, countersSQL, repoPathsSQL} {
		if _, err := s.db.Exec(ctx, sql, pgx.StrictNamedArgs{"tenants": s.tenants - 1, "measured": s.tenant}); err != nil {
			return err
		}
	}
	// Write the search terms afterwards in one statement and build their index at once,
	// because only reading is measured.
	for _, sql := range []string{
		`SET maintenance_work_mem = '1GB'`, `ALTER TABLE projects.tasks DISABLE TRIGGER tasks_search_insert`, `DROP INDEX projects.search_terms_by_term`,
	} {
		if _, err := s.db.Exec(ctx, sql); err != nil {
			return err
		}
	}
	for _, sql := range []string{tasksSQL, dependenciesSQL, decisionsSQL, leasesSQL, delegationsSQL, issuesSQL} {
		if _, err := s.db.Exec(ctx, sql, pgx.StrictNamedArgs{"each": tasksPerTenant / 10}); err != nil {
			return err
		}
	}
	for _, sql := range []string{
		termsSQL, `CREATE INDEX search_terms_by_term ON projects.search_terms USING gin (terms) WITH (fastupdate = off)`,
		`ALTER TABLE projects.tasks ENABLE TRIGGER tasks_search_insert`,
	} {
		if _, err := s.db.Exec(ctx, sql); err != nil {
			return err
		}
	}
	if err := s.db.QueryRow(ctx, epicSQL, pgx.StrictNamedArgs{"measured": s.tenant, "project": s.project}).Scan(&s.epic); err != nil {
		return err
	}
	for _, sql := range []string{`VACUUM (ANALYZE)`, `CHECKPOINT`} {
		if _, err := s.db.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// crowdSQL creates the tenants and projects. The measured tenant already has one of its ten projects.
const crowdSQL = `
WITH t AS (SELECT gen_random_uuid() AS tenant, 10 AS projects FROM generate_series(1, @tenants::int)
           UNION ALL SELECT @measured::uuid, 9)
INSERT INTO projects.projects (tenant_id, id, name, start_date, prefix, classification, created_by, created_at, updated_at)
SELECT tenant, gen_random_uuid(), 'Crowd ' || n, '2027-01-04', 'CRO' || n, 'UNCLASSIFIED', tenant, now(), now()
FROM t, LATERAL generate_series(1, projects) n WHERE @measured::uuid IS NOT NULL`

//nolint:dupword // SQL
const statusesSQL = `
INSERT INTO projects.statuses (tenant_id, project_id, name, category, position)
SELECT p.tenant_id, p.id, c, c, 1 FROM projects.projects p, unnest(ARRAY['TODO', 'IN_PROGRESS', 'DONE']) c
WHERE @tenants::int >= 0 AND @measured::uuid IS NOT NULL
ON CONFLICT DO NOTHING`

const countersSQL = `
INSERT INTO projects.counters (tenant_id, project_id, last_number)
SELECT p.tenant_id, p.id, 0 FROM projects.projects p WHERE @tenants::int >= 0 AND @measured::uuid IS NOT NULL
ON CONFLICT DO NOTHING`

const repoPathsSQL = `
INSERT INTO projects.repo_paths (tenant_id, id, project_id, path, created_by, created_at)
SELECT p.tenant_id, gen_random_uuid(), p.id, '/srv/' || p.id, p.created_by, now() FROM projects.projects p
WHERE @tenants::int >= 0 AND @measured::uuid IS NOT NULL`

// tasksSQL creates the tasks: one in ten is done and one in ten in progress; the others are to do.
//
//nolint:dupword // SQL
const tasksSQL = `
INSERT INTO projects.tasks (tenant_id, id, project_id, number, title, description, status, status_category, issue_type, priority,
                            progress, assignee_id, due_date, created_by, created_at, updated_at)
SELECT p.tenant_id, gen_random_uuid(), p.id, n,
       (ARRAY['Inspect', 'Repair', 'Replace', 'Survey', 'Paint', 'Order', 'Document', 'Calibrate'])[1 + (n * 7 + hashtext(p.id::text)) % 8 * sign((n * 7 + hashtext(p.id::text)) % 8)::int]
       || ' ' || (ARRAY['harbour', 'northern', 'upper', 'floating', 'spare', 'main', 'auxiliary', 'coastal', 'inner', 'old', 'new'])[1 + n % 11]
       || ' ' || (ARRAY['valve', 'crane', 'wall', 'pump', 'gate', 'sensor', 'cable', 'ladder', 'winch', 'beacon', 'pier', 'lock', 'buoy'])[1 + n % 13]
       || ' ' || n,
       'What is to be done with the ' || n || ' before the season begins, and who has to be told of it.',
       c, c, 'TASK', (ARRAY['URGENT', 'HIGH', 'MEDIUM', 'MEDIUM', 'LOW'])[1 + n % 5],
       CASE c WHEN 'DONE' THEN 100 ELSE 0 END, CASE WHEN n % 10 = 2 THEN p.created_by END,
       CASE WHEN n % 3 = 0 THEN date '2027-01-01' + n END, p.created_by, now() - n * interval '1 minute', now()
FROM projects.projects p, LATERAL generate_series(1, @each::int) n,
     LATERAL (SELECT CASE n % 10 WHEN 0 THEN 'DONE' WHEN 1 THEN 'IN_PROGRESS' ELSE 'TODO' END AS c) x`

const termsSQL = `
INSERT INTO projects.search_terms (tenant_id, project_id, task_id, terms)
SELECT t.tenant_id, t.project_id, t.id, projects.search_terms(t.tenant_id, t.project_id, t.title, t.description) FROM projects.tasks t`

// Every fifth task depends on the one before it.
const dependenciesSQL = `
INSERT INTO projects.dependencies (tenant_id, id, task_id, depends_on_id, created_by, created_at)
SELECT t.tenant_id, gen_random_uuid(), t.id, before.id, t.created_by, now()
FROM projects.tasks t
JOIN projects.tasks before ON before.tenant_id = t.tenant_id AND before.project_id = t.project_id AND before.number = t.number - 1
WHERE t.number % 5 = 0 AND t.number <= @each::int`

// One task in twenty has an open decision request.
const decisionsSQL = `
INSERT INTO projects.decision_requests (tenant_id, id, project_id, task_id, question, raised_by, created_at)
SELECT t.tenant_id, gen_random_uuid(), t.project_id, t.id, 'Which of the two?', t.created_by, now()
FROM projects.tasks t WHERE t.number % 20 = 7 AND t.number <= @each::int`

// Tasks in progress have an active lease.
const leasesSQL = `
INSERT INTO projects.claims (tenant_id, id, project_id, task_id, holder_id, former_status, seconds, claimed_by, claimed_at, expires_at)
SELECT t.tenant_id, gen_random_uuid(), t.project_id, t.id, t.created_by, 'TODO', 3600, t.created_by, now(), now() + interval '1 day'
FROM projects.tasks t WHERE t.status_category = 'IN_PROGRESS' AND t.number <= @each::int`

//nolint:dupword // SQL
const issuesSQL = `
INSERT INTO projects.issues (tenant_id, id, project_id, prefix, number, title, severity, status, first_response_due_at,
                             resolution_due_at, created_by, created_at, updated_at)
SELECT p.tenant_id, gen_random_uuid(), p.id, 'CRO', row_number() OVER (), 'The crane stands still', 'LOW', 'OPEN', now(), now(), p.created_by, now(), now()
FROM projects.projects p WHERE @each::int > 0`

// delegationsSQL creates two delegations between users of each project.
const delegationsSQL = `
INSERT INTO projects.delegations (tenant_id, id, delegator_id, delegate_id, scope, project_id, permissions, starts_at, ends_at, created_by, created_at)
SELECT p.tenant_id, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'PROJECT', p.id, ARRAY['task.update'], now(), now() + interval '30 days', p.created_by, now()
FROM projects.projects p, generate_series(1, 2) WHERE @each::int > 0`

// epicSQL creates an epic of the measured project, with children in all projects of the tenant.
const epicSQL = `
WITH epic AS (
    INSERT INTO projects.tasks (tenant_id, id, project_id, number, title, status, status_category, issue_type, priority, created_by, created_at, updated_at)
    SELECT p.tenant_id, gen_random_uuid(), p.id, 5000, 'Renewal of the whole site', 'TODO', 'TODO', 'EPIC', 'HIGH', p.created_by, now(), now()
    FROM projects.projects p WHERE p.tenant_id = @measured AND p.id = @project
    RETURNING tenant_id, id, project_id
), children AS (
    UPDATE projects.tasks t SET epic_id = e.id, epic_project_id = nullif(e.project_id, t.project_id)
    FROM epic e WHERE t.tenant_id = e.tenant_id AND t.tenant_id = @measured AND t.number % 4 = 3
)
SELECT id::text FROM epic`

// measureRequest sends one request and returns the duration of the response.
func (s *site) measureRequest(ctx context.Context, l scaledList) (time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, "GET", s.dev.Info().BaseURL+l.path(s), nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	began := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	body, err := io.ReadAll(resp.Body)
	took := time.Since(began)
	_ = resp.Body.Close()
	if err != nil {
		return 0, err
	}
	if items := strings.Count(string(body), `"issueType"`); resp.StatusCode != 200 || items < l.least {
		return 0, fmt.Errorf("%d with %d items, want %d at least: %.300s", resp.StatusCode, items, l.least, body)
	}
	return took, nil
}

// countSequentialScans counts the sequential scans of the tracker's tables.
func (s *site) countSequentialScans(ctx context.Context) (int64, error) {
	// A backend reports its counters after it has been idle for a short time.
	time.Sleep(1500 * time.Millisecond)
	var n int64
	err := s.db.QueryRow(ctx, `
SELECT coalesce(sum(seq_scan), 0) FROM pg_stat_user_tables
WHERE schemaname = 'projects' AND relname IN ('tasks', 'dependencies', 'projects', 'statuses', 'decision_requests')`).Scan(&n)
	return n, err
}

// plan returns the query plans of one request, as the database executed them.
func (s *site) plan(ctx context.Context, l scaledList) (string, error) {
	explained := func(on bool) error {
		for _, sql := range []string{
			map[bool]string{true: `ALTER ROLE parapet_tracker SET session_preload_libraries = 'auto_explain'`, false: `ALTER ROLE parapet_tracker RESET session_preload_libraries`}[on],
			map[bool]string{true: `ALTER ROLE parapet_tracker SET auto_explain.log_min_duration = 0`, false: `ALTER ROLE parapet_tracker RESET auto_explain.log_min_duration`}[on],
			`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'parapet_tracker'`,
		} {
			if _, err := s.db.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	}
	if err := explained(true); err != nil {
		return "", err
	}
	logs, err := filepath.Glob(filepath.Join(s.dir, "*", "postgres.log"))
	if direct := filepath.Join(s.dir, "postgres.log"); len(logs) == 0 {
		logs = append(logs, direct)
	}
	if err != nil {
		return "", err
	}
	// The first requests meet terminated connections.
	for try := 0; ; try++ {
		if _, err = s.measureRequest(ctx, l); err == nil || try == 10 {
			break
		}
	}
	if err != nil {
		return "", err
	}
	offset, err := size(logs[0])
	if err != nil {
		return "", err
	}
	if _, err := s.measureRequest(ctx, l); err != nil {
		return "", err
	}
	time.Sleep(100 * time.Millisecond)
	text, err := os.ReadFile(logs[0])
	if err != nil {
		return "", err
	}
	return nodes(string(text[min(offset, len(text)):])), explained(false)
}

func size(path string) (int, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return int(info.Size()), nil
}

// nodes returns the lines of plans that name nodes, without the statements.
func nodes(log string) string {
	var kept []string
	for line := range strings.Lines(log) {
		for _, word := range []string{"->", "Index Cond", "Scan using", "Scan on", "Limit  (", "Nested Loop", "Sort  ("} {
			if strings.Contains(line, word) && !strings.Contains(line, "tenant_context") {
				kept = append(kept, "    "+strings.TrimRight(strings.ReplaceAll(line, "\t", "  "), "\n"))
				break
			}
		}
	}
	return strings.Join(kept, "\n")
}

func (s *site) close() {
	if s.db != nil {
		_ = s.db.Close(context.Background())
	}
	if s.stop != nil {
		s.stop()
		if err := <-s.done; err != nil && !errors.Is(err, context.Canceled) {
			fmt.Fprintln(os.Stderr, "bench: scale:", err)
		}
	}
	if s.dev != nil {
		s.dev.Close()
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}
