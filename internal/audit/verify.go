package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"parapet/internal/op"
	"parapet/internal/postgres"
)

// Problem is the first thing that is wrong with a chain, or with a checkpoint.
type Problem struct {
	// File is the checkpoint that shows it; empty where the chain itself does.
	File string
	// Chain is empty where the checkpoint as a whole is wrong.
	Chain op.UUID
	// Seq is the first bad row, or the place of the first missing one.
	Seq int64
	// ID is that of the bad row; empty where one is missing.
	ID      op.UUID
	Message string
}

// String says it in one line.
func (p Problem) String() string {
	where := ""
	if p.File != "" {
		where = "checkpoint " + p.File + ": "
	}
	switch {
	case p.Chain == "":
		return where + p.Message
	case p.ID != "":
		return fmt.Sprintf("%schain %s, entry %d (%s): %s", where, p.Chain, p.Seq, p.ID, p.Message)
	default:
		return fmt.Sprintf("%schain %s, entry %d: %s", where, p.Chain, p.Seq, p.Message)
	}
}

// Report is what Verify found.
type Report struct {
	Chains  int
	Entries int64
	// Checkpoints is how many were read and compared with the chains.
	Checkpoints int
	// Problems is empty when all is well. A chain by itself has at most one.
	Problems []Problem
}

// sqlEntries reads as the primary key is ordered. The text of changes is the
// stored one.
const sqlEntries = `
SELECT chain_id, seq, id, tenant_id, actor_id, on_behalf_of, actor_type, action, resource_type, resource_id, module,
       changes::text, correlation_id, created_at, classification, credential_id, credential_kind, version, hash
FROM audit.entries
WHERE @chain::uuid IS NULL OR chain_id = @chain::uuid
ORDER BY chain_id, seq`

const sqlHeads = `
SELECT chain_id::text AS chain, seq, hash FROM audit.heads
WHERE @chain::uuid IS NULL OR chain_id = @chain::uuid`

type head struct {
	Chain op.UUID
	Seq   int64
	Hash  []byte
}

// progressEvery is after how many entries Verify tells how far it is.
const progressEvery = 10_000

// Verify recomputes one chain, or all where chain is empty, in one snapshot of
// the database and in constant memory. pool is parapet_jobs'. progress, which may
// be nil, is told the number of entries read so far. The error is about reading;
// what is wrong with the chains is in the report.
func Verify(ctx context.Context, pool *postgres.Pool, chain op.UUID, progress func(entries int64)) (Report, error) {
	var report Report
	err := snapshot(ctx, pool, func(tx postgres.Querier) error {
		var err error
		report, err = verify(ctx, tx, chain, progress)
		return err
	})
	return report, err
}

// snapshot runs f in one repeatable-read transaction, so that heads and entries
// are those of one moment.
func snapshot(ctx context.Context, pool *postgres.Pool, f func(tx postgres.Querier) error) error {
	tx, err := pool.Raw().BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return postgres.MapError(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	return f(tx)
}

func verify(ctx context.Context, tx postgres.Querier, chain op.UUID, progress func(int64)) (Report, error) {
	var only *op.UUID
	if chain != "" {
		only = &chain
	}
	args := postgres.Args{"chain": only}
	list, err := postgres.Collect[head](ctx, tx, sqlHeads, args)
	if err != nil {
		return Report{}, postgres.MapError(err)
	}
	heads := make(map[op.UUID]head, len(list))
	for _, h := range list {
		heads[h.Chain] = h
	}
	rows, err := tx.Query(ctx, sqlEntries, args)
	if err != nil {
		return Report{}, postgres.MapError(err)
	}
	defer rows.Close()

	var report Report
	var line *verifier
	finish := func() {
		if line == nil {
			return
		}
		line.finish(heads)
		delete(heads, line.chain)
		report.Chains++
		if line.problem != nil {
			report.Problems = append(report.Problems, *line.problem)
		}
	}
	var row storedRow
	for rows.Next() {
		if err := row.scan(rows); err != nil {
			return Report{}, fmt.Errorf("audit: read: %w", err)
		}
		r := row.record()
		if line == nil || line.chain != r.Chain {
			finish()
			line = &verifier{chain: r.Chain, previous: make([]byte, sha256.Size)}
		}
		line.next(r)
		report.Entries++
		if progress != nil && report.Entries%progressEvery == 0 {
			progress(report.Entries)
		}
	}
	if err := rows.Err(); err != nil {
		return Report{}, postgres.MapError(err)
	}
	finish()
	for _, h := range heads { // heads of chains that have no entry at all
		report.Chains++
		if h.Seq != 0 {
			report.Problems = append(report.Problems, Problem{
				Chain: h.Chain, Seq: 1, Message: fmt.Sprintf("missing: the head says that there are %d entries, and there is none", h.Seq),
			})
		}
	}
	if chain != "" && report.Chains == 0 {
		report.Problems = append(report.Problems, Problem{Chain: chain, Seq: 1, Message: "missing: there is no such chain"})
	}
	if progress != nil {
		progress(report.Entries)
	}
	return report, nil
}

// verifier goes along one chain until the first problem.
type verifier struct {
	chain    op.UUID
	seq      int64
	previous []byte
	problem  *Problem
}

func (v *verifier) next(r *Record) {
	if v.problem != nil {
		return
	}
	v.seq++
	switch {
	case r.Seq != v.seq:
		v.fail(fmt.Sprintf("missing: the next entry there is has number %d", r.Seq))
		return
	case r.Version != version && r.Version != versionNoCredential:
		v.failAt(r, fmt.Sprintf("its version is %d, which this program does not know", r.Version))
		return
	case r.Version == versionNoCredential && (r.CredentialID != "" || r.CredentialKind != ""):
		v.failAt(r, "it has a credential, which the hash of its version does not cover")
		return
	}
	sum := r.hash(v.previous)
	if !bytes.Equal(sum[:], r.Hash) {
		v.failAt(r, "its hash does not fit its columns and the entry before")
		return
	}
	v.previous = append(v.previous[:0], r.Hash...)
}

func (v *verifier) finish(heads map[op.UUID]head) {
	if v.problem != nil {
		return
	}
	h, ok := heads[v.chain]
	switch {
	case !ok:
		v.seq++
		v.fail("the chain has no head: its end cannot be known")
	case h.Seq > v.seq:
		v.seq++
		v.fail(fmt.Sprintf("missing: the head says that there are %d entries", h.Seq))
	case h.Seq < v.seq:
		v.seq = h.Seq + 1
		v.fail(fmt.Sprintf("added behind the head, which says that there are %d entries", h.Seq))
	case !bytes.Equal(h.Hash, v.previous):
		v.fail("its hash is not that of the head")
	}
}

// failAt is fail for a row that is there.
func (v *verifier) failAt(r *Record, what string) {
	v.fail(what)
	v.problem.ID = r.ID
}

func (v *verifier) fail(what string) { v.problem = &Problem{Chain: v.chain, Seq: v.seq, Message: what} }

// storedRow is scanned into again and again: identifiers as bytes, texts as the
// driver gives them.
type storedRow struct {
	chain, id, tenant, actor, onBehalfOf, correlation   pgtype.UUID
	seq                                                 int64
	actorType, action, resourceType, module             string
	resourceID, changes, classification, credentialKind pgtype.Text
	createdAt                                           pgtype.Timestamptz
	credential                                          pgtype.UUID
	version                                             int
	hash                                                []byte
}

func (s *storedRow) scan(rows pgx.Rows) error {
	return rows.Scan(&s.chain, &s.seq, &s.id, &s.tenant, &s.actor, &s.onBehalfOf, &s.actorType, &s.action, &s.resourceType,
		&s.resourceID, &s.module, &s.changes, &s.correlation, &s.createdAt, &s.classification, &s.credential, &s.credentialKind,
		&s.version, &s.hash)
}

func (s *storedRow) record() *Record {
	r := &Record{
		Chain: uuidValue(s.chain), Seq: s.seq, ID: uuidValue(s.id), Tenant: uuidValue(s.tenant), Actor: uuidValue(s.actor),
		OnBehalfOf: uuidValue(s.onBehalfOf), ActorType: s.actorType, Action: s.action, ResourceType: s.resourceType,
		ResourceID: textValue(s.resourceID), Module: s.module, Correlation: uuidValue(s.correlation),
		CreatedAt: s.createdAt.Time, CredentialID: uuidValue(s.credential), CredentialKind: textValue(s.credentialKind), Version: s.version, Hash: s.hash,
	}
	if s.classification.Valid {
		text := s.classification.String // the row is scanned into again
		r.Classification = &text
	}
	switch {
	case s.changes.Valid && s.changes.String == "null":
		r.Changes = json.RawMessage(notOurs) // without changes we write NULL
	case s.changes.Valid:
		// The stored text as it is: another spelling of the same value is a change too.
		r.Changes = json.RawMessage(s.changes.String)
	}
	return r
}

func uuidValue(u pgtype.UUID) op.UUID {
	if !u.Valid {
		return ""
	}
	return op.UUID(u.String())
}

// notOurs stands for a value that we never write and that would hash like NULL.
const notOurs = "\x00"

func textValue(t pgtype.Text) string {
	if t.Valid && t.String == "" {
		return notOurs
	}
	return t.String
}
