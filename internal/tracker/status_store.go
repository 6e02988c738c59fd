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

// Sets the progress of done tasks to 100. It must run before a status changes to category
// DONE, because the tasks' status_category is updated with the status by foreign key.
const finishTasksSQL = `
UPDATE projects.tasks t SET progress = 100, updated_at = @now
WHERE t.tenant_id = @tenant AND t.project_id = @project AND t.status = ANY(@done::text[]) AND t.progress <> 100`

const updateStatusCategoriesSQL = `
UPDATE projects.tasks t
SET completed_at = CASE WHEN t.status_category IN ('DONE', 'CANCELLED') THEN coalesce(t.completed_at, @now) END, updated_at = @now
WHERE t.tenant_id = @tenant AND t.project_id = @project AND t.status = ANY(@moved::text[])`

// replaceStatuses replaces the project's statuses. It updates the completion time of
// tasks whose status changed its category or was just renamed.
func replaceStatuses(ctx context.Context, c *executor.Call, project op.UUID, old, statuses []contract.Status, renames []contract.StatusRename) error {
	oldCategories := map[string]string{}
	for _, s := range old {
		oldCategories[s.Name] = s.Category
	}
	var names, categories, done, moved []string
	for _, r := range renames {
		moved = append(moved, r.To)
	}
	for _, s := range statuses {
		names, categories = append(names, s.Name), append(categories, s.Category)
		if category, ok := oldCategories[s.Name]; ok && category != s.Category {
			moved = append(moved, s.Name)
			if s.Category == contract.CategoryDone {
				done = append(done, s.Name)
			}
		}
		delete(oldCategories, s.Name)
	}
	removed := make([]string, 0, len(oldCategories))
	for name := range oldCategories {
		removed = append(removed, name)
	}
	argsWith := func(name string, value any) postgres.Args {
		return postgres.Args{"tenant": c.Tenant, "project": project, name: value}
	}
	used, err := postgres.CollectScalars[string](ctx, c.DB, usedStatusesSQL, argsWith("gone", removed))
	if err != nil {
		return err
	}
	if len(used) > 0 {
		return fault.Conflict("Tasks still use a status that would be deleted. Move them to another status first.").
			WithDetails(map[string]any{"statuses": used})
	}
	argsWithNow := func(name string, value any) postgres.Args {
		a := argsWith(name, value)
		a["now"] = c.Now
		return a
	}
	insertArgs := argsWith("names", names)
	insertArgs["categories"] = categories
	batch := &pgx.Batch{}
	batch.Queue(deleteStatusesSQL, argsWith("gone", removed))
	batch.Queue(finishTasksSQL, argsWithNow("done", done))
	batch.Queue(insertStatusesSQL, insertArgs)
	batch.Queue(updateStatusCategoriesSQL, argsWithNow("moved", moved))
	return postgres.MapError(c.Tx.SendBatch(ctx, batch).Close(), projectConstraints())
}

// The tasks' status is updated by foreign key (ON UPDATE CASCADE).
const renameStatusesSQL = `
UPDATE projects.statuses s SET name = r.new
FROM unnest(@from::text[], @to::text[]) AS r (old, new)
WHERE s.tenant_id = @tenant AND s.project_id = @project AND s.name = r.old`

// renameStatuses renames statuses. If a new name is still the name of another status,
// all get temporary names first, because PostgreSQL checks the unique name after each
// row.
func renameStatuses(ctx context.Context, c *executor.Call, project op.UUID, renames []contract.StatusRename) error {
	if len(renames) == 0 {
		return nil
	}
	var from, to, temporary []string
	fromNames := map[string]string{}
	for _, r := range renames {
		from, to, temporary = append(from, r.From), append(to, r.To), append(temporary, string(uid.New()))
		fromNames[strings.ToLower(r.From)] = r.From
	}
	needsTemporary := false
	for _, r := range renames {
		if other, ok := fromNames[strings.ToLower(r.To)]; ok && other != r.From {
			needsTemporary = true
		}
	}
	renameArgs := func(from, to []string) postgres.Args {
		return postgres.Args{"tenant": c.Tenant, "project": project, "from": from, "to": to}
	}
	batch := &pgx.Batch{}
	if needsTemporary {
		batch.Queue(renameStatusesSQL, renameArgs(from, temporary))
		from = temporary
	}
	batch.Queue(renameStatusesSQL, renameArgs(from, to))
	return postgres.MapError(c.Tx.SendBatch(ctx, batch).Close(), projectConstraints())
}
