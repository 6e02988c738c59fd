package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	contract "parapet/internal/contract/catalog"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
)

// createList creates a shortlist with entries.
func (w *world) createList(who *person, name string, entries ...*contract.CatalogEntry) *contract.Shortlist {
	w.t.Helper()
	list := do[contract.Shortlist](w, who, "create-shortlist", fields{"name": name})
	for _, e := range entries {
		do[contract.ShortlistEntry](w, w.manager, "add-shortlist-entry", fields{"shortlistId": list.ID, "entryId": e.ID})
	}
	return list
}

// listed returns the positions and titles in a shortlist as text.
func (w *world) listed(who *person, list op.UUID) string {
	w.t.Helper()
	var parts []string
	for _, e := range do[contract.ShortlistDetail](w, who, "get-shortlist", fields{"shortlistId": list}).Entries {
		parts = append(parts, fmt.Sprintf("%d%s", e.Position, e.Title))
	}
	return strings.Join(parts, " ")
}

func TestShortlist_EntriesKeepTheirOrderAndNotes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	node := w.createNode("Software", nil)
	a, b, c := w.createEntry(w.manager, "a", node), w.createEntry(w.manager, "b", node), w.createEntry(w.manager, "c", node)
	list := w.createList(w.manager, "Approved", a, b)
	w.wantRecorded("shortlist.created", contract.EventShortlistCreated, list.ID)
	at := fields{"shortlistId": list.ID}
	added := do[contract.ShortlistEntry](w, w.manager, "add-shortlist-entry", at.with(fields{"entryId": c.ID, "note": "First choice", "position": 1}))
	if added.Position != 1 || added.Note != "First choice" || added.AddedBy != w.manager.id || added.Title != "c" {
		t.Errorf("got %+v", added)
	}
	if f := w.wantError(fault.CodeConflict, w.manager, "add-shortlist-entry", at.with(fields{"entryId": c.ID})); f.Reason != "ALREADY_LISTED" {
		t.Errorf("got %+v", f)
	}
	w.wantError(fault.CodeValidation, w.manager, "add-shortlist-entry", at.with(fields{"entryId": uid.New()}))
	if got := w.listed(w.manager, list.ID); got != "1c 2a 3b" {
		t.Errorf("got %s", got)
	}
	moved := do[contract.ShortlistEntry](w, w.manager, "update-shortlist-entry", at.with(fields{"entryId": c.ID, "position": 99, "note": nil}))
	if got := w.listed(w.manager, list.ID); got != "1a 2b 3c" || moved.Position != 3 || moved.Note != "" {
		t.Errorf("got %s and %+v", got, moved)
	}
	// The same position again changes nothing.
	do[contract.ShortlistEntry](w, w.manager, "update-shortlist-entry", at.with(fields{"entryId": c.ID, "position": 3}))
	w.wantRecorded("shortlist.entry_updated", contract.EventShortlistEntryUpdated, list.ID)
	do[op.None](w, w.manager, "remove-shortlist-entry", at.with(fields{"entryId": a.ID}))
	w.wantError(fault.CodeNotFound, w.manager, "remove-shortlist-entry", at.with(fields{"entryId": a.ID}))
	w.wantRecorded("shortlist.entry_removed", contract.EventShortlistEntryRemoved, list.ID)
	// A deleted entry leaves its shortlists.
	do[op.None](w, w.manager, "delete-catalog-entry", fields{"entryId": b.ID})
	if got := w.listed(w.manager, list.ID); got != "1c" || w.count(`SELECT count(*) FROM audit.entries WHERE action = 'shortlist.entry_removed'`) != 2 {
		t.Errorf("got %s", got)
	}

	renamed := do[contract.Shortlist](w, w.manager, "update-shortlist", at.with(fields{"name": "Chosen", "classification": "INTERNAL"}))
	do[contract.Shortlist](w, w.manager, "update-shortlist", at.with(fields{"name": "Chosen"}))
	if renamed.Name != "Chosen" || renamed.Classification != "INTERNAL" {
		t.Errorf("got %+v", renamed)
	}
	w.wantRecorded("shortlist.updated", contract.EventShortlistUpdated, list.ID)
	if archived := do[contract.Shortlist](w, w.manager, "archive-shortlist", at); archived.Status != "ARCHIVED" || archived.ArchivedAt == nil {
		t.Errorf("got %+v", archived)
	}
	w.wantRecorded("shortlist.archived", contract.EventShortlistArchived, list.ID)
	for name, in := range map[string]fields{
		"archive-shortlist": {}, "update-shortlist": {"name": "Other"}, "add-shortlist-entry": {"entryId": a.ID},
		"update-shortlist-entry": {"entryId": c.ID, "note": "x"}, "remove-shortlist-entry": {"entryId": c.ID},
	} {
		if f := w.wantError(fault.CodeConflict, w.manager, name, at.with(in)); f.Reason != "WRONG_STATUS" {
			t.Errorf("%s: got %+v", name, f)
		}
	}
	do[op.None](w, w.manager, "delete-shortlist", at)
	w.wantRecorded("shortlist.deleted", contract.EventShortlistDeleted, list.ID)
	if w.count(`SELECT count(*) FROM catalog.entries`) != 2 {
		t.Error("the deletion of the shortlist deleted entries")
	}
}

// Entries above the reader's clearance are not in the list, not in positions and not found by
// the filter for an entry. Their events have their classification.
func TestShortlist_HidesEntriesOfHigherClassification(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	node := w.createNode("Software", nil)
	secret := w.publish(w.createEntry(w.manager, "secret", node, fields{"classification": "SECRET"}))
	draft := w.createEntry(w.manager, "draft", node)
	a, b := w.publish(w.createEntry(w.manager, "a", node)), w.publish(w.createEntry(w.manager, "b", node))
	author := w.addPerson(person{roles: []string{"Member"}})
	list := w.createList(author, "Approved", secret, a, draft, b)
	at := fields{"shortlistId": list.ID}
	if got := w.listed(author, list.ID); got != "1a 2b" {
		t.Errorf("the author sees %s", got)
	}
	// The author moves b before a; the hidden entries keep their order.
	do[contract.ShortlistEntry](w, author, "update-shortlist-entry", at.with(fields{"entryId": b.ID, "position": 1}))
	if mine, all := w.listed(author, list.ID), w.listed(w.manager, list.ID); mine != "1b 2a" || all != "1secret 2b 3a 4draft" {
		t.Errorf("the author sees %s, the manager %s", mine, all)
	}
	for _, hidden := range []*contract.CatalogEntry{secret, draft} {
		w.wantError(fault.CodeNotFound, author, "remove-shortlist-entry", at.with(fields{"entryId": hidden.ID}))
		w.wantError(fault.CodeNotFound, author, "update-shortlist-entry", at.with(fields{"entryId": hidden.ID, "note": "x"}))
		w.wantError(fault.CodeValidation, author, "add-shortlist-entry", at.with(fields{"entryId": hidden.ID}))
		if page := do[op.Page[contract.Shortlist]](w, author, "list-shortlists", fields{"entryId": hidden.ID}); len(page.Items) != 0 {
			t.Errorf("the author finds %d shortlists with the hidden entry", len(page.Items))
		}
	}
	if page := do[op.Page[contract.Shortlist]](w, author, "list-shortlists", fields{"entryId": a.ID, "status": "ACTIVE"}); len(page.Items) != 1 {
		t.Errorf("got %d shortlists, want 1", len(page.Items))
	}
	if n := w.count(`SELECT count(*) FROM events.outbox WHERE type = 'catalog.shortlist.entry_added' AND payload->>'classification' <> 'SECRET'
		AND payload->'resource'->>'entryId' = $1`, string(secret.ID)); n != 0 {
		t.Errorf("%d events about the secret entry have a lower classification", n)
	}
}

func TestShortlists_PermissionsAndTenants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	node := w.createNode("Software", nil)
	e := w.publish(w.createEntry(w.manager, "a", node))
	author, colleague := w.addPerson(person{roles: []string{"Member"}}), w.addPerson(person{roles: []string{"Member"}})
	stranger := w.addPerson(person{tenant: w.globex, roles: []string{"Admin"}, clearance: "SECRET"})
	list := w.createList(author, "b", e)
	w.createList(author, "A")
	hidden := do[contract.Shortlist](w, w.manager, "create-shortlist", fields{"name": "c", "classification": "SECRET"})
	names := func(who *person) (text string) {
		for cursor := ""; ; {
			page := do[op.Page[contract.Shortlist]](w, who, "list-shortlists", fields{"limit": 1, "cursor": cursor})
			for _, l := range page.Items {
				text += l.Name
			}
			if cursor = page.NextCursor; cursor == "" {
				return text
			}
		}
	}
	if got := names(w.manager) + " " + names(colleague) + " " + names(stranger); got != "Abc Ab " {
		t.Errorf("got %s", got)
	}
	w.wantError(fault.CodeNotFound, colleague, "get-shortlist", fields{"shortlistId": hidden.ID})
	at := fields{"shortlistId": list.ID}
	for name, in := range map[string]fields{
		"update-shortlist": {"name": "X"}, "archive-shortlist": {}, "delete-shortlist": {}, "add-shortlist-entry": {"entryId": e.ID},
		"update-shortlist-entry": {"entryId": e.ID, "note": "x"}, "remove-shortlist-entry": {"entryId": e.ID},
	} {
		if f := w.wantError(fault.CodeForbidden, colleague, name, at.with(in)); len(f.Reasons) != 1 || f.Reasons[0].Code != "not_own" {
			t.Errorf("%s: got %+v", name, f)
		}
		w.wantError(fault.CodeNotFound, stranger, name, at.with(in))
	}
	w.wantError(fault.CodeNotFound, stranger, "get-shortlist", at)
	w.wantError(fault.CodeForbidden, w.addPerson(person{roles: []string{"Guest Customer"}}), "list-shortlists", nil)
	w.wantError(fault.CodeForbidden, w.addPerson(person{roles: []string{"Reviewer"}}), "create-shortlist", fields{"name": "X"})
	// Nobody raises the classification above the own clearance.
	w.wantError(fault.CodeNotFound, author, "update-shortlist", at.with(fields{"classification": "SECRET"}))
	do[contract.Shortlist](w, author, "archive-shortlist", at)
}
