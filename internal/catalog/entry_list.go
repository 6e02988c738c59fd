package catalog

import (
	"context"
	"strconv"
	"strings"

	"parapet/internal/authz"
	contract "parapet/internal/contract/catalog"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// listEntries returns a page of the entries that match. The cursor belongs to one order. It
// contains the sort key and the id of the page's last entry.
func listEntries(ctx context.Context, c *executor.Call, in *contract.ListCatalogEntriesIn, f authz.Filter) (*op.Page[contract.CatalogEntrySummary], error) {
	list := contract.ListCatalogEntries.Name + " " + in.Sort
	after, err := readEntryCursor(in.Cursor, list, in.Sort, c.Tenant)
	if err != nil {
		return nil, err
	}
	page := &op.Page[contract.CatalogEntrySummary]{Items: []contract.CatalogEntrySummary{}}
	if f.None() {
		return page, nil
	}
	st := &postgres.Statement{}
	tenant := st.Arg(c.Tenant)
	st.Add(entrySummariesSQL, `
WHERE e.tenant_id = `, tenant, ` AND `)
	if err := addVisibleEntries(ctx, c, st, f); err != nil {
		return nil, err
	}
	addEntryConditions(st, in, tenant)
	addEntryOrder(st, in.Sort, after)
	st.Add(` LIMIT `, strconv.Itoa(in.Limit+1))

	type row struct {
		entryRow
		SortTitle string
	}
	rows, err := postgres.Collect[row](ctx, c.DB, st.SQL(), st.Args()...)
	if err != nil {
		return nil, err
	}
	rowPage := op.NewPage(rows, in.Limit, func(last *row) string {
		key := last.SortTitle
		switch in.Sort {
		case contract.EntriesByUpdate:
			key = op.CursorTime(last.UpdatedAt)
		case contract.EntriesByCreated:
			key = op.CursorTime(last.CreatedAt)
		}
		return op.NewCursor(list, c.Tenant, key, string(last.ID))
	})
	return op.MapPage(rowPage, func(r *row) contract.CatalogEntrySummary { return r.toSummary() }), nil
}

// addVisibleEntries adds the condition for the entries that the caller sees: those that the
// filter of catalog_entries.read includes, and among them only the drafts that the caller may
// change. It is the condition of loadVisibleEntry in SQL.
func addVisibleEntries(ctx context.Context, c *executor.Call, st *postgres.Statement, read authz.Filter) error {
	update, err := c.Filter(ctx, contract.PermEntryUpdate, entryColumns)
	if err != nil {
		return err
	}
	st.Filter(read).Add(` AND (e.status <> '` + contract.EntryDraft + `' OR `).Filter(update).Add(`)`)
	return nil
}

// addEntryConditions adds the conditions of the request.
func addEntryConditions(st *postgres.Statement, in *contract.ListCatalogEntriesIn, tenant string) {
	if in.Status != "" {
		st.Add(` AND e.status = `, st.Arg(in.Status))
	}
	switch {
	case in.NodeID != "" && in.NodeOnly:
		st.Add(` AND e.node_id = `, st.Arg(in.NodeID))
	case in.NodeID != "":
		addSubtree(st, tenant, in.NodeID)
	}
	if in.Tag != "" {
		tag := strings.Join(strings.Fields(strings.ToLower(in.Tag)), "-")
		st.Add(` AND e.id IN (SELECT t.entry_id FROM catalog.entry_tags t WHERE t.tenant_id = `, tenant, ` AND t.tag = `, st.Arg(tag), `)`)
	}
	if in.CreatedBy != "" {
		st.Add(` AND e.created_by = `, st.Arg(in.CreatedBy))
	}
}

// addSubtree adds the condition that the entry is in the node or below it.
func addSubtree(st *postgres.Statement, tenant string, node op.UUID) {
	st.Add(` AND e.node_id IN (SELECT n.id FROM catalog.taxonomy_nodes n WHERE n.tenant_id = `, tenant,
		` AND n.path <@ (SELECT top.path FROM catalog.taxonomy_nodes top WHERE top.tenant_id = `, tenant, ` AND top.id = `, st.Arg(node), `))`)
}

// addEntryOrder adds the order and the condition for the entries after the cursor.
func addEntryOrder(st *postgres.Statement, sort string, after []any) {
	column, comparison, direction, kind := `e.sort_title`, `>`, ``, `text COLLATE "C"`
	switch sort {
	case contract.EntriesByUpdate:
		column, comparison, direction, kind = `e.updated_at`, `<`, ` DESC`, `timestamptz`
	case contract.EntriesByCreated:
		column, comparison, direction, kind = `e.created_at`, `<`, ` DESC`, `timestamptz`
	}
	if after != nil {
		st.Add(` AND (`, column, `, e.id) `, comparison, ` (`, st.Arg(after[0]), `::`, kind, `, `, st.Arg(after[1]), `::uuid)`)
	}
	st.Add(` ORDER BY `, column, direction, `, e.id`, direction)
}

// readEntryCursor returns the sort key and the id in a cursor, or nil for the first page.
func readEntryCursor(cursor, list, sort string, tenant op.UUID) ([]any, error) {
	keys, err := op.ReadCursor(cursor, list, tenant, 2)
	if err != nil || keys == nil {
		return nil, err
	}
	id, err := op.ParseUUID(keys[1])
	if err != nil {
		return nil, op.WrongCursor().WithCause(err)
	}
	if sort == contract.EntriesByTitle {
		return []any{keys[0], id}, nil
	}
	at, err := op.ParseCursorTime(keys[0])
	if err != nil {
		return nil, err
	}
	return []any{at, id}, nil
}
