package tracker

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// droppedLink is a link that a changed item has no more.
type droppedLink struct {
	SourceID    string
	DependsOnID string
	Type        string
	// Applied says that the link had become part of the tasks.
	Applied bool
}

const dropEdgesSQL = `
UPDATE projects.tasks t SET epic_id = NULL, epic_project_id = NULL, parent_task_id = NULL
WHERE t.tenant_id = @tenant AND t.id = ANY(@ids::uuid[])`

const dropDependenciesSQL = `
DELETE FROM projects.dependencies d
USING jsonb_to_recordset(@edges::jsonb) AS r (task_id uuid, depends_on_id uuid)
WHERE d.tenant_id = @tenant AND d.task_id = r.task_id AND d.depends_on_id = r.depends_on_id`

// dropLinks forgets the links that changed items have no more. What was made of
// one goes as well: a dependency, and an edge unless a person has put another in
// its place.
func dropLinks(ctx context.Context, c *executor.Call, project op.UUID, updated []*importedTask) error {
	if len(updated) == 0 {
		return nil
	}
	links, sources := []importLink{}, make([]string, len(updated))
	for i, t := range updated {
		links = append(links, t.links...)
		sources[i] = t.SourceID
	}
	rows, err := json.Marshal(links)
	if err != nil {
		return err
	}
	dropped, err := postgres.Collect[droppedLink](ctx, c.DB, dropLinksSQL,
		postgres.Args{"tenant": c.Tenant, "project": project, "links": rows, "sources": sources})
	if err != nil {
		return err
	}
	var names []string
	for _, d := range dropped {
		if d.Applied {
			names = append(names, d.SourceID, d.DependsOnID)
		}
	}
	if len(names) == 0 {
		return nil
	}
	items, ends, err := loadItems(ctx, c, project, names)
	if err != nil {
		return err
	}
	var ids []op.UUID
	waits := []dependencyLink{}
	for _, d := range dropped {
		child, other := ends[items[d.SourceID].TaskID], items[d.DependsOnID].TaskID
		switch {
		case !d.Applied || child == nil || other == "":
		case d.Type == contract.LinkBlocks:
			waits = append(waits, dependencyLink{TaskID: child.ID, DependsOnID: other})
		case value(child.EpicID) == other || value(child.ParentTaskID) == other:
			ids = append(ids, child.ID)
		}
	}
	edges, err := json.Marshal(waits)
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	batch.Queue(dropEdgesSQL, postgres.Args{"tenant": c.Tenant, "ids": ids})
	batch.Queue(dropDependenciesSQL, postgres.Args{"tenant": c.Tenant, "edges": edges})
	return c.Tx.SendBatch(ctx, batch).Close()
}

// The stored links of one kind that are not applied yet and have an end in the batch.
const openLinksSQL = `
SELECT l.source_id, l.depends_on_id, l.position FROM projects.import_links l
WHERE l.tenant_id = @tenant AND l.project_id = @project AND l.type = @type AND l.applied_at IS NULL
  AND l.source_id = ANY(@sources::text[])
UNION
SELECT l.source_id, l.depends_on_id, l.position FROM projects.import_links l
WHERE l.tenant_id = @tenant AND l.project_id = @project AND l.type = @type AND l.applied_at IS NULL
  AND l.depends_on_id = ANY(@sources::text[])`

// openLink is a link that is not applied yet, with the tasks at both ends.
type openLink struct {
	linkRow
	child, parent *end
	// unsaved is the link itself when it belongs to a new task and is not stored yet.
	unsaved *importLink
}

type linkRow struct {
	SourceID    string
	DependsOnID string
	Position    int
}

// openLinks returns the links of one kind that are not applied yet and have both
// tasks, in the order of their items: where an item can have only one, its first
// link counts. It also returns the tasks.
func (b *importBatch) openLinks(ctx context.Context, c *executor.Call, project op.UUID, kind string) ([]openLink, map[op.UUID]*end, error) {
	rows, err := postgres.Collect[linkRow](ctx, c.DB, openLinksSQL,
		postgres.Args{"tenant": c.Tenant, "project": project, "type": kind, "sources": b.sources})
	if err != nil {
		return nil, nil, err
	}
	links := make([]openLink, 0, len(rows)+len(b.newLinks))
	for _, l := range rows {
		links = append(links, openLink{linkRow: l})
	}
	for _, l := range b.newLinks {
		if l.Type == kind {
			links = append(links, openLink{linkRow: linkRow{l.SourceID, l.DependsOnID, l.Position}, unsaved: l})
		}
	}
	if len(links) == 0 {
		return nil, nil, nil
	}
	named := map[string]bool{}
	for _, l := range links {
		named[l.SourceID], named[l.DependsOnID] = true, true
	}
	items, ends, err := loadItems(ctx, c, project, slices.Sorted(maps.Keys(named)))
	if err != nil {
		return nil, nil, err
	}
	open := links[:0]
	for _, l := range links {
		l.child, l.parent = ends[items[l.SourceID].TaskID], ends[items[l.DependsOnID].TaskID]
		if l.child != nil && l.parent != nil {
			open = append(open, l)
		}
	}
	slices.SortFunc(open, func(a, b openLink) int {
		return cmp.Or(cmp.Compare(a.child.Number, b.child.Number), a.Position-b.Position)
	})
	return open, ends, nil
}

// requireLinkPermission tells whether the import may change the task: one of its own batch, or
// one of an earlier batch that its caller may update.
func (b *importBatch) requireLinkPermission(ctx context.Context, c *executor.Call, project *projectRow, task *end) bool {
	_, own := b.places[task.ID]
	return own || c.Decide(ctx, contract.PermTaskUpdate, task.resource(c.Tenant, project)) == nil
}

const insertEdgesSQL = `
UPDATE projects.tasks t
SET epic_id = r.epic_id, epic_project_id = r.epic_project_id, parent_task_id = r.parent_task_id, updated_at = @now
FROM jsonb_to_recordset(@edges::jsonb) AS r (id uuid, epic_id uuid, epic_project_id uuid, parent_task_id uuid)
WHERE t.tenant_id = @tenant AND t.id = r.id`

const closeLinksSQL = `
UPDATE projects.import_links l SET applied_at = @now
FROM jsonb_to_recordset(@links::jsonb) AS r (source_id text, depends_on_id text)
WHERE l.tenant_id = @tenant AND l.project_id = @project AND l.source_id = r.source_id AND l.depends_on_id = r.depends_on_id
  AND l.type = @type`

// linkParents applies the links to a parent that have both tasks: to an epic as
// its child, to another task as its sub-task. A link that would break a rule of
// edges stays unapplied. It returns the names of the changed fields of each task.
func (b *importBatch) linkParents(ctx context.Context, c *executor.Call, project *projectRow) (map[op.UUID][]string, error) {
	open, ends, err := b.openLinks(ctx, c, project.ID, contract.LinkParentChild)
	if err != nil || len(open) == 0 {
		return nil, err
	}
	changed, made := map[op.UUID][]string{}, []openLink{}
	for _, l := range open {
		if !b.requireLinkPermission(ctx, c, project, l.child) {
			continue
		}
		if field := l.child.join(l.parent); field != "" {
			changed[l.child.ID] = append(changed[l.child.ID], field)
			made = append(made, l)
		}
	}
	return changed, writeEdges(ctx, c, project.ID, changed, ends, made)
}

// join makes e a child or sub-task of parent and names the field; "" where the
// rules of edges do not admit it.
func (e *end) join(parent *end) string {
	switch {
	case e.IssueType == contract.TypeEpic:
		return ""
	case parent.IssueType == contract.TypeEpic:
		if e.EpicID != nil {
			return ""
		}
		e.EpicID, parent.hasChildren = &parent.ID, true
		return "epicId"
	case e.ParentTaskID != nil || e.hasSubTasks || parent.ParentTaskID != nil || parent.ID == e.ID:
		return ""
	default:
		e.ParentTaskID, parent.hasSubTasks = &parent.ID, true
		return "parentTaskId"
	}
}

// writeEdges stores what join made.
func writeEdges(ctx context.Context, c *executor.Call, project op.UUID, changed map[op.UUID][]string, ends map[op.UUID]*end, made []openLink) error {
	if len(made) == 0 {
		return nil
	}
	type edge struct {
		ID            op.UUID  `json:"id"`
		EpicID        *op.UUID `json:"epic_id"`
		EpicProjectID *op.UUID `json:"epic_project_id"`
		ParentTaskID  *op.UUID `json:"parent_task_id"`
	}
	var edges []edge
	for id, fields := range changed {
		e := edge{ID: id, EpicID: ends[id].EpicID, EpicProjectID: ends[id].EpicProjectID, ParentTaskID: ends[id].ParentTaskID}
		if slices.Contains(fields, "epicId") {
			e.EpicProjectID = nil
		}
		edges = append(edges, e)
	}
	rows, err := json.Marshal(edges)
	if err != nil {
		return err
	}
	if _, err := c.DB.Exec(ctx, insertEdgesSQL, postgres.Args{"tenant": c.Tenant, "edges": rows, "now": c.Now}); err != nil {
		return postgres.MapError(err, taskConstraints())
	}
	return closeLinks(ctx, c, project, contract.LinkParentChild, made)
}

// closeLinks marks the links as applied. Those that are not stored yet are stored
// so by insertNewLinks.
func closeLinks(ctx context.Context, c *executor.Call, project op.UUID, kind string, made []openLink) error {
	type link struct {
		SourceID    string `json:"source_id"`
		DependsOnID string `json:"depends_on_id"`
	}
	var links []link
	for _, l := range made {
		if l.unsaved != nil {
			l.unsaved.Applied = true
			continue
		}
		links = append(links, link{l.SourceID, l.DependsOnID})
	}
	if len(links) == 0 {
		return nil
	}
	rows, err := json.Marshal(links)
	if err != nil {
		return err
	}
	_, err = c.DB.Exec(ctx, closeLinksSQL, postgres.Args{"tenant": c.Tenant, "project": project, "type": kind, "links": rows, "now": c.Now})
	return err
}
