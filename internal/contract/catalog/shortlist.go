package catalog

import (
	"time"

	"parapet/internal/op"
)

// The values of a shortlist's status.
const (
	ShortlistActive   = "ACTIVE"
	ShortlistArchived = "ARCHIVED"
)

// The events of shortlists.
var (
	EventShortlistCreated      = op.DeclareEvent[Shortlist](Contract, "catalog.shortlist.created", "A shortlist was created.")
	EventShortlistUpdated      = op.DeclareEvent[Shortlist](Contract, "catalog.shortlist.updated", "A shortlist changed.")
	EventShortlistArchived     = op.DeclareEvent[Shortlist](Contract, "catalog.shortlist.archived", "A shortlist was archived.")
	EventShortlistDeleted      = op.DeclareEvent[Shortlist](Contract, "catalog.shortlist.deleted", "A shortlist was deleted. Its entries stay in the catalog.")
	EventShortlistEntryAdded   = op.DeclareEvent[ShortlistChange](Contract, "catalog.shortlist.entry_added", "A catalog entry was added to a shortlist.")
	EventShortlistEntryUpdated = op.DeclareEvent[ShortlistChange](Contract, "catalog.shortlist.entry_updated", "The note or the position of an entry in a shortlist changed.")
	EventShortlistEntryRemoved = op.DeclareEvent[ShortlistChange](Contract, "catalog.shortlist.entry_removed", "A catalog entry was removed from a shortlist, or was deleted.")
)

// ShortlistChange is a change of one entry of a shortlist.
type ShortlistChange struct {
	ShortlistID op.UUID `json:"shortlistId" doc:"The shortlist."`
	EntryID     op.UUID `json:"entryId" doc:"The catalog entry."`
	Note        string  `json:"note" doc:"The note about the entry in this shortlist. Untrusted text."`
}

// Shortlist is a curated, ordered list of catalog entries.
type Shortlist struct {
	ID             op.UUID       `json:"id" doc:"The shortlist's id."`
	Name           string        `json:"name" doc:"The shortlist's name. Untrusted text."`
	Description    string        `json:"description" doc:"The shortlist's description, Markdown. Untrusted text."`
	Status         string        `json:"status" enum:"ACTIVE|ARCHIVED" doc:"The shortlist's status. An archived shortlist does not change."`
	Classification string        `json:"classification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"The shortlist's classification. Its entries have their own."`
	OrganisationID op.UUID       `json:"organisationId,omitempty" doc:"The organisation that the shortlist belongs to; absent if it belongs to none."`
	Organisation   *op.Reference `json:"organisation,omitempty" doc:"The name of the record that organisationId identifies."`
	CreatedBy      op.UUID       `json:"createdBy" doc:"The user who created the shortlist."`
	CreatedByUser  *op.Reference `json:"createdByUser,omitempty" doc:"The name of the record that createdBy identifies."`
	CreatedAt      time.Time     `json:"createdAt" doc:"When the shortlist was created."`
	UpdatedAt      time.Time     `json:"updatedAt" doc:"When the shortlist or its list of entries last changed."`
	ArchivedAt     *time.Time    `json:"archivedAt,omitempty" doc:"When the shortlist was archived; absent if it is active."`
}

// ShortlistDetail is a shortlist with its entries.
type ShortlistDetail struct {
	Shortlist
	Entries []ShortlistEntry `json:"entries" doc:"The entries that the caller may read, in their order."`
}

// ShortlistEntry is a catalog entry in a shortlist.
type ShortlistEntry struct {
	EntryID     op.UUID       `json:"entryId" doc:"The catalog entry."`
	Position    int           `json:"position" doc:"The position among the entries that the caller may read, from 1."`
	Title       string        `json:"title" doc:"The entry's title. Untrusted text."`
	Summary     string        `json:"summary" doc:"What the entry is about. Untrusted text."`
	Status      string        `json:"status" enum:"draft|published|archived" doc:"The entry's status."`
	Note        string        `json:"note" doc:"The note about the entry in this shortlist. Untrusted text."`
	AddedBy     op.UUID       `json:"addedBy" doc:"The user who added the entry."`
	AddedByUser *op.Reference `json:"addedByUser,omitempty" doc:"The name of the record that addedBy identifies."`
	AddedAt     time.Time     `json:"addedAt" doc:"When the entry was added."`
}

// ListShortlistsIn is the input of ListShortlists.
type ListShortlistsIn struct {
	Status  string  `query:"status" enum:"ACTIVE|ARCHIVED" doc:"Only shortlists with this status."`
	EntryID op.UUID `query:"entryId" doc:"Only shortlists that contain this entry."`
	Limit   int     `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"The maximum number of shortlists to return."`
	Cursor  string  `query:"cursor" doc:"The nextCursor of the previous page."`
}

// ListShortlists lists the shortlists that the caller may read, by name.
var ListShortlists = op.Declare[ListShortlistsIn, op.Page[Shortlist]](Contract, op.Spec{
	Name: "list-shortlists", Method: "GET", Path: "/api/catalog/shortlists", Permission: PermShortlistsRead, Effect: op.Read,
	Summary:     "List the shortlists of the catalog.",
	Description: "Omits shortlists that the caller may not read. Ordered by name.",
})

// GetShortlistIn is the input of GetShortlist.
type GetShortlistIn struct {
	ShortlistID op.UUID `path:"shortlistId" doc:"The shortlist."`
}

// GetShortlist returns a shortlist with its entries.
var GetShortlist = op.Declare[GetShortlistIn, ShortlistDetail](Contract, op.Spec{
	Name: "get-shortlist", Method: "GET", Path: "/api/catalog/shortlists/{shortlistId}", Permission: PermShortlistsRead, Effect: op.Read,
	Summary:     "Get a shortlist with its entries.",
	Description: "Omits entries that the caller may not read.",
})

// CreateShortlistIn is the input of CreateShortlist.
type CreateShortlistIn struct {
	Name           string  `json:"name" required:"true" maxLength:"200" doc:"The shortlist's name."`
	Description    string  `json:"description" maxLength:"20000" doc:"The shortlist's description, Markdown."`
	Classification string  `json:"classification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" default:"UNCLASSIFIED" doc:"The shortlist's classification. Its entries keep their own."`
	OrganisationID op.UUID `json:"organisationId" doc:"The organisation that the shortlist belongs to. Default: the caller's organisation."`
}

// CreateShortlist creates an active shortlist without entries.
var CreateShortlist = op.Declare[CreateShortlistIn, Shortlist](Contract, op.Spec{
	Name: "create-shortlist", Method: "POST", Path: "/api/catalog/shortlists", Permission: PermShortlistCreate, Effect: op.Write, Status: 201,
	Summary: "Create a shortlist of catalog entries.",
})

// UpdateShortlistIn is the input of UpdateShortlist.
type UpdateShortlistIn struct {
	ShortlistID    op.UUID         `path:"shortlistId" doc:"The shortlist."`
	Name           op.Opt[string]  `json:"name" minLength:"1" maxLength:"200" doc:"A new name."`
	Description    op.Opt[string]  `json:"description" maxLength:"20000" doc:"A new description; null clears it."`
	Classification op.Opt[string]  `json:"classification" enum:"UNCLASSIFIED|INTERNAL|RESTRICTED|CONFIDENTIAL|SECRET" doc:"A new classification."`
	OrganisationID op.Opt[op.UUID] `json:"organisationId" doc:"A new organisation; null removes the organisation."`
}

// UpdateShortlist changes a shortlist.
var UpdateShortlist = op.Declare[UpdateShortlistIn, Shortlist](Contract, op.Spec{
	Name: "update-shortlist", Method: "PATCH", Path: "/api/catalog/shortlists/{shortlistId}", Permission: PermShortlistUpdate, Effect: op.Write,
	Summary:     "Change a shortlist.",
	Description: "Changes only the fields that are given. Fails with CONFLICT if the shortlist is archived.",
})

// ArchiveShortlistIn is the input of ArchiveShortlist.
type ArchiveShortlistIn struct {
	ShortlistID op.UUID `path:"shortlistId" doc:"The shortlist."`
}

// ArchiveShortlist archives an active shortlist.
var ArchiveShortlist = op.Declare[ArchiveShortlistIn, Shortlist](Contract, op.Spec{
	Name: "archive-shortlist", Method: "POST", Path: "/api/catalog/shortlists/{shortlistId}/archive", Permission: PermShortlistUpdate, Effect: op.Write,
	Summary:     "Archive a shortlist.",
	Description: "It stays readable and cannot be changed any more. Fails with CONFLICT if it is archived already.",
})

// DeleteShortlistIn is the input of DeleteShortlist.
type DeleteShortlistIn struct {
	ShortlistID op.UUID `path:"shortlistId" doc:"The shortlist."`
}

// DeleteShortlist deletes a shortlist, but not its entries.
var DeleteShortlist = op.Declare[DeleteShortlistIn, op.None](Contract, op.Spec{
	Name: "delete-shortlist", Method: "DELETE", Path: "/api/catalog/shortlists/{shortlistId}", Permission: PermShortlistDelete, Effect: op.Destroy, Status: 204,
	Summary: "Delete a shortlist permanently; its entries stay.",
})

// AddShortlistEntryIn is the input of AddShortlistEntry.
type AddShortlistEntryIn struct {
	ShortlistID op.UUID `path:"shortlistId" doc:"The shortlist."`
	EntryID     op.UUID `json:"entryId" required:"true" doc:"The catalog entry to add."`
	Note        string  `json:"note" maxLength:"2000" doc:"A note about the entry in this shortlist."`
	Position    int     `json:"position" minimum:"0" doc:"The position among the entries that you may read, from 1. Absent or 0: the end."`
}

// AddShortlistEntry adds an entry to a shortlist.
var AddShortlistEntry = op.Declare[AddShortlistEntryIn, ShortlistEntry](Contract, op.Spec{
	Name: "add-shortlist-entry", Method: "POST", Path: "/api/catalog/shortlists/{shortlistId}/entries", Permission: PermShortlistUpdate, Effect: op.Write, Status: 201,
	Summary:     "Add a catalog entry to a shortlist.",
	Description: "A shortlist contains an entry once, and at most 500 entries. Fails with CONFLICT if the shortlist is archived or contains the entry.",
})

// UpdateShortlistEntryIn is the input of UpdateShortlistEntry.
type UpdateShortlistEntryIn struct {
	ShortlistID op.UUID        `path:"shortlistId" doc:"The shortlist."`
	EntryID     op.UUID        `path:"entryId" doc:"The catalog entry in the shortlist."`
	Note        op.Opt[string] `json:"note" maxLength:"2000" doc:"A new note; null clears it."`
	Position    op.Opt[int]    `json:"position" minimum:"1" doc:"A new position among the entries that you may read, from 1."`
}

// UpdateShortlistEntry changes the note or the position of an entry in a shortlist.
var UpdateShortlistEntry = op.Declare[UpdateShortlistEntryIn, ShortlistEntry](Contract, op.Spec{
	Name: "update-shortlist-entry", Method: "PATCH", Path: "/api/catalog/shortlists/{shortlistId}/entries/{entryId}", Permission: PermShortlistUpdate, Effect: op.Write,
	Summary:     "Change the note or the position of an entry in a shortlist.",
	Description: "Fails with CONFLICT if the shortlist is archived.",
})

// RemoveShortlistEntryIn is the input of RemoveShortlistEntry.
type RemoveShortlistEntryIn struct {
	ShortlistID op.UUID `path:"shortlistId" doc:"The shortlist."`
	EntryID     op.UUID `path:"entryId" doc:"The catalog entry in the shortlist."`
}

// RemoveShortlistEntry removes an entry from a shortlist.
var RemoveShortlistEntry = op.Declare[RemoveShortlistEntryIn, op.None](Contract, op.Spec{
	Name: "remove-shortlist-entry", Method: "DELETE", Path: "/api/catalog/shortlists/{shortlistId}/entries/{entryId}", Permission: PermShortlistUpdate, Effect: op.Write, Status: 204,
	Summary:     "Remove a catalog entry from a shortlist.",
	Description: "The entry stays in the catalog. Fails with CONFLICT if the shortlist is archived.",
})
