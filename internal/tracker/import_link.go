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

// removedLink is a stored link that the changed item no longer has.
type removedLink struct {
	SourceID    string
	DependsOnID string
	Type        string
	// Applied reports whether the link was stored as a parent or a dependency of the task.
	Applied bool
}

const clearParentsSQL = `
UPDATE projects.tasks t SET epic_id = NULL, epic_project_id = NULL, parent_task_id = NULL
WHERE t.tenant_id = @tenant AND t.id = ANY(@ids::uuid[])`

const deleteDependencyPairsSQL = `
DELETE FROM projects.dependencies d
USING jsonb_to_recordset(@edges::jsonb) AS r (task_id uuid, depends_on_id uuid)
WHERE d.tenant_id = @tenant AND d.task_id = r.task_id AND d.depends_on_id = r.depends_on_id`

// deleteRemovedLinks deletes the stored links that the changed items no longer have.
// It also removes the dependency that came from such a link, and the parent or epic,
// unless a user has replaced it since.
func deleteRemovedLinks(ctx context.Context, c *executor.Call, project op.UUID, updated []*importedTask) error {
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
	removed, err := postgres.Collect[removedLink](ctx, c.DB, deleteRemovedLinksSQL,
		postgres.Args{"tenant": c.Tenant, "project": project, "links": rows, "sources": sources})
	if err != nil {
		return err
	}
	var names []string
	for _, d := range removed {
		if d.Applied {
			names = append(names, d.SourceID, d.DependsOnID)
		}
	}
	if len(names) == 0 {
		return nil
	}
	items, tasks, err := loadItems(ctx, c, project, names)
	if err != nil {
		return err
	}
	var ids []op.UUID
	dependencies := []dependencyLink{}
	for _, d := range removed {
		child, other := tasks[items[d.SourceID].TaskID], items[d.DependsOnID].TaskID
		switch {
		case !d.Applied || child == nil || other == "":
		case d.Type == contract.LinkBlocks:
			dependencies = append(dependencies, dependencyLink{TaskID: child.ID, DependsOnID: other})
		case postgres.ValueOrZero(child.EpicID) == other || postgres.ValueOrZero(child.ParentTaskID) == other:
			ids = append(ids, child.ID)
		}
	}
	pairs, err := json.Marshal(dependencies)
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	batch.Queue(clearParentsSQL, postgres.Args{"tenant": c.Tenant, "ids": ids})
	batch.Queue(deleteDependencyPairsSQL, postgres.Args{"tenant": c.Tenant, "edges": pairs})
	return c.Tx.SendBatch(ctx, batch).Close()
}

// Selects the links of one type that are not applied and have an end in the batch.
const unappliedLinksSQL = `
SELECT l.source_id, l.depends_on_id, l.position FROM projects.import_links l
WHERE l.tenant_id = @tenant AND l.project_id = @project AND l.type = @type AND l.applied_at IS NULL
  AND l.source_id = ANY(@sources::text[])
UNION
SELECT l.source_id, l.depends_on_id, l.position FROM projects.import_links l
WHERE l.tenant_id = @tenant AND l.project_id = @project AND l.type = @type AND l.applied_at IS NULL
  AND l.depends_on_id = ANY(@sources::text[])`

// unappliedLink is a link that is not applied yet, with the tasks at both ends.
type unappliedLink struct {
	linkRow
	child, parent *linkedTask
	// newLink is the link of a created task, which insertNewLinks has not stored yet; nil
	// for a stored link.
	newLink *importLink
}

type linkRow struct {
	SourceID    string
	DependsOnID string
	Position    int
}

// loadUnappliedLinks returns the unapplied links of a type whose tasks both exist,
// ordered by item and position: if a task can have only one such link, the first one
// is used. It also returns the tasks by id.
func (b *importBatch) loadUnappliedLinks(ctx context.Context, c *executor.Call, project op.UUID, kind string) ([]unappliedLink, map[op.UUID]*linkedTask, error) {
	rows, err := postgres.Collect[linkRow](ctx, c.DB, unappliedLinksSQL,
		postgres.Args{"tenant": c.Tenant, "project": project, "type": kind, "sources": b.itemIDs})
	if err != nil {
		return nil, nil, err
	}
	links := make([]unappliedLink, 0, len(rows)+len(b.newLinks))
	for _, l := range rows {
		links = append(links, unappliedLink{linkRow: l})
	}
	for _, l := range b.newLinks {
		if l.Type == kind {
			links = append(links, unappliedLink{linkRow: linkRow{l.SourceID, l.DependsOnID, l.Position}, newLink: l})
		}
	}
	if len(links) == 0 {
		return nil, nil, nil
	}
	itemIDs := map[string]bool{}
	for _, l := range links {
		itemIDs[l.SourceID], itemIDs[l.DependsOnID] = true, true
	}
	items, tasks, err := loadItems(ctx, c, project, slices.Sorted(maps.Keys(itemIDs)))
	if err != nil {
		return nil, nil, err
	}
	complete := links[:0]
	for _, l := range links {
		l.child, l.parent = tasks[items[l.SourceID].TaskID], tasks[items[l.DependsOnID].TaskID]
		if l.child != nil && l.parent != nil {
			complete = append(complete, l)
		}
	}
	slices.SortFunc(complete, func(a, b unappliedLink) int {
		return cmp.Or(cmp.Compare(a.child.Number, b.child.Number), a.Position-b.Position)
	})
	return complete, tasks, nil
}

// canChangeTask reports whether the import may change the task: the task is in the
// batch, or the caller has task.update on it.
func (b *importBatch) canChangeTask(ctx context.Context, c *executor.Call, project *projectRow, task *linkedTask) bool {
	_, inBatch := b.resultIndexes[task.ID]
	return inBatch || c.Decide(ctx, contract.PermTaskUpdate, task.resource(c.Tenant, project)) == nil
}

const updateParentsSQL = `
UPDATE projects.tasks t
SET epic_id = r.epic_id, epic_project_id = r.epic_project_id, parent_task_id = r.parent_task_id, updated_at = @now
FROM jsonb_to_recordset(@edges::jsonb) AS r (id uuid, epic_id uuid, epic_project_id uuid, parent_task_id uuid)
WHERE t.tenant_id = @tenant AND t.id = r.id`

const markLinksAppliedSQL = `
UPDATE projects.import_links l SET applied_at = @now
FROM jsonb_to_recordset(@links::jsonb) AS r (source_id text, depends_on_id text)
WHERE l.tenant_id = @tenant AND l.project_id = @project AND l.source_id = r.source_id AND l.depends_on_id = r.depends_on_id
  AND l.type = @type`

// applyParentLinks applies the parent-child links whose tasks both exist: the child is
// added to the epic or becomes a sub-task of the parent. Links that would break a rule
// for epics or sub-tasks stay unapplied. It returns the names of the changed fields by
// task id.
func (b *importBatch) applyParentLinks(ctx context.Context, c *executor.Call, project *projectRow) (map[op.UUID][]string, error) {
	links, tasks, err := b.loadUnappliedLinks(ctx, c, project.ID, contract.LinkParentChild)
	if err != nil || len(links) == 0 {
		return nil, err
	}
	changed, applied := map[op.UUID][]string{}, []unappliedLink{}
	for _, l := range links {
		if !b.canChangeTask(ctx, c, project, l.child) {
			continue
		}
		if field := l.child.linkTo(l.parent); field != "" {
			changed[l.child.ID] = append(changed[l.child.ID], field)
			applied = append(applied, l)
		}
	}
	return changed, updateParents(ctx, c, project.ID, changed, tasks, applied)
}

// linkTo makes e a child of the epic or a sub-task of the parent task. It returns the
// name of the changed field, or "" if the rules for epics and sub-tasks do not allow
// the link.
func (e *linkedTask) linkTo(parent *linkedTask) string {
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

// updateParents stores the epics and parents that linkTo has set, and marks the links
// as applied.
func updateParents(ctx context.Context, c *executor.Call, project op.UUID, changed map[op.UUID][]string, tasks map[op.UUID]*linkedTask, applied []unappliedLink) error {
	if len(applied) == 0 {
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
		e := edge{ID: id, EpicID: tasks[id].EpicID, EpicProjectID: tasks[id].EpicProjectID, ParentTaskID: tasks[id].ParentTaskID}
		if slices.Contains(fields, "epicId") {
			e.EpicProjectID = nil
		}
		edges = append(edges, e)
	}
	rows, err := json.Marshal(edges)
	if err != nil {
		return err
	}
	if _, err := c.DB.Exec(ctx, updateParentsSQL, postgres.Args{"tenant": c.Tenant, "edges": rows, "now": c.Now}); err != nil {
		return postgres.MapError(err, taskConstraints())
	}
	return markLinksApplied(ctx, c, project, contract.LinkParentChild, applied)
}

// markLinksApplied marks the links as applied. For a link that is not stored yet it
// sets the flag that insertNewLinks stores.
func markLinksApplied(ctx context.Context, c *executor.Call, project op.UUID, kind string, applied []unappliedLink) error {
	type link struct {
		SourceID    string `json:"source_id"`
		DependsOnID string `json:"depends_on_id"`
	}
	var links []link
	for _, l := range applied {
		if l.newLink != nil {
			l.newLink.Applied = true
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
	_, err = c.DB.Exec(ctx, markLinksAppliedSQL, postgres.Args{"tenant": c.Tenant, "project": project, "type": kind, "links": rows, "now": c.Now})
	return err
}
