package tracker

import (
	"context"
	"strconv"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// exportRow is a task with its stored import item; SourceID, Source and ImportedAt are
// nil if the task was not imported.
type exportRow struct {
	ID           op.UUID
	Number       int64
	Title        string
	Description  string
	Status       string
	IssueType    string
	Priority     string
	Labels       []string
	CreatedAt    time.Time
	CompletedAt  *time.Time
	EpicID       *op.UUID
	ParentTaskID *op.UUID

	SourceID   *string
	Source     *importSource
	ImportedAt *time.Time
}

const exportSelect = `
SELECT t.id, t.number, t.title, t.description, t.status, t.issue_type, t.priority, t.labels, t.created_at, t.completed_at,
       t.epic_id, t.parent_task_id, i.source_id, i.source, i.imported_at
FROM projects.projects p
JOIN projects.tasks t ON t.tenant_id = p.tenant_id AND t.project_id = p.id
LEFT JOIN projects.import_items i ON i.tenant_id = t.tenant_id AND i.project_id = t.project_id AND i.task_id = t.id
WHERE p.tenant_id = `

// loadExportPage reads up to limit tasks with a number greater than after.
func loadExportPage(ctx context.Context, c *executor.Call, project op.UUID, f authz.Filter, after int64, limit int) ([]exportRow, error) {
	st := &postgres.Statement{}
	tenant, of := st.Arg(c.Tenant), st.Arg(project)
	st.Add(exportSelect, tenant, ` AND p.id = `, of, ` AND t.tenant_id = `, tenant, ` AND t.project_id = `, of,
		` AND t.number > `, st.Arg(after), ` AND `).Filter(f)
	st.Add(` ORDER BY t.number LIMIT `, strconv.Itoa(limit))
	return postgres.Collect[exportRow](ctx, c.DB, st.SQL(), st.Args()...)
}

// sourceLink is a link of an imported item. Applied reports whether it was stored as a
// relation of the item's task.
type sourceLink struct {
	SourceID    string
	DependsOnID string
	Type        string
	Applied     bool
}

const linksOfItemsSQL = `
SELECT l.source_id, l.depends_on_id, l.type, l.applied_at IS NOT NULL AS applied FROM projects.import_links l
WHERE l.tenant_id = @tenant AND l.project_id = @project AND l.source_id = ANY(@sources::text[])
ORDER BY l.source_id, l.position`

const dependenciesOfTasksSQL = `
SELECT d.id, d.task_id, d.depends_on_id FROM projects.dependencies d
WHERE d.tenant_id = @tenant AND d.task_id = ANY(@ids::uuid[])
ORDER BY d.task_id, d.id`

// loadExportLinks reads the links of the tasks. It resolves only linked tasks of the
// same project that the caller can read.
func loadExportLinks(ctx context.Context, c *executor.Call, project op.UUID, rows []exportRow) (*exportLinks, error) {
	l := &exportLinks{linksByItemID: map[string][]sourceLink{}, dependsOn: map[op.UUID][]op.UUID{}, itemIDs: map[op.UUID]string{}}
	var sources []string
	var ids, linked []op.UUID
	for _, r := range rows {
		ids = append(ids, r.ID)
		if r.SourceID != nil {
			sources = append(sources, *r.SourceID)
		}
		for _, id := range []*op.UUID{r.EpicID, r.ParentTaskID} {
			if id != nil {
				linked = append(linked, *id)
			}
		}
	}
	links, err := postgres.Collect[sourceLink](ctx, c.DB, linksOfItemsSQL, postgres.Args{"tenant": c.Tenant, "project": project, "sources": sources})
	if err != nil {
		return nil, err
	}
	for _, s := range links {
		l.linksByItemID[s.SourceID] = append(l.linksByItemID[s.SourceID], s)
	}
	waits, err := postgres.Collect[dependencyLink](ctx, c.DB, dependenciesOfTasksSQL, postgres.Args{"tenant": c.Tenant, "ids": ids})
	if err != nil {
		return nil, err
	}
	for _, d := range waits {
		l.dependsOn[d.TaskID] = append(l.dependsOn[d.TaskID], d.DependsOnID)
		linked = append(linked, d.DependsOnID)
	}
	if len(linked) == 0 {
		return l, nil
	}
	f, err := c.Filter(ctx, contract.PermTasksRead, relatedTaskColumns)
	if err != nil {
		return nil, err
	}
	st := &postgres.Statement{}
	tenant, of := st.Arg(c.Tenant), st.Arg(project)
	st.Add(`
SELECT o.id, coalesce(i.source_id, o.id::text) AS name
FROM projects.tasks o
JOIN projects.projects po ON po.tenant_id = `, tenant, ` AND po.id = o.project_id
LEFT JOIN projects.import_items i ON i.tenant_id = `, tenant, ` AND i.project_id = `, of, ` AND i.task_id = o.id
WHERE o.tenant_id = `, tenant, ` AND o.project_id = `, of, ` AND o.id = ANY(`, st.Arg(linked), `::uuid[]) AND `).Filter(f)
	type taskName struct {
		ID   op.UUID
		Name string
	}
	names, err := postgres.Collect[taskName](ctx, c.DB, st.SQL(), st.Args()...)
	for _, n := range names {
		l.itemIDs[n.ID] = n.Name
	}
	return l, err
}
