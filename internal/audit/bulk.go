package audit

import (
	"context"
	"fmt"
	"time"

	"parapet/internal/events"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// sqlLockHead locks the end of a chain, and makes it where there is none yet.
const sqlLockHead = `
INSERT INTO audit.heads AS h (chain_id, seq, hash)
VALUES (@chain, 0, decode(repeat('00', 32), 'hex'))
ON CONFLICT (chain_id) DO UPDATE SET seq = h.seq
RETURNING seq, hash, clock_timestamp() AS now`

// Row-level security admits no COPY; one INSERT from arrays is nearly as quick.
const sqlBulk = `
WITH head AS (
	UPDATE audit.heads SET seq = @seq, hash = @hash WHERE chain_id = @chain::uuid
)
INSERT INTO audit.entries
	(chain_id, seq, id, tenant_id, actor_id, on_behalf_of, actor_type, action, resource_type, resource_id, module,
	 changes, correlation_id, created_at, classification, credential_id, credential_kind, version, hash)
SELECT @chain::uuid, seq, id, nullif(@tenant::text, '')::uuid, nullif(actor_id, '')::uuid, nullif(on_behalf_of, '')::uuid,
       actor_type, action, resource_type, nullif(resource_id, ''), module,
       changes::json, correlation_id, @now::timestamptz, classification,
       nullif(credential_id, '')::uuid, nullif(credential_kind, ''), 2, hash
FROM unnest(@seqs::bigint[], @ids::uuid[], @actors::text[], @on_behalf_ofs::text[], @actor_types::text[], @actions::text[],
            @resource_types::text[], @resource_ids::text[], @modules::text[], @changes::text[], @correlations::uuid[],
            @classifications::text[], @credentials::text[], @credential_kinds::text[], @hashes::bytea[])
     AS e (seq, id, actor_id, on_behalf_of, actor_type, action, resource_type, resource_id, module, changes, correlation_id,
           classification, credential_id, credential_kind, hash)`

// chunk bounds the entries of one statement.
const chunk = 2000

// appendMany links the entries of one chain here, under the lock of its head.
func appendMany(ctx context.Context, q events.Batcher, chain op.UUID, entries []Entry) error {
	records := make([]*Record, len(entries))
	for i, e := range entries {
		e = e.withDefaults()
		r, err := e.record()
		if err != nil {
			return err
		}
		records[i] = r
	}
	type locked struct {
		Seq  int64
		Hash []byte
		Now  time.Time
	}
	head, err := postgres.One[locked](ctx, q, sqlLockHead, postgres.Args{"chain": chain})
	if err != nil {
		return postgres.MapError(err)
	}
	for len(records) > 0 {
		n := min(len(records), chunk)
		args := bulkColumns(records[:n], &head.Seq, &head.Hash, head.Now)
		tag, err := q.Exec(ctx, sqlBulk, args)
		if err != nil {
			return postgres.MapError(err)
		}
		if tag.RowsAffected() != int64(n) {
			return fmt.Errorf("audit: %d of %d entries were written", tag.RowsAffected(), n)
		}
		records = records[n:]
	}
	return nil
}

// bulkColumns links records behind seq and hash, which it moves, and gives one
// array a column.
func bulkColumns(records []*Record, seq *int64, hash *[]byte, now time.Time) postgres.Args {
	for _, r := range records {
		*seq++
		r.Seq, r.CreatedAt = *seq, now
		sum := r.hash(*hash)
		r.Hash = sum[:]
		*hash = r.Hash
	}
	return postgres.Args{
		"chain": records[0].Chain, "tenant": string(records[0].Tenant), "seq": *seq, "hash": *hash, "now": now,
		"seqs":             column(records, func(r *Record) int64 { return r.Seq }),
		"ids":              column(records, func(r *Record) op.UUID { return r.ID }),
		"actors":           column(records, func(r *Record) string { return string(r.Actor) }),
		"on_behalf_ofs":    column(records, func(r *Record) string { return string(r.OnBehalfOf) }),
		"actor_types":      column(records, func(r *Record) string { return r.ActorType }),
		"actions":          column(records, func(r *Record) string { return r.Action }),
		"resource_types":   column(records, func(r *Record) string { return r.ResourceType }),
		"resource_ids":     column(records, func(r *Record) string { return r.ResourceID }),
		"modules":          column(records, func(r *Record) string { return r.Module }),
		"correlations":     column(records, func(r *Record) op.UUID { return r.Correlation }),
		"classifications":  column(records, func(r *Record) *string { return r.Classification }),
		"credentials":      column(records, func(r *Record) string { return string(r.CredentialID) }),
		"credential_kinds": column(records, func(r *Record) string { return r.CredentialKind }),
		"hashes":           column(records, func(r *Record) []byte { return r.Hash }),
		"changes": column(records, func(r *Record) *string {
			if r.Changes == nil {
				return nil
			}
			text := string(r.Changes)
			return &text
		}),
	}
}

func column[T any](records []*Record, of func(*Record) T) []T {
	values := make([]T, len(records))
	for i, r := range records {
		values[i] = of(r)
	}
	return values
}
