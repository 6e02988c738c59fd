package tracker

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/gate"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// droppedLink is a link that a changed item has no more.
type droppedLink struct {
	SourceID    string
	DependsOnID string
	// Edge says that the link had become one.
	Edge bool
}

const dropEdgesSQL = `
UPDATE projects.tasks t SET epic_id = NULL, epic_project_id = NULL, parent_task_id = NULL
WHERE t.tenant_id = @tenant AND t.id = ANY(@ids::uuid[])`

// dropLinks forgets the links that changed items have no more. An edge that was
// made of one goes as well, unless a person has put another in its place.
func dropLinks(ctx context.Context, c *gate.Call, project op.UUID, updated []*importedTask) error {
	if len(updated) == 0 {
		return nil
	}
	links, sources := []importLink{}, make([]string, len(updated))
	for i, t := range updated {
		links = append(links, t.links...)
		sources[i] = t.SourceID
	}
	rows, err := json.Marshal(links)
	if err != nil {
		return err
	}
	dropped, err := postgres.Collect[droppedLink](ctx, c.DB, dropLinksSQL,
		postgres.Args{"tenant": c.Tenant, "project": project, "links": rows, "sources": sources})
	if err != nil {
		return err
	}
	var names []string
	for _, d := range dropped {
		if d.Edge {
			names = append(names, d.SourceID, d.DependsOnID)
		}
	}
	if len(names) == 0 {
		return nil
	}
	items, ends, err := loadItems(ctx, c, project, names)
	if err != nil {
		return err
	}
	var ids []op.UUID
	for _, d := range dropped {
		child, parent := ends[items[d.SourceID].TaskID], items[d.DependsOnID].TaskID
		if d.Edge && child != nil && parent != "" && (value(child.EpicID) == parent || value(child.ParentTaskID) == parent) {
			ids = append(ids, child.ID)
		}
	}
	_, err = c.DB.Exec(ctx, dropEdgesSQL, postgres.Args{"tenant": c.Tenant, "ids": ids})
	return err
}

// The links to a parent that are no edge yet and have an end in the batch.
const openLinksSQL = `
SELECT l.source_id, l.depends_on_id, l.position FROM projects.import_links l
WHERE l.tenant_id = @tenant AND l.project_id = @project AND l.type = 'parent-child' AND l.applied_at IS NULL
  AND l.source_id = ANY(@sources::text[])
UNION
SELECT l.source_id, l.depends_on_id, l.position FROM projects.import_links l
WHERE l.tenant_id = @tenant AND l.project_id = @project AND l.type = 'parent-child' AND l.applied_at IS NULL
  AND l.depends_on_id = ANY(@sources::text[])`

type openLink struct {
	SourceID    string
	DependsOnID string
	Position    int
}

const makeEdgesSQL = `
UPDATE projects.tasks t
SET epic_id = r.epic_id, epic_project_id = r.epic_project_id, parent_task_id = r.parent_task_id, updated_at = @now
FROM jsonb_to_recordset(@edges::jsonb) AS r (id uuid, epic_id uuid, epic_project_id uuid, parent_task_id uuid)
WHERE t.tenant_id = @tenant AND t.id = r.id`

const closeLinksSQL = `
UPDATE projects.import_links l SET applied_at = @now
FROM jsonb_to_recordset(@links::jsonb) AS r (source_id text, depends_on_id text)
WHERE l.tenant_id = @tenant AND l.project_id = @project AND l.source_id = r.source_id AND l.depends_on_id = r.depends_on_id
  AND l.type = 'parent-child'`

// linkImported makes edges of the links to a parent that have both ends by now:
// to an epic as its child, to another task as its sub-task. A link that would
// break a rule of edges stays a mere link. It gives, for each task that has
// changed, the names of the fields; mine are the tasks of the batch itself.
func linkImported(ctx context.Context, c *gate.Call, project *projectRow, sources []string, mine map[op.UUID]int) (map[op.UUID][]string, error) {
	open, err := postgres.Collect[openLink](ctx, c.DB, openLinksSQL,
		postgres.Args{"tenant": c.Tenant, "project": project.ID, "sources": sources})
	if err != nil || len(open) == 0 {
		return nil, err
	}
	names := make([]string, 0, 2*len(open))
	for _, l := range open {
		names = append(names, l.SourceID, l.DependsOnID)
	}
	items, ends, err := loadItems(ctx, c, project.ID, names)
	if err != nil {
		return nil, err
	}
	child := func(l openLink) *end { return ends[items[l.SourceID].TaskID] }
	parent := func(l openLink) *end { return ends[items[l.DependsOnID].TaskID] }
	open = slices.DeleteFunc(open, func(l openLink) bool { return child(l) == nil || parent(l) == nil })
	// The first link of an item that can be an edge is the one.
	slices.SortFunc(open, func(a, b openLink) int {
		return cmp.Or(cmp.Compare(child(a).Number, child(b).Number), a.Position-b.Position)
	})
	changed, made := map[op.UUID][]string{}, []openLink{}
	for _, l := range open {
		child, parent := child(l), parent(l)
		_, own := mine[child.ID]
		if !own && c.Decide(ctx, contract.PermTaskUpdate, child.resource(c.Tenant, project)) != nil {
			continue
		}
		if field := child.join(parent); field != "" {
			changed[child.ID] = append(changed[child.ID], field)
			made = append(made, l)
		}
	}
	return changed, writeEdges(ctx, c, project.ID, changed, ends, made)
}

// join makes e a child or sub-task of parent and names the field; "" where the
// rules of edges do not admit it.
func (e *end) join(parent *end) string {
	switch {
	case e.IssueType == contract.TypeEpic:
		return ""
	case parent.IssueType == contract.TypeEpic:
		if e.EpicID != nil {
			return ""
		}
		e.EpicID, parent.hasChildren = &parent.ID, true
		return "epicId"
	case e.ParentTaskID != nil || e.hasSubTasks || parent.ParentTaskID != nil || parent.ID == e.ID:
		return ""
	default:
		e.ParentTaskID, parent.hasSubTasks = &parent.ID, true
		return "parentTaskId"
	}
}

// writeEdges stores what join made.
func writeEdges(ctx context.Context, c *gate.Call, project op.UUID, changed map[op.UUID][]string, ends map[op.UUID]*end, made []openLink) error {
	if len(made) == 0 {
		return nil
	}
	type edge struct {
		ID            op.UUID  `json:"id"`
		EpicID        *op.UUID `json:"epic_id"`
		EpicProjectID *op.UUID `json:"epic_project_id"`
		ParentTaskID  *op.UUID `json:"parent_task_id"`
	}
	type link struct {
		SourceID    string `json:"source_id"`
		DependsOnID string `json:"depends_on_id"`
	}
	var edges []edge
	for id, fields := range changed {
		e := edge{ID: id, EpicID: ends[id].EpicID, EpicProjectID: ends[id].EpicProjectID, ParentTaskID: ends[id].ParentTaskID}
		if slices.Contains(fields, "epicId") {
			e.EpicProjectID = nil
		}
		edges = append(edges, e)
	}
	links := make([]link, len(made))
	for i, l := range made {
		links[i] = link{l.SourceID, l.DependsOnID}
	}
	rows, err := json.Marshal(edges)
	if err != nil {
		return err
	}
	closed, err := json.Marshal(links)
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	batch.Queue(makeEdgesSQL, postgres.Args{"tenant": c.Tenant, "edges": rows, "now": c.Now})
	batch.Queue(closeLinksSQL, postgres.Args{"tenant": c.Tenant, "project": project, "links": closed, "now": c.Now})
	return postgres.MapError(c.Tx.SendBatch(ctx, batch).Close(), taskConstraints())
}
