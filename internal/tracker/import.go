package tracker

import (
	"context"
	"errors"
	"fmt"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
)

func (s *Service) importItemsHandler() executor.Handler[contract.ImportItemsIn, contract.ImportItemsOut, projectRow] {
	return executor.Handler[contract.ImportItemsIn, contract.ImportItemsOut, projectRow]{
		Load: func(ctx context.Context, c *executor.Call, in *contract.ImportItemsIn) (projectRow, authz.Resource, error) {
			project, err := loadProject(ctx, c, keepProjectSQL, in.ProjectID)
			return project, project.newTaskResource(c), err
		},
		Do: importItems,
	}
}

// importBatch is one import under way.
type importBatch struct {
	result  *contract.ImportItemsOut
	sources []string
	created []*importedTask
	updated []*importedTask
	// newLinks are the links of the created tasks, until insertNewLinks stores them.
	newLinks []*importLink
	// places tells which result belongs to which task.
	places map[op.UUID]int
}

// importItems takes a batch in a handful of statements, however long it is. All
// that it writes is one transaction: a client that was cut off sends the batch
// again and gets the same tasks.
func importItems(ctx context.Context, c *executor.Call, in *contract.ImportItemsIn, project projectRow) (*contract.ImportItemsOut, error) {
	b := &importBatch{
		result: &contract.ImportItemsOut{Results: make([]contract.ImportResult, len(in.Items))},
		places: map[op.UUID]int{},
	}
	tasks := b.read(c, in.Items, &project)
	if err := lockCounter(ctx, c, project.ID); err != nil {
		return nil, err
	}
	if err := b.lockGraph(ctx, c, &project, tasks); err != nil {
		return nil, err
	}
	known, ends, err := loadItems(ctx, c, project.ID, b.sources)
	if err != nil {
		return nil, err
	}
	if err := findImportOwn(ctx, c, &project, tasks, known, ends); err != nil {
		return nil, err
	}
	for i, t := range tasks {
		if t == nil {
			continue
		}
		if k, ok := known[t.SourceID]; ok {
			b.meet(ctx, c, &project, i, t, k.Fingerprint, ends[k.TaskID])
			continue
		}
		t.ID = uid.New()
		b.places[t.ID] = i
		b.created = append(b.created, t)
		for l := range t.links {
			b.newLinks = append(b.newLinks, &t.links[l])
		}
	}
	if err := dropLinks(ctx, c, project.ID, b.updated); err != nil {
		return nil, err
	}
	if err := writeImport(ctx, c, project.ID, b.created, b.updated); err != nil {
		return nil, err
	}
	if err := b.finish(ctx, c, &project); err != nil {
		return nil, err
	}
	return b.result, nil
}

// read maps the items and fails those that can't be: the place of a failed item
// is nil.
func (b *importBatch) read(c *executor.Call, items []contract.ImportItem, project *projectRow) []*importedTask {
	statuses := project.statuses()
	tasks := make([]*importedTask, len(items))
	seen := map[string]bool{}
	for i := range items {
		b.result.Results[i] = contract.ImportResult{Index: i, ID: items[i].ID}
		t, err := mapItem(&items[i], statuses, c.Now)
		if err == nil && seen[t.SourceID] {
			err = errors.New("another item of the batch has the same id")
		}
		if err != nil {
			b.fail(i, err)
			continue
		}
		seen[t.SourceID] = true
		b.sources = append(b.sources, t.SourceID)
		tasks[i] = t
	}
	return tasks
}

// meet deals with an item that has a task already.
func (b *importBatch) meet(ctx context.Context, c *executor.Call, project *projectRow, i int, t *importedTask, fingerprint string, k *end) {
	r := &b.result.Results[i]
	r.TaskID, r.Key = k.ID, taskKey(project.Prefix, k.Number)
	if t.Fingerprint == fingerprint {
		r.Outcome = contract.OutcomeUnchanged
		b.result.Unchanged++
		return
	}
	switch isEpic := t.IssueType == contract.TypeEpic; {
	case isEpic && k.IssueType != contract.TypeEpic && (k.EpicID != nil || k.ParentTaskID != nil || k.hasSubTasks):
		b.fail(i, fmt.Errorf("its task %s has an epic, a parent or sub-tasks, so that it can't become an epic", r.Key))
		return
	case !isEpic && k.IssueType == contract.TypeEpic && k.hasChildren:
		b.fail(i, fmt.Errorf("its task %s is an epic with children, so that it must stay one", r.Key))
		return
	}
	if err := c.Decide(ctx, contract.PermTaskUpdate, k.resource(c.Tenant, project)); err != nil {
		b.fail(i, errors.New(fault.From(err).Message))
		return
	}
	t.ID, t.Number = k.ID, k.Number
	b.places[t.ID] = i
	b.updated = append(b.updated, t)
}

func (b *importBatch) fail(i int, err error) {
	b.result.Results[i].Outcome, b.result.Results[i].Reason = contract.OutcomeFailed, err.Error()
	b.result.Failed++
}

// finish makes the edges and dependencies that the batch makes possible, and
// writes an audit entry and an event for every task, as it is in the end.
func (b *importBatch) finish(ctx context.Context, c *executor.Call, project *projectRow) error {
	linked, err := b.linkParents(ctx, c, project)
	if err != nil {
		return err
	}
	b.result.Linked = len(linked)
	if linked, err = b.waitImported(ctx, c, project, linked); err != nil {
		return err
	}
	if err := insertNewLinks(ctx, c, project.ID, b.newLinks); err != nil {
		return err
	}
	ids := make([]op.UUID, 0, len(b.places)+len(linked))
	for _, t := range b.created {
		ids = append(ids, t.ID)
	}
	for _, t := range b.updated {
		ids = append(ids, t.ID)
	}
	for id := range linked {
		if _, own := b.places[id]; !own {
			ids = append(ids, id)
		}
	}
	rows, err := loadTasks(ctx, c, ids)
	if err != nil {
		return err
	}
	for n, id := range ids {
		row := rows[id]
		i, own := b.places[id]
		if !own {
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

// importedFields are those that an item decides.
func importedFields() []string {
	return []string{"title", "description", "status", "progress", "issueType", "priority", "labels", "epicId", "parentTaskId", "blockedBy"}
}
