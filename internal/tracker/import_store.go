package tracker

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/gate"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// One import of a project runs at a time: whoever holds the counter's row sees
// all that the import before has written.
const lockImportSQL = `
SELECT n.last_number FROM projects.counters n
WHERE n.tenant_id = @tenant AND n.project_id = @project FOR UPDATE`

const knownItemsSQL = `
SELECT i.source_id, i.fingerprint, t.id, t.number, t.issue_type, t.created_by, t.assignee_id,
       t.epic_id IS NOT NULL OR t.parent_task_id IS NOT NULL AS is_child,
       EXISTS (SELECT 1 FROM projects.tasks c WHERE c.tenant_id = @tenant AND c.epic_id = t.id)
       OR EXISTS (SELECT 1 FROM projects.tasks c
                  WHERE c.tenant_id = @tenant AND c.project_id = @project AND c.parent_task_id = t.id) AS has_children
FROM projects.import_items i
JOIN projects.tasks t ON t.tenant_id = @tenant AND t.project_id = @project AND t.id = i.task_id
WHERE i.tenant_id = @tenant AND i.project_id = @project AND i.source_id = ANY(@sources::text[])
FOR UPDATE OF t`

// knownItem is an item that was imported before, with its task.
type knownItem struct {
	SourceID    string
	Fingerprint string
	ID          op.UUID
	Number      int64
	IssueType   string
	CreatedBy   op.UUID
	AssigneeID  *op.UUID
	IsChild     bool
	HasChildren bool
}

func (k *knownItem) resource(tenant op.UUID, project *projectRow) authz.Resource {
	r := project.resource(tenant)
	r.Type, r.ID, r.Creator, r.Owner = "task", string(k.ID), string(k.CreatedBy), text(k.AssigneeID)
	return r
}

// knownItems gives those of the sources that have a task in the project.
func knownItems(ctx context.Context, c *gate.Call, project op.UUID, sources []string) (map[string]knownItem, error) {
	var last int64
	err := c.DB.QueryRow(ctx, lockImportSQL, postgres.Args{"tenant": c.Tenant, "project": project}).Scan(&last)
	if err != nil {
		return nil, err
	}
	rows, err := postgres.Collect[knownItem](ctx, c.DB, knownItemsSQL,
		postgres.Args{"tenant": c.Tenant, "project": project, "sources": sources})
	known := make(map[string]knownItem, len(rows))
	for _, r := range rows {
		known[r.SourceID] = r
	}
	return known, err
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
WHERE t.tenant_id = @tenant AND t.project_id = @project AND t.id = r.id`

const updateItemsSQL = `
UPDATE projects.import_items i SET fingerprint = r.fingerprint, source = r.source, imported_at = @now
FROM jsonb_to_recordset(@rows::jsonb) AS r (source_id text, fingerprint text, source jsonb)
WHERE i.tenant_id = @tenant AND i.project_id = @project AND i.source_id = r.source_id`

// A changed item's links are those that it has now. An edge that was made of a
// link which is gone, goes as well.
const dropLinksSQL = `
WITH gone AS (
    DELETE FROM projects.import_links l
    WHERE l.tenant_id = @tenant AND l.project_id = @project AND l.source_id = ANY(@sources::text[])
      AND NOT EXISTS (SELECT 1 FROM jsonb_to_recordset(@links::jsonb) AS r (source_id text, depends_on_id text, type text)
                      WHERE r.source_id = l.source_id AND r.depends_on_id = l.depends_on_id AND r.type = l.type)
    RETURNING l.source_id, l.depends_on_id, l.type, l.applied_at
)
UPDATE projects.tasks t SET epic_id = NULL, epic_project_id = NULL, parent_task_id = NULL
FROM gone g
JOIN projects.import_items i ON i.tenant_id = @tenant AND i.project_id = @project AND i.source_id = g.source_id
JOIN projects.import_items o ON o.tenant_id = @tenant AND o.project_id = @project AND o.source_id = g.depends_on_id
WHERE g.type = 'parent-child' AND g.applied_at IS NOT NULL
  AND t.tenant_id = @tenant AND t.project_id = @project AND t.id = i.task_id AND o.task_id IN (t.epic_id, t.parent_task_id)`

const insertLinksSQL = `
INSERT INTO projects.import_links (tenant_id, project_id, source_id, depends_on_id, type, position)
SELECT @tenant, @project, r.source_id, r.depends_on_id, r.type, r.position
FROM jsonb_to_recordset(@links::jsonb) AS r (source_id text, depends_on_id text, type text, position smallint)
ON CONFLICT (tenant_id, project_id, source_id, depends_on_id, type) DO UPDATE SET applied_at = import_links.applied_at`

// writeImport writes a batch: new tasks under the next numbers in the order of
// the batch, changed ones, and what the import remembers of both.
func writeImport(ctx context.Context, c *gate.Call, project op.UUID, created, updated []*importedTask) error {
	if len(created) > 0 {
		var last int64
		err := c.DB.QueryRow(ctx, takeNumbersSQL, postgres.Args{"tenant": c.Tenant, "project": project, "count": len(created)}).Scan(&last)
		if err != nil {
			return err
		}
		for i, t := range created {
			t.Number = last - int64(len(created)) + int64(i) + 1
		}
	}
	args := func(rows any, more ...any) (postgres.Args, error) {
		text, err := json.Marshal(rows)
		a := postgres.Args{"tenant": c.Tenant, "project": project, "rows": text, "now": c.Now}
		for i := 0; i+1 < len(more); i += 2 {
			a[more[i].(string)] = more[i+1]
		}
		return a, err
	}
	batch := &pgx.Batch{}
	if len(created) > 0 {
		tasks, err := args(created, "creator", c.Actor.UserID)
		if err != nil {
			return err
		}
		items, err := args(created)
		if err != nil {
			return err
		}
		batch.Queue(insertImportedSQL, tasks)
		batch.Queue(insertItemsSQL, items)
	}
	if len(updated) > 0 {
		rows, err := args(updated)
		if err != nil {
			return err
		}
		batch.Queue(updateImportedSQL, rows)
		batch.Queue(updateItemsSQL, rows)
	}
	if err := queueLinks(batch, c, project, created, updated); err != nil {
		return err
	}
	if batch.Len() == 0 {
		return nil
	}
	return postgres.MapError(c.Tx.SendBatch(ctx, batch).Close(), taskConstraints())
}

func queueLinks(batch *pgx.Batch, c *gate.Call, project op.UUID, created, updated []*importedTask) error {
	links := []importLink{}
	var sources []string
	for _, t := range created {
		links = append(links, t.links...)
	}
	for _, t := range updated {
		links = append(links, t.links...)
		sources = append(sources, t.SourceID)
	}
	text, err := json.Marshal(links)
	if err != nil {
		return err
	}
	of := postgres.Args{"tenant": c.Tenant, "project": project, "links": text}
	if len(sources) > 0 {
		drop := postgres.Args{"tenant": c.Tenant, "project": project, "links": text, "sources": sources}
		batch.Queue(dropLinksSQL, drop)
	}
	if len(links) > 0 {
		batch.Queue(insertLinksSQL, of)
	}
	return nil
}

// The links to a parent that have both ends now, one of them in this batch, and
// are no edge yet.
const openLinksSQL = `
SELECT l.source_id, l.depends_on_id, c.id AS child_id, c.issue_type AS child_type, c.epic_id AS child_epic_id,
       c.parent_task_id AS child_parent_id, c.created_by AS child_created_by, c.assignee_id AS child_assignee_id,
       EXISTS (SELECT 1 FROM projects.tasks s
               WHERE s.tenant_id = @tenant AND s.project_id = @project AND s.parent_task_id = c.id) AS child_has_sub_tasks,
       p.id AS parent_id, p.issue_type AS parent_type, p.parent_task_id AS parent_parent_id
FROM projects.import_links l
JOIN projects.import_items ci ON ci.tenant_id = @tenant AND ci.project_id = @project AND ci.source_id = l.source_id
JOIN projects.tasks c ON c.tenant_id = @tenant AND c.project_id = @project AND c.id = ci.task_id
JOIN projects.import_items pi ON pi.tenant_id = @tenant AND pi.project_id = @project AND pi.source_id = l.depends_on_id
JOIN projects.tasks p ON p.tenant_id = @tenant AND p.project_id = @project AND p.id = pi.task_id
WHERE l.tenant_id = @tenant AND l.project_id = @project AND l.type = 'parent-child' AND l.applied_at IS NULL
  AND (l.source_id = ANY(@sources::text[]) OR l.depends_on_id = ANY(@sources::text[]))
ORDER BY c.number, l.position
FOR UPDATE OF c`

// openLink is a link that could become an edge.
type openLink struct {
	SourceID         string
	DependsOnID      string
	ChildID          op.UUID
	ChildType        string
	ChildEpicID      *op.UUID
	ChildParentID    *op.UUID
	ChildCreatedBy   op.UUID
	ChildAssigneeID  *op.UUID
	ChildHasSubTasks bool
	ParentID         op.UUID
	ParentType       string
	ParentParentID   *op.UUID
}

// madeEdge is a link that became an edge.
type madeEdge struct {
	SourceID    string   `json:"source_id"`
	DependsOnID string   `json:"depends_on_id"`
	ID          op.UUID  `json:"id"`
	EpicID      *op.UUID `json:"epic_id"`
	ParentID    *op.UUID `json:"parent_id"`
}

const makeEdgesSQL = `
UPDATE projects.tasks t
SET epic_id = coalesce(r.epic_id, t.epic_id), parent_task_id = coalesce(r.parent_id, t.parent_task_id), updated_at = @now
FROM (SELECT e.id, min(e.epic_id::text)::uuid AS epic_id, min(e.parent_id::text)::uuid AS parent_id
      FROM jsonb_to_recordset(@edges::jsonb) AS e (id uuid, epic_id uuid, parent_id uuid) GROUP BY e.id) r
WHERE t.tenant_id = @tenant AND t.project_id = @project AND t.id = r.id`

const closeLinksSQL = `
UPDATE projects.import_links l SET applied_at = @now
FROM jsonb_to_recordset(@edges::jsonb) AS r (source_id text, depends_on_id text)
WHERE l.tenant_id = @tenant AND l.project_id = @project AND l.type = 'parent-child'
  AND l.source_id = r.source_id AND l.depends_on_id = r.depends_on_id`

func writeEdges(ctx context.Context, c *gate.Call, project op.UUID, edges []madeEdge) error {
	if len(edges) == 0 {
		return nil
	}
	text, err := json.Marshal(edges)
	if err != nil {
		return err
	}
	of := postgres.Args{"tenant": c.Tenant, "project": project, "edges": text, "now": c.Now}
	batch := &pgx.Batch{}
	batch.Queue(makeEdgesSQL, of)
	batch.Queue(closeLinksSQL, of)
	return postgres.MapError(c.Tx.SendBatch(ctx, batch).Close(), taskConstraints())
}

// linkImported makes edges of the links to a parent that have both ends by now:
// to an epic as its child, to another task as its sub-task. A link that would
// break a rule of edges stays a mere link. It gives the tasks that have changed.
func linkImported(ctx context.Context, c *gate.Call, project *projectRow, sources []string, mine map[op.UUID]bool) (map[op.UUID][]string, error) {
	open, err := postgres.Collect[openLink](ctx, c.DB, openLinksSQL,
		postgres.Args{"tenant": c.Tenant, "project": project.ID, "sources": sources})
	if err != nil {
		return nil, err
	}
	changed := map[op.UUID][]string{}
	// What this run has made so far counts like what was there before.
	hasEpic, isSubTask, hasSubTasks := map[op.UUID]bool{}, map[op.UUID]bool{}, map[op.UUID]bool{}
	var edges []madeEdge
	for _, l := range open {
		if l.ChildType == contract.TypeEpic {
			continue
		}
		if _, seen := changed[l.ChildID]; !seen && !mine[l.ChildID] && !mayLink(ctx, c, project, &l) {
			continue
		}
		edge := madeEdge{SourceID: l.SourceID, DependsOnID: l.DependsOnID, ID: l.ChildID}
		if l.ParentType == contract.TypeEpic {
			if l.ChildEpicID != nil || hasEpic[l.ChildID] {
				continue
			}
			hasEpic[l.ChildID] = true
			edge.EpicID = &l.ParentID
			changed[l.ChildID] = append(changed[l.ChildID], "epicId")
		} else {
			if l.ChildParentID != nil || isSubTask[l.ChildID] || l.ChildHasSubTasks || hasSubTasks[l.ChildID] ||
				l.ParentParentID != nil || isSubTask[l.ParentID] {
				continue
			}
			isSubTask[l.ChildID], hasSubTasks[l.ParentID] = true, true
			edge.ParentID = &l.ParentID
			changed[l.ChildID] = append(changed[l.ChildID], "parentTaskId")
		}
		edges = append(edges, edge)
	}
	return changed, writeEdges(ctx, c, project.ID, edges)
}

// mayLink tells whether the caller may change a task that is not of its batch.
func mayLink(ctx context.Context, c *gate.Call, project *projectRow, l *openLink) bool {
	k := knownItem{ID: l.ChildID, CreatedBy: l.ChildCreatedBy, AssigneeID: l.ChildAssigneeID}
	return c.Decide(ctx, contract.PermTaskUpdate, k.resource(c.Tenant, project)) == nil
}
