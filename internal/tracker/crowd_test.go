package tracker_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/op"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/uid"
)

// The other tenants of the template manyTenants have ten projects each, with crowdTasks tasks and
// crowdIssues issues in each project.
const (
	crowdTenants = 100
	crowdTasks   = 25
	crowdIssues  = 5
)

// manyTenants is a database with the rows of crowdTenants tenants, so that statements are planned
// as in a large installation. A test adds its own tenant.
var manyTenants = pgtest.NewTemplate(func(ctx context.Context, db *pgtest.DB) error {
	conn, err := pgx.Connect(ctx, db.URL())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	c := crowd{exec: func(sql string, args ...any) {
		if err == nil {
			_, err = conn.Exec(ctx, sql, args...)
		}
	}}
	tenants := make([]op.UUID, crowdTenants)
	for i := range tenants {
		tenants[i] = uid.New()
	}
	// The rows need no check of their foreign keys, and a third of the search terms is enough.
	c.exec(`SET session_replication_role = replica`)
	c.addProjects(tenants)
	c.addTasks(nil, 0)
	c.exec(`INSERT INTO projects.search_terms (tenant_id, project_id, task_id, terms)
SELECT tenant_id, project_id, id, projects.search_terms(tenant_id, project_id, title, description) FROM projects.tasks WHERE number % 3 = 0`)
	c.addIssuesAndTimeEntries(nil, 0)
	c.addDependenciesAndLeases()
	c.addDeliverables()
	c.addEpics()
	c.exec(`ANALYZE`)
	return err
})

// newWorldAmongManyTenants returns a world in a database with many other tenants.
func newWorldAmongManyTenants(t testing.TB) *world {
	t.Helper()
	return newWorldIn(t, manyTenants.New(t), 4)
}

// crowd adds many rows to the tracker's tables.
type crowd struct {
	exec func(sql string, args ...any)
	// tenant limits the rows that are added to one tenant. Nil adds them to every tenant.
	tenant any
}

// ownCrowd returns a crowd that adds rows to acme.
func (w *world) ownCrowd() crowd { return crowd{exec: w.exec, tenant: w.acme} }

// addTasks adds ten projects to acme, and own tasks to its project p, which becomes larger than all
// others.
func (w *world) addTasks(p *contract.Project, own int) {
	w.t.Helper()
	c := w.ownCrowd()
	c.addProjects([]op.UUID{w.acme})
	c.addTasks(p, own)
	w.exec(`ANALYZE`)
}

// addProjects adds ten projects to each tenant.
func (c crowd) addProjects(tenants []op.UUID) {
	c.exec(`
WITH p AS (INSERT INTO projects.projects (tenant_id, id, name, start_date, prefix, classification, created_by, created_at, updated_at)
      SELECT tenant, gen_random_uuid(), 'Crowd ' || n, '2027-01-04', 'CRO' || n, 'UNCLASSIFIED', tenant, now(), now()
      FROM unnest($1::uuid[]) tenant, generate_series(1, 10) n RETURNING tenant_id, id)
INSERT INTO projects.statuses (tenant_id, project_id, name, category, position)
SELECT tenant_id, id, s AS name, s AS category, 1 FROM p, unnest(ARRAY['TODO', 'DONE', 'IN_PROGRESS']) s`, tenants)
}

// addTasks adds own tasks to the project p and crowdTasks to every other project, with decision requests and runs,
// and stages, initiatives and delegations to the projects.
func (c crowd) addTasks(p *contract.Project, own int) {
	c.exec(`
INSERT INTO projects.tasks (tenant_id, id, project_id, number, title, description, status, status_category, issue_type, priority,
                            progress, assignee_id, created_by, created_at, updated_at)
SELECT p.tenant_id, gen_random_uuid(), p.id, 1000 + n, 'Task number ' || n, 'text', s.name, s.category, 'TASK', 'MEDIUM',
       100, CASE WHEN n % 10 = 0 THEN p.created_by END, p.created_by, now(), now()
FROM projects.projects p, LATERAL generate_series(1, CASE WHEN p.id = $3 THEN $4::int ELSE $2::int END) n,
     LATERAL (SELECT c AS name, c AS category FROM (SELECT (ARRAY['TODO', 'DONE', 'IN_PROGRESS'])[1 + n % 3]) x (c)) s
WHERE $1::uuid IS NULL OR p.tenant_id = $1`, c.tenant, crowdTasks, projectID(p), own)
	// A third of the tasks have a decision request; some of them are open.
	c.exec(`
INSERT INTO projects.decision_requests (tenant_id, id, project_id, task_id, question, status, answer, raised_by, created_at, resolved_at, resolved_by)
SELECT t.tenant_id, gen_random_uuid(), t.project_id, t.id, 'Question', s, CASE s WHEN 'answered' THEN 'Answer' END, t.created_by,
       now() - number * interval '1 minute', CASE s WHEN 'answered' THEN now() END, CASE s WHEN 'answered' THEN t.created_by END
FROM projects.tasks t, LATERAL (SELECT CASE WHEN t.number % 30 = 0 THEN 'open' ELSE 'answered' END) x (s)
WHERE t.number % 3 = 0 AND ($1::uuid IS NULL OR t.tenant_id = $1)`, c.tenant)
	c.exec(`
INSERT INTO projects.agent_runs (tenant_id, id, project_id, task_id, agent_id, status, created_by, created_at)
SELECT t.tenant_id, gen_random_uuid(), t.project_id, t.id, t.created_by, 'QUEUED', t.created_by, now() - number * interval '1 minute'
FROM projects.tasks t WHERE $1::uuid IS NULL OR t.tenant_id = $1`, c.tenant)
	//nolint:dupword // SQL
	c.exec(`
WITH p AS (SELECT * FROM projects.projects p WHERE $1::uuid IS NULL OR p.tenant_id = $1),
i AS (INSERT INTO projects.initiatives (tenant_id, id, name, status, start_date, classification, created_by, created_at, updated_at)
           SELECT DISTINCT ON (p.tenant_id, n) p.tenant_id, gen_random_uuid(), 'Crowd ' || n, 'ACTIVE', '2027-01-04', 'UNCLASSIFIED', p.created_by, now(), now()
           FROM p, generate_series(1, 10) n RETURNING tenant_id, id),
r AS (INSERT INTO projects.repo_paths (tenant_id, id, project_id, path, created_by, created_at)
      SELECT p.tenant_id, gen_random_uuid(), p.id, '/src/' || p.id || '/' || n, p.created_by, now() FROM p, generate_series(1, 3) n),
n AS (INSERT INTO projects.issues (tenant_id, id, project_id, prefix, number, title, severity, status, first_response_due_at,
                                   resolution_due_at, created_by, created_at, updated_at)
      SELECT p.tenant_id, gen_random_uuid(), p.id, 'CRO', row_number() OVER (), 'Issue', 'LOW', 'OPEN', now(), now(), p.created_by, now(), now()
      FROM p, generate_series(1, 3) n),
s AS (INSERT INTO projects.stages (tenant_id, id, project_id, position, name, status, created_by, created_at, updated_at)
      SELECT p.tenant_id, gen_random_uuid(), p.id, n, 'Stage ' || n, 'planned', p.created_by, now(), now()
      FROM p, generate_series(1, 3) n RETURNING tenant_id, project_id, id, created_by),
g AS (INSERT INTO projects.gates (tenant_id, id, project_id, stage_id, name, status, created_by, created_at, updated_at)
      SELECT s.tenant_id, s.id, s.project_id, s.id, 'Gate', 'PENDING', s.created_by, now(), now() FROM s RETURNING tenant_id, id, created_by)
INSERT INTO projects.gate_reviews (tenant_id, gate_id, reviewer_id, id, vote, reviewed_at)
SELECT g.tenant_id, g.id, g.created_by, gen_random_uuid(), 'HOLD', now() FROM g`, c.tenant)
	c.exec(`UPDATE projects.projects p SET initiative_id = (SELECT i.id FROM projects.initiatives i WHERE i.tenant_id = p.tenant_id ORDER BY i.id LIMIT 1)
WHERE p.prefix LIKE 'CRO%' AND ($1::uuid IS NULL OR p.tenant_id = $1)`, c.tenant)
	c.exec(`
INSERT INTO projects.delegations (tenant_id, id, delegator_id, delegate_id, scope, initiative_id, permissions, starts_at, ends_at, created_by, created_at)
SELECT i.tenant_id, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'INITIATIVE', i.id, '{tasks.read}', now(), now() + interval '1 day', i.created_by, now()
FROM projects.initiatives i WHERE i.name LIKE 'Crowd %' AND ($1::uuid IS NULL OR i.tenant_id = $1)`, c.tenant)
}

// addIssuesAndTimeEntries adds own issues to the project p and crowdIssues to every other project,
// and comments and time entries to all issues and tasks.
//
//nolint:dupword // SQL
func (c crowd) addIssuesAndTimeEntries(p *contract.Project, own int) {
	c.exec(`
INSERT INTO projects.issues (tenant_id, id, project_id, prefix, number, title, description, severity, status, assignee_id,
                             first_response_due_at, resolution_due_at, created_by, created_at, updated_at)
SELECT p.tenant_id, gen_random_uuid(), p.id, 'ISS', row_number() OVER (PARTITION BY p.tenant_id ORDER BY p.id, n), 'Issue number ' || n, 'text',
       (ARRAY['CRITICAL', 'HIGH', 'MEDIUM', 'LOW'])[1 + n % 4], (ARRAY['OPEN', 'IN_PROGRESS', 'REOPENED'])[1 + n % 3],
       CASE WHEN n % 10 = 0 THEN p.created_by END, now(), now(), p.created_by, now() - n * interval '1 minute', now()
FROM projects.projects p, LATERAL generate_series(1, CASE WHEN p.id = $3 THEN $4::int ELSE $2::int END) n
WHERE $1::uuid IS NULL OR p.tenant_id = $1`, c.tenant, crowdIssues, projectID(p), own)
	c.exec(`
INSERT INTO projects.comments (tenant_id, id, project_id, issue_id, body, author_id, created_at, updated_at)
SELECT i.tenant_id, gen_random_uuid(), i.project_id, i.id, 'text', i.created_by, now(), now() FROM projects.issues i, generate_series(1, 2)
WHERE $1::uuid IS NULL OR i.tenant_id = $1`, c.tenant)
	c.exec(`
INSERT INTO projects.comments (tenant_id, id, project_id, task_id, body, author_id, created_at, updated_at)
SELECT t.tenant_id, gen_random_uuid(), t.project_id, t.id, 'text', t.created_by, now(), now() FROM projects.tasks t
WHERE $1::uuid IS NULL OR t.tenant_id = $1`, c.tenant)
	c.exec(`
INSERT INTO projects.time_entries (tenant_id, id, project_id, issue_id, user_id, spent_on, minutes, billable, created_by, created_at, updated_at)
SELECT i.tenant_id, gen_random_uuid(), i.project_id, i.id, i.created_by, date '2027-01-01' + (i.number % 300)::int, 30, true, i.created_by, now(), now()
FROM projects.issues i WHERE $1::uuid IS NULL OR i.tenant_id = $1`, c.tenant)
	c.exec(`
INSERT INTO projects.time_entries (tenant_id, id, project_id, task_id, user_id, spent_on, minutes, billable, created_by, created_at, updated_at)
SELECT t.tenant_id, gen_random_uuid(), t.project_id, t.id, t.created_by, date '2027-01-01' + (t.number % 300)::int, 30, true, t.created_by, now(), now()
FROM projects.tasks t WHERE $1::uuid IS NULL OR t.tenant_id = $1`, c.tenant)
}

// addDependenciesAndLeases adds dependencies to tasks, half of them on finished tasks, and
// leases and import items to some tasks.
func (c crowd) addDependenciesAndLeases() {
	c.exec(`
INSERT INTO projects.dependencies (tenant_id, id, task_id, depends_on_id, created_by, created_at)
SELECT t.tenant_id, gen_random_uuid(), t.id, o.id, t.created_by, now()
FROM projects.tasks t JOIN projects.tasks o ON o.tenant_id = t.tenant_id AND o.project_id = t.project_id AND o.number = t.number + 1 + t.number % 2
WHERE t.status_category = 'TODO' AND ($1::uuid IS NULL OR t.tenant_id = $1)`, c.tenant)
	c.exec(`
INSERT INTO projects.claims (tenant_id, id, project_id, task_id, holder_id, former_status, seconds, claimed_by, claimed_at, expires_at)
SELECT t.tenant_id, gen_random_uuid(), t.project_id, t.id, t.created_by, 'TODO', 60, t.created_by, now(), now() + t.number * interval '1 minute'
FROM projects.tasks t WHERE t.status_category = 'IN_PROGRESS' AND ($1::uuid IS NULL OR t.tenant_id = $1)`, c.tenant)
	c.exec(`
INSERT INTO projects.import_items (tenant_id, project_id, source_id, task_id, fingerprint, source, imported_at)
SELECT t.tenant_id, t.project_id, 'i-' || t.number, t.id, '', '{}', now() FROM projects.tasks t
WHERE t.number % 2 = 0 AND ($1::uuid IS NULL OR t.tenant_id = $1)`, c.tenant)
	c.exec(`
INSERT INTO projects.import_links (tenant_id, project_id, source_id, depends_on_id, type, position)
SELECT i.tenant_id, i.project_id, i.source_id, 'nowhere-' || i.source_id, 'blocks', 0 FROM projects.import_items i
WHERE $1::uuid IS NULL OR i.tenant_id = $1`, c.tenant)
	c.exec(`INSERT INTO projects.counters (tenant_id, project_id, last_number) SELECT p.tenant_id, p.id, 5000 FROM projects.projects p
WHERE $1::uuid IS NULL OR p.tenant_id = $1 ON CONFLICT DO NOTHING`, c.tenant)
}

// addDeliverables adds 20 deliverables, each with a criterion, and custom fields to every project, and
// field values to some tasks.
func (c crowd) addDeliverables() {
	c.exec(`INSERT INTO projects.deliverables (tenant_id, id, project_id, title, status, created_by, created_at, updated_at)
SELECT p.tenant_id, gen_random_uuid(), p.id, 'D', 'SUBMITTED', p.tenant_id, now(), now() FROM projects.projects p, generate_series(1, 20)
WHERE $1::uuid IS NULL OR p.tenant_id = $1`, c.tenant)
	c.exec(`INSERT INTO projects.criteria (tenant_id, id, project_id, deliverable_id, text, created_by, created_at, updated_at)
SELECT d.tenant_id, gen_random_uuid(), d.project_id, d.id, 'C', d.tenant_id, now(), now() FROM projects.deliverables d
WHERE $1::uuid IS NULL OR d.tenant_id = $1`, c.tenant)
	c.exec(`INSERT INTO projects.custom_fields (tenant_id, id, project_id, name, type, created_by, created_at, updated_at)
SELECT p.tenant_id, gen_random_uuid(), p.id, 'F' || n, 'TEXT', p.tenant_id, now(), now() FROM projects.projects p, generate_series(1, 5) n
WHERE $1::uuid IS NULL OR p.tenant_id = $1`, c.tenant)
	c.exec(`INSERT INTO projects.custom_field_values (tenant_id, project_id, task_id, field_id, value)
SELECT t.tenant_id, t.project_id, t.id, f.id, 'v' FROM projects.tasks t
JOIN projects.custom_fields f ON f.tenant_id = t.tenant_id AND f.project_id = t.project_id AND f.name = 'F1'
WHERE t.number % 5 = 0 AND ($1::uuid IS NULL OR t.tenant_id = $1)`, c.tenant)
}

// addEpics makes the first task of every project the parent of the others.
func (c crowd) addEpics() {
	c.exec(`UPDATE projects.tasks t SET epic_id = e.id
FROM (SELECT DISTINCT ON (tenant_id, project_id) tenant_id, project_id, id, number FROM projects.tasks WHERE issue_type = 'TASK'
      ORDER BY tenant_id, project_id, number) e
WHERE t.tenant_id = e.tenant_id AND t.project_id = e.project_id AND t.number > e.number`)
}

// projectID returns the id of a project, or nil without one.
func projectID(p *contract.Project) any {
	if p == nil {
		return nil
	}
	return p.ID
}
