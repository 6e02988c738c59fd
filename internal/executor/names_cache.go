package executor

import (
	"slices"
	"sync"
	"time"

	"parapet/internal/authz"
	"parapet/internal/op"
)

// The limits of a NameCache.
const (
	nameCacheTTL  = 5 * time.Second
	nameCacheSize = 20_000
)

// NameCache remembers for a few seconds which references a caller has received. A caller gets
// only what the same subject, with the same grants and clearance, has received before, so the
// cache discloses nothing new. A change in this process empties it; after a change in another
// process, a name is outdated for at most nameCacheTTL. The zero NameCache is empty and ready.
type NameCache struct {
	mu      sync.Mutex
	entries map[nameKey]nameEntry
}

type nameKey struct {
	subject *authz.Subject
	id      op.UUID
}

type nameEntry struct {
	reference *op.Reference
	expires   time.Time
}

// isCached reports whether references to this kind of record are cached: records that many
// outputs mention and that rarely change.
func isCached(kind op.Kind) bool {
	return slices.Contains([]op.Kind{op.KindPerson, op.KindProject, op.KindOrganisation, op.KindInitiative, op.KindRole, op.KindTenant}, kind)
}

func (n *NameCache) get(subject *authz.Subject, id op.UUID, now time.Time) *op.Reference {
	n.mu.Lock()
	defer n.mu.Unlock()
	if e := n.entries[nameKey{subject, id}]; now.Before(e.expires) {
		return e.reference
	}
	return nil
}

func (n *NameCache) put(subject *authz.Subject, r *op.Reference, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.entries == nil || len(n.entries) >= nameCacheSize {
		n.entries = map[nameKey]nameEntry{}
	}
	n.entries[nameKey{subject, r.ID}] = nameEntry{r, now.Add(nameCacheTTL)}
}

// changed empties the cache if one of the changes is about a record that it may contain.
func (n *NameCache) changed(changes []Change) {
	if !slices.ContainsFunc(changes, func(ch Change) bool {
		return ch.Type == "user" || ch.Type == "membership" || isCached(op.Kind(ch.Type))
	}) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.entries = nil
}
