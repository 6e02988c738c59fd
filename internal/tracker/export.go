package tracker

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

func (s *Service) exportOperations() []op.Bound {
	return []op.Bound{
		list(s, contract.ExportItems, taskColumns, s.exportItems),
	}
}

// exportItems returns a page of the project's tasks as import items, ordered by number.
// For an imported task it restores the item's original values as far as the task still
// corresponds to them.
func (s *Service) exportItems(ctx context.Context, c *executor.Call, in *contract.ExportItemsIn, f authz.Filter) (*op.Page[contract.ImportItem], error) {
	after, err := readExportCursor(c, in)
	if err != nil {
		return nil, err
	}
	project, err := loadProject(ctx, c, loadProjectSQL, in.ProjectID)
	if err != nil {
		return nil, err
	}
	page := &op.Page[contract.ImportItem]{Items: []contract.ImportItem{}}
	var rows []exportRow
	if !f.None() {
		if rows, err = loadExportPage(ctx, c, project.ID, f, after, in.Limit+1); err != nil {
			return nil, err
		}
	}
	if len(rows) == 0 {
		return page, c.Decide(ctx, contract.PermTasksRead, project.newTaskResource(c))
	}
	if len(rows) > in.Limit {
		rows = rows[:in.Limit]
		page.NextCursor = op.NewCursor(contract.ExportItems.Name, c.Tenant, string(in.ProjectID), strconv.FormatInt(rows[in.Limit-1].Number, 10))
	}
	items, err := toImportItems(ctx, c, &project, rows)
	page.Items = items
	return page, err
}

func readExportCursor(c *executor.Call, in *contract.ExportItemsIn) (int64, error) {
	keys, err := op.ReadCursor(in.Cursor, contract.ExportItems.Name, c.Tenant, 2)
	if err != nil || keys == nil {
		return 0, err
	}
	number, err := strconv.ParseInt(keys[1], 10, 64)
	if err != nil || number < 1 || keys[0] != string(in.ProjectID) {
		return 0, op.WrongCursor()
	}
	return number, nil
}

// toImportItems converts the tasks to import items with their links.
func toImportItems(ctx context.Context, c *executor.Call, project *projectRow, rows []exportRow) ([]contract.ImportItem, error) {
	links, err := loadExportLinks(ctx, c, project.ID, rows)
	if err != nil {
		return nil, err
	}
	items := make([]contract.ImportItem, len(rows))
	statuses := project.statuses()
	for i := range rows {
		items[i] = rows[i].toImportItem(statuses)
		items[i].Dependencies = links.forTask(&rows[i])
	}
	return items, nil
}

// toImportItem converts the task to an import item without links. For an imported task
// it returns the source's value of each field that still maps to the task's value, and
// otherwise the task's value.
func (r *exportRow) toImportItem(statuses []contract.Status) contract.ImportItem {
	item := contract.ImportItem{ID: string(r.ID), Title: r.Title, Description: r.Description, CreatedAt: &r.CreatedAt}
	source := importSource{}
	if r.SourceID != nil {
		item.ID, source, item.CreatedAt = *r.SourceID, *r.Source, r.Source.CreatedAt
		if strings.TrimSpace(source.Title) == r.Title {
			item.Title = source.Title
		}
	}
	imported := r.SourceID != nil

	status, err := mapStatus(source.Status, statuses)
	sameStatus := imported && err == nil && status.Name == r.Status
	item.Status = r.Status
	if sameStatus {
		item.Status = source.Status
	}
	switch {
	case sameStatus && r.hasSourceClosedAt(&source):
		item.ClosedAt = source.ClosedAt
	case r.CompletedAt != nil:
		item.ClosedAt = r.CompletedAt
	}

	rank := priorityRank(r.Priority)
	item.Priority = &rank
	if name, err := mapPriority(source.Priority); imported && err == nil && name == r.Priority {
		item.Priority = source.Priority
	}
	r.restoreTypeAndLabels(&item, &source)
	return item
}

// hasSourceClosedAt reports whether the task's completion time is the one that the
// import set from the source, so that the source's value is still valid.
func (r *exportRow) hasSourceClosedAt(source *importSource) bool {
	switch {
	case r.CompletedAt == nil:
		return true
	case source.ClosedAt == nil:
		return r.CompletedAt.Equal(*r.ImportedAt)
	default:
		return r.CompletedAt.Equal(importTimestamp(source.ClosedAt, *r.ImportedAt))
	}
}

// restoreTypeAndLabels sets the item's type and labels. An import converts an unknown
// type into a label; this reverses the conversion.
func (r *exportRow) restoreTypeAndLabels(item *contract.ImportItem, source *importSource) {
	issueType, known := mapType(source.IssueType)
	typeLabel := typeLabelPrefix + source.IssueType
	if r.SourceID == nil || issueType != r.IssueType || (!known && !slices.Contains(r.Labels, typeLabel)) {
		item.IssueType, item.Labels = strings.ToLower(r.IssueType), r.Labels
		return
	}
	item.IssueType, item.Labels = source.IssueType, r.Labels
	labels := source.Labels
	if !known {
		labels = append(slices.Clone(labels), typeLabel)
		item.Labels = slices.DeleteFunc(slices.Clone(r.Labels), func(l string) bool { return l == typeLabel })
	}
	if mapped, err := normalizeLabels(labels); err == nil && slices.Equal(mapped, r.Labels) {
		item.Labels = source.Labels
	}
}

// exportLinks holds the links of a page of tasks within the project.
type exportLinks struct {
	// linksByItemID holds the imported links by item id, in their original order.
	linksByItemID map[string][]sourceLink
	// dependsOn holds the ids of the tasks that each task depends on.
	dependsOn map[op.UUID][]op.UUID
	// itemIDs holds the item ids of the linked tasks.
	itemIDs map[op.UUID]string
}

// forTask returns the links of a task's item: first the imported links that still exist
// or were never applied, then the links that were added to the task afterwards.
func (l *exportLinks) forTask(r *exportRow) []contract.ImportDependency {
	remaining := map[contract.ImportDependency]bool{}
	var current []contract.ImportDependency
	addCurrent := func(linkType string, ids ...op.UUID) {
		for _, id := range ids {
			d := contract.ImportDependency{DependsOnID: l.itemIDs[id], Type: linkType}
			if d.DependsOnID != "" && !remaining[d] {
				remaining[d] = true
				current = append(current, d)
			}
		}
	}
	addCurrent(contract.LinkBlocks, l.dependsOn[r.ID]...)
	addCurrent(contract.LinkParentChild, postgres.ValueOrZero(r.EpicID), postgres.ValueOrZero(r.ParentTaskID))
	var links []contract.ImportDependency
	if r.SourceID != nil {
		for _, s := range l.linksByItemID[*r.SourceID] {
			d := contract.ImportDependency{DependsOnID: s.DependsOnID, Type: s.Type}
			if remaining[d] || !s.Applied {
				links = append(links, d)
			}
			delete(remaining, d)
		}
	}
	for _, d := range current {
		if remaining[d] {
			links = append(links, d)
		}
	}
	return links
}
