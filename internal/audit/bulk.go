package audit

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"parapet/internal/op"
	"parapet/internal/postgres"
)

// newHeadSQL inserts the head of a chain that has none yet.
const newHeadSQL = `
INSERT INTO audit.heads (chain_id, seq, hash)
VALUES (@chain, 0, decode(repeat('00', 32), 'hex'))
ON CONFLICT (chain_id) DO NOTHING`

// bulkSQL appends many entries: it locks the head, hashes the entries in order and advances
// the head. Because it is one statement, the server has all entries before it locks the
// head and does not wait for the client while it holds the lock. COPY does not work with
// row-level security; an INSERT from arrays is nearly as fast.
const bulkSQL = `
WITH RECURSIVE head AS MATERIALIZED (
	SELECT seq, hash FROM audit.heads WHERE chain_id = @chain::uuid FOR UPDATE
), linked (n, seq, hash) AS (
	SELECT 0, seq, hash FROM head
	UNION ALL
	SELECT n + 1, seq + 1, sha256(hash || (@befores::bytea[])[n + 1]
		|| convert_to(to_char(statement_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'UTF8')
		|| (@betweens::bytea[])[n + 1] || convert_to((seq + 1)::text, 'UTF8') || (@afters::bytea[])[n + 1])
	FROM linked WHERE n < @count::integer
), moved AS (
	UPDATE audit.heads h SET seq = l.seq, hash = l.hash FROM linked l WHERE h.chain_id = @chain::uuid AND l.n = @count::integer
)
INSERT INTO audit.entries
	(chain_id, seq, id, tenant_id, actor_id, on_behalf_of, actor_type, action, resource_type, resource_id, module,
	 changes, correlation_id, created_at, classification, credential_id, credential_kind, version, hash)
SELECT @chain::uuid, l.seq, e.id, nullif(@tenant::text, '')::uuid, nullif(e.actor_id, '')::uuid, nullif(e.on_behalf_of, '')::uuid,
       e.actor_type, e.action, e.resource_type, nullif(e.resource_id, ''), e.module,
       e.changes::json, e.correlation_id, statement_timestamp(), e.classification,
       nullif(e.credential_id, '')::uuid, nullif(e.credential_kind, ''), 2, l.hash
FROM unnest(@ids::uuid[], @actors::text[], @on_behalf_ofs::text[], @actor_types::text[], @actions::text[],
            @resource_types::text[], @resource_ids::text[], @modules::text[], @changes::text[], @correlations::uuid[],
            @classifications::text[], @credentials::text[], @credential_kinds::text[]) WITH ORDINALITY
     AS e (id, actor_id, on_behalf_of, actor_type, action, resource_type, resource_id, module, changes, correlation_id,
           classification, credential_id, credential_kind, n)
JOIN linked l ON l.n = e.n`

// chunk limits the entries of one statement. The time to hash them grows with the
// square of their number; it is 0.1 s for 5000.
const chunk = 5000

// queueLargeBatch adds many entries of one chain to a batch.
func queueLargeBatch(batch *pgx.Batch, entries []Entry) error {
	records := make([]*Record, len(entries))
	for i, e := range entries {
		e = e.withDefaults()
		r, err := e.record()
		if err != nil {
			return err
		}
		records[i] = r
	}
	batch.Queue(newHeadSQL, postgres.Args{"chain": records[0].Chain})
	for part := range slices.Chunk(records, chunk) {
		batch.Queue(bulkSQL, bulkColumns(part))
	}
	return nil
}

// bulkColumns returns the statement's arguments: one array per column.
func bulkColumns(records []*Record) postgres.Args {
	n := len(records)
	befores, betweens, afters := make([][]byte, n), make([][]byte, n), make([][]byte, n)
	for i, r := range records {
		befores[i], betweens[i], afters[i] = r.encodeParts()
	}
	return postgres.Args{
		"chain": records[0].Chain, "tenant": string(records[0].Tenant), "count": n,
		"befores": befores, "betweens": betweens, "afters": afters,
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
