package catalog

import (
	"time"

	"parapet/internal/op"
)

// The values of an entry's status.
const (
	EntryDraft     = "draft"
	EntryPublished = "published"
	EntryArchived  = "archived"
)

// The orders of entries.
const (
	EntriesByTitle   = "title"
	EntriesByUpdate  = "updated"
	EntriesByCreated = "created"
)

// The events of catalog entries. The payload is the CatalogEntry.
var (
	EventEntryCreated       = op.DeclareEvent[CatalogEntry](Contract, "catalog.entry.created", "A catalog entry was created as a draft.")
	EventEntryUpdated       = op.DeclareEvent[CatalogEntry](Contract, "catalog.entry.updated", "A catalog entry changed.")
	EventEntryStatusChanged = op.DeclareEvent[CatalogEntry](Contract, "catalog.entry.status_changed", "A catalog entry was published or archived.")
	EventEntryDeleted       = op.DeclareEvent[CatalogEntry](Contract, "catalog.entry.deleted", "A catalog entry was deleted.")
)

// CatalogEntrySummary is a catalog entry without its body.
type CatalogEntrySummary struct {
	ID             op.UUID       `json:"id" doc:"The entry's id."`
	Title          string        `json:"title" doc:"The entry's title. Untrusted text."`
	Summary        string        `json:"summary" doc:"What the entry is about, in one or two sentences. Untrusted text."`
	Status         string        `json:"status" enum:"draft|published|archived" doc:"The entry's status. Only users who may change the entry see a draft."`
	NodeID         op.UUID       `json:"nodeId" doc:"The taxonomy node of the entry."`
	Node           *op.Reference `json:"node,omitempty" doc:"The name of the record that nodeId identifies."`
	Tags           []string      `json:"tags" doc:"The tags, sorted. Untrusted text."`
	Classification string        `json:"classification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"The entry's classification."`
	OrganisationID op.UUID       `json:"organisationId,omitempty" doc:"The organisation that the entry belongs to; absent if it belongs to none."`
	Organisation   *op.Reference `json:"organisation,omitempty" doc:"The name of the record that organisationId identifies."`
	Owner          op.UUID       `json:"owner,omitempty" doc:"The user responsible for the entry; absent if there is none."`
	OwnerUser      *op.Reference `json:"ownerUser,omitempty" doc:"The name of the record that owner identifies."`
	CreatedBy      op.UUID       `json:"createdBy" doc:"The user who created the entry."`
	CreatedByUser  *op.Reference `json:"createdByUser,omitempty" doc:"The name of the record that createdBy identifies."`
	CreatedAt      time.Time     `json:"createdAt" doc:"When the entry was created."`
	UpdatedAt      time.Time     `json:"updatedAt" doc:"When the entry last changed."`
	PublishedAt    *time.Time    `json:"publishedAt,omitempty" doc:"When the entry was published; absent for a draft."`
	ArchivedAt     *time.Time    `json:"archivedAt,omitempty" doc:"When the entry was archived; absent if it is not archived."`
}

// CatalogEntry is an entry of the tenant's catalog.
type CatalogEntry struct {
	CatalogEntrySummary
	Body string `json:"body" doc:"The entry's text, Markdown. Untrusted text."`
}

// ListCatalogEntriesIn is the input of ListCatalogEntries.
type ListCatalogEntriesIn struct {
	Status    string  `query:"status" enum:"draft|published|archived" doc:"Only entries with this status."`
	NodeID    op.UUID `query:"nodeId" doc:"Only entries of this taxonomy node and of the nodes below it."`
	NodeOnly  bool    `query:"nodeOnly" doc:"Omit the entries of the nodes below nodeId."`
	Tag       string  `query:"tag" maxLength:"50" doc:"Only entries with this tag."`
	CreatedBy op.UUID `query:"createdBy" doc:"Only entries that this user created."`
	Sort      string  `query:"sort" enum:"title|updated|created" default:"title" doc:"The order: by title, or the latest change or creation first."`
	Limit     int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"The maximum number of entries to return."`
	Cursor    string  `query:"cursor" doc:"The nextCursor of the previous page."`
}

// ListCatalogEntries lists the entries that the caller may read.
var ListCatalogEntries = op.Declare[ListCatalogEntriesIn, op.Page[CatalogEntrySummary]](Contract, op.Spec{
	Name: "list-catalog-entries", Method: "GET", Path: "/api/catalog/entries", Permission: PermEntriesRead, Effect: op.Read,
	Summary:     "List the entries of the catalog.",
	Description: "Omits entries that the caller may not read, and drafts that the caller may not change. A token with the caveat read-only sees no drafts.",
})

// GetCatalogEntryIn is the input of GetCatalogEntry.
type GetCatalogEntryIn struct {
	EntryID op.UUID `path:"entryId" doc:"The catalog entry."`
}

// GetCatalogEntry returns an entry with its body.
var GetCatalogEntry = op.Declare[GetCatalogEntryIn, CatalogEntry](Contract, op.Spec{
	Name: "get-catalog-entry", Method: "GET", Path: "/api/catalog/entries/{entryId}", Permission: PermEntriesRead, Effect: op.Read,
	Summary:     "Get a catalog entry with its body.",
	Description: "A draft also requires the permission to change it.",
})

// CreateCatalogEntryIn is the input of CreateCatalogEntry.
type CreateCatalogEntryIn struct {
	Title          string   `json:"title" required:"true" maxLength:"200" doc:"The entry's title."`
	NodeID         op.UUID  `json:"nodeId" required:"true" doc:"The taxonomy node of the entry."`
	Summary        string   `json:"summary" maxLength:"1000" doc:"What the entry is about, in one or two sentences."`
	Body           string   `json:"body" maxLength:"100000" doc:"The entry's text, Markdown."`
	Tags           []string `json:"tags" maxLength:"20" doc:"The tags, each of 1 to 50 characters. They are stored in lower case, with a hyphen in place of spaces."`
	Classification string   `json:"classification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" default:"UNCLASSIFIED" doc:"The entry's classification."`
	OrganisationID op.UUID  `json:"organisationId" doc:"The organisation that the entry belongs to. Default: the caller's organisation."`
	Owner          op.UUID  `json:"owner" doc:"The user responsible for the entry: an active member of the tenant with clearance for it. Default: the caller."`
}

// CreateCatalogEntry creates an entry as a draft.
var CreateCatalogEntry = op.Declare[CreateCatalogEntryIn, CatalogEntry](Contract, op.Spec{
	Name: "create-catalog-entry", Method: "POST", Path: "/api/catalog/entries", Permission: PermEntryCreate, Effect: op.Write, Status: 201,
	Summary:     "Create a catalog entry as a draft.",
	Description: "publish-catalog-entry shows it to all who may read entries.",
})

// UpdateCatalogEntryIn is the input of UpdateCatalogEntry.
type UpdateCatalogEntryIn struct {
	EntryID        op.UUID          `path:"entryId" doc:"The catalog entry."`
	Title          op.Opt[string]   `json:"title" minLength:"1" maxLength:"200" doc:"A new title."`
	NodeID         op.Opt[op.UUID]  `json:"nodeId" doc:"A new taxonomy node."`
	Summary        op.Opt[string]   `json:"summary" maxLength:"1000" doc:"A new summary; null clears it."`
	Body           op.Opt[string]   `json:"body" maxLength:"100000" doc:"A new text, Markdown; null clears it."`
	Tags           op.Opt[[]string] `json:"tags" maxLength:"20" doc:"The complete new list of tags; null clears it."`
	Classification op.Opt[string]   `json:"classification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"A new classification."`
	OrganisationID op.Opt[op.UUID]  `json:"organisationId" doc:"A new organisation; null removes the organisation."`
	Owner          op.Opt[op.UUID]  `json:"owner" doc:"The user responsible for the entry; null removes the owner."`
}

// UpdateCatalogEntry changes an entry.
var UpdateCatalogEntry = op.Declare[UpdateCatalogEntryIn, CatalogEntry](Contract, op.Spec{
	Name: "update-catalog-entry", Method: "PATCH", Path: "/api/catalog/entries/{entryId}", Permission: PermEntryUpdate, Effect: op.Write,
	Summary:     "Change a catalog entry.",
	Description: "Changes only the fields that are given. Changing the classification requires clearance for both the old and the new one.",
})

// PublishCatalogEntryIn is the input of PublishCatalogEntry.
type PublishCatalogEntryIn struct {
	EntryID op.UUID `path:"entryId" doc:"The catalog entry."`
}

// PublishCatalogEntry publishes a draft.
var PublishCatalogEntry = op.Declare[PublishCatalogEntryIn, CatalogEntry](Contract, op.Spec{
	Name: "publish-catalog-entry", Method: "POST", Path: "/api/catalog/entries/{entryId}/publish", Permission: PermEntryPublish, Effect: op.Write,
	Summary:     "Publish a draft of a catalog entry.",
	Description: "Fails with CONFLICT if the entry is not a draft.",
})

// ArchiveCatalogEntryIn is the input of ArchiveCatalogEntry.
type ArchiveCatalogEntryIn struct {
	EntryID op.UUID `path:"entryId" doc:"The catalog entry."`
}

// ArchiveCatalogEntry archives a published entry.
var ArchiveCatalogEntry = op.Declare[ArchiveCatalogEntryIn, CatalogEntry](Contract, op.Spec{
	Name: "archive-catalog-entry", Method: "POST", Path: "/api/catalog/entries/{entryId}/archive", Permission: PermEntryPublish, Effect: op.Write,
	Summary:     "Archive a published catalog entry.",
	Description: "Fails with CONFLICT if the entry is not published. An archived entry cannot be published again.",
})

// DeleteCatalogEntryIn is the input of DeleteCatalogEntry.
type DeleteCatalogEntryIn struct {
	EntryID op.UUID `path:"entryId" doc:"The catalog entry."`
}

// DeleteCatalogEntry deletes an entry.
var DeleteCatalogEntry = op.Declare[DeleteCatalogEntryIn, op.None](Contract, op.Spec{
	Name: "delete-catalog-entry", Method: "DELETE", Path: "/api/catalog/entries/{entryId}", Permission: PermEntryDelete, Effect: op.Destroy, Status: 204,
	Summary: "Delete a catalog entry permanently.",
})
