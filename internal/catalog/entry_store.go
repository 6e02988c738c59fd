package catalog

import (
	"context"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/catalog"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// entryType maps policy attributes to the columns of alias e. An entry belongs to no project,
// so roles granted in a project do not apply to it.
var entryType = authz.NewRecordType(entryNoun, authz.Attributes[entryRow]{
	Tenant:         authz.TenantColumn[entryRow]("e.tenant_id"),
	ID:             authz.NewAttribute("e.id", func(r *entryRow) string { return string(r.ID) }),
	Organisation:   authz.NewAttribute("e.organisation_id", func(r *entryRow) string { return string(postgres.ValueOrZero(r.OrganisationID)) }),
	Creator:        authz.NewAttribute("e.created_by", func(r *entryRow) string { return string(r.CreatedBy) }),
	Owner:          authz.NewAttribute("e.owner_id", func(r *entryRow) string { return string(postgres.ValueOrZero(r.OwnerID)) }),
	Classification: authz.NewAttribute("e.classification", func(r *entryRow) string { return r.Classification }),
})

var entryColumns = entryType.Columns()

const entryNoun = "catalog entry"

// publicEntryNames and draftNames find entries by title. A user who may change a draft also
// sees its title.
var (
	publicEntryNames = executor.NamedRecords{
		Kind: op.KindCatalogEntry, Permission: contract.PermEntriesRead, Columns: entryColumns,
		ID: "e.id", Name: "e.title", From: `catalog.entries e WHERE e.tenant_id = $1 AND e.status <> 'draft'`,
		Match: `e.sort_title = lower($2)`,
	}
	draftNames = executor.NamedRecords{
		Kind: op.KindCatalogEntry, Permission: contract.PermEntryUpdate, Columns: entryColumns,
		ID: "e.id", Name: "e.title", From: `catalog.entries e WHERE e.tenant_id = $1 AND e.status = 'draft'`,
		Match: `e.sort_title = lower($2)`,
	}
)

func entryConstraints() postgres.Constraints {
	return postgres.Constraints{
		"entries_node": fault.Validation("nodeId", "The node does not exist."),
	}
}

// entryRow is a catalog entry. Body is empty in lists.
type entryRow struct {
	ID             op.UUID
	Title          string
	Summary        string
	Body           string
	NodeID         op.UUID
	Classification string
	OrganisationID *op.UUID
	Tags           []string
	Status         string
	OwnerID        *op.UUID
	CreatedBy      op.UUID
	CreatedAt      time.Time
	UpdatedAt      time.Time
	PublishedAt    *time.Time
	ArchivedAt     *time.Time
}

const entrySelect = `
SELECT e.id, e.title, e.summary, e.body, e.node_id, e.classification, e.organisation_id, e.tags, e.status, e.owner_id,
       e.created_by, e.created_at, e.updated_at, e.published_at, e.archived_at`

// entrySummariesSQL reads entries without their bodies.
const entrySummariesSQL = `
SELECT e.id, e.title, e.summary, '' AS body, e.node_id, e.classification, e.organisation_id, e.tags, e.status, e.owner_id,
       e.created_by, e.created_at, e.updated_at, e.published_at, e.archived_at, e.sort_title
FROM catalog.entries e`

const loadEntrySQL = entrySelect + `
FROM catalog.entries e
WHERE e.tenant_id = @tenant AND e.id = @id`

const lockEntrySQL = loadEntrySQL + ` FOR UPDATE OF e`

// loadEntry reads an entry with one of the statements above.
func loadEntry(ctx context.Context, c *executor.Call, sql string, id op.UUID) (entryRow, error) {
	row, err := postgres.One[entryRow](ctx, c.DB, sql, postgres.Args{"tenant": c.Tenant, "id": id})
	if postgres.IsNoRows(err) {
		return row, fault.NotFound(entryNoun)
	}
	return row, err
}

// resource converts the entry to policy input.
func (r *entryRow) resource(tenant op.UUID) authz.Resource {
	return entryType.Resource(string(tenant), r)
}

// toSummary and toEntry convert the row to the API types.
func (r *entryRow) toSummary() contract.CatalogEntrySummary {
	return contract.CatalogEntrySummary{
		ID: r.ID, Title: r.Title, Summary: r.Summary, Status: r.Status, NodeID: r.NodeID, Tags: r.Tags, Classification: r.Classification,
		OrganisationID: postgres.ValueOrZero(r.OrganisationID), Owner: postgres.ValueOrZero(r.OwnerID), CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt,
		UpdatedAt: r.UpdatedAt, PublishedAt: r.PublishedAt, ArchivedAt: r.ArchivedAt,
	}
}

func (r *entryRow) toEntry() *contract.CatalogEntry {
	return &contract.CatalogEntry{CatalogEntrySummary: r.toSummary(), Body: r.Body}
}

const insertEntrySQL = `
INSERT INTO catalog.entries (tenant_id, id, title, summary, body, node_id, classification, organisation_id, tags, status, owner_id,
                             created_by, created_at, updated_at, published_at, archived_at)
VALUES (@tenant, @id, @title, @summary, @body, @node, @classification, @organisation, @tags, @status, @owner,
        @creator, @now, @now, @published, @archived)`

func insertEntryRow(ctx context.Context, c *executor.Call, r *entryRow) error {
	args := r.args(c)
	args["creator"] = r.CreatedBy
	_, err := c.DB.Exec(ctx, insertEntrySQL, args)
	return postgres.MapError(err, entryConstraints())
}

const updateEntrySQL = `
UPDATE catalog.entries e
SET title = @title, summary = @summary, body = @body, node_id = @node, classification = @classification, organisation_id = @organisation,
    tags = @tags, status = @status, owner_id = @owner, updated_at = @now, published_at = @published, archived_at = @archived
WHERE e.tenant_id = @tenant AND e.id = @id`

func updateEntryRow(ctx context.Context, c *executor.Call, r *entryRow) error {
	_, err := c.DB.Exec(ctx, updateEntrySQL, r.args(c))
	return postgres.MapError(err, entryConstraints())
}

func (r *entryRow) args(c *executor.Call) postgres.Args {
	return postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "title": r.Title, "summary": r.Summary, "body": r.Body, "node": r.NodeID,
		"classification": r.Classification, "organisation": r.OrganisationID, "tags": r.Tags, "status": r.Status, "owner": r.OwnerID,
		"now": c.Now, "published": r.PublishedAt, "archived": r.ArchivedAt,
	}
}

const deleteEntrySQL = `DELETE FROM catalog.entries e WHERE e.tenant_id = @tenant AND e.id = @id`

func deleteEntryRow(ctx context.Context, c *executor.Call, id op.UUID) error {
	_, err := c.DB.Exec(ctx, deleteEntrySQL, postgres.Args{"tenant": c.Tenant, "id": id})
	return err
}

// lockEntriesOfNodeSQL locks the entries of a node, at most @limit.
const lockEntriesOfNodeSQL = entrySelect + `
FROM catalog.entries e
WHERE e.tenant_id = @tenant AND e.node_id = @node
ORDER BY e.sort_title, e.id LIMIT @limit FOR UPDATE OF e`

func lockEntriesOfNode(ctx context.Context, c *executor.Call, node op.UUID, limit int) ([]entryRow, error) {
	return postgres.Collect[entryRow](ctx, c.DB, lockEntriesOfNodeSQL, postgres.Args{"tenant": c.Tenant, "node": node, "limit": limit})
}

const moveEntriesSQL = `
UPDATE catalog.entries e SET node_id = @target, updated_at = @now
WHERE e.tenant_id = @tenant AND e.node_id = @node`

func moveEntryRows(ctx context.Context, c *executor.Call, node, target op.UUID) error {
	_, err := c.DB.Exec(ctx, moveEntriesSQL, postgres.Args{"tenant": c.Tenant, "node": node, "target": target, "now": c.Now})
	return err
}
