package identity

import (
	"context"
	"math"
	"strconv"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/identity"
	"parapet/internal/gate"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

const selectAuditEntriesSQL = `
SELECT e.id, e.seq, coalesce(e.tenant_id::text, '') AS tenant_id, coalesce(e.actor_id::text, '') AS actor_id,
       coalesce(e.on_behalf_of::text, '') AS on_behalf_of, e.actor_type, e.action, e.resource_type,
       coalesce(e.resource_id, '') AS resource_id, e.module, e.changes::text AS changes, e.correlation_id, e.created_at,
       coalesce(e.classification, '') AS classification, encode(e.hash, 'hex') AS hash
FROM audit.entries e
WHERE e.chain_id = @tenant AND e.seq < @before
  AND (@actor = '' OR e.actor_id = nullif(@actor, '')::uuid)
  AND (@action = '' OR e.action = @action)
  AND (@resource_type = '' OR e.resource_type = @resource_type)
  AND (@resource_id = '' OR e.resource_id = @resource_id)
  AND (@module = '' OR e.module = @module)
  AND (@correlation = '' OR e.correlation_id = nullif(@correlation, '')::uuid)
  AND (@from::timestamptz IS NULL OR e.created_at >= @from)
  AND (@until::timestamptz IS NULL OR e.created_at < @until)
  AND `

func selectAuditEntries(
	ctx context.Context, q postgres.Querier, tenant op.UUID, in *contract.ListAuditEntriesIn, from, until *time.Time, before int64, f authz.Filter,
) ([]contract.AuditEntry, error) {
	items, err := postgres.Collect[contract.AuditEntry](ctx, q, selectAuditEntriesSQL+f.SQL()+` ORDER BY e.seq DESC LIMIT @limit`,
		filtered(postgres.Args{
			"tenant": tenant, "before": before, "actor": in.ActorID, "action": in.Action, "resource_type": in.ResourceType,
			"resource_id": in.ResourceID, "module": in.Module, "correlation": in.CorrelationID, "from": from, "until": until,
			"limit": in.Limit + 1,
		}, f))
	for i := range items {
		items[i].Changes = asJSON(items[i].Changes)
		inUTC(&items[i].CreatedAt)
	}
	return items, err
}

// cursorSeq reads a cursor that is a place in the chain; the start is behind its end.
func cursorSeq(c *gate.Call, o *op.Operation, cursor string) (int64, error) {
	keys, err := op.ReadCursor(cursor, o.Name, c.Tenant, 1)
	if err != nil {
		return 0, err
	}
	if keys == nil {
		return math.MaxInt64, nil
	}
	seq, err := strconv.ParseInt(keys[0], 10, 64)
	if err != nil {
		return 0, wrongCursor(err)
	}
	return seq, nil
}

func formatSeq(seq int64) string { return strconv.FormatInt(seq, 10) }

const selectDecisionsSQL = `
SELECT d.id, d.decided_at, d.actor_id, d.permission, d.module, d.input::text AS input, d.allow, d.hidden, d.reasons, d.revision, d.request_id
FROM audit.decisions d
WHERE d.tenant_id = @tenant
  AND (@before = '' OR d.id < nullif(@before, '')::uuid)
  AND (@actor = '' OR d.actor_id = @actor)
  AND (@permission = '' OR d.permission = @permission)
  AND (@allow::boolean IS NULL OR d.allow = @allow)
  AND (@request = '' OR d.request_id = @request)
  AND `

func selectDecisions(
	ctx context.Context, q postgres.Querier, tenant op.UUID, in *contract.ListDecisionsIn, before op.UUID, f authz.Filter,
) ([]contract.DecisionEntry, error) {
	items, err := postgres.Collect[contract.DecisionEntry](ctx, q, selectDecisionsSQL+f.SQL()+` ORDER BY d.id DESC LIMIT @limit`,
		filtered(postgres.Args{
			"tenant": tenant, "before": before, "actor": in.ActorID, "permission": in.Permission, "allow": in.Allow, "request": in.RequestID,
			"limit": in.Limit + 1,
		}, f))
	for i := range items {
		items[i].Input = asJSON(items[i].Input)
		inUTC(&items[i].DecidedAt)
	}
	return items, err
}
