package delegation

import (
	"context"
	"strconv"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// list returns a page of the delegations that the filter allows, newest
// first. It orders by id, because ids are time-ordered; the cursor is the last id.
func (s *Service) list(ctx context.Context, c *executor.Call, in *contract.ListDelegationsIn, f authz.Filter) (*op.Page[contract.Delegation], error) {
	after, err := op.ReadCursor(in.Cursor, contract.ListDelegations.Name, c.Tenant, 1)
	if err != nil {
		return nil, err
	}
	page := &op.Page[contract.Delegation]{Items: []contract.Delegation{}}
	if f.None() {
		return page, nil
	}
	st := &postgres.Statement{}
	st.Add(Select, st.Arg(c.Tenant), ` AND `).Filter(f)
	if in.Delegator != "" {
		st.Add(` AND d.delegator_id = `, st.Arg(in.Delegator))
	}
	if in.Delegate != "" {
		st.Add(` AND d.delegate_id = `, st.Arg(in.Delegate))
	}
	nowArg := func() string { return st.Arg(c.Now) + `::timestamptz` }
	switch in.State {
	case contract.DelegationScheduled:
		st.Add(` AND d.revoked_at IS NULL AND d.starts_at > `, nowArg())
	case contract.DelegationActive:
		now := nowArg()
		st.Add(` AND d.revoked_at IS NULL AND d.starts_at <= `, now, ` AND d.ends_at > `, now)
	case contract.DelegationExpired:
		st.Add(` AND d.revoked_at IS NULL AND d.ends_at <= `, nowArg())
	case contract.DelegationRevoked:
		st.Add(` AND d.revoked_at IS NOT NULL`)
	}
	if after != nil {
		id, err := op.ParseUUID(after[0])
		if err != nil {
			return nil, op.WrongCursor()
		}
		st.Add(` AND d.id < `, st.Arg(id), `::uuid`)
	}
	st.Add(` ORDER BY d.id DESC LIMIT `, strconv.Itoa(in.Limit+1))
	rows, err := postgres.Collect[Row](ctx, c.DB, st.SQL(), st.Args()...)
	if err != nil {
		return nil, err
	}
	rowPage := op.NewPage(rows, in.Limit, func(last *Row) string {
		return op.NewCursor(contract.ListDelegations.Name, c.Tenant, string(last.ID))
	})
	page = op.MapPage(rowPage, func(r *Row) contract.Delegation { return *r.toDelegation(c.Now) })
	initiatives := make([]*op.UUID, len(page.Items))
	for i := range page.Items {
		initiatives[i] = &page.Items[i].InitiativeID
	}
	return page, s.RedactInitiatives(ctx, c, initiatives...)
}
