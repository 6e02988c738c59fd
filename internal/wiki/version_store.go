package wiki

import (
	"context"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/wiki"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// versionType maps the policy attributes of a version to columns of the alias v. Who reads a
// version must also be able to read the page.
var versionType = authz.NewRecordType("version", authz.Attributes[versionRow]{
	Tenant:         authz.TenantColumn[versionRow]("v.tenant_id"),
	ID:             authz.NewAttribute("v.page_id", func(r *versionRow) string { return string(r.PageID) }),
	Creator:        authz.NewAttribute("v.created_by", func(r *versionRow) string { return string(r.CreatedBy) }),
	Classification: authz.NewAttribute("v.classification", func(r *versionRow) string { return r.Classification }),
})

var versionColumns = versionType.Columns()

// versionRow is a version of a page, without its text.
type versionRow struct {
	PageID         op.UUID
	Version        int
	Title          string
	Classification string
	SourceCommit   *string
	Size           int
	CreatedBy      op.UUID
	CreatedAt      time.Time
}

// resource converts the version to policy input.
func (r *versionRow) resource(tenant op.UUID) authz.Resource {
	return versionType.Resource(string(tenant), r)
}

func (r *versionRow) toVersion() contract.PageVersion {
	return contract.PageVersion{
		Version: r.Version, Title: r.Title, Classification: r.Classification, SourceCommit: textOf(r.SourceCommit), Size: r.Size,
		AuthorID: r.CreatedBy, CreatedAt: r.CreatedAt,
	}
}

const versionSelect = `
SELECT v.page_id, v.version, v.title, v.classification, v.source_commit, length(v.markdown) AS size, v.created_by, v.created_at`

const loadVersionSQL = versionSelect + `, v.markdown
FROM wiki.page_versions v
WHERE v.tenant_id = @tenant AND v.page_id = @page AND v.version = @version`

// versionText is a version with its text.
type versionText struct {
	versionRow
	Markdown string
}

func loadVersion(ctx context.Context, c *executor.Call, page op.UUID, version int) (versionText, error) {
	v, err := postgres.One[versionText](ctx, c.DB, loadVersionSQL, postgres.Args{"tenant": c.Tenant, "page": page, "version": version})
	if postgres.IsNoRows(err) {
		return v, fault.NotFound("version")
	}
	return v, err
}

const insertVersionSQL = `
INSERT INTO wiki.page_versions (tenant_id, page_id, version, title, markdown, classification, source_commit, created_by, created_at)
VALUES (@tenant, @id, @version, @title, @markdown, @classification, @source_commit, @by, @at)`

// insertVersionRow adds the current version of a page with its text.
func insertVersionRow(ctx context.Context, c *executor.Call, r *pageRow, markdown string) error {
	args := pageArgs(c, r)
	delete(args, "path")
	args["markdown"] = markdown
	_, err := c.DB.Exec(ctx, insertVersionSQL, args)
	return err
}
