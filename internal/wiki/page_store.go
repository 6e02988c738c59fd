package wiki

import (
	"context"
	"strings"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/wiki"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/wikipath"
)

// pageType maps the policy attributes of a page to columns of the alias g.
var pageType = authz.NewRecordType("page", authz.Attributes[pageRow]{
	Tenant:         authz.TenantColumn[pageRow]("g.tenant_id"),
	ID:             authz.NewAttribute("g.id", func(r *pageRow) string { return string(r.ID) }),
	Creator:        authz.NewAttribute("g.created_by", func(r *pageRow) string { return string(r.CreatedBy) }),
	Classification: authz.NewAttribute("g.classification", func(r *pageRow) string { return r.Classification }),
})

var pageColumns = pageType.Columns()

// pageRow is a page. A page that does not exist yet has no ID.
type pageRow struct {
	ID             op.UUID
	Path           wikipath.Path
	Title          string
	Classification string
	Version        int
	SourceCommit   *string
	CreatedBy      op.UUID
	CreatedAt      time.Time
	UpdatedBy      op.UUID
	UpdatedAt      time.Time
	DeletedAt      *time.Time
}

// resource converts the page to policy input.
func (r *pageRow) resource(tenant op.UUID) authz.Resource {
	return pageType.Resource(string(tenant), r)
}

// currentVersion returns the version of the page for readers: 0 if it does not exist.
func (r *pageRow) currentVersion() int {
	if r.ID == "" || r.DeletedAt != nil {
		return 0
	}
	return r.Version
}

// toSummary converts the row to the API type.
func (r *pageRow) toSummary() contract.PageSummary {
	return contract.PageSummary{
		ID: r.ID, Path: string(r.Path), Title: r.Title, Classification: r.Classification, Version: r.Version, SourceCommit: textOf(r.SourceCommit),
		CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt, UpdatedBy: r.UpdatedBy, UpdatedAt: r.UpdatedAt, DeletedAt: r.DeletedAt,
	}
}

const pageSelect = `
SELECT g.id, g.path, g.title, g.classification, g.version, g.source_commit, g.created_by, g.created_at, g.updated_by, g.updated_at, g.deleted_at
FROM wiki.pages g
WHERE g.tenant_id = @tenant AND g.path = @path`

const (
	loadPageSQL = pageSelect + ` AND g.deleted_at IS NULL`
	// Deleted pages, too: a write restores them.
	lockPageSQL = pageSelect + ` FOR UPDATE`
)

// findPage runs one of the statements above. If there is no page, it returns a row without
// ID.
func findPage(ctx context.Context, c *executor.Call, sql string, path wikipath.Path) (pageRow, error) {
	row, err := postgres.One[pageRow](ctx, c.DB, sql, postgres.Args{"tenant": c.Tenant, "path": path})
	if postgres.IsNoRows(err) {
		return pageRow{Path: path}, nil
	}
	return row, err
}

// loadPage is findPage for a page that must exist.
func loadPage(ctx context.Context, c *executor.Call, sql string, path wikipath.Path) (pageRow, error) {
	row, err := findPage(ctx, c, sql, path)
	if err == nil && row.ID == "" {
		err = fault.NotFound("page")
	}
	return row, err
}

const insertPageSQL = `
INSERT INTO wiki.pages (tenant_id, id, path, title, classification, version, source_commit, created_by, created_at, updated_by, updated_at)
VALUES (@tenant, @id, @path, @title, @classification, @version, @source_commit, @by, @at, @by, @at)
ON CONFLICT (tenant_id, path) DO NOTHING`

// insertPageRow adds a page. It returns false if another call has just added a page with the
// same path.
func insertPageRow(ctx context.Context, c *executor.Call, r *pageRow) (bool, error) {
	tag, err := c.DB.Exec(ctx, insertPageSQL, pageArgs(c, r))
	return tag.RowsAffected() == 1, err
}

// The update also restores a deleted page.
const updatePageSQL = `
UPDATE wiki.pages g
SET title = @title, classification = @classification, version = @version, source_commit = @source_commit,
    updated_by = @by, updated_at = @at, deleted_by = NULL, deleted_at = NULL
WHERE g.tenant_id = @tenant AND g.id = @id AND g.path = @path`

func updatePageRow(ctx context.Context, c *executor.Call, r *pageRow) error {
	_, err := c.DB.Exec(ctx, updatePageSQL, pageArgs(c, r))
	return err
}

func pageArgs(c *executor.Call, r *pageRow) postgres.Args {
	return postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "path": r.Path, "title": r.Title, "classification": r.Classification,
		"version": r.Version, "source_commit": r.SourceCommit, "by": r.UpdatedBy, "at": r.UpdatedAt,
	}
}

const deletePageSQL = `
UPDATE wiki.pages g SET deleted_by = @by, deleted_at = @at WHERE g.tenant_id = @tenant AND g.id = @id`

func deletePageRow(ctx context.Context, c *executor.Call, r *pageRow) error {
	_, err := c.DB.Exec(ctx, deletePageSQL, postgres.Args{"tenant": c.Tenant, "id": r.ID, "by": c.Actor.UserID, "at": c.Now})
	return err
}

// textOf returns the text, or "" for NULL.
func textOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// optional returns nil for "".
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// sortPathOf returns the value of the column sort_path.
func sortPathOf(path wikipath.Path) string { return strings.ReplaceAll(string(path), "/", "\x01") }
