package tracker

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

const usedStatusesSQL = `
SELECT s.name FROM projects.statuses s
WHERE s.tenant_id = @tenant AND s.project_id = @project AND s.name = ANY(@gone::text[])
  AND EXISTS (SELECT 1 FROM projects.tasks t
              WHERE t.tenant_id = @tenant AND t.project_id = @project AND t.status = s.name)
ORDER BY s.position`

const deleteStatusesSQL = `
DELETE FROM projects.statuses s
WHERE s.tenant_id = @tenant AND s.project_id = @project AND s.name = ANY(@gone::text[])`

// Done work is whole: before a status becomes one of the category DONE, because
// the tasks follow the status's category at once.
const finishTasksSQL = `
UPDATE projects.tasks t SET progress = 100, updated_at = @now
WHERE t.tenant_id = @tenant AND t.project_id = @project AND t.status = ANY(@done::text[]) AND t.progress <> 100`

const updateStatusCategoriesSQL = `
UPDATE projects.tasks t
SET completed_at = CASE WHEN t.status_category IN ('DONE', 'CANCELLED') THEN coalesce(t.completed_at, @now) END, updated_at = @now
WHERE t.tenant_id = @tenant AND t.project_id = @project AND t.status = ANY(@moved::text[])`

// replaceStatuses puts the new set in the place of the old one. Tasks of a status
// that has just been renamed are stamped like those of one whose category changes.
func replaceStatuses(ctx context.Context, c *executor.Call, project op.UUID, old, statuses []contract.Status, renames []contract.StatusRename) error {
	was := map[string]string{}
	for _, s := range old {
		was[s.Name] = s.Category
	}
	var names, categories, done, moved []string
	for _, r := range renames {
		moved = append(moved, r.To)
	}
	for _, s := range statuses {
		names, categories = append(names, s.Name), append(categories, s.Category)
		if category, ok := was[s.Name]; ok && category != s.Category {
			moved = append(moved, s.Name)
			if s.Category == contract.CategoryDone {
				done = append(done, s.Name)
			}
		}
		delete(was, s.Name)
	}
	gone := make([]string, 0, len(was))
	for name := range was {
		gone = append(gone, name)
	}
	of := func(name string, value any) postgres.Args {
		return postgres.Args{"tenant": c.Tenant, "project": project, name: value}
	}
	used, err := postgres.CollectScalars[string](ctx, c.DB, usedStatusesSQL, of("gone", gone))
	if err != nil {
		return err
	}
	if len(used) > 0 {
		return fault.Conflict("Tasks still have a status that would go. Move them first.").
			WithDetails(map[string]any{"statuses": used})
	}
	timed := func(name string, value any) postgres.Args {
		a := of(name, value)
		a["now"] = c.Now
		return a
	}
	set := of("names", names)
	set["categories"] = categories
	batch := &pgx.Batch{}
	batch.Queue(deleteStatusesSQL, of("gone", gone))
	batch.Queue(finishTasksSQL, timed("done", done))
	batch.Queue(insertStatusesSQL, set)
	batch.Queue(updateStatusCategoriesSQL, timed("moved", moved))
	return postgres.MapError(c.Tx.SendBatch(ctx, batch).Close(), projectConstraints())
}

// The tasks follow by their foreign key.
const renameStatusesSQL = `
UPDATE projects.statuses s SET name = r.new
FROM unnest(@from::text[], @to::text[]) AS r (old, new)
WHERE s.tenant_id = @tenant AND s.project_id = @project AND s.name = r.old`

// renameStatuses gives statuses their new names. Where a new name is still that
// of another status, all go by names of nobody first: names are held apart row by
// row.
func renameStatuses(ctx context.Context, c *executor.Call, project op.UUID, renames []contract.StatusRename) error {
	if len(renames) == 0 {
		return nil
	}
	var from, to, between []string
	taken := map[string]string{}
	for _, r := range renames {
		from, to, between = append(from, r.From), append(to, r.To), append(between, string(uid.New()))
		taken[strings.ToLower(r.From)] = r.From
	}
	crossing := false
	for _, r := range renames {
		if other, ok := taken[strings.ToLower(r.To)]; ok && other != r.From {
			crossing = true
		}
	}
	of := func(from, to []string) postgres.Args {
		return postgres.Args{"tenant": c.Tenant, "project": project, "from": from, "to": to}
	}
	batch := &pgx.Batch{}
	if crossing {
		batch.Queue(renameStatusesSQL, of(from, between))
		from = between
	}
	batch.Queue(renameStatusesSQL, of(from, to))
	return postgres.MapError(c.Tx.SendBatch(ctx, batch).Close(), projectConstraints())
}
