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

// Problem is the first problem of a chain or of a checkpoint.
type Problem struct {
	// File is the checkpoint that reveals it; empty if the chain itself does.
	File string
	// Chain is empty if the whole checkpoint is invalid.
	Chain op.UUID
	// Seq is the first bad row, or the position of the first missing one.
	Seq int64
	// ID is the id of the bad row; empty if a row is missing.
	ID      op.UUID
	Message string
}

// String returns the problem as one line.
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

// Report is the result of Verify.
type Report struct {
	Chains  int
	Entries int64
	// Checkpoints is the number of checkpoints that were compared with the chains.
	Checkpoints int
	// Problems is empty if verification succeeded. Without checkpoints, a chain has at most one.
	Problems []Problem
}

// entriesSQL reads entries in the order of the primary key. It reads changes as stored text.
const entriesSQL = `
SELECT chain_id, seq, id, tenant_id, actor_id, on_behalf_of, actor_type, action, resource_type, resource_id, module,
       changes::text, correlation_id, created_at, classification, credential_id, credential_kind, version, hash
FROM audit.entries
WHERE @chain::uuid IS NULL OR chain_id = @chain::uuid
ORDER BY chain_id, seq`

const headsSQL = `
SELECT chain_id::text AS chain, seq, hash FROM audit.heads
WHERE @chain::uuid IS NULL OR chain_id = @chain::uuid`

type head struct {
	Chain op.UUID
	Seq   int64
	Hash  []byte
}

// progressEvery is the number of entries between two calls of progress.
const progressEvery = 10_000

// Verify recomputes the hashes of one chain, or of all if chain is empty, in one snapshot of
// the database and in constant memory. pool must use parapet_jobs. progress, if not nil, is
// called with the number of entries read so far. The error is about reading;
// problems of the chains are in the report.
func Verify(ctx context.Context, pool *postgres.Pool, chain op.UUID, progress func(entries int64)) (Report, error) {
	var report Report
	err := snapshot(ctx, pool, func(tx postgres.Querier) error {
		var err error
		report, err = verify(ctx, tx, chain, progress)
		return err
	})
	return report, err
}

// snapshot runs f in one repeatable-read transaction, so that heads and entries are
// consistent.
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
	list, err := postgres.Collect[head](ctx, tx, headsSQL, args)
	if err != nil {
		return Report{}, postgres.MapError(err)
	}
	heads := make(map[op.UUID]head, len(list))
	for _, h := range list {
		heads[h.Chain] = h
	}
	rows, err := tx.Query(ctx, entriesSQL, args)
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
	for _, h := range heads { // heads of chains without entries
		report.Chains++
		if h.Seq != 0 {
			report.Problems = append(report.Problems, Problem{
				Chain: h.Chain, Seq: 1, Message: fmt.Sprintf("missing: the head records %d entries, but the chain has none", h.Seq),
			})
		}
	}
	if chain != "" && report.Chains == 0 {
		report.Problems = append(report.Problems, Problem{Chain: chain, Seq: 1, Message: "missing: the chain does not exist"})
	}
	if progress != nil {
		progress(report.Entries)
	}
	return report, nil
}

// verifier verifies the entries of one chain until the first problem.
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
		v.fail(fmt.Sprintf("missing: the next stored entry has number %d", r.Seq))
		return
	case r.Version != version && r.Version != versionNoCredential:
		v.failAt(r, fmt.Sprintf("its version %d is not supported by this program", r.Version))
		return
	case r.Version == versionNoCredential && (r.CredentialID != "" || r.CredentialKind != ""):
		v.failAt(r, "it has a credential, but hashes of its version do not cover credentials")
		return
	}
	sum := r.hash(v.previous)
	if !bytes.Equal(sum[:], r.Hash) {
		v.failAt(r, "its hash does not match its columns and the previous entry")
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
		v.fail("the chain has no head, so its last entry is unknown")
	case h.Seq > v.seq:
		v.seq++
		v.fail(fmt.Sprintf("missing: the head records %d entries", h.Seq))
	case h.Seq < v.seq:
		v.seq = h.Seq + 1
		v.fail(fmt.Sprintf("added after the head, which records %d entries", h.Seq))
	case !bytes.Equal(h.Hash, v.previous):
		v.fail("its hash differs from the hash in the head")
	}
}

// failAt records a problem of an existing row.
func (v *verifier) failAt(r *Record, message string) {
	v.fail(message)
	v.problem.ID = r.ID
}

func (v *verifier) fail(message string) {
	v.problem = &Problem{Chain: v.chain, Seq: v.seq, Message: message}
}

// storedRow is reused for every row: identifiers as bytes, texts as the driver returns
// them.
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
		text := s.classification.String // copied, because the row is reused
		r.Classification = &text
	}
	switch {
	case s.changes.Valid && s.changes.String == "null":
		r.Changes = json.RawMessage(invalidChanges) // Append writes NULL instead
	case s.changes.Valid:
		// Use the stored text: another spelling of the same value is a change too.
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

// invalidChanges replaces a value that Append never writes and that would hash like NULL.
const invalidChanges = "\x00"

func textValue(t pgtype.Text) string {
	if t.Valid && t.String == "" {
		return invalidChanges
	}
	return t.String
}
