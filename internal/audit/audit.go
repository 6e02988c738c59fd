// Package audit owns the audit log: an append-only hash chain per tenant, and one
// for entries without a tenant.
//
// It promises:
//   - Entries are written in the transaction of what they tell of, in one round
//     trip at its end; when they cannot be written, the change fails with them.
//   - Concurrent writers make one line: the row lock on the chain's head, held to
//     the end of the transaction, is taken by the last statement before it.
//   - The server sets id, time, sequence and hash; a caller cannot.
//   - hash = sha256(hash of the entry before, 32 zero bytes for the first, ||
//     RFC 8785 canonical JSON of every other stored column). What is hashed is
//     what is stored, text for text: an object whose members are action,
//     actor_id, actor_type, chain_id, changes, classification, correlation_id,
//     created_at (UTC, six digits of a second), credential_id, credential_kind,
//     id, module, on_behalf_of, resource_id, resource_type, seq, tenant_id,
//     version; what is NULL is null.
//   - version names the form that was hashed. Form 1 has no credential_id and no
//     credential_kind; entries that were written with it keep verifying with it.
//     The hash covers the version, so an entry cannot change its form.
//   - Verify finds any change of a column, a removed or added row and a changed
//     order, and names the first bad row; with a signed checkpoint also a cut
//     tail and a chain that was rewritten as a whole.
package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"parapet/internal/events"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

// NoTenant is the chain of entries without a tenant.
const NoTenant op.UUID = "00000000-0000-0000-0000-000000000000"

// The versions of the hashed form. New entries are written in the last one.
const (
	versionNoCredential = 1 // credential_id and credential_kind did not exist
	version             = 2
)

// Entry is what a caller says. Empty identifiers are stored as NULL, an empty
// ActorType as "user", an empty Module as "system", an empty Correlation as a new
// UUID.
type Entry struct {
	Tenant     op.UUID
	Actor      op.UUID
	OnBehalfOf op.UUID
	ActorType  string
	// CredentialID identifies the credential that the request was made with: the
	// session's id or the key's jti. CredentialKind says which: session or api_key.
	// Both are empty when there was no credential, as in the system's own work.
	CredentialID   op.UUID
	CredentialKind string
	// Action is what was done: api_key.issued.
	Action       string
	ResourceType string
	ResourceID   string
	Module       string
	// Changes is any value that marshals to JSON, or nil: ids and codes, never a
	// secret, never an address. A number in it must be one that a double holds
	// exactly, a text must be valid UTF-8 without NUL.
	Changes     any
	Correlation op.UUID
	// Classification is any text, also one that is no tier; nil is stored as NULL.
	Classification *string

	// id is made by Append, or by Critical, which tells it in the event.
	id op.UUID
}

// EventCreated is the event that a critical entry is published with.
const EventCreated = "audit.entry.created"

// Critical gives the entry with its id, and the event that must be appended in
// the same transaction. The payload names everything by stable identifiers and
// leaves the changes out.
func Critical(e Entry) (Entry, events.Event) {
	e = e.withDefaults()
	classification := "UNCLASSIFIED"
	if e.Classification != nil {
		classification = *e.Classification
	}
	payload, err := json.Marshal(map[string]any{"classification": classification, "resource": map[string]string{
		"id": string(e.id), "action": e.Action, "resourceType": e.ResourceType, "resourceId": e.ResourceID,
		"module": e.Module, "actorType": e.ActorType,
	}})
	if err != nil {
		panic("audit: strings do not marshal: " + err.Error())
	}
	return e, events.Event{
		Type: EventCreated, TenantID: e.Tenant, AggregateType: "audit_entry", AggregateID: string(e.id),
		ActorID: e.Actor, CorrelationID: e.Correlation, Payload: payload,
	}
}

func (e Entry) withDefaults() Entry {
	if e.id == "" {
		e.id = uid.New()
	}
	if e.ActorType == "" {
		e.ActorType = "user"
	}
	if e.Module == "" {
		e.Module = "system"
	}
	if e.Correlation == "" {
		e.Correlation = uid.New()
	}
	return e
}

func (e *Entry) chain() op.UUID {
	if e.Tenant == "" {
		return NoTenant
	}
	return e.Tenant
}

// smallBatch is up to how many entries of a chain have a statement each; more share one.
const smallBatch = 8

// Append writes entries at the end of q's transaction, in their order. An entry
// of another chain than the transaction's tenant may write to is an error of the
// database. The head of the chain is locked until the transaction ends, so where
// the transaction is a postgres.Tx, Queue into its final batch is better.
func Append(ctx context.Context, q events.Batcher, entries []Entry) error {
	batch := &pgx.Batch{}
	if err := Queue(batch, entries); err != nil {
		return err
	}
	if batch.Len() == 0 {
		return nil
	}
	return postgres.MapError(q.SendBatch(ctx, batch).Close())
}

// sqlLink moves the head and writes the entry behind it. The canonical JSON comes
// in three pieces; time and sequence, which only the server knows, go in between.
const sqlLink = `
WITH head AS (
	INSERT INTO audit.heads AS h (chain_id, seq, hash)
	VALUES (@chain::uuid, 1, sha256(decode(repeat('00', 32), 'hex') || @before::bytea
		|| convert_to(to_char(statement_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'UTF8')
		|| @between::bytea || '1'::bytea || @after::bytea))
	ON CONFLICT (chain_id) DO UPDATE
	SET seq = h.seq + 1,
	    hash = sha256(h.hash || @before::bytea
		|| convert_to(to_char(statement_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'UTF8')
		|| @between::bytea || convert_to((h.seq + 1)::text, 'UTF8') || @after::bytea)
	RETURNING seq, hash
)
INSERT INTO audit.entries
	(chain_id, seq, id, tenant_id, actor_id, on_behalf_of, actor_type, action, resource_type, resource_id, module,
	 changes, correlation_id, created_at, classification, credential_id, credential_kind, version, hash)
SELECT @chain::uuid, seq, @id::uuid, nullif(@tenant::text, '')::uuid, nullif(@actor::text, '')::uuid, nullif(@on_behalf_of::text, '')::uuid,
       @actor_type::text, @action::text, @resource_type::text, nullif(@resource_id::text, ''), @module::text,
       @changes::json, @correlation::uuid, statement_timestamp(), @classification::text,
       nullif(@credential::text, '')::uuid, nullif(@credential_kind::text, ''), 2, hash
FROM head`

// Queue puts what Append does into a batch, for a caller who has more to send in
// the same round trip. It belongs at the batch's end, which for a postgres.Tx is
// its final batch: the head of the chain is then locked only while the server
// works, and no other writer of the chain waits for this process.
func Queue(batch *pgx.Batch, entries []Entry) error {
	byChain := make(map[op.UUID][]Entry)
	for _, e := range entries {
		byChain[e.chain()] = append(byChain[e.chain()], e)
	}
	// Heads are locked in one order by all, so that two writers cannot wait for
	// each other.
	for _, chain := range slices.Sorted(maps.Keys(byChain)) {
		queue := queueSmallBatch
		if len(byChain[chain]) > smallBatch {
			queue = queueLargeBatch
		}
		if err := queue(batch, byChain[chain]); err != nil {
			return err
		}
	}
	return nil
}

func queueSmallBatch(batch *pgx.Batch, entries []Entry) error {
	for _, e := range entries {
		e = e.withDefaults()
		r, err := e.record()
		if err != nil {
			return err
		}
		before, between, after := r.pieces()
		batch.Queue(sqlLink, postgres.Args{
			"chain": r.Chain, "before": before, "between": between, "after": after,
			"id": e.id, "tenant": string(e.Tenant), "actor": string(e.Actor), "on_behalf_of": string(e.OnBehalfOf),
			"actor_type": e.ActorType, "action": e.Action, "resource_type": e.ResourceType, "resource_id": e.ResourceID,
			"module": e.Module, "changes": r.Changes, "correlation": e.Correlation, "classification": e.Classification,
			"credential": string(e.CredentialID), "credential_kind": e.CredentialKind,
		})
	}
	return nil
}

// record gives the entry as it will be stored, without what the server sets.
func (e *Entry) record() (*Record, error) {
	r := &Record{
		Chain: e.chain(), ID: e.id, Tenant: e.Tenant, Actor: e.Actor, OnBehalfOf: e.OnBehalfOf, ActorType: e.ActorType,
		Action: e.Action, ResourceType: e.ResourceType, ResourceID: e.ResourceID, Module: e.Module,
		Correlation: e.Correlation, Classification: e.Classification,
		CredentialID: e.CredentialID, CredentialKind: e.CredentialKind, Version: version,
	}
	for _, id := range []op.UUID{e.id, e.Tenant, e.Actor, e.OnBehalfOf, e.Correlation, e.CredentialID} {
		if id == "" {
			continue
		}
		// A UUID in another spelling would be hashed as one text and stored as another.
		if canonical, err := op.ParseUUID(string(id)); err != nil || canonical != id {
			return nil, fmt.Errorf("audit: %q is not a UUID in its canonical form", id)
		}
	}
	texts := []string{e.ActorType, e.Action, e.ResourceType, e.ResourceID, e.Module, e.CredentialKind}
	if e.Classification != nil {
		texts = append(texts, *e.Classification)
	}
	for _, text := range texts {
		if !storable(text) {
			return nil, fmt.Errorf("audit: %q is not valid UTF-8 without NUL", text)
		}
	}
	if e.Action == "" || e.ResourceType == "" {
		return nil, fmt.Errorf("audit: an entry needs an action and a resource type (%q, %q)", e.Action, e.ResourceType)
	}
	if (e.CredentialID == "") != (e.CredentialKind == "") {
		return nil, fmt.Errorf("audit: %s: a credential needs both its id and its kind (%q, %q)", e.Action, e.CredentialID, e.CredentialKind)
	}
	if e.Tenant == NoTenant {
		return nil, fmt.Errorf("audit: an entry without a tenant leaves it empty")
	}
	changes, err := canonicalChanges(e.Changes)
	if err != nil {
		return nil, fmt.Errorf("audit: %s: changes: %w", e.Action, err)
	}
	r.Changes = changes
	return r, nil
}

func storable(text string) bool {
	return !strings.ContainsRune(text, 0) && strings.ToValidUTF8(text, "") == text
}
