package tracker

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// relatedTaskColumns are the filter columns of a task with the aliases o (task) and po
// (its project).
var relatedTaskColumns = newTaskType("o", "po").Columns()

// dependencyRow is a dependency with the other task.
type dependencyRow struct {
	ID        op.UUID
	CreatedAt time.Time

	TaskID         op.UUID
	ProjectID      op.UUID
	Prefix         string
	Number         int64
	Title          string
	Status         string
	StatusCategory string
	// Shown reports whether the caller may read the other task.
	Shown bool
}

// toDependency converts the row to the API type and redacts a task that the caller may
// not read.
func (r *dependencyRow) toDependency(c *executor.Call, task *taskRow, direction string) *contract.Dependency {
	d := &contract.Dependency{Direction: direction, CreatedAt: r.CreatedAt}
	if !r.Shown {
		d.Task = contract.TaskRef{ID: opaqueID(c.Tenant, r.TaskID), Key: contract.Redacted, Title: contract.Redacted, IsCrossProject: true}
		return d
	}
	d.Task = contract.TaskRef{
		ID: r.TaskID, Key: taskKey(r.Prefix, r.Number), Title: r.Title, ProjectID: r.ProjectID, Status: r.Status,
		StatusCategory: r.StatusCategory, IsCrossProject: r.ProjectID != task.ProjectID,
	}
	return d
}

// loadDependencies returns up to limit dependencies of the task in one direction, in
// order of creation, starting after the dependency with the id after.
func loadDependencies(ctx context.Context, c *executor.Call, task *taskRow, direction string, after op.UUID, limit int) ([]dependencyRow, error) {
	taskColumn, otherColumn := "task_id", "depends_on_id"
	if direction == contract.DirectionBlocks {
		taskColumn, otherColumn = otherColumn, taskColumn
	}
	f, err := c.Filter(ctx, contract.PermTasksRead, relatedTaskColumns)
	if err != nil {
		return nil, err
	}
	st := &postgres.Statement{}
	tenant := st.Arg(c.Tenant)
	st.Add(`
SELECT d.id, d.created_at, o.id AS task_id, o.project_id, po.prefix, o.number, o.title, o.status, o.status_category, `).Filter(f).Add(` AS shown
FROM projects.dependencies d
JOIN projects.tasks o ON o.tenant_id = `, tenant, ` AND o.id = d.`, otherColumn, `
JOIN projects.projects po ON po.tenant_id = `, tenant, ` AND po.id = o.project_id
WHERE d.tenant_id = `, tenant, ` AND d.`, taskColumn, ` = `, st.Arg(task.ID))
	if after != "" {
		st.Add(` AND d.id > `, st.Arg(after))
	}
	st.Add(` ORDER BY d.id LIMIT `, strconv.Itoa(limit))
	return postgres.Collect[dependencyRow](ctx, c.DB, st.SQL(), st.Args()...)
}

const taskIDByKeySQL = `
SELECT t.id FROM projects.projects p
JOIN projects.tasks t ON t.tenant_id = @tenant AND t.project_id = p.id
WHERE p.tenant_id = @tenant AND p.prefix = @prefix AND t.number = @number`

// Adding dependencies locks the tenant's whole graph. Otherwise two concurrent
// transactions could each add a dependency that together form a cycle.
const lockGraphSQL = `SELECT pg_advisory_xact_lock(hashtextextended('parapet dependencies ' || @tenant::text, 0))`

// lockGraph locks the project and then the tenant's dependency graph. It must be called
// before any task is locked.
func lockGraph(ctx context.Context, c *executor.Call, project op.UUID) error {
	batch := &pgx.Batch{}
	batch.Queue(shareLockProjectSQL, postgres.Args{"tenant": c.Tenant, "project": project})
	batch.Queue(lockGraphSQL, postgres.Args{"tenant": c.Tenant})
	return c.Tx.SendBatch(ctx, batch).Close()
}

// Returns all dependencies reachable from @from. OFFSET 0 prevents the planner from
// turning the lookup by task into a join: it overestimates the rows of the recursion
// and would read every dependency of the tenant.
const reachableSQL = `
WITH RECURSIVE reach (id) AS (
    SELECT f.id FROM unnest(@from::uuid[]) AS f (id)
    UNION
    SELECT d.depends_on_id FROM reach r
    CROSS JOIN LATERAL (SELECT o.depends_on_id FROM projects.dependencies o
                        WHERE o.tenant_id = @tenant AND o.task_id = r.id OFFSET 0) d
)
SELECT d.id, d.task_id, d.depends_on_id FROM reach r
CROSS JOIN LATERAL (SELECT o.id, o.task_id, o.depends_on_id FROM projects.dependencies o
                    WHERE o.tenant_id = @tenant AND o.task_id = r.id OFFSET 0) d`

// dependencyLink is a row of projects.dependencies.
type dependencyLink struct {
	ID          op.UUID `json:"id"`
	TaskID      op.UUID `json:"task_id"`
	DependsOnID op.UUID `json:"depends_on_id"`
}

// graph maps each task to the tasks that it depends on.
type graph map[op.UUID][]op.UUID

// loadGraph reads all direct and indirect dependencies of the tasks.
func loadGraph(ctx context.Context, c *executor.Call, from []op.UUID) (graph, error) {
	g := graph{}
	if len(from) == 0 {
		return g, nil
	}
	edges, err := postgres.Collect[dependencyLink](ctx, c.DB, reachableSQL, postgres.Args{"tenant": c.Tenant, "from": from})
	for _, e := range edges {
		g[e.TaskID] = append(g[e.TaskID], e.DependsOnID)
	}
	return g, err
}

// shortestPath returns a shortest path between two tasks, including both, or nil if
// there is none.
func (g graph) shortestPath(from, to op.UUID) []op.UUID {
	predecessor := map[op.UUID]op.UUID{from: ""}
	for next := []op.UUID{from}; len(next) > 0; next = next[1:] {
		if next[0] == to {
			var path []op.UUID
			for id := to; id != ""; id = predecessor[id] {
				path = append([]op.UUID{id}, path...)
			}
			return path
		}
		for _, id := range g[next[0]] {
			if _, seen := predecessor[id]; !seen {
				predecessor[id] = next[0]
				next = append(next, id)
			}
		}
	}
	return nil
}

const insertDependenciesSQL = `
INSERT INTO projects.dependencies (tenant_id, id, task_id, depends_on_id, created_by, created_at)
SELECT @tenant, r.id, r.task_id, r.depends_on_id, @creator, @now
FROM jsonb_to_recordset(@edges::jsonb) AS r (id uuid, task_id uuid, depends_on_id uuid)
ON CONFLICT (tenant_id, task_id, depends_on_id) DO NOTHING
RETURNING task_id`

// insertDependencies inserts dependencies and skips existing ones. It returns the
// dependent task of each inserted dependency.
func insertDependencies(ctx context.Context, c *executor.Call, edges []dependencyLink) ([]op.UUID, error) {
	rows, err := json.Marshal(edges)
	if err != nil {
		return nil, err
	}
	inserted, err := postgres.CollectScalars[op.UUID](ctx, c.DB, insertDependenciesSQL,
		postgres.Args{"tenant": c.Tenant, "edges": rows, "creator": c.Actor.UserID, "now": c.Now})
	return inserted, postgres.MapError(err, dependencyConstraints())
}

func dependencyConstraints() postgres.Constraints {
	return postgres.Constraints{
		"dependencies_task":       fault.NotFound("task"),
		"dependencies_depends_on": fault.Validation("dependsOn", "There is no such task."),
	}
}

const deleteDependencySQL = `
DELETE FROM projects.dependencies d
WHERE d.tenant_id = @tenant AND d.task_id = @task AND d.depends_on_id = @depends_on`
