package tracker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
)

func (s *Service) importOperations() []op.Bound {
	return []op.Bound{
		handle(s, contract.ImportItems, loadProjectToImportItems, importItems),
	}
}

func loadProjectToImportItems(ctx context.Context, c *executor.Call, in *contract.ImportItemsIn) (projectRow, authz.Resource, error) {
	project, err := loadProject(ctx, c, loadProjectKeyShareSQL, in.ProjectID)
	return project, project.newTaskResource(c), err
}

// importBatch is the state of one import-items request.
type importBatch struct {
	result  *contract.ImportItemsOut
	itemIDs []string
	created []*importedTask
	updated []*importedTask
	// newLinks are the links of the created tasks. insertNewLinks stores them.
	newLinks []*importLink
	// resultIndexes maps the id of a created or updated task to its index in
	// result.Results.
	resultIndexes map[op.UUID]int
}

// importItems imports a batch of items. The number of SQL statements does not depend
// on the number of items, and all changes are made in one transaction. A client whose
// connection failed can send the batch again without creating duplicates.
func importItems(ctx context.Context, c *executor.Call, in *contract.ImportItemsIn, project projectRow) (*contract.ImportItemsOut, error) {
	b := &importBatch{
		result:        &contract.ImportItemsOut{Results: make([]contract.ImportResult, len(in.Items))},
		resultIndexes: map[op.UUID]int{},
	}
	tasks := b.mapItems(c, in.Items, &project)
	if err := lockCounter(ctx, c, project.ID); err != nil {
		return nil, err
	}
	if err := b.lockGraphIfNeeded(ctx, c, &project, tasks); err != nil {
		return nil, err
	}
	known, linked, err := loadItems(ctx, c, project.ID, b.itemIDs)
	if err != nil {
		return nil, err
	}
	if err := matchExportedTasks(ctx, c, &project, tasks, known, linked); err != nil {
		return nil, err
	}
	for i, t := range tasks {
		if t == nil {
			continue
		}
		if k, ok := known[t.SourceID]; ok {
			b.matchExisting(ctx, c, &project, i, t, k.Fingerprint, linked[k.TaskID])
			continue
		}
		t.ID = uid.New()
		b.resultIndexes[t.ID] = i
		b.created = append(b.created, t)
		for l := range t.links {
			b.newLinks = append(b.newLinks, &t.links[l])
		}
	}
	if err := deleteRemovedLinks(ctx, c, project.ID, b.updated); err != nil {
		return nil, err
	}
	if err := writeImport(ctx, c, project.ID, b.created, b.updated); err != nil {
		return nil, err
	}
	if err := b.linkAndRecord(ctx, c, &project); err != nil {
		return nil, err
	}
	return b.result, nil
}

// mapItems converts the items to tasks, in the same order. An invalid item is recorded
// as failed and its element is nil.
func (b *importBatch) mapItems(c *executor.Call, items []contract.ImportItem, project *projectRow) []*importedTask {
	statuses := project.statuses()
	tasks := make([]*importedTask, len(items))
	seen := map[string]bool{}
	for i := range items {
		b.result.Results[i] = contract.ImportResult{Index: i, ID: items[i].ID}
		t, err := mapItem(&items[i], statuses, c.Now)
		if err == nil && seen[t.SourceID] {
			err = errors.New("another item in the batch has the same id")
		}
		if err != nil {
			b.fail(i, err)
			continue
		}
		seen[t.SourceID] = true
		b.itemIDs = append(b.itemIDs, t.SourceID)
		tasks[i] = t
	}
	return tasks
}

// matchExisting handles an item that already has a task: it records the item as
// unchanged or failed, or adds the task to those to update.
func (b *importBatch) matchExisting(ctx context.Context, c *executor.Call, project *projectRow, i int, t *importedTask, fingerprint string, existing *linkedTask) {
	r := &b.result.Results[i]
	r.TaskID, r.Key = existing.ID, taskKey(project.Prefix, existing.Number)
	if t.Fingerprint == fingerprint {
		r.Outcome = contract.OutcomeUnchanged
		b.result.Unchanged++
		return
	}
	switch isEpic := t.IssueType == contract.TypeEpic; {
	case isEpic && existing.IssueType != contract.TypeEpic && (existing.EpicID != nil || existing.ParentTaskID != nil || existing.hasSubTasks):
		b.fail(i, fmt.Errorf("the item's task %s has an epic, a parent or sub-tasks, so it cannot become an epic", r.Key))
		return
	case !isEpic && existing.IssueType == contract.TypeEpic && existing.hasChildren:
		b.fail(i, fmt.Errorf("the item's task %s is an epic with children, so its type cannot change", r.Key))
		return
	}
	if err := c.Decide(ctx, contract.PermTaskUpdate, existing.resource(c.Tenant, project)); err != nil {
		b.fail(i, errors.New(fault.From(err).Message))
		return
	}
	t.ID, t.Number = existing.ID, existing.Number
	b.resultIndexes[t.ID] = i
	b.updated = append(b.updated, t)
}

func (b *importBatch) fail(i int, err error) {
	b.result.Results[i].Outcome, b.result.Results[i].Reason = contract.OutcomeFailed, err.Error()
	b.result.Failed++
}

// linkAndRecord stores the parents and dependencies that the batch makes possible. It
// then reads all changed tasks and writes one audit entry and one event for each.
func (b *importBatch) linkAndRecord(ctx context.Context, c *executor.Call, project *projectRow) error {
	linked, err := b.applyParentLinks(ctx, c, project)
	if err != nil {
		return err
	}
	b.result.Linked = len(linked)
	for _, fields := range linked {
		if slices.Contains(fields, "parentTaskId") {
			b.result.SubTasks++
		}
	}
	if linked, err = b.applyBlockingLinks(ctx, c, project, linked); err != nil {
		return err
	}
	if err := insertNewLinks(ctx, c, project.ID, b.newLinks); err != nil {
		return err
	}
	ids := make([]op.UUID, 0, len(b.resultIndexes)+len(linked))
	for _, t := range b.created {
		ids = append(ids, t.ID)
	}
	for _, t := range b.updated {
		ids = append(ids, t.ID)
	}
	for id := range linked {
		if _, inBatch := b.resultIndexes[id]; !inBatch {
			ids = append(ids, id)
		}
	}
	rows, err := loadTasks(ctx, c, ids)
	if err != nil {
		return err
	}
	for n, id := range ids {
		row := rows[id]
		i, inBatch := b.resultIndexes[id]
		if !inBatch {
			recordTask(c, row, "task.updated", contract.EventTaskUpdated, linked[id], map[string]any{"import": true})
			continue
		}
		r := &b.result.Results[i]
		r.TaskID, r.Key = id, row.key()
		more := map[string]any{"import": true, "sourceId": r.ID}
		if n < len(b.created) {
			r.Outcome = contract.OutcomeCreated
			b.result.Created++
			recordTask(c, row, "task.created", contract.EventTaskCreated, nil, more)
			continue
		}
		r.Outcome = contract.OutcomeUpdated
		b.result.Updated++
		recordTask(c, row, "task.updated", contract.EventTaskUpdated, importedFields(), more)
	}
	return nil
}

// importedFields returns the task fields that an import overwrites.
func importedFields() []string {
	return []string{"title", "description", "status", "progress", "issueType", "priority", "labels", "epicId", "parentTaskId", "blockedBy"}
}
