package tracker

import (
	"context"
	"maps"
	"slices"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

const waitingLinksSQL = `
SELECT EXISTS (SELECT 1 FROM projects.import_links l
               WHERE l.tenant_id = @tenant AND l.project_id = @project AND l.type = 'blocks' AND l.applied_at IS NULL
                 AND l.depends_on_id = ANY(@sources::text[]))`

// lockGraph holds the tenant's dependencies, before any task, when the batch can
// make some: it has links of the kind, or earlier items wait for its own.
func (b *importBatch) lockGraph(ctx context.Context, c *executor.Call, project *projectRow, tasks []*importedTask) error {
	for _, t := range tasks {
		if t == nil {
			continue
		}
		for _, l := range t.links {
			if l.Type == contract.LinkBlocks {
				return lockGraph(ctx, c, project.ID)
			}
		}
	}
	waiting, err := queryExists(ctx, c, waitingLinksSQL, postgres.Args{"tenant": c.Tenant, "project": project.ID, "sources": b.sources})
	if err != nil || !waiting {
		return err
	}
	return lockGraph(ctx, c, project.ID)
}

// waitImported makes dependencies of the links of the kind blocks that have both
// ends by now. One that would create a cycle stays a mere link. It adds to the
// names of the fields that have changed of tasks of earlier batches.
func (b *importBatch) waitImported(ctx context.Context, c *executor.Call, project *projectRow, linked map[op.UUID][]string) (map[op.UUID][]string, error) {
	open, _, err := b.openLinks(ctx, c, project.ID, contract.LinkBlocks)
	if err != nil || len(open) == 0 {
		return linked, err
	}
	stored, err := loadGraph(ctx, c, b.storedParents(open))
	if err != nil {
		return nil, err
	}
	batch, onlyOwn := batchTasks(open, b.sources)
	check := newCycleCheck(stored, batch, onlyOwn)
	var made []openLink
	var edges []dependencyLink
	may := map[op.UUID]bool{}
	for _, l := range open {
		allowed, decided := may[l.child.ID]
		if !decided {
			allowed = b.requireLinkPermission(ctx, c, project, l.child)
			may[l.child.ID] = allowed
		}
		if !allowed || check.closesCycle(l.child.ID, l.parent.ID) {
			continue
		}
		check.add(l.child.ID, l.parent.ID)
		edges = append(edges, dependencyLink{ID: uid.New(), TaskID: l.child.ID, DependsOnID: l.parent.ID})
		made = append(made, l)
	}
	if len(made) == 0 {
		return linked, nil
	}
	waiting, err := insertDependencies(ctx, c, edges)
	if err != nil {
		return nil, err
	}
	b.result.Waiting = len(waiting)
	if linked == nil {
		linked = map[op.UUID][]string{}
	}
	for _, id := range waiting {
		if !slices.Contains(linked[id], "blockedBy") {
			linked[id] = append(linked[id], "blockedBy")
		}
	}
	return linked, closeLinks(ctx, c, project.ID, contract.LinkBlocks, made)
}

// storedParents returns the tasks that the links wait for, without those that this
// import creates, which have no stored dependencies.
func (b *importBatch) storedParents(open []openLink) []op.UUID {
	parents := map[op.UUID]bool{}
	for _, l := range open {
		parents[l.parent.ID] = true
	}
	for _, t := range b.created {
		delete(parents, t.ID)
	}
	return slices.Collect(maps.Keys(parents))
}

// batchTasks are the tasks at the links' ends that are items of the batch, and
// whether all the tasks that are to wait are.
func batchTasks(open []openLink, sources []string) (tasks []op.UUID, onlyOwn bool) {
	own := make(map[string]bool, len(sources))
	for _, s := range sources {
		own[s] = true
	}
	onlyOwn = true
	for _, l := range open {
		if own[l.SourceID] {
			tasks = append(tasks, l.child.ID)
		} else {
			onlyOwn = false
		}
		if own[l.DependsOnID] {
			tasks = append(tasks, l.parent.ID)
		}
	}
	return tasks, onlyOwn
}
