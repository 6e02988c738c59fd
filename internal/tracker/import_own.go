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

const ownTasksSQL = exportSelect + `@tenant AND p.id = @project AND t.tenant_id = @tenant AND t.project_id = @project
  AND t.id = ANY(@ids::uuid[]) AND i.source_id IS NULL
ORDER BY t.id`

// findImportOwn makes an import know the tasks of the project that an export named by
// their own ids: as items that were imported as the export shows them now. What
// comes back unchanged is so without a word written.
func findImportOwn(ctx context.Context, c *executor.Call, project *projectRow, tasks []*importedTask, known map[string]importItem, ends map[op.UUID]*end) error {
	given := map[op.UUID]*importedTask{}
	var ids []op.UUID
	for _, t := range tasks {
		if t == nil || known[t.SourceID].TaskID != "" {
			continue
		}
		if id, err := op.ParseUUID(t.SourceID); err == nil && string(id) == t.SourceID {
			given[id], ids = t, append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := postgres.Collect[exportRow](ctx, c.DB, ownTasksSQL, postgres.Args{"tenant": c.Tenant, "project": project.ID, "ids": ids})
	if err != nil || len(rows) == 0 {
		return err
	}
	ids = ids[:0]
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	own, err := loadDependencyEnds(ctx, c, project.ID, ids)
	if err != nil {
		return err
	}
	items, err := toImportItems(ctx, c, project, rows)
	if err != nil {
		return err
	}
	var changed []*importedTask
	for i := range items {
		e := own[rows[i].ID]
		if e == nil || c.Decide(ctx, contract.PermTasksRead, e.resource(c.Tenant, project)) != nil {
			continue
		}
		was, err := mapItem(&items[i], project.statuses(), c.Now)
		if err != nil {
			return err
		}
		was.ID, ends[e.ID] = e.ID, e
		known[was.SourceID] = importItem{SourceID: was.SourceID, TaskID: e.ID, Fingerprint: was.Fingerprint}
		if was.Fingerprint != given[e.ID].Fingerprint {
			changed = append(changed, was)
		}
	}
	return keepImportOwn(ctx, c, project.ID, changed)
}

// keepImportOwn remembers such tasks as items, because theirs have changed.
func keepImportOwn(ctx context.Context, c *executor.Call, project op.UUID, tasks []*importedTask) error {
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
	tied, err := json.Marshal(links)
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	batch.Queue(insertItemsSQL, postgres.Args{"tenant": c.Tenant, "project": project, "rows": rows, "now": c.Now})
	batch.Queue(insertLinksSQL, postgres.Args{"tenant": c.Tenant, "project": project, "links": tied, "now": c.Now})
	return c.Tx.SendBatch(ctx, batch).Close()
}
