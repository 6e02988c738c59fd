package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parapet/internal/authz"
	contract "parapet/internal/contract/catalog"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

func (s *Service) taxonomyOperations() []op.Bound {
	return []op.Bound{
		executor.List(s.executor, contract.ListTaxonomy, nodeColumns, listTaxonomy),
		executor.Handle(s.executor, contract.GetTaxonomyNode, loadNodeToGet, getTaxonomyNode),
		executor.HandleReturning(s.executor, contract.CreateTaxonomyNode, loadNodeToCreate, createTaxonomyNode, loadReturnedNode),
		executor.Handle(s.executor, contract.UpdateTaxonomyNode, loadNodeToUpdate, updateTaxonomyNode),
		executor.Handle(s.executor, contract.MoveTaxonomyNode, loadNodeToMove, moveTaxonomyNode),
		executor.Handle(s.executor, contract.DeleteTaxonomyNode, loadNodeToDelete, deleteTaxonomyNode),
	}
}

func loadNodeToGet(ctx context.Context, c *executor.Call, in *contract.GetTaxonomyNodeIn) (nodeRow, authz.Resource, error) {
	row, err := loadNode(ctx, c, loadNodeSQL, in.NodeID)
	return row, row.resource(c.Tenant), err
}

func getTaxonomyNode(_ context.Context, _ *executor.Call, _ *contract.GetTaxonomyNodeIn, row nodeRow) (*contract.TaxonomyNode, error) {
	return row.toNode(), nil
}

func loadNodeToCreate(_ context.Context, c *executor.Call, _ *contract.CreateTaxonomyNodeIn) (nodeRow, authz.Resource, error) {
	row := nodeRow{}
	return row, row.resource(c.Tenant), nil
}

func loadReturnedNode(ctx context.Context, c *executor.Call, out *contract.TaxonomyNode) (authz.Resource, error) {
	row, err := loadNode(ctx, c, loadNodeSQL, out.ID)
	return row.resource(c.Tenant), err
}

// createTaxonomyNode adds a node below its parent and moves the siblings that come after it.
func createTaxonomyNode(ctx context.Context, c *executor.Call, in *contract.CreateTaxonomyNodeIn, _ nodeRow) (*contract.TaxonomyNode, error) {
	if err := lockTaxonomy(ctx, c, 1); err != nil {
		return nil, err
	}
	row := nodeRow{
		ID: uid.New(), ParentID: postgres.NullIfZero(in.ParentID), Name: strings.TrimSpace(in.Name), Description: in.Description,
		CreatedBy: c.Actor.UserID, CreatedAt: c.Now, UpdatedAt: c.Now,
	}
	above, err := loadParentPath(ctx, c, "parentId", row.ParentID)
	if err != nil {
		return nil, err
	}
	siblings, err := loadSiblingLabels(ctx, c, row.ParentID)
	if err != nil {
		return nil, err
	}
	row.Label = in.Label
	if row.Label == "" {
		row.Label = newLabel(row.Name, siblings)
	}
	row.setPlace(above, in.Position, len(siblings))
	if err := shiftSiblings(ctx, c, row.ParentID, row.Position, 1, row.ID); err != nil {
		return nil, err
	}
	if err := insertNodeRow(ctx, c, &row); err != nil {
		return nil, err
	}
	recordNode(c, &row, "taxonomy_node.created", contract.EventTaxonomyCreated, nil, map[string]any{"path": row.Path})
	return row.toNode(), nil
}

// setPlace sets the path and the depth below the path above, and the position among n other
// siblings. A position of 0 or after the last one means the last one.
func (r *nodeRow) setPlace(above string, position, n int) {
	r.Path, r.Position = r.Label, n+1
	if above != "" {
		r.Path = above + "." + r.Label
	}
	if position > 0 {
		r.Position = min(position, n+1)
	}
	r.Depth = strings.Count(r.Path, ".") + 1
}

// loadParentPath returns the path of a parent, empty for none. field is the name of the input
// field that names the parent.
func loadParentPath(ctx context.Context, c *executor.Call, field string, parent *op.UUID) (string, error) {
	if parent == nil {
		return "", nil
	}
	row, err := loadNode(ctx, c, loadNodeSQL, *parent)
	if fault.HasCode(err, fault.CodeNotFound) {
		return "", fault.Validation(field, "The node does not exist.").WithCause(err)
	}
	return row.Path, err
}

// maxDerivedLabel leaves room for the number that makes a derived label unique.
const maxDerivedLabel = 57

// newLabel derives a label from a name: lower-case ASCII letters and digits, with one
// underscore for everything between them. It adds a number if a sibling has the label.
func newLabel(name string, siblings []string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	base := strings.Join(words, "_")
	base = strings.TrimRight(base[:min(len(base), maxDerivedLabel)], "_")
	if base == "" {
		base = "node"
	}
	label := base
	for n := 2; slices.Contains(siblings, label); n++ {
		label = fmt.Sprintf("%s_%d", base, n)
	}
	return label
}

func loadNodeToUpdate(ctx context.Context, c *executor.Call, in *contract.UpdateTaxonomyNodeIn) (nodeRow, authz.Resource, error) {
	row, err := loadNode(ctx, c, lockNodeSQL, in.NodeID)
	return row, row.resource(c.Tenant), err
}

func updateTaxonomyNode(ctx context.Context, c *executor.Call, in *contract.UpdateTaxonomyNodeIn, old nodeRow) (*contract.TaxonomyNode, error) {
	row := old
	var p op.Patch
	op.SetTrimmed(&p, "name", &row.Name, in.Name)
	op.SetOrClear(&p, "description", &row.Description, in.Description)
	changed, err := p.Changed()
	if err != nil {
		return nil, err
	}
	if len(changed) == 0 {
		return old.unchanged(ctx, c)
	}
	row.UpdatedAt = c.Now
	if err := updateNodeRow(ctx, c, &row); err != nil {
		return nil, err
	}
	recordNode(c, &row, "taxonomy_node.updated", contract.EventTaxonomyUpdated, changed, map[string]any{"fields": changed})
	return row.toNode(), nil
}

// unchanged returns the response to an update that changes nothing. Such a response only shows
// the record, so it requires the read permission.
func (r *nodeRow) unchanged(ctx context.Context, c *executor.Call) (*contract.TaxonomyNode, error) {
	if err := c.Decide(ctx, contract.PermTaxonomyRead, r.resource(c.Tenant)); err != nil {
		return nil, err
	}
	return r.toNode(), nil
}

func loadNodeToMove(ctx context.Context, c *executor.Call, in *contract.MoveTaxonomyNodeIn) (nodeRow, authz.Resource, error) {
	row, err := loadNode(ctx, c, loadNodeSQL, in.NodeID)
	return row, row.resource(c.Tenant), err
}

// moveTaxonomyNode moves a node with its subtree to another parent, or to another position
// below the same one.
func moveTaxonomyNode(ctx context.Context, c *executor.Call, in *contract.MoveTaxonomyNodeIn, _ nodeRow) (*contract.TaxonomyNode, error) {
	if err := lockTaxonomy(ctx, c, 0); err != nil {
		return nil, err
	}
	// Read again, because a concurrent request could have moved it before the lock.
	old, err := loadNode(ctx, c, lockNodeSQL, in.NodeID)
	if err != nil {
		return nil, err
	}
	parent := old.ParentID
	if in.ParentID.Set {
		parent = postgres.NullIfZero(in.ParentID.Or(""))
	}
	row, err := old.moveTo(ctx, c, parent, in.Position)
	if err != nil {
		return nil, err
	}
	if row.Path == old.Path && row.Position == old.Position {
		return old.unchanged(ctx, c)
	}
	recordMove(c, &old, &row)
	return row.toNode(), nil
}

// moveTo moves the node below the parent, nil for the top, and returns it at its new place.
// The caller has locked the taxonomy.
func (r *nodeRow) moveTo(ctx context.Context, c *executor.Call, parent *op.UUID, position int) (nodeRow, error) {
	row := *r
	row.ParentID = parent
	above, err := loadParentPath(ctx, c, "parentId", parent)
	if err != nil {
		return row, err
	}
	if above == r.Path || strings.HasPrefix(above, r.Path+".") {
		return row, fault.Conflict("A node cannot move below itself. Choose a parent outside of its subtree.").WithReason("CYCLE")
	}
	siblings, err := loadSiblingLabels(ctx, c, parent)
	if err != nil {
		return row, err
	}
	others := len(siblings)
	if postgres.ValueOrZero(parent) == postgres.ValueOrZero(r.ParentID) {
		others--
	}
	row.setPlace(above, position, others)
	if row.Path == r.Path && row.Position == r.Position {
		return row, nil
	}
	if err := shiftSiblings(ctx, c, r.ParentID, r.Position+1, -1, r.ID); err != nil {
		return row, err
	}
	if err := shiftSiblings(ctx, c, parent, row.Position, 1, r.ID); err != nil {
		return row, err
	}
	row.UpdatedAt = c.Now
	return row, moveSubtree(ctx, c, r, &row, above)
}

func loadNodeToDelete(ctx context.Context, c *executor.Call, in *contract.DeleteTaxonomyNodeIn) (nodeRow, authz.Resource, error) {
	row, err := loadNode(ctx, c, loadNodeSQL, in.NodeID)
	return row, row.resource(c.Tenant), err
}

// deleteTaxonomyNode deletes a node. If the request names a target, the node's children move
// below it, after its own children, and the node's entries move to it. Without a target, the
// node must be empty.
func deleteTaxonomyNode(ctx context.Context, c *executor.Call, in *contract.DeleteTaxonomyNodeIn, _ nodeRow) (*op.None, error) {
	if err := lockTaxonomy(ctx, c, -1); err != nil {
		return nil, err
	}
	row, err := loadNode(ctx, c, lockNodeSQL, in.NodeID)
	if err != nil {
		return nil, err
	}
	children, err := loadChildNodes(ctx, c, row.ID)
	if err != nil {
		return nil, err
	}
	entries, err := lockEntriesOfNode(ctx, c, row.ID, maxMovedEntries+1)
	if err != nil {
		return nil, err
	}
	details := map[string]any{"path": row.Path, "nodes": len(children), "entries": len(entries)}
	switch {
	case in.TargetNodeID != "":
		target, err := row.loadTarget(ctx, c, in.TargetNodeID)
		if err != nil {
			return nil, err
		}
		if err := moveChildren(ctx, c, children, &target); err != nil {
			return nil, err
		}
		if err := moveEntries(ctx, c, entries, target.ID); err != nil {
			return nil, err
		}
		details["target"] = target.ID
	case len(children)+len(entries) > 0:
		return nil, fault.Conflict("The node is not empty. Set targetNodeId to the node that receives its entries and child nodes.").WithReason("NODE_NOT_EMPTY")
	}
	if err := deleteNodeRow(ctx, c, row.ID); err != nil {
		return nil, err
	}
	if err := shiftSiblings(ctx, c, row.ParentID, row.Position+1, -1, row.ID); err != nil {
		return nil, err
	}
	recordNode(c, &row, "taxonomy_node.deleted", contract.EventTaxonomyDeleted, nil, details)
	return &op.None{}, nil
}

// loadTarget returns the node that receives the content of the deleted node r. It must not be
// in the subtree of r.
func (r *nodeRow) loadTarget(ctx context.Context, c *executor.Call, id op.UUID) (nodeRow, error) {
	target, err := loadNode(ctx, c, loadNodeSQL, id)
	switch {
	case fault.HasCode(err, fault.CodeNotFound):
		return target, fault.Validation("targetNodeId", "The node does not exist.").WithCause(err)
	case err != nil:
		return target, err
	case target.Path == r.Path || strings.HasPrefix(target.Path, r.Path+"."):
		return target, fault.Validation("targetNodeId", "The target must be outside of the deleted node and its subtree.")
	}
	return target, nil
}

// moveChildren moves nodes with their subtrees below the target. It requires the permission to
// move each of them.
func moveChildren(ctx context.Context, c *executor.Call, children []nodeRow, target *nodeRow) error {
	for i := range children {
		// The move of the previous child has closed its gap.
		old := children[i]
		old.Position -= i
		if err := c.Decide(ctx, contract.PermTaxonomyUpdate, old.resource(c.Tenant)); err != nil {
			return err
		}
		moved, err := old.moveTo(ctx, c, &target.ID, 0)
		if err != nil {
			return err
		}
		recordMove(c, &old, &moved)
	}
	return nil
}

func recordMove(c *executor.Call, old, row *nodeRow) {
	var changed []string
	if postgres.ValueOrZero(row.ParentID) != postgres.ValueOrZero(old.ParentID) {
		changed = append(changed, "parentId", "path")
	}
	if row.Position != old.Position {
		changed = append(changed, "position")
	}
	recordNode(c, row, "taxonomy_node.moved", contract.EventTaxonomyMoved, changed,
		map[string]any{"path": map[string]string{"from": old.Path, "to": row.Path}, "position": map[string]int{"from": old.Position, "to": row.Position}})
}

// recordNode adds the audit entry and the event of a change.
func recordNode(c *executor.Call, r *nodeRow, action string, event *op.EventType, changed []string, details map[string]any) {
	c.Record(executor.Change{
		Action: action, Type: "taxonomy_node", ID: r.ID, Fields: changed, Details: details, Event: event, Payload: r.toNode(),
	})
}
