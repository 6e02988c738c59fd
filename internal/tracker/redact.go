package tracker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// opaqueID returns a UUID that replaces an id the caller may not see. It is a hash of
// the tenant and the id: the same record always has the same opaque id, so two
// children of one hidden epic still have equal epic ids. The id cannot be recovered by
// guessing, because record ids are random enough.
func opaqueID(tenant, id op.UUID) op.UUID {
	sum := sha256.Sum256([]byte("parapet redacted\x00" + string(tenant) + "\x00" + string(id)))
	// Set the version to 8, a UUID with application-defined content.
	sum[6] = sum[6]&0x0f | 0x80
	sum[8] = sum[8]&0x3f | 0x80
	h := hex.EncodeToString(sum[:16])
	return op.UUID(h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:])
}

// redactInitiatives replaces the ids of initiatives that the caller may not read with
// opaque ids, in place.
func redactInitiatives(ctx context.Context, c *executor.Call, ids ...*op.UUID) error {
	refs := make([]reference, len(ids))
	for i, id := range ids {
		refs[i] = reference{initiativeTarget, id, nil}
	}
	return redactReferences(ctx, c, refs)
}

// toProjectForCaller returns the API object. The initiative is redacted if the caller
// may not read it.
func (r *projectRow) toProjectForCaller(ctx context.Context, c *executor.Call) (*contract.Project, error) {
	p := r.toProject()
	return p, redactInitiatives(ctx, c, &p.InitiativeID)
}

// toProjectForEvent returns the API object for events. The initiative is always
// redacted, because everybody who may read the project receives the event.
func (r *projectRow) toProjectForEvent(tenant op.UUID) *contract.Project {
	p := r.toProject()
	p.InitiativeID = postgres.ValueOrZero(optionalOpaqueID(tenant, r.InitiativeID))
	return p
}

// toTaskForEvent returns the API object for events and for agent commands. The
// initiative and an epic in another project are always redacted.
func (r *taskRow) toTaskForEvent(tenant op.UUID) *contract.Task {
	t := r.toTask()
	t.InitiativeID = postgres.ValueOrZero(optionalOpaqueID(tenant, r.InitiativeID))
	if r.EpicProjectID != nil {
		redactEpic(tenant, t)
	}
	return t
}

// optionalOpaqueID returns the opaque form of an optional id. Audit entries use it for
// a record with a different classification, because their readers may not be cleared
// for that record. The record's own audit entries contain its real id.
func optionalOpaqueID(tenant op.UUID, id *op.UUID) *op.UUID {
	if id == nil {
		return nil
	}
	opaque := opaqueID(tenant, *id)
	return &opaque
}

func redactEpic(tenant op.UUID, t *contract.Task) {
	t.EpicID = opaqueID(tenant, t.EpicID)
	t.Epic = &contract.EpicRef{ID: t.EpicID, Key: contract.Redacted, Title: contract.Redacted, IsCrossProject: true}
}
