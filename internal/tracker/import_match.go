package tracker

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

const tasksWithoutItemSQL = exportSelect + `@tenant AND p.id = @project AND t.tenant_id = @tenant AND t.project_id = @project
  AND t.id = ANY(@ids::uuid[]) AND i.source_id IS NULL
ORDER BY t.id`

// matchExportedTasks finds items whose id is the id of a task of the project, as in an
// export of tasks that were never imported. It adds those tasks to known and linked,
// with the fingerprint of the item that an export would return now. An item that
// equals its export is therefore unchanged, and nothing is written for it.
func matchExportedTasks(ctx context.Context, c *executor.Call, project *projectRow, tasks []*importedTask, known map[string]importItem, linked map[op.UUID]*linkedTask) error {
	byID := map[op.UUID]*importedTask{}
	var ids []op.UUID
	for _, t := range tasks {
		if t == nil || known[t.SourceID].TaskID != "" {
			continue
		}
		if id, err := op.ParseUUID(t.SourceID); err == nil && string(id) == t.SourceID {
			byID[id], ids = t, append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := postgres.Collect[exportRow](ctx, c.DB, tasksWithoutItemSQL, postgres.Args{"tenant": c.Tenant, "project": project.ID, "ids": ids})
	if err != nil || len(rows) == 0 {
		return err
	}
	ids = ids[:0]
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	matched, err := loadLinkedTasks(ctx, c, project.ID, ids)
	if err != nil {
		return err
	}
	items, err := toImportItems(ctx, c, project, rows)
	if err != nil {
		return err
	}
	var changed []*importedTask
	for i := range items {
		e := matched[rows[i].ID]
		if e == nil || c.Decide(ctx, contract.PermTasksRead, e.resource(c.Tenant, project)) != nil {
			continue
		}
		current, err := mapItem(&items[i], project.statuses(), c.Now)
		if err != nil {
			return err
		}
		current.ID, linked[e.ID] = e.ID, e
		known[current.SourceID] = importItem{SourceID: current.SourceID, TaskID: e.ID, Fingerprint: current.Fingerprint}
		if current.Fingerprint != byID[e.ID].Fingerprint {
			changed = append(changed, current)
		}
	}
	return insertMatchedItems(ctx, c, project.ID, changed)
}

// insertMatchedItems stores import items and links for matched tasks whose items
// differ from their export. The import then updates them like imported tasks.
func insertMatchedItems(ctx context.Context, c *executor.Call, project op.UUID, tasks []*importedTask) error {
	if len(tasks) == 0 {
		return nil
	}
	links := []importLink{}
	for _, t := range tasks {
		for _, l := range t.links {
			l.Applied = true
			links = append(links, l)
		}
	}
	rows, err := json.Marshal(tasks)
	if err != nil {
		return err
	}
	linkRows, err := json.Marshal(links)
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	batch.Queue(insertImportItemsSQL, postgres.Args{"tenant": c.Tenant, "project": project, "rows": rows, "now": c.Now})
	batch.Queue(insertImportLinksSQL, postgres.Args{"tenant": c.Tenant, "project": project, "links": linkRows, "now": c.Now})
	return c.Tx.SendBatch(ctx, batch).Close()
}
