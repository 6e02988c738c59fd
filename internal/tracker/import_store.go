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

// One import of a project runs at a time: whoever holds the counter's row sees
// all that the import before has written. Locks are taken in one order: project,
// counter, tasks.
const lockCounterSQL = `
SELECT n.last_number FROM projects.counters n
WHERE n.tenant_id = @tenant AND n.project_id = @project FOR UPDATE`

// The statements of an import ask one table by its key, many keys at a time,
// and what belongs together is put together here. In a join the planner, who
// knows little of a table that an import is filling, would go through the whole
// project once for every item.
const (
	itemsBySourceSQL = `
SELECT i.source_id, i.task_id, i.fingerprint FROM projects.import_items i
WHERE i.tenant_id = @tenant AND i.project_id = @project AND i.source_id = ANY(@sources::text[])`

	dependencyEndsSQL = `
SELECT t.id, t.number, t.issue_type, t.epic_id, t.epic_project_id, t.parent_task_id, t.created_by, t.assignee_id FROM projects.tasks t
WHERE t.tenant_id = @tenant AND t.id = ANY(@ids::uuid[])
ORDER BY t.id FOR UPDATE`

	parentsSQL = `
SELECT DISTINCT t.parent_task_id FROM projects.tasks t
WHERE t.tenant_id = @tenant AND t.project_id = @project AND t.parent_task_id = ANY(@ids::uuid[])`

	epicsSQL = `SELECT DISTINCT t.epic_id FROM projects.tasks t WHERE t.tenant_id = @tenant AND t.epic_id = ANY(@ids::uuid[])`
)

// importItem is what the import remembers of an item.
type importItem struct {
	SourceID    string
	TaskID      op.UUID
	Fingerprint string
}

type dependencyEndRow struct {
	ID            op.UUID
	Number        int64
	IssueType     string
	EpicID        *op.UUID
	EpicProjectID *op.UUID
	ParentTaskID  *op.UUID
	CreatedBy     op.UUID
	AssigneeID    *op.UUID
}

// end is a task as the rules of edges see it.
type end struct {
	dependencyEndRow
	hasSubTasks bool
	hasChildren bool
}

func (e *end) resource(tenant op.UUID, project *projectRow) authz.Resource {
	r := project.resource(tenant)
	r.Type, r.ID, r.Creator, r.Owner = "task", string(e.ID), string(e.CreatedBy), text(e.AssigneeID)
	return r
}

// loadItems gives those of the sources that have a task in the project, by their
// own ids, and holds the tasks.
func loadItems(ctx context.Context, c *executor.Call, project op.UUID, sources []string) (map[string]importItem, map[op.UUID]*end, error) {
	rows, err := postgres.Collect[importItem](ctx, c.DB, itemsBySourceSQL,
		postgres.Args{"tenant": c.Tenant, "project": project, "sources": sources})
	if err != nil {
		return nil, nil, err
	}
	items, ids := make(map[string]importItem, len(rows)), make([]op.UUID, len(rows))
	for i, r := range rows {
		items[r.SourceID], ids[i] = r, r.TaskID
	}
	ends, err := loadDependencyEnds(ctx, c, project, ids)
	return items, ends, err
}

func loadDependencyEnds(ctx context.Context, c *executor.Call, project op.UUID, ids []op.UUID) (map[op.UUID]*end, error) {
	ends := make(map[op.UUID]*end, len(ids))
	if len(ids) == 0 {
		return ends, nil
	}
	rows, err := postgres.Collect[dependencyEndRow](ctx, c.DB, dependencyEndsSQL, postgres.Args{"tenant": c.Tenant, "ids": ids})
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		ends[r.ID] = &end{dependencyEndRow: r}
	}
	parents, err := postgres.CollectScalars[op.UUID](ctx, c.DB, parentsSQL, postgres.Args{"tenant": c.Tenant, "project": project, "ids": ids})
	if err != nil {
		return nil, err
	}
	epics, err := postgres.CollectScalars[op.UUID](ctx, c.DB, epicsSQL, postgres.Args{"tenant": c.Tenant, "ids": ids})
	if err != nil {
		return nil, err
	}
	for _, id := range parents {
		ends[id].hasSubTasks = true
	}
	for _, id := range epics {
		ends[id].hasChildren = true
	}
	return ends, nil
}

// lockCounter holds the project's numbers, before any of its tasks.
func lockCounter(ctx context.Context, c *executor.Call, project op.UUID) error {
	var last int64
	return c.DB.QueryRow(ctx, lockCounterSQL, postgres.Args{"tenant": c.Tenant, "project": project}).Scan(&last)
}

const takeNumbersSQL = `
UPDATE projects.counters n SET last_number = n.last_number + @count
WHERE n.tenant_id = @tenant AND n.project_id = @project
RETURNING n.last_number`

// A batch travels as one JSON document, which the server turns into rows.
const insertImportedSQL = `
INSERT INTO projects.tasks (tenant_id, id, project_id, number, title, description, status, status_category, issue_type, priority,
                            progress, labels, created_by, created_at, updated_at, completed_at)
SELECT @tenant, r.id, @project, r.number, r.title, r.description, r.status, r.status_category, r.issue_type, r.priority,
       CASE WHEN r.status_category = 'DONE' THEN 100 ELSE 0 END, r.labels, @creator, r.created_at, @now, r.completed_at
FROM jsonb_to_recordset(@rows::jsonb) AS r (
    id uuid, number bigint, title text, description text, status text, status_category text, issue_type text, priority text,
    labels text[], created_at timestamptz, completed_at timestamptz)`

const insertItemsSQL = `
INSERT INTO projects.import_items (tenant_id, project_id, source_id, task_id, fingerprint, source, imported_at)
SELECT @tenant, @project, r.source_id, r.id, r.fingerprint, r.source, @now
FROM jsonb_to_recordset(@rows::jsonb) AS r (source_id text, id uuid, fingerprint text, source jsonb)`

const updateImportedSQL = `
UPDATE projects.tasks t
SET title = r.title, description = r.description, status = r.status, status_category = r.status_category,
    issue_type = r.issue_type, priority = r.priority, labels = r.labels, completed_at = r.completed_at, updated_at = @now,
    progress = CASE WHEN r.status_category = 'DONE' THEN 100 WHEN t.status_category = 'DONE' THEN 0 ELSE t.progress END
FROM jsonb_to_recordset(@rows::jsonb) AS r (
    id uuid, title text, description text, status text, status_category text, issue_type text, priority text,
    labels text[], completed_at timestamptz)
WHERE t.tenant_id = @tenant AND t.id = r.id`

const updateItemsSQL = `
UPDATE projects.import_items i SET fingerprint = r.fingerprint, source = r.source, imported_at = @now
FROM jsonb_to_recordset(@rows::jsonb) AS r (source_id text, fingerprint text, source jsonb)
WHERE i.tenant_id = @tenant AND i.project_id = @project AND i.source_id = r.source_id`

// A changed item's links are those that it has now.
const dropLinksSQL = `
DELETE FROM projects.import_links l
WHERE l.tenant_id = @tenant AND l.project_id = @project AND l.source_id = ANY(@sources::text[])
  AND NOT EXISTS (SELECT 1 FROM jsonb_to_recordset(@links::jsonb) AS r (source_id text, depends_on_id text, type text)
                  WHERE r.source_id = l.source_id AND r.depends_on_id = l.depends_on_id AND r.type = l.type)
RETURNING l.source_id, l.depends_on_id, l.type, l.applied_at IS NOT NULL AS applied`

const insertLinksSQL = `
INSERT INTO projects.import_links (tenant_id, project_id, source_id, depends_on_id, type, position, applied_at)
SELECT @tenant, @project, r.source_id, r.depends_on_id, r.type, r.position, CASE WHEN r.applied THEN @now::timestamptz END
FROM jsonb_to_recordset(@links::jsonb) AS r (source_id text, depends_on_id text, type text, position smallint, applied boolean)
ON CONFLICT (tenant_id, project_id, source_id, depends_on_id, type) DO UPDATE SET position = excluded.position`

// writeImport writes a batch: new tasks under the next numbers in the order of
// the batch, changed ones with their links, and what the import remembers of both.
// The links of new tasks follow in insertNewLinks.
func writeImport(ctx context.Context, c *executor.Call, project op.UUID, created, updated []*importedTask) error {
	batch := &pgx.Batch{}
	if len(created) > 0 {
		var last int64
		err := c.DB.QueryRow(ctx, takeNumbersSQL, postgres.Args{"tenant": c.Tenant, "project": project, "count": len(created)}).Scan(&last)
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
		batch.Queue(insertImportedSQL, postgres.Args{"tenant": c.Tenant, "project": project, "rows": rows, "now": c.Now, "creator": c.Actor.UserID})
		batch.Queue(insertItemsSQL, postgres.Args{"tenant": c.Tenant, "project": project, "rows": rows, "now": c.Now})
	}
	if len(updated) > 0 {
		rows, err := json.Marshal(updated)
		if err != nil {
			return err
		}
		batch.Queue(updateImportedSQL, postgres.Args{"tenant": c.Tenant, "rows": rows, "now": c.Now})
		batch.Queue(updateItemsSQL, postgres.Args{"tenant": c.Tenant, "project": project, "rows": rows, "now": c.Now})
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
		batch.Queue(insertLinksSQL, postgres.Args{"tenant": c.Tenant, "project": project, "links": rows, "now": c.Now})
	}
	if batch.Len() == 0 {
		return nil
	}
	return postgres.MapError(c.Tx.SendBatch(ctx, batch).Close(), taskConstraints())
}

// insertNewLinks writes the links of the tasks that this import creates. It runs
// last, when it is known which of them were applied. Inserting them earlier and
// updating them here would check the foreign key of each a second time, because
// PostgreSQL checks it again for a row of the same transaction.
func insertNewLinks(ctx context.Context, c *executor.Call, project op.UUID, links []*importLink) error {
	if len(links) == 0 {
		return nil
	}
	rows, err := json.Marshal(links)
	if err != nil {
		return err
	}
	_, err = c.DB.Exec(ctx, insertLinksSQL, postgres.Args{"tenant": c.Tenant, "project": project, "links": rows, "now": c.Now})
	return err
}
