package tracker

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"parapet/internal/authz"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// Locks the project's counter row, so that a project runs one import at a time and
// each import sees all rows of the previous one. Locks are taken in the order project,
// counter, tasks.
const lockCounterSQL = `
SELECT n.last_number FROM projects.counters n
WHERE n.tenant_id = @tenant AND n.project_id = @project FOR UPDATE`

// Each statement of an import selects from one table by a list of keys; the rows are
// joined in Go. With SQL joins the planner, which has outdated statistics for a table
// that an import is filling, would scan the whole project once per item.
const (
	itemsBySourceSQL = `
SELECT i.source_id, i.task_id, i.fingerprint FROM projects.import_items i
WHERE i.tenant_id = @tenant AND i.project_id = @project AND i.source_id = ANY(@sources::text[])`

	lockLinkedTasksSQL = `
SELECT t.id, t.number, t.issue_type, t.epic_id, t.epic_project_id, t.parent_task_id, t.created_by, t.assignee_id FROM projects.tasks t
WHERE t.tenant_id = @tenant AND t.id = ANY(@ids::uuid[])
ORDER BY t.id FOR UPDATE`

	tasksWithSubTasksSQL = `
SELECT DISTINCT t.parent_task_id FROM projects.tasks t
WHERE t.tenant_id = @tenant AND t.project_id = @project AND t.parent_task_id = ANY(@ids::uuid[])`

	epicsWithChildrenSQL = `SELECT DISTINCT t.epic_id FROM projects.tasks t WHERE t.tenant_id = @tenant AND t.epic_id = ANY(@ids::uuid[])`
)

// importItem is the stored record of an imported item.
type importItem struct {
	SourceID    string
	TaskID      op.UUID
	Fingerprint string
}

type linkedTaskRow struct {
	ID            op.UUID
	Number        int64
	IssueType     string
	EpicID        *op.UUID
	EpicProjectID *op.UUID
	ParentTaskID  *op.UUID
	CreatedBy     op.UUID
	AssigneeID    *op.UUID
}

// linkedTask is a task with the attributes that the rules for epics, sub-tasks and
// dependencies need.
type linkedTask struct {
	linkedTaskRow
	hasSubTasks bool
	hasChildren bool
}

func (e *linkedTask) resource(tenant op.UUID, project *projectRow) authz.Resource {
	r := project.resource(tenant)
	r.Type, r.ID, r.Creator, r.Owner = "task", string(e.ID), string(e.CreatedBy), idText(e.AssigneeID)
	return r
}

// loadItems returns the stored items with these source ids, by source id, and their
// tasks, by task id. It locks the tasks.
func loadItems(ctx context.Context, c *executor.Call, project op.UUID, sources []string) (map[string]importItem, map[op.UUID]*linkedTask, error) {
	rows, err := postgres.Collect[importItem](ctx, c.DB, itemsBySourceSQL,
		postgres.Args{"tenant": c.Tenant, "project": project, "sources": sources})
	if err != nil {
		return nil, nil, err
	}
	items, ids := make(map[string]importItem, len(rows)), make([]op.UUID, len(rows))
	for i, r := range rows {
		items[r.SourceID], ids[i] = r, r.TaskID
	}
	tasks, err := loadLinkedTasks(ctx, c, project, ids)
	return items, tasks, err
}

func loadLinkedTasks(ctx context.Context, c *executor.Call, project op.UUID, ids []op.UUID) (map[op.UUID]*linkedTask, error) {
	tasks := make(map[op.UUID]*linkedTask, len(ids))
	if len(ids) == 0 {
		return tasks, nil
	}
	rows, err := postgres.Collect[linkedTaskRow](ctx, c.DB, lockLinkedTasksSQL, postgres.Args{"tenant": c.Tenant, "ids": ids})
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		tasks[r.ID] = &linkedTask{linkedTaskRow: r}
	}
	parents, err := postgres.CollectScalars[op.UUID](ctx, c.DB, tasksWithSubTasksSQL, postgres.Args{"tenant": c.Tenant, "project": project, "ids": ids})
	if err != nil {
		return nil, err
	}
	epics, err := postgres.CollectScalars[op.UUID](ctx, c.DB, epicsWithChildrenSQL, postgres.Args{"tenant": c.Tenant, "ids": ids})
	if err != nil {
		return nil, err
	}
	for _, id := range parents {
		tasks[id].hasSubTasks = true
	}
	for _, id := range epics {
		tasks[id].hasChildren = true
	}
	return tasks, nil
}

// lockCounter locks the project's counter row. Call it before locking tasks of the
// project.
func lockCounter(ctx context.Context, c *executor.Call, project op.UUID) error {
	var last int64
	return c.DB.QueryRow(ctx, lockCounterSQL, postgres.Args{"tenant": c.Tenant, "project": project}).Scan(&last)
}

const reserveNumbersSQL = `
UPDATE projects.counters n SET last_number = n.last_number + @count
WHERE n.tenant_id = @tenant AND n.project_id = @project
RETURNING n.last_number`

// @rows is the whole batch as one JSON array.
const insertImportedTasksSQL = `
INSERT INTO projects.tasks (tenant_id, id, project_id, number, title, description, status, status_category, issue_type, priority,
                            progress, labels, created_by, created_at, updated_at, completed_at)
SELECT @tenant, r.id, @project, r.number, r.title, r.description, r.status, r.status_category, r.issue_type, r.priority,
       CASE WHEN r.status_category = 'DONE' THEN 100 ELSE 0 END, r.labels, @creator, r.created_at, @now, r.completed_at
FROM jsonb_to_recordset(@rows::jsonb) AS r (
    id uuid, number bigint, title text, description text, status text, status_category text, issue_type text, priority text,
    labels text[], created_at timestamptz, completed_at timestamptz)`

const insertImportItemsSQL = `
INSERT INTO projects.import_items (tenant_id, project_id, source_id, task_id, fingerprint, source, imported_at)
SELECT @tenant, @project, r.source_id, r.id, r.fingerprint, r.source, @now
FROM jsonb_to_recordset(@rows::jsonb) AS r (source_id text, id uuid, fingerprint text, source jsonb)`

const updateImportedTasksSQL = `
UPDATE projects.tasks t
SET title = r.title, description = r.description, status = r.status, status_category = r.status_category,
    issue_type = r.issue_type, priority = r.priority, labels = r.labels, completed_at = r.completed_at, updated_at = @now,
    progress = CASE WHEN r.status_category = 'DONE' THEN 100 WHEN t.status_category = 'DONE' THEN 0 ELSE t.progress END
FROM jsonb_to_recordset(@rows::jsonb) AS r (
    id uuid, title text, description text, status text, status_category text, issue_type text, priority text,
    labels text[], completed_at timestamptz)
WHERE t.tenant_id = @tenant AND t.id = r.id`

const updateImportItemsSQL = `
UPDATE projects.import_items i SET fingerprint = r.fingerprint, source = r.source, imported_at = @now
FROM jsonb_to_recordset(@rows::jsonb) AS r (source_id text, fingerprint text, source jsonb)
WHERE i.tenant_id = @tenant AND i.project_id = @project AND i.source_id = r.source_id`

// Deletes the links of the items @sources that are not in @links.
const deleteRemovedLinksSQL = `
DELETE FROM projects.import_links l
WHERE l.tenant_id = @tenant AND l.project_id = @project AND l.source_id = ANY(@sources::text[])
  AND NOT EXISTS (SELECT 1 FROM jsonb_to_recordset(@links::jsonb) AS r (source_id text, depends_on_id text, type text)
                  WHERE r.source_id = l.source_id AND r.depends_on_id = l.depends_on_id AND r.type = l.type)
RETURNING l.source_id, l.depends_on_id, l.type, l.applied_at IS NOT NULL AS applied`

const insertImportLinksSQL = `
INSERT INTO projects.import_links (tenant_id, project_id, source_id, depends_on_id, type, position, applied_at)
SELECT @tenant, @project, r.source_id, r.depends_on_id, r.type, r.position, CASE WHEN r.applied THEN @now::timestamptz END
FROM jsonb_to_recordset(@links::jsonb) AS r (source_id text, depends_on_id text, type text, position smallint, applied boolean)
ON CONFLICT (tenant_id, project_id, source_id, depends_on_id, type) DO UPDATE SET position = excluded.position`

// writeImport inserts the created tasks, numbered in batch order, and updates the
// changed tasks with their links. It also stores the import items of both.
// insertNewLinks stores the links of created tasks.
func writeImport(ctx context.Context, c *executor.Call, project op.UUID, created, updated []*importedTask) error {
	batch := &pgx.Batch{}
	if len(created) > 0 {
		var last int64
		err := c.DB.QueryRow(ctx, reserveNumbersSQL, postgres.Args{"tenant": c.Tenant, "project": project, "count": len(created)}).Scan(&last)
		if err != nil {
			return err
		}
		for i, t := range created {
			t.Number = last - int64(len(created)) + int64(i) + 1
		}
		rows, err := json.Marshal(created)
		if err != nil {
			return err
		}
		batch.Queue(insertImportedTasksSQL, postgres.Args{"tenant": c.Tenant, "project": project, "rows": rows, "now": c.Now, "creator": c.Actor.UserID})
		batch.Queue(insertImportItemsSQL, postgres.Args{"tenant": c.Tenant, "project": project, "rows": rows, "now": c.Now})
	}
	if len(updated) > 0 {
		rows, err := json.Marshal(updated)
		if err != nil {
			return err
		}
		batch.Queue(updateImportedTasksSQL, postgres.Args{"tenant": c.Tenant, "rows": rows, "now": c.Now})
		batch.Queue(updateImportItemsSQL, postgres.Args{"tenant": c.Tenant, "project": project, "rows": rows, "now": c.Now})
	}
	var links []importLink
	for _, t := range updated {
		links = append(links, t.links...)
	}
	if len(links) > 0 {
		rows, err := json.Marshal(links)
		if err != nil {
			return err
		}
		batch.Queue(insertImportLinksSQL, postgres.Args{"tenant": c.Tenant, "project": project, "links": rows, "now": c.Now})
	}
	if batch.Len() == 0 {
		return nil
	}
	return postgres.MapError(c.Tx.SendBatch(ctx, batch).Close(), taskConstraints())
}

// insertNewLinks inserts the links of created tasks. It runs last, when it is known
// which links were applied. Updating rows that the same transaction inserted would
// make PostgreSQL check their foreign keys a second time.
func insertNewLinks(ctx context.Context, c *executor.Call, project op.UUID, links []*importLink) error {
	if len(links) == 0 {
		return nil
	}
	rows, err := json.Marshal(links)
	if err != nil {
		return err
	}
	_, err = c.DB.Exec(ctx, insertImportLinksSQL, postgres.Args{"tenant": c.Tenant, "project": project, "links": rows, "now": c.Now})
	return err
}
