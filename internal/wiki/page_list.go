package wiki

import (
	"context"
	"strconv"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/wiki"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/wikipath"
)

// The lists of pages are in the order of sort_path, in which U+0001 replaces the slashes. The
// pages at and below a path are then a range of the index: sort_path from the path to the
// path with U+0002, which no path contains.
const (
	listPagesSQL = `
SELECT g.path, g.sort_path, g.id, g.title, g.classification, g.version, g.updated_at, g.deleted_at, 0 AS pages
FROM wiki.pages g
WHERE g.tenant_id = @tenant AND g.sort_path >= @from AND g.sort_path < @to AND g.sort_path > @after
  AND (g.deleted_at IS NOT NULL) = @deleted AND `
	pageOrderSQL = `
ORDER BY sort_path LIMIT @limit`
	// A page with more segments than @depth only counts in the entry of its folder.
	listFoldersSQL = `
SELECT replace(n.node, E'\x01', '/') AS path, n.node AS sort_path, (array_agg(g.id) FILTER (WHERE g.sort_path = n.node))[1] AS id,
       max(g.title) FILTER (WHERE g.sort_path = n.node) AS title,
       max(g.classification) FILTER (WHERE g.sort_path = n.node) AS classification,
       max(g.version) FILTER (WHERE g.sort_path = n.node) AS version,
       max(g.updated_at) FILTER (WHERE g.sort_path = n.node) AS updated_at,
       max(g.deleted_at) FILTER (WHERE g.sort_path = n.node) AS deleted_at,
       count(*) FILTER (WHERE g.sort_path <> n.node) AS pages
FROM wiki.pages g,
     LATERAL (SELECT array_to_string((string_to_array(g.sort_path, E'\x01'))[1:@depth], E'\x01') COLLATE "C" AS node) n
WHERE g.tenant_id = @tenant AND g.sort_path >= @from AND g.sort_path < @to AND n.node > @after
  AND (g.deleted_at IS NOT NULL) = @deleted AND `
	folderOrderSQL = `
GROUP BY n.node
ORDER BY n.node LIMIT @limit`
)

// pageEntryRow is an entry of a list. The fields of the page are nil if no page has the path.
type pageEntryRow struct {
	Path           string
	SortPath       string
	ID             *op.UUID
	Title          *string
	Classification *string
	Version        *int
	UpdatedAt      *time.Time
	DeletedAt      *time.Time
	Pages          int
}

func (r *pageEntryRow) toEntry() contract.PageEntry {
	entry := contract.PageEntry{
		Path: r.Path, Title: textOf(r.Title), Classification: textOf(r.Classification), UpdatedAt: r.UpdatedAt, DeletedAt: r.DeletedAt, Pages: r.Pages,
	}
	if r.ID != nil {
		entry.ID, entry.Version = *r.ID, *r.Version
	}
	return entry
}

// listPages returns a page of the list. The cursor contains the last sort_path, and belongs to
// one prefix and depth.
func listPages(ctx context.Context, c *executor.Call, in *contract.ListPagesIn, f authz.Filter) (*op.Page[contract.PageEntry], error) {
	var prefix wikipath.Path
	if in.Prefix != "" {
		var err error
		if prefix, err = parsePath("prefix", in.Prefix); err != nil {
			return nil, err
		}
	}
	depth := 0
	if in.Depth != nil {
		depth = *in.Depth
	}
	list := contract.ListPages.Name + " " + string(prefix) + " " + strconv.Itoa(depth)
	after, err := op.ReadCursor(in.Cursor, list, c.Tenant, 1)
	if err != nil {
		return nil, err
	}
	if in.Deleted {
		if f, err = requireWriteFilter(ctx, c); err != nil {
			return nil, err
		}
	}
	page := &op.Page[contract.PageEntry]{Items: []contract.PageEntry{}}
	if f.None() {
		return page, nil
	}
	from, to := sortRange(prefix)
	args := map[string]any{"tenant": c.Tenant, "from": from, "to": to, "after": "", "deleted": in.Deleted, "limit": in.Limit + 1}
	if after != nil {
		args["after"] = after[0]
	}
	sql := listPagesSQL + f.SQL() + pageOrderSQL
	if depth > 0 {
		sql = listFoldersSQL + f.SQL() + folderOrderSQL
		args["depth"] = len(prefix.Segments()) + depth
	}
	f.AddTo(args)
	rows, err := postgres.Collect[pageEntryRow](ctx, c.DB, sql, postgres.Args(args))
	if err != nil {
		return nil, err
	}
	rowPage := op.NewPage(rows, in.Limit, func(last *pageEntryRow) string { return op.NewCursor(list, c.Tenant, last.SortPath) })
	return op.MapPage(rowPage, func(r *pageEntryRow) contract.PageEntry { return r.toEntry() }), nil
}

// requireWriteFilter returns the filter for the pages that the caller may write, or a denial
// if it may write none.
func requireWriteFilter(ctx context.Context, c *executor.Call) (authz.Filter, error) {
	f, err := c.Filter(ctx, contract.PermPageWrite, pageColumns)
	if err == nil && f.None() {
		none := pageRow{Classification: "UNCLASSIFIED"}
		err = c.Decide(ctx, contract.PermPageWrite, none.resource(c.Tenant))
	}
	return f, err
}

// sortRange returns the range of sort_path at and below the path. The empty path is the root.
func sortRange(path wikipath.Path) (from, to string) {
	sortPath := sortPathOf(path)
	if sortPath == "" {
		return "", "\U0010ffff"
	}
	return sortPath, sortPath + "\x02"
}
