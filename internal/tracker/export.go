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
)

// exportItems gives a page of the project's tasks as items, by number: what an
// import made of an item becomes that item again, as far as the task is still
// what the item said.
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
		if rows, err = exportPage(ctx, c, project.ID, f, after, in.Limit+1); err != nil {
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
	items, err := exported(ctx, c, &project, rows)
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

// exported gives the items of these tasks of the project, with their links.
func exported(ctx context.Context, c *executor.Call, project *projectRow, rows []exportRow) ([]contract.ImportItem, error) {
	links, err := loadExportLinks(ctx, c, project.ID, rows)
	if err != nil {
		return nil, err
	}
	items := make([]contract.ImportItem, len(rows))
	statuses := project.statuses()
	for i := range rows {
		items[i] = rows[i].item(statuses)
		items[i].Dependencies = links.of(&rows[i])
	}
	return items, nil
}

// item is the task in the form of an import, without its links. A word of the
// source's stands where it still means what the task has; else the task's own.
func (r *exportRow) item(statuses []contract.Status) contract.ImportItem {
	created := r.CreatedAt.UTC()
	item := contract.ImportItem{ID: string(r.ID), Title: r.Title, Description: r.Description, CreatedAt: &created}
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
	case sameStatus && r.closedBySource(&source):
		item.ClosedAt = source.ClosedAt
	case r.CompletedAt != nil:
		at := r.CompletedAt.UTC()
		item.ClosedAt = &at
	}

	rank := priorityRank(r.Priority)
	item.Priority = &rank
	if name, err := mapPriority(source.Priority); imported && err == nil && name == r.Priority {
		item.Priority = source.Priority
	}
	r.typeAndLabels(&item, &source)
	return item
}

// closedBySource tells whether the task ended, or did not, when its item says so.
func (r *exportRow) closedBySource(source *importSource) bool {
	switch {
	case r.CompletedAt == nil:
		return true
	case source.ClosedAt == nil:
		return r.CompletedAt.Equal(*r.ImportedAt)
	default:
		return r.CompletedAt.Equal(moment(source.ClosedAt, *r.ImportedAt))
	}
}

// typeAndLabels undo what an import makes of a kind that tasks do not have: the
// label that stands for it.
func (r *exportRow) typeAndLabels(item *contract.ImportItem, source *importSource) {
	kind, known := mapType(source.IssueType)
	mark := importLabel + source.IssueType
	if r.SourceID == nil || kind != r.IssueType || (!known && !slices.Contains(r.Labels, mark)) {
		item.IssueType, item.Labels = strings.ToLower(r.IssueType), r.Labels
		return
	}
	item.IssueType, item.Labels = source.IssueType, r.Labels
	labels := source.Labels
	if !known {
		labels = append(slices.Clone(labels), mark)
		item.Labels = slices.DeleteFunc(slices.Clone(r.Labels), func(l string) bool { return l == mark })
	}
	if mapped, err := checkLabels(labels); err == nil && slices.Equal(mapped, r.Labels) {
		item.Labels = source.Labels
	}
}

// exportLinks is what a page of tasks is tied to within the project.
type exportLinks struct {
	// sources are the links of each item, in their order.
	sources map[string][]sourceLink
	// waits is what each task waits for; names are the tasks' own ids as items.
	waits map[op.UUID][]op.UUID
	names map[op.UUID]string
}

// of gives the links of a task's item: those that it came with and that still
// are so or never became anything, and then what was tied here.
func (l *exportLinks) of(r *exportRow) []contract.ImportDependency {
	made := map[contract.ImportDependency]bool{}
	var own []contract.ImportDependency
	tie := func(kind string, ids ...op.UUID) {
		for _, id := range ids {
			d := contract.ImportDependency{DependsOnID: l.names[id], Type: kind}
			if d.DependsOnID != "" && !made[d] {
				made[d] = true
				own = append(own, d)
			}
		}
	}
	tie(contract.LinkBlocks, l.waits[r.ID]...)
	tie(contract.LinkParentChild, value(r.EpicID), value(r.ParentTaskID))
	var links []contract.ImportDependency
	if r.SourceID != nil {
		for _, s := range l.sources[*r.SourceID] {
			d := contract.ImportDependency{DependsOnID: s.DependsOnID, Type: s.Type}
			if made[d] || !s.Applied {
				links = append(links, d)
			}
			delete(made, d)
		}
	}
	for _, d := range own {
		if made[d] {
			links = append(links, d)
		}
	}
	return links
}
