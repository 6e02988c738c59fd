package wiki

import (
	"context"
	"strconv"

	"parapet/internal/authz"
	contract "parapet/internal/contract/wiki"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

const (
	listVersionsSQL = versionSelect + `
FROM wiki.page_versions v
WHERE v.tenant_id = @tenant AND v.page_id = @page AND v.version < @before AND `
	versionOrderSQL = `
ORDER BY v.version DESC LIMIT @limit`
)

// listVersions returns the versions of a page, newest first. The cursor contains the number of
// the last version.
func listVersions(ctx context.Context, c *executor.Call, in *contract.ListPageVersionsIn, f authz.Filter) (*op.Page[contract.PageVersion], error) {
	row, resource, err := loadCurrentPage(ctx, c, in.Path)
	if err != nil {
		return nil, err
	}
	if err := c.Decide(ctx, contract.PermPagesRead, resource); err != nil {
		return nil, err
	}
	list := contract.ListPageVersions.Name + " " + string(row.ID)
	after, err := op.ReadCursor(in.Cursor, list, c.Tenant, 1)
	if err != nil {
		return nil, err
	}
	before := row.Version + 1
	if after != nil {
		if before, err = strconv.Atoi(after[0]); err != nil || before > row.Version {
			return nil, op.WrongCursor()
		}
	}
	page := &op.Page[contract.PageVersion]{Items: []contract.PageVersion{}}
	if f.None() {
		return page, nil
	}
	args := map[string]any{"tenant": c.Tenant, "page": row.ID, "before": before, "limit": in.Limit + 1}
	f.AddTo(args)
	rows, err := postgres.Collect[versionRow](ctx, c.DB, listVersionsSQL+f.SQL()+versionOrderSQL, postgres.Args(args))
	if err != nil {
		return nil, err
	}
	rowPage := op.NewPage(rows, in.Limit, func(last *versionRow) string {
		return op.NewCursor(list, c.Tenant, strconv.Itoa(last.Version))
	})
	return op.MapPage(rowPage, func(r *versionRow) contract.PageVersion { return r.toVersion() }), nil
}
