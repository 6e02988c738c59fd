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

// shortlistType maps policy attributes to the columns of alias s.
var shortlistType = authz.NewRecordType("shortlist", authz.Attributes[shortlistRow]{
	Tenant:         authz.TenantColumn[shortlistRow]("s.tenant_id"),
	ID:             authz.NewAttribute("s.id", func(r *shortlistRow) string { return string(r.ID) }),
	Organisation:   authz.NewAttribute("s.organisation_id", func(r *shortlistRow) string { return string(postgres.ValueOrZero(r.OrganisationID)) }),
	Creator:        authz.NewAttribute("s.created_by", func(r *shortlistRow) string { return string(r.CreatedBy) }),
	Classification: authz.NewAttribute("s.classification", func(r *shortlistRow) string { return r.Classification }),
})

var shortlistColumns = shortlistType.Columns()

// shortlistNames finds shortlists by name.
var shortlistNames = executor.NamedRecords{
	Kind: op.KindShortlist, Permission: contract.PermShortlistsRead, Columns: shortlistColumns,
	ID: "s.id", Name: "s.name", From: `catalog.shortlists s WHERE s.tenant_id = $1`, Match: `s.sort_name = lower($2)`,
}

type shortlistRow struct {
	ID             op.UUID
	Name           string
	Description    string
	Status         string
	Classification string
	OrganisationID *op.UUID
	CreatedBy      op.UUID
	CreatedAt      time.Time
	UpdatedAt      time.Time
	ArchivedAt     *time.Time
}

const shortlistSelect = `
SELECT s.id, s.name, s.description, s.status, s.classification, s.organisation_id, s.created_by, s.created_at, s.updated_at, s.archived_at`

const loadShortlistSQL = shortlistSelect + `
FROM catalog.shortlists s
WHERE s.tenant_id = @tenant AND s.id = @id`

// lockShortlistSQL also locks the list of entries: every change of it locks the shortlist.
const lockShortlistSQL = loadShortlistSQL + ` FOR UPDATE OF s`

// loadShortlist reads a shortlist with one of the statements above.
func loadShortlist(ctx context.Context, c *executor.Call, sql string, id op.UUID) (shortlistRow, authz.Resource, error) {
	row, err := postgres.One[shortlistRow](ctx, c.DB, sql, postgres.Args{"tenant": c.Tenant, "id": id})
	if postgres.IsNoRows(err) {
		err = fault.NotFound("shortlist")
	}
	return row, row.resource(c.Tenant), err
}

// resource converts the shortlist to policy input.
func (r *shortlistRow) resource(tenant op.UUID) authz.Resource {
	return shortlistType.Resource(string(tenant), r)
}

func (r *shortlistRow) toShortlist() *contract.Shortlist {
	return &contract.Shortlist{
		ID: r.ID, Name: r.Name, Description: r.Description, Status: r.Status, Classification: r.Classification,
		OrganisationID: postgres.ValueOrZero(r.OrganisationID), CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, ArchivedAt: r.ArchivedAt,
	}
}

const insertShortlistSQL = `
INSERT INTO catalog.shortlists (tenant_id, id, name, description, status, classification, organisation_id, created_by, created_at, updated_at, archived_at)
VALUES (@tenant, @id, @name, @description, @status, @classification, @organisation, @creator, @now, @now, @archived)`

func insertShortlistRow(ctx context.Context, c *executor.Call, r *shortlistRow) error {
	args := r.args(c)
	args["creator"] = r.CreatedBy
	_, err := c.DB.Exec(ctx, insertShortlistSQL, args)
	return err
}

const updateShortlistSQL = `
UPDATE catalog.shortlists s
SET name = @name, description = @description, status = @status, classification = @classification, organisation_id = @organisation,
    updated_at = @now, archived_at = @archived
WHERE s.tenant_id = @tenant AND s.id = @id`

func updateShortlistRow(ctx context.Context, c *executor.Call, r *shortlistRow) error {
	r.UpdatedAt = c.Now
	_, err := c.DB.Exec(ctx, updateShortlistSQL, r.args(c))
	return err
}

func (r *shortlistRow) args(c *executor.Call) postgres.Args {
	return postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "name": r.Name, "description": r.Description, "status": r.Status,
		"classification": r.Classification, "organisation": r.OrganisationID, "now": c.Now, "archived": r.ArchivedAt,
	}
}

const deleteShortlistSQL = `DELETE FROM catalog.shortlists s WHERE s.tenant_id = @tenant AND s.id = @id`

func deleteShortlistRow(ctx context.Context, c *executor.Call, id op.UUID) error {
	_, err := c.DB.Exec(ctx, deleteShortlistSQL, postgres.Args{"tenant": c.Tenant, "id": id})
	return err
}

// shortlistEntryRow is an entry of a shortlist. Visible reports whether the caller may read
// the entry.
type shortlistEntryRow struct {
	EntryID        op.UUID
	Note           string
	AddedBy        op.UUID
	AddedAt        time.Time
	Title          string
	Summary        string
	Status         string
	Classification string
	Visible        bool
}

// loadShortlistEntries reads the entries of a shortlist in their order, also those that the
// caller may not read.
func loadShortlistEntries(ctx context.Context, c *executor.Call, list op.UUID) ([]shortlistEntryRow, error) {
	read, err := c.Filter(ctx, contract.PermEntriesRead, entryColumns)
	if err != nil {
		return nil, err
	}
	st := &postgres.Statement{}
	tenant := st.Arg(c.Tenant)
	st.Add(`SELECT x.entry_id, x.note, x.added_by, x.added_at, e.title, e.summary, e.status, e.classification, coalesce(`)
	if err := addVisibleEntries(ctx, c, st, read); err != nil {
		return nil, err
	}
	st.Add(`, false) AS visible
FROM catalog.shortlist_entries x
JOIN catalog.entries e ON e.tenant_id = `, tenant, ` AND e.id = x.entry_id
WHERE x.tenant_id = `, tenant, ` AND x.shortlist_id = `, st.Arg(list), `
ORDER BY x.position, x.entry_id`)
	return postgres.Collect[shortlistEntryRow](ctx, c.DB, st.SQL(), st.Args()...)
}

func (r *shortlistEntryRow) toEntry(position int) *contract.ShortlistEntry {
	return &contract.ShortlistEntry{
		EntryID: r.EntryID, Position: position, Title: r.Title, Summary: r.Summary, Status: r.Status, Note: r.Note,
		AddedBy: r.AddedBy, AddedAt: r.AddedAt,
	}
}

// orderShortlistEntriesSQL gives the entries the positions of their ids in @order.
const (
	insertShortlistEntrySQL = `
INSERT INTO catalog.shortlist_entries (tenant_id, shortlist_id, entry_id, position, note, added_by, added_at)
VALUES (@tenant, @list, @entry, @position, @note, @creator, @now)`

	orderShortlistEntriesSQL = `
UPDATE catalog.shortlist_entries x SET position = o.position
FROM unnest(@order::uuid[]) WITH ORDINALITY AS o (entry_id, position)
WHERE x.tenant_id = @tenant AND x.shortlist_id = @list AND x.entry_id = o.entry_id AND x.position <> o.position`

	updateShortlistNoteSQL = `
UPDATE catalog.shortlist_entries x SET note = @note
WHERE x.tenant_id = @tenant AND x.shortlist_id = @list AND x.entry_id = @entry`

	deleteShortlistEntrySQL = `
DELETE FROM catalog.shortlist_entries x
WHERE x.tenant_id = @tenant AND x.shortlist_id = @list AND x.entry_id = @entry`
)

func insertShortlistEntryRow(ctx context.Context, c *executor.Call, list op.UUID, r *shortlistEntryRow, position int) error {
	_, err := c.DB.Exec(ctx, insertShortlistEntrySQL, postgres.Args{
		"tenant": c.Tenant, "list": list, "entry": r.EntryID, "position": position, "note": r.Note, "creator": r.AddedBy, "now": c.Now,
	})
	return postgres.MapError(err, postgres.Constraints{"shortlist_entries_entry": fault.Validation("entryId", "The entry does not exist.")})
}

func orderShortlistEntries(ctx context.Context, c *executor.Call, list op.UUID, order []shortlistEntryRow) error {
	ids := make([]op.UUID, len(order))
	for i := range order {
		ids[i] = order[i].EntryID
	}
	_, err := c.DB.Exec(ctx, orderShortlistEntriesSQL, postgres.Args{"tenant": c.Tenant, "list": list, "order": ids})
	return err
}

func updateShortlistNote(ctx context.Context, c *executor.Call, list, entry op.UUID, note string) error {
	_, err := c.DB.Exec(ctx, updateShortlistNoteSQL, postgres.Args{"tenant": c.Tenant, "list": list, "entry": entry, "note": note})
	return err
}

func deleteShortlistEntryRow(ctx context.Context, c *executor.Call, list, entry op.UUID) error {
	_, err := c.DB.Exec(ctx, deleteShortlistEntrySQL, postgres.Args{"tenant": c.Tenant, "list": list, "entry": entry})
	return err
}

const shortlistsOfEntrySQL = `
SELECT x.shortlist_id, x.note, s.classification
FROM catalog.shortlist_entries x
JOIN catalog.shortlists s ON s.tenant_id = @tenant AND s.id = x.shortlist_id
WHERE x.tenant_id = @tenant AND x.entry_id = @entry
ORDER BY x.shortlist_id`

// entryOccurrence is a shortlist that contains an entry.
type entryOccurrence struct {
	ShortlistID    op.UUID
	Note           string
	Classification string
}

func loadOccurrences(ctx context.Context, c *executor.Call, entry op.UUID) ([]entryOccurrence, error) {
	return postgres.Collect[entryOccurrence](ctx, c.DB, shortlistsOfEntrySQL, postgres.Args{"tenant": c.Tenant, "entry": entry})
}
