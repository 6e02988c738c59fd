package tracker

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

func (s *Service) dependencyOperations() []op.Bound {
	return []op.Bound{
		handle(s, contract.ListDependencies, loadTaskToReadDependencies, listDependencies),
		handle(s, contract.AddDependency, loadTaskToAddDependency, addDependency),
		handle(s, contract.RemoveDependency, loadTaskToRemoveDependency, removeDependency),
	}
}

func loadTaskToAddDependency(ctx context.Context, c *executor.Call, in *contract.AddDependencyIn) (taskRow, authz.Resource, error) {
	// Lock the graph before any task, in the same order as an import.
	if err := lockGraph(ctx, c, in.ProjectID); err != nil {
		return taskRow{}, authz.Resource{}, err
	}
	row, err := loadTask(ctx, c, in.ProjectID, in.Task, true)
	return row, row.resource(c.Tenant), err
}

// addDependency makes the task depend on another task that the caller can read. An
// existing dependency is returned unchanged.
func addDependency(ctx context.Context, c *executor.Call, in *contract.AddDependencyIn, row taskRow) (*contract.Dependency, error) {
	dependsOn, err := resolveRelatedTask(ctx, c, "dependsOn", in.DependsOn)
	if err != nil {
		return nil, err
	}
	if dependsOn == row.ID {
		return nil, fault.Validation("dependsOn", "A task cannot depend on itself.")
	}
	existing, err := loadDependencies(ctx, c, &row, contract.DirectionBlockedBy, "", contract.MaxDependencies+1)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(existing, func(d dependencyRow) bool { return d.TaskID == dependsOn }); i >= 0 {
		if err := authorizeUnchanged(ctx, c, contract.PermTasksRead, row.resource(c.Tenant)); err != nil {
			return nil, err
		}
		found := existing[i].toDependency(c, &row, contract.DirectionBlockedBy)
		found.Existed = true
		return found, nil
	}
	if len(existing) >= contract.MaxDependencies {
		return nil, fault.Conflict(fmt.Sprintf("The task already depends on %d tasks, the maximum. Make it depend on a task or an epic that groups them.", contract.MaxDependencies))
	}
	g, err := loadGraph(ctx, c, []op.UUID{dependsOn})
	if err != nil {
		return nil, err
	}
	if path := g.shortestPath(dependsOn, row.ID); path != nil {
		return nil, cycleError(ctx, c, append([]op.UUID{row.ID}, path...))
	}
	created := dependencyLink{ID: uid.New(), TaskID: row.ID, DependsOnID: dependsOn}
	if _, err := insertDependencies(ctx, c, []dependencyLink{created}); err != nil {
		return nil, err
	}
	if err := recordDependency(ctx, c, row.ID, dependsOn, "task.dependency_added", contract.EventTaskDependencyAdded); err != nil {
		return nil, err
	}
	existing, err = loadDependencies(ctx, c, &row, contract.DirectionBlockedBy, "", contract.MaxDependencies+1)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(existing, func(d dependencyRow) bool { return d.ID == created.ID })
	if i < 0 {
		return nil, fault.Conflict("The task in dependsOn was deleted concurrently.")
	}
	return existing[i].toDependency(c, &row, contract.DirectionBlockedBy), nil
}

// recordDependency adds the audit entry and the event of an added or removed
// dependency.
func recordDependency(ctx context.Context, c *executor.Call, task, dependsOn op.UUID, action string, event *op.EventType) error {
	rows, err := loadTasks(ctx, c, []op.UUID{task, dependsOn})
	if err != nil {
		return err
	}
	// Readers of this entry may not be allowed to see a task of another project.
	if other := rows[dependsOn]; other == nil || other.ProjectID != rows[task].ProjectID {
		dependsOn = opaqueID(c.Tenant, dependsOn)
	}
	recordTask(c, rows[task], action, event, []string{"blockedBy"}, map[string]any{"dependsOn": dependsOn})
	return nil
}

// resolveRelatedTask returns the id of a task of the tenant, given by id or key. A task
// that the caller may not read returns the same error as one that does not exist.
func resolveRelatedTask(ctx context.Context, c *executor.Call, field, keyOrID string) (op.UUID, error) {
	ref, err := parseTaskRef(keyOrID)
	if err != nil {
		return "", fault.Validation(field, fault.From(err).Message)
	}
	if ref.id == "" {
		id, err := postgres.CollectScalars[op.UUID](ctx, c.DB, taskIDByKeySQL, postgres.Args{"tenant": c.Tenant, "prefix": ref.prefix, "number": ref.number})
		if err != nil {
			return "", err
		}
		if len(id) == 0 {
			return "", fault.Validation(field, "There is no such task.")
		}
		ref.id = id[0]
	}
	task, err := loadRelatedTask(ctx, c, field, "task", ref.id)
	return task.ID, err
}

// cycleError returns the error for a dependency that would create a cycle. It lists the
// keys of the cycle's tasks; keys of tasks that the caller may not read are redacted.
func cycleError(ctx context.Context, c *executor.Call, path []op.UUID) error {
	rows, err := loadTasks(ctx, c, path)
	if err != nil {
		return err
	}
	keys := make([]string, len(path))
	for i, id := range path {
		keys[i] = contract.Redacted
		if row := rows[id]; row != nil && c.Decide(ctx, contract.PermTasksRead, row.resource(c.Tenant)) == nil {
			keys[i] = row.key()
		}
	}
	return fault.Conflict("The dependency would create a cycle: " + strings.Join(keys, " depends on ") + ".").
		WithDetails(map[string]any{"cycle": keys})
}

func loadTaskToRemoveDependency(ctx context.Context, c *executor.Call, in *contract.RemoveDependencyIn) (taskRow, authz.Resource, error) {
	row, err := loadTask(ctx, c, in.ProjectID, in.Task, true)
	return row, row.resource(c.Tenant), err
}

// removeDependency removes a dependency of the task. The other task is given by its
// key or id as list-dependencies shows it, which may be an opaque id.
func removeDependency(ctx context.Context, c *executor.Call, in *contract.RemoveDependencyIn, row taskRow) (*op.None, error) {
	ref, err := parseTaskRef(in.DependsOnID)
	if err != nil {
		return nil, fault.Validation("dependsOnId", fault.From(err).Message)
	}
	existing, err := loadDependencies(ctx, c, &row, contract.DirectionBlockedBy, "", contract.MaxDependencies+1)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(existing, func(d dependencyRow) bool {
		shown := d.toDependency(c, &row, contract.DirectionBlockedBy).Task
		return shown.ID == ref.id || (ref.id == "" && shown.Key == taskKey(ref.prefix, ref.number))
	})
	if i < 0 {
		return nil, fault.NotFound("dependency")
	}
	if _, err := c.DB.Exec(ctx, deleteDependencySQL, postgres.Args{"tenant": c.Tenant, "task": row.ID, "depends_on": existing[i].TaskID}); err != nil {
		return nil, err
	}
	return &op.None{}, recordDependency(ctx, c, row.ID, existing[i].TaskID, "task.dependency_removed", contract.EventTaskDependencyRemoved)
}

func loadTaskToReadDependencies(ctx context.Context, c *executor.Call, in *contract.ListDependenciesIn) (taskRow, authz.Resource, error) {
	row, err := loadTask(ctx, c, in.ProjectID, in.Task, false)
	return row, row.resource(c.Tenant), err
}

// listDependencies returns a page of the tasks that the task depends on, followed by
// the tasks that depend on it, each in order of creation.
func listDependencies(ctx context.Context, c *executor.Call, in *contract.ListDependenciesIn, row taskRow) (*op.Page[contract.Dependency], error) {
	name := contract.ListDependencies.Name + " " + in.Direction
	after, err := op.ReadCursor(in.Cursor, name, c.Tenant, 3)
	if err != nil {
		return nil, err
	}
	directions := []string{contract.DirectionBlockedBy, contract.DirectionBlocks}
	if in.Direction != "" {
		directions = []string{in.Direction}
	}
	var from op.UUID
	if after != nil {
		at := slices.Index(directions, after[1])
		id, err := op.ParseUUID(after[2])
		if err != nil || at < 0 || after[0] != string(row.ID) {
			return nil, op.WrongCursor()
		}
		directions, from = directions[at:], id
	}
	page, last := &op.Page[contract.Dependency]{Items: []contract.Dependency{}}, op.UUID("")
	for _, direction := range directions {
		rows, err := loadDependencies(ctx, c, &row, direction, from, in.Limit+1-len(page.Items))
		if err != nil {
			return nil, err
		}
		for i := range rows {
			if len(page.Items) == in.Limit {
				page.NextCursor = op.NewCursor(name, c.Tenant, string(row.ID), page.Items[in.Limit-1].Direction, string(last))
				return page, nil
			}
			page.Items, last = append(page.Items, *rows[i].toDependency(c, &row, direction)), rows[i].ID
		}
		from = ""
	}
	return page, nil
}
