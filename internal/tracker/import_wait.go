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

const hasUnappliedBlocksSQL = `
SELECT EXISTS (SELECT 1 FROM projects.import_links l
               WHERE l.tenant_id = @tenant AND l.project_id = @project AND l.type = 'blocks' AND l.applied_at IS NULL
                 AND l.depends_on_id = ANY(@sources::text[]))`

// lockGraphIfNeeded locks the tenant's dependency graph if the batch can add
// dependencies: an item has a link of type blocks, or an unapplied link of an earlier
// item names an item of the batch. It must run before any task is locked.
func (b *importBatch) lockGraphIfNeeded(ctx context.Context, c *executor.Call, project *projectRow, tasks []*importedTask) error {
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
	hasLinks, err := queryExists(ctx, c, hasUnappliedBlocksSQL, postgres.Args{"tenant": c.Tenant, "project": project.ID, "sources": b.itemIDs})
	if err != nil || !hasLinks {
		return err
	}
	return lockGraph(ctx, c, project.ID)
}

// applyBlockingLinks stores dependencies for the links of type blocks whose tasks both
// exist. A link that would close a cycle stays unapplied. It adds the field blockedBy
// to the changed fields in linked, by task id.
func (b *importBatch) applyBlockingLinks(ctx context.Context, c *executor.Call, project *projectRow, linked map[op.UUID][]string) (map[op.UUID][]string, error) {
	links, _, err := b.loadUnappliedLinks(ctx, c, project.ID, contract.LinkBlocks)
	if err != nil || len(links) == 0 {
		return linked, err
	}
	stored, err := loadGraph(ctx, c, b.existingBlockers(links))
	if err != nil {
		return nil, err
	}
	batch, allWaitersInBatch := batchTasks(links, b.itemIDs)
	check := newCycleCheck(stored, batch, allWaitersInBatch)
	var applied []unappliedLink
	var edges []dependencyLink
	permitted := map[op.UUID]bool{}
	for _, l := range links {
		allowed, decided := permitted[l.child.ID]
		if !decided {
			allowed = b.canChangeTask(ctx, c, project, l.child)
			permitted[l.child.ID] = allowed
		}
		if !allowed || check.closesCycle(l.child.ID, l.parent.ID) {
			continue
		}
		check.add(l.child.ID, l.parent.ID)
		edges = append(edges, dependencyLink{ID: uid.New(), TaskID: l.child.ID, DependsOnID: l.parent.ID})
		applied = append(applied, l)
	}
	if len(applied) == 0 {
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
	return linked, markLinksApplied(ctx, c, project.ID, contract.LinkBlocks, applied)
}

// existingBlockers returns the tasks that the links wait for, except those that this
// import creates: they have no stored dependencies.
func (b *importBatch) existingBlockers(links []unappliedLink) []op.UUID {
	blockers := map[op.UUID]bool{}
	for _, l := range links {
		blockers[l.parent.ID] = true
	}
	for _, t := range b.created {
		delete(blockers, t.ID)
	}
	return slices.Collect(maps.Keys(blockers))
}

// batchTasks returns the tasks at the links' ends that are items of the batch, and
// whether the waiting task of every link is one of them.
func batchTasks(links []unappliedLink, itemIDs []string) (tasks []op.UUID, allWaitersInBatch bool) {
	inBatch := make(map[string]bool, len(itemIDs))
	for _, id := range itemIDs {
		inBatch[id] = true
	}
	allWaitersInBatch = true
	for _, l := range links {
		if inBatch[l.SourceID] {
			tasks = append(tasks, l.child.ID)
		} else {
			allWaitersInBatch = false
		}
		if inBatch[l.DependsOnID] {
			tasks = append(tasks, l.parent.ID)
		}
	}
	return tasks, allWaitersInBatch
}
