package catalog

import (
	"context"
	"strconv"
	"strings"

	"parapet/internal/authz"
	contract "parapet/internal/contract/catalog"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// listTaxonomy returns a page of the tree in depth-first order. The cursor contains the
// positions on the way from the top to the page's last node, for example 1.3.2. If a node is
// given, it comes first.
func listTaxonomy(ctx context.Context, c *executor.Call, in *contract.ListTaxonomyIn, f authz.Filter) (*op.Page[contract.TaxonomyNode], error) {
	after, err := readTreeCursor(c, in.Cursor)
	if err != nil {
		return nil, err
	}
	page := &op.Page[contract.TaxonomyNode]{Items: []contract.TaxonomyNode{}}
	if f.None() {
		return page, nil
	}
	st := taxonomyListStatement(c, in, f, after)
	type row struct {
		nodeRow
		Place []int32
	}
	rows, err := postgres.Collect[row](ctx, c.DB, st.SQL(), st.Args()...)
	if err != nil {
		return nil, err
	}
	if in.NodeID != "" && len(rows) == 0 && after == nil {
		return nil, fault.Validation("nodeId", "The node does not exist.")
	}
	rowPage := op.NewPage(rows, in.Limit, func(last *row) string {
		return op.NewCursor(contract.ListTaxonomy.Name, c.Tenant, placeText(last.Place))
	})
	return op.MapPage(rowPage, func(r *row) contract.TaxonomyNode { return *r.toNode() }), nil
}

// taxonomyListStatement reads the tree from the top or from a node. A tenant has at most
// maxNodes nodes, so sorting them for each page is cheap.
func taxonomyListStatement(c *executor.Call, in *contract.ListTaxonomyIn, f authz.Filter, after []int32) *postgres.Statement {
	st := &postgres.Statement{}
	tenant := st.Arg(c.Tenant)
	st.Add(`WITH RECURSIVE tree (id, place) AS (
    SELECT n.id, ARRAY[n.position] FROM catalog.taxonomy_nodes n WHERE n.tenant_id = `, tenant, ` AND `)
	if in.NodeID == "" {
		st.Add(`n.parent_id IS NULL`)
	} else {
		st.Add(`n.id = `, st.Arg(in.NodeID))
	}
	st.Add(`
    UNION ALL
    SELECT n.id, t.place || n.position
    FROM tree t JOIN catalog.taxonomy_nodes n ON n.tenant_id = `, tenant, ` AND n.parent_id = t.id
    WHERE cardinality(t.place) < `, st.Arg(in.Depth), `
)`, nodeSelect, `, t.place
FROM tree t JOIN catalog.taxonomy_nodes n ON n.tenant_id = `, tenant, ` AND n.id = t.id
WHERE `).Filter(f)
	if after != nil {
		st.Add(` AND t.place > `, st.Arg(after), `::int[]`)
	}
	return st.Add(` ORDER BY t.place LIMIT `, strconv.Itoa(in.Limit+1))
}

func placeText(place []int32) string {
	parts := make([]string, len(place))
	for i, n := range place {
		parts[i] = strconv.Itoa(int(n))
	}
	return strings.Join(parts, ".")
}

// readTreeCursor returns the positions in a cursor, or nil for the first page.
func readTreeCursor(c *executor.Call, cursor string) ([]int32, error) {
	keys, err := op.ReadCursor(cursor, contract.ListTaxonomy.Name, c.Tenant, 1)
	if err != nil || keys == nil {
		return nil, err
	}
	var place []int32
	for part := range strings.SplitSeq(keys[0], ".") {
		n, err := strconv.ParseInt(part, 10, 32)
		if err != nil || len(place) == maxDepth {
			return nil, op.WrongCursor()
		}
		place = append(place, int32(n))
	}
	return place, nil
}
