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

// nodeType maps policy attributes to the columns of alias n. A node belongs to no project and
// no organisation and has no classification: who may read the taxonomy reads all of it.
var nodeType = authz.NewRecordType("taxonomy node", authz.Attributes[nodeRow]{
	Tenant:         authz.TenantColumn[nodeRow]("n.tenant_id"),
	ID:             authz.NewAttribute("n.id", func(r *nodeRow) string { return string(r.ID) }),
	Classification: authz.FixedAttribute[nodeRow]("UNCLASSIFIED"),
})

var nodeColumns = nodeType.Columns()

// taxonomyNames finds nodes by path or by name. An exact path counts before a name.
var taxonomyNames = executor.NamedRecords{
	Kind: op.KindTaxonomyNode, Permission: contract.PermTaxonomyRead, Columns: nodeColumns,
	ID: "n.id", Key: "n.path::text", Name: "n.name", From: `catalog.taxonomy_nodes n WHERE n.tenant_id = $1`,
	Match: `n.path::text = $2 OR n.sort_name = lower($2)`, Rank: `CASE WHEN n.path::text = $2 THEN 1 ELSE 2 END`,
}

const (
	maxDepth = 10
	maxNodes = 10_000
)

func nodeConstraints() postgres.Constraints {
	return postgres.Constraints{
		"taxonomies_size":      fault.Conflict("The taxonomy has 10,000 nodes, which is the maximum."),
		"taxonomy_nodes_path":  fault.Conflict("Another node with the same parent has the label. Choose another label.").WithReason("LABEL_TAKEN"),
		"taxonomy_nodes_depth": fault.Conflict("The taxonomy would have more than 10 levels."),
		// A concurrent request deleted the parent.
		"entries_node":          fault.Conflict("An entry was added to the node concurrently. Try again."),
		"taxonomy_nodes_parent": fault.Validation("parentId", "The parent node does not exist."),
	}
}

// nodeRow is a node of the taxonomy. Path contains the labels, separated by dots.
type nodeRow struct {
	ID          op.UUID
	ParentID    *op.UUID
	Label       string
	Path        string
	Depth       int
	Position    int
	Name        string
	Description string
	CreatedBy   op.UUID
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

const nodeSelect = `
SELECT n.id, n.parent_id, n.label, n.path::text AS path, nlevel(n.path) AS depth, n.position, n.name, n.description,
       n.created_by, n.created_at, n.updated_at`

const loadNodeSQL = nodeSelect + `
FROM catalog.taxonomy_nodes n
WHERE n.tenant_id = @tenant AND n.id = @id`

// A change of a node's texts locks the node only; a change of the structure locks the
// taxonomy before it reads the node.
const lockNodeSQL = loadNodeSQL + ` FOR UPDATE OF n`

// loadNode reads a node with one of the statements above.
func loadNode(ctx context.Context, c *executor.Call, sql string, id op.UUID) (nodeRow, error) {
	row, err := postgres.One[nodeRow](ctx, c.DB, sql, postgres.Args{"tenant": c.Tenant, "id": id})
	if postgres.IsNoRows(err) {
		return row, fault.NotFound(nodeNoun)
	}
	return row, err
}

const nodeNoun = "taxonomy node"

// resource converts the node to policy input.
func (r *nodeRow) resource(tenant op.UUID) authz.Resource {
	return nodeType.Resource(string(tenant), r)
}

func (r *nodeRow) toNode() *contract.TaxonomyNode {
	return &contract.TaxonomyNode{
		ID: r.ID, ParentID: postgres.ValueOrZero(r.ParentID), Label: r.Label, Path: r.Path, Depth: r.Depth, Position: r.Position,
		Name: r.Name, Description: r.Description, CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

// lockTaxonomySQL locks the structure of the tenant's taxonomy and changes the number of its
// nodes.
const lockTaxonomySQL = `
INSERT INTO catalog.taxonomies AS x (tenant_id, node_count) VALUES (@tenant, greatest(@change, 0))
ON CONFLICT (tenant_id) DO UPDATE SET node_count = x.node_count + @change`

func lockTaxonomy(ctx context.Context, c *executor.Call, change int) error {
	_, err := c.DB.Exec(ctx, lockTaxonomySQL, postgres.Args{"tenant": c.Tenant, "change": change})
	return postgres.MapError(err, nodeConstraints())
}

// siblingsSQL returns the labels of the nodes with a parent, in their order.
const siblingsSQL = `
SELECT n.label FROM catalog.taxonomy_nodes n
WHERE n.tenant_id = @tenant AND n.parent_id IS NOT DISTINCT FROM @parent::uuid
ORDER BY n.position`

func loadSiblingLabels(ctx context.Context, c *executor.Call, parent *op.UUID) ([]string, error) {
	return postgres.CollectScalars[string](ctx, c.DB, siblingsSQL, postgres.Args{"tenant": c.Tenant, "parent": parent})
}

// shiftSiblingsSQL moves the siblings from a position on, except one node.
const shiftSiblingsSQL = `
UPDATE catalog.taxonomy_nodes n SET position = n.position + @by
WHERE n.tenant_id = @tenant AND n.parent_id IS NOT DISTINCT FROM @parent::uuid AND n.position >= @from AND n.id <> @except`

func shiftSiblings(ctx context.Context, c *executor.Call, parent *op.UUID, from, by int, except op.UUID) error {
	_, err := c.DB.Exec(ctx, shiftSiblingsSQL, postgres.Args{"tenant": c.Tenant, "parent": parent, "from": from, "by": by, "except": except})
	return err
}

const insertNodeSQL = `
INSERT INTO catalog.taxonomy_nodes (tenant_id, id, parent_id, label, path, name, description, position, created_by, created_at, updated_at)
VALUES (@tenant, @id, @parent, @label, @path::text::ltree, @name, @description, @position, @creator, @now, @now)`

func insertNodeRow(ctx context.Context, c *executor.Call, r *nodeRow) error {
	_, err := c.DB.Exec(ctx, insertNodeSQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "parent": r.ParentID, "label": r.Label, "path": r.Path, "name": r.Name,
		"description": r.Description, "position": r.Position, "creator": r.CreatedBy, "now": c.Now,
	})
	return postgres.MapError(err, nodeConstraints())
}

const updateNodeSQL = `
UPDATE catalog.taxonomy_nodes n SET name = @name, description = @description, updated_at = @now
WHERE n.tenant_id = @tenant AND n.id = @id`

func updateNodeRow(ctx context.Context, c *executor.Call, r *nodeRow) error {
	_, err := c.DB.Exec(ctx, updateNodeSQL, postgres.Args{"tenant": c.Tenant, "id": r.ID, "name": r.Name, "description": r.Description, "now": c.Now})
	return err
}

// moveSubtreeSQL moves a node and everything below it: it replaces the part of each path
// above the node. @above is the path of the new parent, empty at the top.
const moveSubtreeSQL = `
UPDATE catalog.taxonomy_nodes n
SET path       = @above::text::ltree || subpath(n.path, nlevel(@from::text::ltree) - 1),
    parent_id  = CASE WHEN n.id = @id THEN @parent::uuid ELSE n.parent_id END,
    position   = CASE WHEN n.id = @id THEN @position::int ELSE n.position END,
    updated_at = CASE WHEN n.id = @id THEN @now::timestamptz ELSE n.updated_at END
WHERE n.tenant_id = @tenant AND n.path <@ @from::text::ltree`

// moveSubtree moves the node from its stored place, which is old, to the parent and position
// of r, and sets the path of r. The caller has locked the taxonomy.
func moveSubtree(ctx context.Context, c *executor.Call, old, r *nodeRow, above string) error {
	_, err := c.DB.Exec(ctx, moveSubtreeSQL, postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "from": old.Path, "above": above, "parent": r.ParentID, "position": r.Position, "now": c.Now,
	})
	return postgres.MapError(err, nodeConstraints())
}

const childNodesSQL = nodeSelect + `
FROM catalog.taxonomy_nodes n
WHERE n.tenant_id = @tenant AND n.parent_id = @id
ORDER BY n.position`

func loadChildNodes(ctx context.Context, c *executor.Call, id op.UUID) ([]nodeRow, error) {
	return postgres.Collect[nodeRow](ctx, c.DB, childNodesSQL, postgres.Args{"tenant": c.Tenant, "id": id})
}

const deleteNodeSQL = `DELETE FROM catalog.taxonomy_nodes n WHERE n.tenant_id = @tenant AND n.id = @id`

func deleteNodeRow(ctx context.Context, c *executor.Call, id op.UUID) error {
	_, err := c.DB.Exec(ctx, deleteNodeSQL, postgres.Args{"tenant": c.Tenant, "id": id})
	return postgres.MapError(err, nodeConstraints())
}
