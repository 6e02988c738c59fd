package catalog

import (
	"time"

	"parapet/internal/op"
)

// The events of the taxonomy. The payload is the TaxonomyNode.
var (
	EventTaxonomyCreated = op.DeclareEvent[TaxonomyNode](Contract, "catalog.taxonomy.created", "A node was added to the taxonomy.")
	EventTaxonomyUpdated = op.DeclareEvent[TaxonomyNode](Contract, "catalog.taxonomy.updated", "The name or the description of a taxonomy node changed.")
	EventTaxonomyMoved   = op.DeclareEvent[TaxonomyNode](Contract, "catalog.taxonomy.moved", "A taxonomy node was moved with its subtree. The paths of the nodes below it changed too.")
	EventTaxonomyDeleted = op.DeclareEvent[TaxonomyNode](Contract, "catalog.taxonomy.deleted", "A node of the taxonomy was deleted.")
)

// TaxonomyNode is a node of the tenant's taxonomy.
type TaxonomyNode struct {
	ID            op.UUID       `json:"id" doc:"The node's id."`
	ParentID      op.UUID       `json:"parentId,omitempty" doc:"The parent node; absent for a node at the top."`
	Parent        *op.Reference `json:"parent,omitempty" doc:"The name of the record that parentId identifies."`
	Label         string        `json:"label" doc:"The node's part of the path. It stays the same if the node is renamed or moved. Untrusted text."`
	Path          string        `json:"path" doc:"The labels from the top to this node, separated by dots."`
	Depth         int           `json:"depth" doc:"The number of labels in the path: 1 for a node at the top."`
	Position      int           `json:"position" doc:"The position among the nodes with the same parent, from 1."`
	Name          string        `json:"name" doc:"The node's name. Untrusted text."`
	Description   string        `json:"description" doc:"The node's description. Untrusted text."`
	CreatedBy     op.UUID       `json:"createdBy" doc:"The user who created the node."`
	CreatedByUser *op.Reference `json:"createdByUser,omitempty" doc:"The name of the record that createdBy identifies."`
	CreatedAt     time.Time     `json:"createdAt" doc:"When the node was created."`
	UpdatedAt     time.Time     `json:"updatedAt" doc:"When the node was last changed. A move of a node above it does not count."`
}

// ListTaxonomyIn is the input of ListTaxonomy.
type ListTaxonomyIn struct {
	NodeID op.UUID `query:"nodeId" doc:"Only this node and the nodes below it."`
	Depth  int     `query:"depth" default:"10" minimum:"1" maximum:"10" doc:"Only this many levels, counted from the top or from nodeId."`
	Limit  int     `query:"limit" default:"100" minimum:"1" maximum:"200" doc:"The maximum number of nodes to return."`
	Cursor string  `query:"cursor" doc:"The nextCursor of the previous page."`
}

// ListTaxonomy lists the taxonomy as a tree.
var ListTaxonomy = op.Declare[ListTaxonomyIn, op.Page[TaxonomyNode]](Contract, op.Spec{
	Name: "list-taxonomy", Method: "GET", Path: "/api/catalog/taxonomy", Permission: PermTaxonomyRead, Effect: op.Read,
	Summary:     "List the taxonomy of the catalog as a tree.",
	Description: "Each node is followed by the nodes below it; siblings are in the order of their positions.",
})

// GetTaxonomyNodeIn is the input of GetTaxonomyNode.
type GetTaxonomyNodeIn struct {
	NodeID op.UUID `path:"nodeId" doc:"The taxonomy node."`
}

// GetTaxonomyNode returns a node of the taxonomy.
var GetTaxonomyNode = op.Declare[GetTaxonomyNodeIn, TaxonomyNode](Contract, op.Spec{
	Name: "get-taxonomy-node", Method: "GET", Path: "/api/catalog/taxonomy/{nodeId}", Permission: PermTaxonomyRead, Effect: op.Read,
	Summary: "Get a node of the taxonomy.",
})

// CreateTaxonomyNodeIn is the input of CreateTaxonomyNode.
type CreateTaxonomyNodeIn struct {
	Name        string  `json:"name" required:"true" maxLength:"200" doc:"The node's name."`
	ParentID    op.UUID `json:"parentId" doc:"The parent node. Default: none, which adds the node at the top."`
	Label       string  `json:"label" pattern:"^[a-z0-9_]{1,63}$" form:"1 to 63 lower-case letters, digits and underscores" doc:"The node's part of the path: lower-case letters, digits and underscores, unique among its siblings. Default: derived from the name."`
	Description string  `json:"description" maxLength:"2000" doc:"The node's description."`
	Position    int     `json:"position" minimum:"0" doc:"The position among the siblings, from 1. Absent or 0: after the last one."`
}

// CreateTaxonomyNode adds a node to the taxonomy.
var CreateTaxonomyNode = op.Declare[CreateTaxonomyNodeIn, TaxonomyNode](Contract, op.Spec{
	Name: "create-taxonomy-node", Method: "POST", Path: "/api/catalog/taxonomy", Permission: PermTaxonomyCreate, Effect: op.Write, Status: 201,
	Summary:     "Add a node to the taxonomy.",
	Description: "A taxonomy has at most 10 levels and 10,000 nodes. Fails with CONFLICT if a sibling has the label.",
})

// UpdateTaxonomyNodeIn is the input of UpdateTaxonomyNode.
type UpdateTaxonomyNodeIn struct {
	NodeID      op.UUID        `path:"nodeId" doc:"The taxonomy node."`
	Name        op.Opt[string] `json:"name" minLength:"1" maxLength:"200" doc:"A new name. The label and the path stay the same."`
	Description op.Opt[string] `json:"description" maxLength:"2000" doc:"A new description; null clears it."`
}

// UpdateTaxonomyNode renames a node or changes its description.
var UpdateTaxonomyNode = op.Declare[UpdateTaxonomyNodeIn, TaxonomyNode](Contract, op.Spec{
	Name: "update-taxonomy-node", Method: "PATCH", Path: "/api/catalog/taxonomy/{nodeId}", Permission: PermTaxonomyUpdate, Effect: op.Write,
	Summary:     "Rename a node of the taxonomy.",
	Description: "Changes only the fields that are given. The path stays the same.",
})

// MoveTaxonomyNodeIn is the input of MoveTaxonomyNode.
type MoveTaxonomyNodeIn struct {
	NodeID   op.UUID         `path:"nodeId" doc:"The taxonomy node to move."`
	ParentID op.Opt[op.UUID] `json:"parentId" doc:"The new parent; null moves the node to the top. Default: the present parent."`
	Position int             `json:"position" minimum:"0" doc:"The new position among the siblings, from 1. Absent or 0: after the last one."`
}

// MoveTaxonomyNode moves a node with everything below it.
var MoveTaxonomyNode = op.Declare[MoveTaxonomyNodeIn, TaxonomyNode](Contract, op.Spec{
	Name: "move-taxonomy-node", Method: "POST", Path: "/api/catalog/taxonomy/{nodeId}/move", Permission: PermTaxonomyUpdate, Effect: op.Write,
	Summary:     "Move a node of the taxonomy with its subtree.",
	Description: "Fails with CONFLICT if the new parent is the node itself or below it, if the subtree would exceed 10 levels, or if a sibling has the label.",
})

// DeleteTaxonomyNodeIn is the input of DeleteTaxonomyNode.
type DeleteTaxonomyNodeIn struct {
	NodeID       op.UUID `path:"nodeId" doc:"The taxonomy node."`
	TargetNodeID op.UUID `query:"targetNodeId" doc:"The node to which the entries and the child nodes move. Required if the node has any."`
}

// DeleteTaxonomyNode deletes a node.
var DeleteTaxonomyNode = op.Declare[DeleteTaxonomyNodeIn, op.None](Contract, op.Spec{
	Name: "delete-taxonomy-node", Method: "DELETE", Path: "/api/catalog/taxonomy/{nodeId}", Permission: PermTaxonomyDelete, Effect: op.Destroy, Status: 204,
	Summary:     "Delete a node of the taxonomy permanently.",
	Description: "Fails with CONFLICT (reason NODE_NOT_EMPTY) if the node has entries or child nodes and targetNodeId is not set.",
})
