package tracker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
)

// opaqueID stands in the place of an id that the caller may not know. It is the
// same for the same record of the same tenant, so that two children of one
// hidden epic still show as siblings, and it leads nowhere: ids hold too much
// randomness to be found by trying.
func opaqueID(tenant, id op.UUID) op.UUID {
	sum := sha256.Sum256([]byte("parapet redacted\x00" + string(tenant) + "\x00" + string(id)))
	// A version 8 UUID: one whose content its maker defines.
	sum[6] = sum[6]&0x0f | 0x80
	sum[8] = sum[8]&0x3f | 0x80
	h := hex.EncodeToString(sum[:16])
	return op.UUID(h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:])
}

// redactInitiatives replaces, in an answer, the ids of initiatives that the caller
// may not read by opaque ones.
func redactInitiatives(ctx context.Context, c *executor.Call, ids ...*op.UUID) error {
	refs := make([]reference, len(ids))
	for i, id := range ids {
		refs[i] = reference{toInitiative, id, nil}
	}
	return redactReferences(ctx, c, refs)
}

// show is the project's public form for the caller.
func (r *projectRow) show(ctx context.Context, c *executor.Call) (*contract.Project, error) {
	p := r.project()
	return p, redactInitiatives(ctx, c, &p.InitiativeID)
}

// published is the project's public form for events, which reach everybody who may
// read the project: the initiative is another record and has an opaque id.
func (r *projectRow) published(tenant op.UUID) *contract.Project {
	p := r.project()
	p.InitiativeID = value(opaqueRef(tenant, r.InitiativeID))
	return p
}

// published is the task's public form for events and for agents' commands: what is
// not in the task's own project is redacted.
func (r *taskRow) published(tenant op.UUID) *contract.Task {
	t := r.task()
	t.InitiativeID = value(opaqueRef(tenant, r.InitiativeID))
	if r.EpicProjectID != nil {
		redactEpic(tenant, t)
	}
	return t
}

// opaqueRef is the opaque form of an optional id. Audit entries name a record of
// another classification by it: whoever reads the entry need not be cleared for
// that record. The same record always has the same opaque id, and its own audit
// entries have its real one.
func opaqueRef(tenant op.UUID, id *op.UUID) *op.UUID {
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
