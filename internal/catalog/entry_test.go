package catalog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	contract "parapet/internal/contract/catalog"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
)

// createEntry creates a draft in the node.
func (w *world) createEntry(who *person, title string, node *contract.TaxonomyNode, more ...fields) *contract.CatalogEntry {
	w.t.Helper()
	return do[contract.CatalogEntry](w, who, "create-catalog-entry", fields{"title": title, "nodeId": node.ID}.with(more...))
}

// publish publishes an entry.
func (w *world) publish(e *contract.CatalogEntry) *contract.CatalogEntry {
	w.t.Helper()
	return do[contract.CatalogEntry](w, w.manager, "publish-catalog-entry", fields{"entryId": e.ID})
}

// titles returns the titles of a list, separated by spaces. It reads pages of two entries, so
// that it also tests the cursor.
func (w *world) titles(who *person, in fields) string {
	w.t.Helper()
	var titles []string
	for cursor := ""; ; {
		page := do[op.Page[contract.CatalogEntrySummary]](w, who, "list-catalog-entries", in.with(fields{"limit": 2, "cursor": cursor}))
		for _, e := range page.Items {
			titles = append(titles, e.Title)
		}
		if cursor = page.NextCursor; cursor == "" {
			return strings.Join(titles, " ")
		}
	}
}

func TestEntries_LifeCycle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	node, other := w.createNode("Software", nil), w.createNode("Hardware", nil)
	e := w.createEntry(w.manager, " Cluster ", node, fields{"summary": "S", "body": "# B", "tags": []string{"Post  gres", "managed", "post gres"}, "classification": "INTERNAL"})
	w.wantRecorded("catalog_entry.created", contract.EventEntryCreated, e.ID)
	if e.Title != "Cluster" || e.Status != "draft" || !slices.Equal(e.Tags, []string{"managed", "post-gres"}) || e.Owner != w.manager.id ||
		e.OrganisationID != w.orgA || e.Body != "# B" || e.PublishedAt != nil {
		t.Errorf("got %+v", e)
	}
	at := fields{"entryId": e.ID}
	if f := w.wantError(fault.CodeConflict, w.manager, "archive-catalog-entry", at); f.Reason != "WRONG_STATUS" {
		t.Errorf("got %+v", f)
	}
	changed := do[contract.CatalogEntry](w, w.manager, "update-catalog-entry", at.with(fields{"title": "Clusters", "summary": nil, "tags": []string{"b", "a"}, "nodeId": other.ID}))
	if changed.Title != "Clusters" || changed.Summary != "" || !slices.Equal(changed.Tags, []string{"a", "b"}) || changed.NodeID != other.ID || changed.Body != "# B" {
		t.Errorf("got %+v", changed)
	}
	// An update that changes nothing records nothing.
	do[contract.CatalogEntry](w, w.manager, "update-catalog-entry", at.with(fields{"title": "Clusters ", "tags": []string{"A", "b"}}))
	w.wantRecorded("catalog_entry.updated", contract.EventEntryUpdated, e.ID)
	if n := w.count(`SELECT count(*) FROM catalog.entry_tags WHERE tag IN ('a', 'b')`); n != 2 || w.count(`SELECT count(*) FROM catalog.entry_tags`) != 2 {
		t.Errorf("got %d rows of the new tags, want 2 and no others", n)
	}

	published := w.publish(e)
	if published.Status != "published" || published.PublishedAt == nil || published.ArchivedAt != nil {
		t.Errorf("got %+v", published)
	}
	w.wantRecorded("catalog_entry.status_changed", contract.EventEntryStatusChanged, e.ID)
	w.wantError(fault.CodeConflict, w.manager, "publish-catalog-entry", at)
	if archived := do[contract.CatalogEntry](w, w.manager, "archive-catalog-entry", at); archived.Status != "archived" || archived.ArchivedAt == nil {
		t.Errorf("got %+v", archived)
	}
	w.wantError(fault.CodeConflict, w.manager, "publish-catalog-entry", at)
	w.wantError(fault.CodeConflict, w.manager, "archive-catalog-entry", at)
	do[op.None](w, w.manager, "delete-catalog-entry", at)
	w.wantRecorded("catalog_entry.deleted", contract.EventEntryDeleted, e.ID)
	w.wantError(fault.CodeNotFound, w.manager, "get-catalog-entry", at)
}

func TestEntries_RejectInvalidInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	node := w.createNode("Software", nil)
	guest := w.addPerson(person{roles: []string{"Guest Customer"}, clearance: "SECRET"})
	uncleared := w.addPerson(person{roles: []string{"Member"}})
	valid := fields{"title": "T", "nodeId": node.ID, "classification": "SECRET"}
	for field, values := range map[string][]any{
		"title":          {"", " ", strings.Repeat("x", 201)},
		"nodeId":         {uid.New()},
		"tags":           {[]string{" "}, []string{"a,b"}, []string{"a\u200bb"}, []string{strings.Repeat("x", 51)}},
		"classification": {"TOP SECRET", "", "secret"},
		"organisationId": {uid.New()},
		"owner":          {uid.New(), guest.id, uncleared.id},
	} {
		for _, v := range values {
			if f := w.wantError(fault.CodeValidation, w.manager, "create-catalog-entry", valid.with(fields{field: v})); f.Field != field {
				t.Errorf("%s %v: the error names the field %q", field, v, f.Field)
			}
		}
	}
	e := do[contract.CatalogEntry](w, w.manager, "create-catalog-entry", valid)
	for _, field := range []string{"title", "nodeId", "classification"} {
		w.wantError(fault.CodeValidation, w.manager, "update-catalog-entry", fields{"entryId": e.ID, field: nil})
	}
	w.wantError(fault.CodeValidation, w.manager, "update-catalog-entry", fields{"entryId": e.ID, "owner": uncleared.id})
}

// TestEntries_VisibilityIsEqualInListAndGet compares, for each user and entry, the list with the
// single read. The expected visibility is computed from the attributes.
func TestEntries_VisibilityIsEqualInListAndGet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	node := w.createNode("Software", nil)
	member := w.addPerson(person{roles: []string{"Member"}, clearance: "INTERNAL"})
	others := map[string]*person{
		"manager":            w.manager,
		"author":             member,
		"colleague":          w.addPerson(person{roles: []string{"Member"}, clearance: "INTERNAL"}),
		"low clearance":      w.addPerson(person{roles: []string{"Project Manager"}}),
		"other organisation": w.addPerson(person{roles: []string{"Project Manager"}, organisations: []op.UUID{w.orgB}, clearance: "SECRET"}),
		"project token":      w.addPerson(person{roles: []string{"Admin"}, caveats: []string{"project:" + string(uid.New())}, clearance: "SECRET"}),
		"read-only token":    w.addPerson(person{roles: []string{"Admin"}, caveats: []string{"read-only"}, clearance: "SECRET"}),
		"stranger":           w.addPerson(person{tenant: w.globex, roles: []string{"Admin"}, clearance: "SECRET"}),
	}
	entries := map[string]*contract.CatalogEntry{}
	for _, classification := range []string{"UNCLASSIFIED", "INTERNAL"} {
		for _, status := range []string{"draft", "published"} {
			for org, id := range map[string]op.UUID{"A": w.orgA, "B": w.orgB} {
				name := fmt.Sprintf("%s-%s-%s", classification, status, org)
				e := w.createEntry(member, name, node, fields{"classification": classification, "organisationId": id})
				if status == "published" {
					w.publish(e)
				}
				entries[name] = e
			}
		}
	}
	for name, who := range others {
		listed := strings.Fields(w.titles(who, nil))
		for title, e := range entries {
			draft, internal, inB := strings.Contains(title, "draft"), strings.HasPrefix(title, "INTERNAL"), strings.HasSuffix(title, "-B")
			want := map[string]bool{
				"manager": true, "author": true, "colleague": !draft, "low clearance": !internal, "other organisation": inB, "read-only token": !draft,
			}[name]
			_, err := w.call(who, "get-catalog-entry", fields{"entryId": e.ID})
			if got := slices.Contains(listed, title); got != want || (err == nil) != want {
				t.Errorf("%s: %s: listed %v, get returns %v, want visible %v", name, title, got, err, want)
			}
		}
	}
	// A hidden draft is like an entry that does not exist, for every operation.
	hidden := fields{"entryId": entries["UNCLASSIFIED-draft-A"].ID}
	deleter := w.addPerson(person{roles: []string{"Reviewer"}})
	for _, name := range []string{"get-catalog-entry", "update-catalog-entry", "delete-catalog-entry"} {
		w.wantError(fault.CodeNotFound, others["colleague"], name, hidden.with(map[bool]fields{true: {"title": "X"}}[name == "update-catalog-entry"]))
	}
	for _, name := range []string{"publish-catalog-entry", "archive-catalog-entry"} {
		w.wantError(fault.CodeForbidden, deleter, name, hidden)
		w.wantError(fault.CodeNotFound, others["stranger"], name, hidden)
	}
}

func TestEntries_OwnPermissions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	node := w.createNode("Software", nil)
	author, owner := w.addPerson(person{roles: []string{"Member"}, clearance: "INTERNAL"}), w.addPerson(person{roles: []string{"Member"}, clearance: "INTERNAL"})
	at := fields{"entryId": w.publish(w.createEntry(author, "Cluster", node, fields{"owner": owner.id})).ID}
	for _, who := range []*person{author, owner} {
		do[contract.CatalogEntry](w, who, "update-catalog-entry", at.with(fields{"summary": string(who.id)}))
		w.wantError(fault.CodeForbidden, who, "archive-catalog-entry", at)
	}
	// Nobody raises the classification above the own clearance, and an update without a change
	// needs the permission to read.
	w.wantError(fault.CodeNotFound, owner, "update-catalog-entry", at.with(fields{"classification": "SECRET"}))
	w.wantError(fault.CodeForbidden, owner, "delete-catalog-entry", at)
	stranger := w.addPerson(person{roles: []string{"Member"}, clearance: "INTERNAL"})
	w.wantError(fault.CodeForbidden, stranger, "update-catalog-entry", at.with(fields{"title": "X"}))
	do[op.None](w, author, "delete-catalog-entry", at)
}

func TestListEntries_FiltersAndOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	software := w.createNode("Software", nil)
	databases := w.createNode("Databases", software)
	author := w.addPerson(person{roles: []string{"Member"}})
	b := w.createEntry(w.manager, "b", software, fields{"tags": []string{"red"}})
	w.createEntry(w.manager, "A", databases, fields{"tags": []string{"red", "blue"}})
	c := w.createEntry(author, "c", databases)
	w.publish(c)
	w.publish(b)
	for _, l := range []struct {
		in   fields
		want string
	}{
		{nil, "A b c"},
		{fields{"sort": "created"}, "c A b"},
		{fields{"sort": "updated"}, "b c A"},
		{fields{"status": "published"}, "b c"},
		{fields{"status": "archived"}, ""},
		{fields{"nodeId": software.ID}, "A b c"},
		{fields{"nodeId": software.ID, "nodeOnly": true}, "b"},
		{fields{"nodeId": databases.ID}, "A c"},
		{fields{"nodeId": uid.New()}, ""},
		{fields{"tag": "RED"}, "A b"},
		{fields{"tag": "red", "status": "draft"}, "A"},
		{fields{"createdBy": author.id}, "c"},
	} {
		if got := w.titles(w.manager, l.in); got != l.want {
			t.Errorf("%v: got %q, want %q", l.in, got, l.want)
		}
	}
	page := do[op.Page[contract.CatalogEntrySummary]](w, w.manager, "list-catalog-entries", fields{"limit": 1})
	w.wantError(fault.CodeValidation, w.manager, "list-catalog-entries", fields{"cursor": page.NextCursor, "sort": "updated"})
}

func TestDeleteTaxonomyNode_MovesEntriesThatTheCallerMayChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	from, to := w.createNode("From", nil), w.createNode("To", nil)
	open, secret := w.createEntry(w.manager, "Open", from), w.createEntry(w.manager, "Secret", from, fields{"classification": "SECRET"})
	low := w.addPerson(person{roles: []string{"Project Manager"}})
	if f := w.wantError(fault.CodeConflict, w.manager, "delete-taxonomy-node", fields{"nodeId": from.ID}); f.Reason != "NODE_NOT_EMPTY" {
		t.Errorf("got %+v", f)
	}
	in := fields{"nodeId": from.ID, "targetNodeId": to.ID}
	if f := w.wantError(fault.CodeConflict, low, "delete-taxonomy-node", in); f.Reason != "CASCADE_DENIED" || f.Details["count"] != 1 {
		t.Errorf("got %+v", f)
	}
	do[op.None](w, w.manager, "delete-taxonomy-node", in)
	for _, e := range []*contract.CatalogEntry{open, secret} {
		if got := do[contract.CatalogEntry](w, w.manager, "get-catalog-entry", fields{"entryId": e.ID}); got.NodeID != to.ID {
			t.Errorf("%s is in the node %s, want %s", got.Title, got.NodeID, to.ID)
		}
		w.wantRecorded("catalog_entry.updated", contract.EventEntryUpdated, e.ID)
	}
}

// A request with an idempotency key that is repeated returns the same entry, unless the caller
// may no longer read it.
func TestCreateEntry_IdempotencyKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	node := w.createNode("Software", nil)
	author := w.addPerson(person{roles: []string{"Member"}, clearance: "INTERNAL"})
	request := op.Request{ID: string(uid.Random()), IdempotencyKey: "once"}
	in := fields{"title": "T", "nodeId": node.ID, "classification": "INTERNAL"}
	var ids []op.UUID
	for range 2 {
		out, err := w.callAs(request, author, "create-catalog-entry", in)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, out.(*contract.CatalogEntry).ID)
	}
	if ids[0] != ids[1] || w.count(`SELECT count(*) FROM catalog.entries`) != 1 {
		t.Errorf("got the ids %v, want one entry", ids)
	}
	do[contract.CatalogEntry](w, w.manager, "update-catalog-entry", fields{"entryId": ids[0], "classification": "SECRET"})
	if _, err := w.callAs(request, author, "create-catalog-entry", in); !fault.HasCode(err, fault.CodeNotFound) {
		t.Errorf("got %v, want NOT_FOUND", err)
	}
}
