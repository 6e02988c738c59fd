package wiki

import (
	"context"
	"fmt"

	"github.com/rogpeppe/go-internal/diff"

	"parapet/internal/authz"
	contract "parapet/internal/contract/wiki"
	"parapet/internal/executor"
	"parapet/internal/fault"
)

func loadPageToDiff(ctx context.Context, c *executor.Call, in *contract.DiffPageIn) (pageRow, authz.Resource, error) {
	return loadCurrentPage(ctx, c, in.Path)
}

// diffPage compares two versions. The caller must be able to read both.
func diffPage(ctx context.Context, c *executor.Call, in *contract.DiffPageIn, row pageRow) (*contract.PageDiff, error) {
	out := &contract.PageDiff{Path: string(row.Path), To: row.Version}
	if in.To != nil {
		out.To = *in.To
	}
	out.From = out.To - 1
	if in.From != nil {
		out.From = *in.From
	}
	if out.From >= out.To {
		return nil, fault.Validation("from", fmt.Sprintf("The field from must be less than %d.", out.To))
	}
	var texts [2]string
	for i, number := range []int{out.From, out.To} {
		if number == 0 {
			continue
		}
		v, err := loadVersion(ctx, c, row.ID, number)
		if err != nil {
			return nil, err
		}
		if err := c.Decide(ctx, contract.PermPagesRead, v.resource(c.Tenant)); err != nil {
			return nil, err
		}
		texts[i] = v.Markdown
	}
	name := func(number int) string { return fmt.Sprintf("%s (version %d)", row.Path, number) }
	out.Diff = string(diff.Diff(name(out.From), []byte(texts[0]), name(out.To), []byte(texts[1])))
	return out, nil
}
