// Package audit implements the audit log: an append-only hash chain per tenant, and one
// for entries without a tenant.
//
// It guarantees:
//   - Entries are written at the end of the transaction that they describe, in one round
//     trip. If they cannot be written, the transaction fails.
//   - Concurrent writers are serialized by a row lock on the chain's head. The last
//     statement before COMMIT takes it.
//   - The server sets id, time, sequence and hash; a caller cannot.
//   - hash = sha256(hash of the previous entry (32 zero bytes for the first) ||
//     RFC 8785 canonical JSON of every other stored column). The JSON has exactly the
//     stored values: an object with the members action, actor_id, actor_type, chain_id,
//     changes, classification, correlation_id, created_at (UTC, six digits of a second),
//     credential_id, credential_kind, id, module, on_behalf_of, resource_id,
//     resource_type, seq, tenant_id, version. NULL becomes null.
//   - version identifies the format that was hashed. Version 1 has no credential_id and no
//     credential_kind; entries of version 1 are still verified with it. The hash covers
//     the version, so the version of an entry cannot be changed.
//   - Verify detects changed columns, removed or added rows and a changed order, and
//     reports the first bad row. With a signed checkpoint it also detects a chain that was
//     truncated or rewritten completely.
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

// Versions of the hashed format. New entries use the last one.
const (
	versionNoCredential = 1 // credential_id and credential_kind did not exist
	version             = 2
)

// Entry is an entry as a caller provides it. Empty identifiers are stored as NULL; an empty
// ActorType becomes "user", an empty Module "system", and an empty Correlation a new
// UUID.
type Entry struct {
	Tenant     op.UUID
	Actor      op.UUID
	OnBehalfOf op.UUID
	ActorType  string
	// CredentialID identifies the credential of the request: the session's id or the
	// key's jti. CredentialKind is session or api_key. Both are empty without a
	// credential, as in system work.
	CredentialID   op.UUID
	CredentialKind string
	// Action names what was done, for example api_key.issued.
	Action       string
	ResourceType string
	ResourceID   string
	Module       string
	// Changes is any value that marshals to JSON, or nil. It must contain only ids and
	// codes, never a secret or an address. Numbers must be exact as float64, and strings
	// must be valid UTF-8 without NUL.
	Changes     any
	Correlation op.UUID
	// Classification may be any text, even an unknown tier; nil is stored as NULL.
	Classification *string

	// id is set by Append, or by Critical, which also puts it into the event.
	id op.UUID
}

// EventCreated is the type of the event that publishes a critical entry.
const EventCreated = "audit.entry.created"

// NewCriticalEntry returns the entry with its id, and the event that must be appended in
// the same transaction. The payload contains stable identifiers but not the changes.
func NewCriticalEntry(e Entry) (Entry, events.Event) {
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

// smallBatch is the largest number of entries of a chain that are written by one statement
// each. Larger batches use a single statement.
const smallBatch = 8

// Append writes entries at the end of q's transaction, in order. The database rejects an
// entry of a chain that the transaction's tenant may not write to. The head of the
// chain stays locked until the transaction ends, so with a postgres.Tx prefer Queue with
// its final batch.
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

// linkSQL advances the head and inserts the entry. The canonical JSON is passed in three
// pieces; the server inserts time and sequence between them.
const linkSQL = `
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

// Queue adds the statements of Append to a batch, for callers that send more statements in
// the same round trip. They must be the last statements of the transaction (with a
// postgres.Tx, its final batch), because they lock the head of the chain until the commit.
// The lock then lasts only while the server executes the batch.
func Queue(batch *pgx.Batch, entries []Entry) error {
	byChain := make(map[op.UUID][]Entry)
	for _, e := range entries {
		byChain[e.chain()] = append(byChain[e.chain()], e)
	}
	// All writers lock heads in the same order to avoid deadlocks.
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
		before, between, after := r.encodeParts()
		batch.Queue(linkSQL, postgres.Args{
			"chain": r.Chain, "before": before, "between": between, "after": after,
			"id": e.id, "tenant": string(e.Tenant), "actor": string(e.Actor), "on_behalf_of": string(e.OnBehalfOf),
			"actor_type": e.ActorType, "action": e.Action, "resource_type": e.ResourceType, "resource_id": e.ResourceID,
			"module": e.Module, "changes": r.Changes, "correlation": e.Correlation, "classification": e.Classification,
			"credential": string(e.CredentialID), "credential_kind": e.CredentialKind,
		})
	}
	return nil
}

// record returns the entry as it will be stored, without the values that the server sets.
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
			return nil, fmt.Errorf("audit: %q is not a UUID in canonical form", id)
		}
	}
	texts := []string{e.ActorType, e.Action, e.ResourceType, e.ResourceID, e.Module, e.CredentialKind}
	if e.Classification != nil {
		texts = append(texts, *e.Classification)
	}
	for _, text := range texts {
		if !isStorable(text) {
			return nil, fmt.Errorf("audit: %q must be valid UTF-8 without NUL", text)
		}
	}
	if e.Action == "" || e.ResourceType == "" {
		return nil, fmt.Errorf("audit: an entry needs an action and a resource type, got %q and %q", e.Action, e.ResourceType)
	}
	if (e.CredentialID == "") != (e.CredentialKind == "") {
		return nil, fmt.Errorf("audit: %s: a credential needs an id and a kind, got %q and %q", e.Action, e.CredentialID, e.CredentialKind)
	}
	if e.Tenant == NoTenant {
		return nil, fmt.Errorf("audit: an entry without a tenant must leave Tenant empty")
	}
	changes, err := canonicalChanges(e.Changes)
	if err != nil {
		return nil, fmt.Errorf("audit: %s: changes: %w", e.Action, err)
	}
	r.Changes = changes
	return r, nil
}

func isStorable(text string) bool {
	return !strings.ContainsRune(text, 0) && strings.ToValidUTF8(text, "") == text
}
