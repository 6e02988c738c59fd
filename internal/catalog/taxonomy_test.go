package catalog_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	contract "parapet/internal/contract/catalog"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/uid"
)

// createNode adds a node below the parent, or at the top if it is nil.
func (w *world) createNode(name string, parent *contract.TaxonomyNode, more ...fields) *contract.TaxonomyNode {
	w.t.Helper()
	in := fields{"name": name}
	if parent != nil {
		in["parentId"] = parent.ID
	}
	return do[contract.TaxonomyNode](w, w.manager, "create-taxonomy-node", in.with(more...))
}

// tree returns the taxonomy as text: one line for each node with its position and path. It
// reads pages of two nodes, so that it also tests the cursor.
func (w *world) tree(who *person, in fields) string {
	w.t.Helper()
	var lines []string
	for cursor := ""; ; {
		page := do[op.Page[contract.TaxonomyNode]](w, who, "list-taxonomy", in.with(fields{"limit": 2, "cursor": cursor}))
		for _, n := range page.Items {
			lines = append(lines, fmt.Sprintf("%d %s", n.Position, n.Path))
		}
		if cursor = page.NextCursor; cursor == "" {
			return strings.Join(lines, "\n")
		}
	}
}

func (w *world) wantTree(in fields, lines ...string) {
	w.t.Helper()
	if got, want := w.tree(w.manager, in), strings.Join(lines, "\n"); got != want {
		w.t.Errorf("got the tree\n%s\nwant\n%s", got, want)
	}
}

func TestTaxonomy_CreateRenameMoveAndDeleteKeepATree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	software := w.createNode("Software", nil)
	hardware := w.createNode("Hardware", nil)
	databases := w.createNode("Data Bases!", software, fields{"description": "Where data live"})
	tools := w.createNode("Tools", software, fields{"position": 1})
	postgres := w.createNode("PostgreSQL", databases)
	w.wantRecorded("taxonomy_node.created", contract.EventTaxonomyCreated, postgres.ID)
	if postgres.Path != "software.data_bases.postgresql" || postgres.Depth != 3 || postgres.ParentID != databases.ID || postgres.CreatedBy != w.manager.id {
		t.Errorf("got %+v", postgres)
	}
	w.wantTree(nil, "1 software", "1 software.tools", "2 software.data_bases", "1 software.data_bases.postgresql", "2 hardware")
	w.wantTree(fields{"nodeId": software.ID, "depth": 2}, "1 software", "1 software.tools", "2 software.data_bases")

	// A rename keeps the path; an unchanged rename records nothing.
	renamed := do[contract.TaxonomyNode](w, w.manager, "update-taxonomy-node", fields{"nodeId": databases.ID, "name": "Database systems", "description": nil})
	if renamed.Name != "Database systems" || renamed.Description != "" || renamed.Path != databases.Path {
		t.Errorf("got %+v", renamed)
	}
	do[contract.TaxonomyNode](w, w.manager, "update-taxonomy-node", fields{"nodeId": databases.ID, "name": " Database systems "})
	w.wantRecorded("taxonomy_node.updated", contract.EventTaxonomyUpdated, databases.ID)

	// A move takes the subtree along and renumbers both lists of siblings.
	moved := do[contract.TaxonomyNode](w, w.manager, "move-taxonomy-node", fields{"nodeId": databases.ID, "parentId": nil, "position": 1})
	if moved.Path != "data_bases" || moved.ParentID != "" || moved.Depth != 1 {
		t.Errorf("got %+v", moved)
	}
	w.wantRecorded("taxonomy_node.moved", contract.EventTaxonomyMoved, databases.ID)
	w.wantTree(nil, "1 data_bases", "1 data_bases.postgresql", "2 software", "1 software.tools", "3 hardware")
	do[contract.TaxonomyNode](w, w.manager, "move-taxonomy-node", fields{"nodeId": databases.ID, "position": 2})
	w.wantTree(nil, "1 software", "1 software.tools", "2 data_bases", "1 data_bases.postgresql", "3 hardware")
	do[contract.TaxonomyNode](w, w.manager, "move-taxonomy-node", fields{"nodeId": databases.ID, "parentId": tools.ID})
	w.wantTree(nil, "1 software", "1 software.tools", "1 software.tools.data_bases", "1 software.tools.data_bases.postgresql", "2 hardware")

	// A node that is not empty needs a target outside of its subtree.
	f := w.wantError(fault.CodeConflict, w.manager, "delete-taxonomy-node", fields{"nodeId": tools.ID})
	if f.Reason != "NODE_NOT_EMPTY" {
		t.Errorf("got %+v", f)
	}
	w.wantError(fault.CodeValidation, w.manager, "delete-taxonomy-node", fields{"nodeId": tools.ID, "targetNodeId": postgres.ID})
	w.wantError(fault.CodeValidation, w.manager, "delete-taxonomy-node", fields{"nodeId": tools.ID, "targetNodeId": uid.New()})
	do[op.None](w, w.manager, "delete-taxonomy-node", fields{"nodeId": tools.ID, "targetNodeId": hardware.ID})
	w.wantTree(nil, "1 software", "2 hardware", "1 hardware.data_bases", "1 hardware.data_bases.postgresql")
	w.wantRecorded("taxonomy_node.deleted", contract.EventTaxonomyDeleted, tools.ID)
	do[op.None](w, w.manager, "delete-taxonomy-node", fields{"nodeId": software.ID})
	w.wantTree(nil, "1 hardware", "1 hardware.data_bases", "1 hardware.data_bases.postgresql")
	if n := w.count(`SELECT node_count FROM catalog.taxonomies`); n != 3 {
		t.Errorf("got the node count %d, want 3", n)
	}
}

func TestTaxonomy_RejectsCyclesDuplicateLabelsAndDeepTrees(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.createNode("A", nil)
	b := w.createNode("B", a)
	for _, parent := range []op.UUID{a.ID, b.ID} {
		if f := w.wantError(fault.CodeConflict, w.manager, "move-taxonomy-node", fields{"nodeId": a.ID, "parentId": parent}); f.Reason != "CYCLE" {
			t.Errorf("got %+v", f)
		}
	}
	if f := w.wantError(fault.CodeConflict, w.manager, "create-taxonomy-node", fields{"name": "Other", "label": "a"}); f.Reason != "LABEL_TAKEN" {
		t.Errorf("got %+v", f)
	}
	if twin := w.createNode("A", nil); twin.Label != "a_2" {
		t.Errorf("got the label %s, want a_2", twin.Label)
	}
	if han := w.createNode("分类", nil); han.Label != "node" {
		t.Errorf("got the label %s, want node", han.Label)
	}
	below := b
	for range 8 {
		below = w.createNode("C", below)
	}
	if f := w.wantError(fault.CodeConflict, w.manager, "create-taxonomy-node", fields{"name": "D", "parentId": below.ID}); !strings.Contains(f.Message, "10 levels") {
		t.Errorf("got %+v", f)
	}
	// A move must not make a node below the moved one too deep either.
	top := w.createNode("Top", nil)
	w.wantError(fault.CodeConflict, w.manager, "move-taxonomy-node", fields{"nodeId": a.ID, "parentId": top.ID})
	w.wantError(fault.CodeValidation, w.manager, "create-taxonomy-node", fields{"name": "D", "parentId": uid.New()})
	w.wantError(fault.CodeValidation, w.manager, "create-taxonomy-node", fields{"name": "D", "label": "No spaces"})
	w.wantError(fault.CodeValidation, w.manager, "update-taxonomy-node", fields{"nodeId": a.ID, "name": nil})
	w.wantError(fault.CodeValidation, w.manager, "list-taxonomy", fields{"nodeId": uid.New()})
	w.wantError(fault.CodeNotFound, w.manager, "get-taxonomy-node", fields{"nodeId": uid.New()})

	w.exec(`UPDATE catalog.taxonomies SET node_count = 10000`)
	if f := w.wantError(fault.CodeConflict, w.manager, "create-taxonomy-node", fields{"name": "E"}); !strings.Contains(f.Message, "10,000") {
		t.Errorf("got %+v", f)
	}
}

// Two nodes that move below each other at the same time would create a cycle. One of the
// requests must fail.
func TestMoveTaxonomyNode_ConcurrentMovesCreateNoCycle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.createNode("A", nil), w.createNode("B", nil)
	var group sync.WaitGroup
	errs := make([]error, 2)
	for i, move := range []fields{{"nodeId": a.ID, "parentId": b.ID}, {"nodeId": b.ID, "parentId": a.ID}} {
		group.Go(func() { _, errs[i] = w.call(w.manager, "move-taxonomy-node", move) })
	}
	group.Wait()
	if (errs[0] == nil) == (errs[1] == nil) || w.count(`SELECT count(*) FROM catalog.taxonomy_nodes WHERE parent_id IS NULL AND position = 1`) != 1 {
		t.Errorf("got the errors %v, want exactly one", errs)
	}
}

func TestTaxonomy_PermissionsAndTenants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	node := w.createNode("Software", nil)
	member := w.addPerson(person{roles: []string{"Member"}})
	guest := w.addPerson(person{roles: []string{"Guest Customer"}})
	stranger := w.addPerson(person{tenant: w.globex, roles: []string{"Admin"}, clearance: "SECRET"})
	if got := do[contract.TaxonomyNode](w, member, "get-taxonomy-node", fields{"nodeId": node.ID}); got.Name != "Software" {
		t.Errorf("got %+v", got)
	}
	for name, in := range map[string]fields{
		"create-taxonomy-node": {"name": "X"},
		"update-taxonomy-node": {"nodeId": node.ID, "name": "X"},
		"move-taxonomy-node":   {"nodeId": node.ID, "position": 1},
		"delete-taxonomy-node": {"nodeId": node.ID},
	} {
		w.wantError(fault.CodeForbidden, member, name, in)
		if name != "create-taxonomy-node" {
			w.wantError(fault.CodeNotFound, stranger, name, in)
		}
	}
	for name, in := range map[string]fields{"list-taxonomy": {}, "get-taxonomy-node": {"nodeId": node.ID}} {
		w.wantError(fault.CodeForbidden, guest, name, in)
	}
	w.wantError(fault.CodeForbidden, w.addPerson(person{roles: []string{"Admin"}, caveats: []string{"module:tracker"}}), "get-taxonomy-node", fields{"nodeId": node.ID})
	w.wantError(fault.CodeNotFound, stranger, "get-taxonomy-node", fields{"nodeId": node.ID})
	if got := w.tree(stranger, nil); got != "" {
		t.Errorf("a stranger sees %s", got)
	}
	// A node of another tenant is no parent.
	w.wantError(fault.CodeValidation, stranger, "create-taxonomy-node", fields{"name": "X", "parentId": node.ID})
	// An update that changes nothing only shows the record.
	updater := do[contract.TaxonomyNode](w, w.manager, "move-taxonomy-node", fields{"nodeId": node.ID, "position": 1})
	if updater.Position != 1 || w.count(`SELECT count(*) FROM audit.entries WHERE action = 'taxonomy_node.moved'`) != 0 {
		t.Errorf("a move to the same place was recorded")
	}
}
