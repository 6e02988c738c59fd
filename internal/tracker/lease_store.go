package tracker

import (
	"context"
	"time"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// leaseRow is a lease on a task: a row of projects.claims.
type leaseRow struct {
	ID           op.UUID
	TaskID       op.UUID
	HolderID     op.UUID
	FormerStatus string
	Seconds      int
	ExpiresAt    time.Time
}

// extend makes the lease expire the given number of seconds from now.
func (r *leaseRow) extend(c *executor.Call, seconds int) {
	r.Seconds, r.ExpiresAt = seconds, c.Now.Add(time.Duration(seconds)*time.Second).UTC().Truncate(time.Microsecond)
}

func (r *leaseRow) toLease() *contract.Lease {
	return &contract.Lease{ID: r.ID, ExpiresAt: r.ExpiresAt}
}

// findNextReady locks the first task of the ready set and returns its id, or "" if
// there is none. It scans the index in urgency order and skips tasks that others have
// locked, so concurrent claimers do not block each other. If it finds no unlocked
// task, it runs again and waits for locked ones, so "" means that the ready set is
// empty.
func findNextReady(ctx context.Context, c *executor.Call, project, user op.UUID) (op.UUID, error) {
	f, err := c.Filter(ctx, contract.PermTasksRead, taskColumns)
	if err != nil || f.None() {
		return "", err
	}
	for _, wait := range []string{` SKIP LOCKED`, ``} {
		st := &postgres.Statement{}
		tenant, projectArg := st.Arg(c.Tenant), st.Arg(project)
		st.Add(`
SELECT t.id FROM projects.tasks t, projects.projects p
WHERE p.tenant_id = `, tenant, ` AND p.id = `, projectArg, ` AND t.tenant_id = `, tenant, ` AND t.project_id = `, projectArg, ` AND `).Filter(f)
		addReadyFilter(st, tenant, st.Arg(user))
		// FOR NO KEY UPDATE does not conflict with the key share lock that inserting a
		// comment on the task takes.
		st.Add(` ORDER BY `, urgencyColumns, ` LIMIT 1 FOR NO KEY UPDATE OF t`, wait)
		ids, err := postgres.CollectScalars[op.UUID](ctx, c.DB, st.SQL(), st.Args()...)
		if err != nil {
			return "", err
		}
		if len(ids) > 0 {
			return ids[0], nil
		}
	}
	return "", nil
}

const insertLeaseSQL = `
INSERT INTO projects.claims (tenant_id, id, project_id, task_id, holder_id, former_status, seconds, claimed_by, claimed_at, expires_at)
VALUES (@tenant, @id, @project, @task, @holder, @former, @seconds, @by, @now, @expires)`

func insertLeaseRow(ctx context.Context, c *executor.Call, task *taskRow, r *leaseRow) error {
	_, err := c.DB.Exec(ctx, insertLeaseSQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "project": task.ProjectID, "task": task.ID, "holder": r.HolderID, "former": r.FormerStatus,
		"seconds": r.Seconds, "by": c.Actor.UserID, "now": c.Now, "expires": r.ExpiresAt,
	})
	return postgres.MapError(err)
}

const updateLeaseSQL = `
UPDATE projects.claims c SET seconds = @seconds, expires_at = @expires
WHERE c.tenant_id = @tenant AND c.id = @id`

func updateLeaseRow(ctx context.Context, c *executor.Call, r *leaseRow) error {
	_, err := c.DB.Exec(ctx, updateLeaseSQL, postgres.Args{"tenant": c.Tenant, "id": r.ID, "seconds": r.Seconds, "expires": r.ExpiresAt})
	return err
}

// The caller must have locked the task: a lease is only changed under its task's lock.
const leaseOfTaskSQL = `
SELECT c.id, c.task_id, c.holder_id, c.former_status, c.seconds, c.expires_at FROM projects.claims c
WHERE c.tenant_id = @tenant AND c.task_id = @task`

const expiredLeaseTasksSQL = `
SELECT t.id FROM projects.claims c
JOIN projects.tasks t ON t.tenant_id = @tenant AND t.id = c.task_id
WHERE c.tenant_id = @tenant AND c.expires_at <= @now AND (@project::uuid IS NULL OR c.project_id = @project)
ORDER BY c.expires_at LIMIT @most
FOR NO KEY UPDATE OF t SKIP LOCKED`

const expiredLeasesSQL = `
SELECT c.id, c.task_id, c.holder_id, c.former_status, c.seconds, c.expires_at FROM projects.claims c
WHERE c.tenant_id = @tenant AND c.task_id = ANY(@ids::uuid[]) AND c.expires_at <= @now
ORDER BY c.expires_at, c.id`

const hasExpiredLeaseSQL = `
SELECT EXISTS (SELECT 1 FROM projects.claims c
               WHERE c.tenant_id = @tenant AND (@project::uuid IS NULL OR c.project_id = @project) AND c.expires_at <= @now)`

// Runs as the role parapet_jobs, which can select only the tenant and the expiry of
// claims, of all tenants.
const expiredLeaseTenantsSQL = `SELECT DISTINCT c.tenant_id FROM projects.claims c WHERE c.expires_at <= @now ORDER BY c.tenant_id`
