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

func (s *Service) addDependencyHandler() executor.Handler[contract.AddDependencyIn, contract.Dependency, taskRow] {
	return executor.Handler[contract.AddDependencyIn, contract.Dependency, taskRow]{
		Load: func(ctx context.Context, c *executor.Call, in *contract.AddDependencyIn) (taskRow, authz.Resource, error) {
			// The graph before any task, as an import takes them.
			if err := lockGraph(ctx, c, in.ProjectID); err != nil {
				return taskRow{}, authz.Resource{}, err
			}
			row, err := loadTask(ctx, c, in.ProjectID, in.Task, true)
			return row, row.resource(c.Tenant), err
		},
		Do: addDependency,
	}
}

// addDependency lets the task wait for another one that the caller can read. A
// dependency that is there already is answered as it is.
func addDependency(ctx context.Context, c *executor.Call, in *contract.AddDependencyIn, row taskRow) (*contract.Dependency, error) {
	end, err := findDependencyEnd(ctx, c, "dependsOn", in.DependsOn)
	if err != nil {
		return nil, err
	}
	if end == row.ID {
		return nil, fault.Validation("dependsOn", "A task can't wait for itself.")
	}
	there, err := dependencies(ctx, c, &row, contract.DirectionBlockedBy, "", contract.MaxDependencies+1)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(there, func(d dependencyRow) bool { return d.TaskID == end }); i >= 0 {
		if err := authorizeUnchanged(ctx, c, contract.PermTasksRead, row.resource(c.Tenant)); err != nil {
			return nil, err
		}
		return there[i].show(c, &row, contract.DirectionBlockedBy), nil
	}
	if len(there) >= contract.MaxDependencies {
		return nil, fault.Conflict(fmt.Sprintf("The task waits for %d others already. Group them under a task or an epic and wait for that.", contract.MaxDependencies))
	}
	g, err := loadGraph(ctx, c, []op.UUID{end})
	if err != nil {
		return nil, err
	}
	if path := g.path(end, row.ID); path != nil {
		return nil, cycleFault(ctx, c, append([]op.UUID{row.ID}, path...))
	}
	made := dependencyLink{ID: uid.New(), TaskID: row.ID, DependsOnID: end}
	if _, err := insertDependencies(ctx, c, []dependencyLink{made}); err != nil {
		return nil, err
	}
	if err := recordDependency(ctx, c, row.ID, end, "task.dependency_added", contract.EventTaskDependencyAdded); err != nil {
		return nil, err
	}
	there, err = dependencies(ctx, c, &row, contract.DirectionBlockedBy, "", contract.MaxDependencies+1)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(there, func(d dependencyRow) bool { return d.ID == made.ID })
	if i < 0 {
		return nil, fault.Conflict("The other task was deleted meanwhile.")
	}
	return there[i].show(c, &row, contract.DirectionBlockedBy), nil
}

// recordDependency tells of a change of what the task waits for.
func recordDependency(ctx context.Context, c *executor.Call, task, on op.UUID, action, event string) error {
	rows, err := loadTasks(ctx, c, []op.UUID{task, on})
	if err != nil {
		return err
	}
	// A task of another project may be hidden from those who read this entry.
	if other := rows[on]; other == nil || other.ProjectID != rows[task].ProjectID {
		on = opaqueID(c.Tenant, on)
	}
	recordTask(c, rows[task], action, event, []string{"blockedBy"}, map[string]any{"dependsOn": on})
	return nil
}

// findDependencyEnd gives the id of a task of the tenant by its id or key. One that the
// caller may not read does not exist, in the same words.
func findDependencyEnd(ctx context.Context, c *executor.Call, field, name string) (op.UUID, error) {
	ref, err := parseTaskRef(name)
	if err != nil {
		return "", fault.Validation(field, fault.From(err).Message)
	}
	if ref.id == "" {
		id, err := postgres.CollectScalars[op.UUID](ctx, c.DB, taskOfKeySQL, postgres.Args{"tenant": c.Tenant, "prefix": ref.prefix, "number": ref.number})
		if err != nil {
			return "", err
		}
		if len(id) == 0 {
			return "", fault.Validation(field, "There is no such task.")
		}
		ref.id = id[0]
	}
	end, err := loadDependencyEnd(ctx, c, field, "task", ref.id)
	return end.ID, err
}

// cycleFault is the error for a dependency that would create a cycle. It names the keys
// along the cycle; those of tasks that the caller may not read are redacted.
func cycleFault(ctx context.Context, c *executor.Call, path []op.UUID) error {
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
	return fault.Conflict("The dependency would create a cycle: " + strings.Join(keys, " waits for ") + ".").
		WithDetails(map[string]any{"cycle": keys})
}

func (s *Service) removeDependencyHandler() executor.Handler[contract.RemoveDependencyIn, op.None, taskRow] {
	return executor.Handler[contract.RemoveDependencyIn, op.None, taskRow]{
		Load: func(ctx context.Context, c *executor.Call, in *contract.RemoveDependencyIn) (taskRow, authz.Resource, error) {
			row, err := loadTask(ctx, c, in.ProjectID, in.Task, true)
			return row, row.resource(c.Tenant), err
		},
		Do: removeDependency,
	}
}

// removeDependency lets the task no longer wait for another, which is named as
// list-dependencies shows it.
func removeDependency(ctx context.Context, c *executor.Call, in *contract.RemoveDependencyIn, row taskRow) (*op.None, error) {
	ref, err := parseTaskRef(in.DependsOnID)
	if err != nil {
		return nil, fault.Validation("dependsOnId", fault.From(err).Message)
	}
	there, err := dependencies(ctx, c, &row, contract.DirectionBlockedBy, "", contract.MaxDependencies+1)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(there, func(d dependencyRow) bool {
		shown := d.show(c, &row, contract.DirectionBlockedBy).Task
		return shown.ID == ref.id || (ref.id == "" && shown.Key == taskKey(ref.prefix, ref.number))
	})
	if i < 0 {
		return nil, fault.NotFound("dependency")
	}
	if _, err := c.DB.Exec(ctx, deleteDependencySQL, postgres.Args{"tenant": c.Tenant, "task": row.ID, "depends_on": there[i].TaskID}); err != nil {
		return nil, err
	}
	return &op.None{}, recordDependency(ctx, c, row.ID, there[i].TaskID, "task.dependency_removed", contract.EventTaskDependencyRemoved)
}

func (s *Service) listDependenciesHandler() executor.Handler[contract.ListDependenciesIn, op.Page[contract.Dependency], taskRow] {
	return executor.Handler[contract.ListDependenciesIn, op.Page[contract.Dependency], taskRow]{
		Load: func(ctx context.Context, c *executor.Call, in *contract.ListDependenciesIn) (taskRow, authz.Resource, error) {
			row, err := loadTask(ctx, c, in.ProjectID, in.Task, false)
			return row, row.resource(c.Tenant), err
		},
		Do: listDependencies,
	}
}

// listDependencies gives first what the task waits for, then what waits for it,
// each in the order in which it was made.
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
		rows, err := dependencies(ctx, c, &row, direction, from, in.Limit+1-len(page.Items))
		if err != nil {
			return nil, err
		}
		for i := range rows {
			if len(page.Items) == in.Limit {
				page.NextCursor = op.NewCursor(name, c.Tenant, string(row.ID), page.Items[in.Limit-1].Direction, string(last))
				return page, nil
			}
			page.Items, last = append(page.Items, *rows[i].show(c, &row, direction)), rows[i].ID
		}
		from = ""
	}
	return page, nil
}
