package catalog

import (
	"context"
	"slices"

	"parapet/internal/authz"
	contract "parapet/internal/contract/catalog"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// maxShortlistEntries is the maximum number of entries of a shortlist.
const maxShortlistEntries = 500

func loadShortlistToAdd(ctx context.Context, c *executor.Call, in *contract.AddShortlistEntryIn) (shortlistRow, authz.Resource, error) {
	return loadShortlist(ctx, c, lockShortlistSQL, in.ShortlistID)
}

// addShortlistEntry adds an entry that the caller may read. The position counts only entries
// that the caller may read.
func addShortlistEntry(ctx context.Context, c *executor.Call, in *contract.AddShortlistEntryIn, list shortlistRow) (*contract.ShortlistEntry, error) {
	if err := list.requireActive(); err != nil {
		return nil, err
	}
	entry, resource, err := loadVisibleEntry(ctx, c, loadEntrySQL, in.EntryID)
	if err == nil {
		err = c.Decide(ctx, contract.PermEntriesRead, resource)
	}
	if fault.HasCode(err, fault.CodeNotFound) || fault.HasCode(err, fault.CodeForbidden) {
		return nil, fault.Validation("entryId", "The entry does not exist.").WithCause(err)
	}
	if err != nil {
		return nil, err
	}
	entries, err := loadShortlistEntries(ctx, c, list.ID)
	if err != nil {
		return nil, err
	}
	if indexOfEntry(entries, entry.ID) >= 0 {
		return nil, fault.Conflict("The shortlist already contains the entry.").WithReason("ALREADY_LISTED")
	}
	if len(entries) >= maxShortlistEntries {
		return nil, fault.Conflict("The shortlist has 500 entries, which is the maximum.")
	}
	row := shortlistEntryRow{
		EntryID: entry.ID, Note: in.Note, AddedBy: c.Actor.UserID, AddedAt: c.Now, Title: entry.Title, Summary: entry.Summary,
		Status: entry.Status, Classification: entry.Classification, Visible: true,
	}
	entries, position := insertVisible(entries, row, in.Position)
	if err := insertShortlistEntryRow(ctx, c, list.ID, &row, len(entries)); err != nil {
		return nil, err
	}
	if err := orderShortlistEntries(ctx, c, list.ID, entries); err != nil {
		return nil, err
	}
	if err := updateShortlistRow(ctx, c, &list); err != nil {
		return nil, err
	}
	recordShortlistEntry(c, &list, &row, "shortlist.entry_added", contract.EventShortlistEntryAdded, nil)
	return row.toEntry(position), nil
}

// indexOfEntry returns the index of an entry, or -1.
func indexOfEntry(entries []shortlistEntryRow, id op.UUID) int {
	return slices.IndexFunc(entries, func(r shortlistEntryRow) bool { return r.EntryID == id })
}

// insertVisible inserts a row before the visible row at a position, from 1, and returns the new
// list and the position of the row among the visible ones. If there is no such row, or the
// position is 0, it appends the row.
func insertVisible(entries []shortlistEntryRow, row shortlistEntryRow, position int) ([]shortlistEntryRow, int) {
	visible := 0
	for i := range entries {
		if !entries[i].Visible {
			continue
		}
		if visible++; visible == position {
			return slices.Insert(slices.Clone(entries), i, row), position
		}
	}
	return append(slices.Clone(entries), row), visible + 1
}

func loadShortlistToReorder(ctx context.Context, c *executor.Call, in *contract.UpdateShortlistEntryIn) (shortlistRow, authz.Resource, error) {
	return loadShortlist(ctx, c, lockShortlistSQL, in.ShortlistID)
}

// updateShortlistEntry changes the note or the position of an entry. Entries that the caller
// may not read keep their order.
func updateShortlistEntry(ctx context.Context, c *executor.Call, in *contract.UpdateShortlistEntryIn, list shortlistRow) (*contract.ShortlistEntry, error) {
	if in.Position.Null {
		return nil, fault.Validation("position", "The field position cannot be null.")
	}
	entries, row, err := loadListedEntry(ctx, c, list.ID, in.EntryID)
	if err != nil {
		return nil, err
	}
	old, position := row, visiblePosition(entries, row.EntryID)
	row.Note = in.Note.Or(row.Note)
	order, moved := entries, position
	if in.Position.Set {
		rest := slices.Delete(slices.Clone(entries), indexOfEntry(entries, row.EntryID), indexOfEntry(entries, row.EntryID)+1)
		order, moved = insertVisible(rest, row, in.Position.Value)
	}
	var changed []string
	if row.Note != old.Note {
		changed = append(changed, "note")
	}
	if moved != position {
		changed = append(changed, "position")
	}
	if len(changed) == 0 {
		// The response only shows the shortlist, so it requires the read permission.
		if err := c.Decide(ctx, contract.PermShortlistsRead, list.resource(c.Tenant)); err != nil {
			return nil, err
		}
		return old.toEntry(position), nil
	}
	if err := list.requireActive(); err != nil {
		return nil, err
	}
	if err := updateShortlistNote(ctx, c, list.ID, row.EntryID, row.Note); err != nil {
		return nil, err
	}
	if err := orderShortlistEntries(ctx, c, list.ID, order); err != nil {
		return nil, err
	}
	if err := updateShortlistRow(ctx, c, &list); err != nil {
		return nil, err
	}
	recordShortlistEntry(c, &list, &row, "shortlist.entry_updated", contract.EventShortlistEntryUpdated, changed)
	return row.toEntry(moved), nil
}

// visiblePosition returns the position of an entry among the visible ones, from 1.
func visiblePosition(entries []shortlistEntryRow, id op.UUID) int {
	position := 0
	for i := range entries {
		if entries[i].Visible {
			position++
		}
		if entries[i].EntryID == id {
			return position
		}
	}
	return 0
}

// loadListedEntry returns all entries of a shortlist and the one with the id. An entry that the
// caller may not read is like one that is not in the list.
func loadListedEntry(ctx context.Context, c *executor.Call, list, id op.UUID) ([]shortlistEntryRow, shortlistEntryRow, error) {
	entries, err := loadShortlistEntries(ctx, c, list)
	if err != nil {
		return nil, shortlistEntryRow{}, err
	}
	i := indexOfEntry(entries, id)
	if i < 0 || !entries[i].Visible {
		return nil, shortlistEntryRow{}, fault.NotFound("entry in the shortlist")
	}
	return entries, entries[i], nil
}

func loadShortlistToRemove(ctx context.Context, c *executor.Call, in *contract.RemoveShortlistEntryIn) (shortlistRow, authz.Resource, error) {
	return loadShortlist(ctx, c, lockShortlistSQL, in.ShortlistID)
}

func removeShortlistEntry(ctx context.Context, c *executor.Call, in *contract.RemoveShortlistEntryIn, list shortlistRow) (*op.None, error) {
	if err := list.requireActive(); err != nil {
		return nil, err
	}
	_, row, err := loadListedEntry(ctx, c, list.ID, in.EntryID)
	if err != nil {
		return nil, err
	}
	if err := deleteShortlistEntryRow(ctx, c, list.ID, row.EntryID); err != nil {
		return nil, err
	}
	if err := updateShortlistRow(ctx, c, &list); err != nil {
		return nil, err
	}
	recordShortlistEntry(c, &list, &row, "shortlist.entry_removed", contract.EventShortlistEntryRemoved, nil)
	return &op.None{}, nil
}

// removeFromShortlists records that a deleted entry leaves its shortlists. The database removes
// the rows with the entry.
func removeFromShortlists(ctx context.Context, c *executor.Call, entry *entryRow) error {
	lists, err := loadOccurrences(ctx, c, entry.ID)
	if err != nil {
		return err
	}
	for _, l := range lists {
		list := shortlistRow{ID: l.ShortlistID, Classification: l.Classification}
		row := shortlistEntryRow{EntryID: entry.ID, Note: l.Note, Classification: entry.Classification}
		recordShortlistEntry(c, &list, &row, "shortlist.entry_removed", contract.EventShortlistEntryRemoved, nil)
	}
	return nil
}

// classifications are the classifications from the lowest to the highest.
var classifications = []string{"UNCLASSIFIED", "INTERNAL", "RESTRICTED", "CONFIDENTIAL", "SECRET"}

// higherClassification returns the higher one of two classifications.
func higherClassification(a, b string) string {
	return classifications[max(slices.Index(classifications, a), slices.Index(classifications, b), 0)]
}

// recordShortlistEntry adds the audit entry and the event of a change of one entry in the list.
// Both name the entry, so they have the higher one of the two classifications.
func recordShortlistEntry(c *executor.Call, list *shortlistRow, r *shortlistEntryRow, action string, event *op.EventType, changed []string) {
	details := map[string]any{"entry": r.EntryID}
	if changed != nil {
		details["fields"] = changed
	}
	c.Record(executor.Change{
		Action: action, Type: "shortlist", ID: list.ID, Classification: higherClassification(list.Classification, r.Classification),
		Fields: changed, Details: details, Event: event,
		Payload: &contract.ShortlistChange{ShortlistID: list.ID, EntryID: r.EntryID, Note: r.Note},
	})
}
