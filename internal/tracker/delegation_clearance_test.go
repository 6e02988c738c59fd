package tracker_test

import (
	"testing"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/fault"
	"parapet/internal/op"
)

// A delegate reads with the lower of both clearances. A change of either clearance
// applies to the next request, including lists.
func TestDelegation_ReadsWithLowerClearance(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := w.createProject("Secret", fields{"classification": "SECRET"})
	internal := w.createProject("Internal", fields{"classification": "INTERNAL"})
	tiers := []string{"UNCLASSIFIED", "INTERNAL", "CONFIDENTIAL", "SECRET"}
	rank := map[string]int{}
	for i, tier := range tiers {
		rank[tier] = i
	}
	delegator := w.addPerson(person{roles: []string{"Member"}})
	delegate := w.addPerson(person{})
	w.createDelegation(delegator, delegate, []string{"projects.read"})
	for _, delegatorTier := range tiers {
		for _, delegateTier := range tiers {
			w.setClearance(delegator, delegatorTier)
			w.setClearance(delegate, delegateTier)
			lower := min(rank[delegatorTier], rank[delegateTier])
			want := 0
			for _, p := range []*contract.Project{internal, secret} {
				readable := rank[p.Classification] <= lower
				if readable {
					want++
				}
				got, err := w.call(delegate, "get-project", fields{"projectId": p.ID})
				if readable != (err == nil) {
					t.Errorf("delegator %s, delegate %s, project %s: got %v, %v; want readable %t", delegatorTier, delegateTier, p.Classification, got, err, readable)
				}
				if rank[delegateTier] < rank[p.Classification] && !fault.HasCode(err, fault.CodeNotFound) {
					t.Errorf("delegate %s: %s project: got %v, want NOT_FOUND", delegateTier, p.Classification, err)
				}
			}
			if list := do[op.Page[contract.ProjectSummary]](w, delegate, "list-projects", fields{}); len(list.Items) != want {
				t.Errorf("delegator %s, delegate %s: got %d projects, want %d", delegatorTier, delegateTier, len(list.Items), want)
			}
		}
	}
}

// setClearance sets a person's clearance, as update-membership does.
func (w *world) setClearance(p *person, tier string) {
	w.t.Helper()
	w.mu.Lock()
	p.clearance = tier
	w.mu.Unlock()
	w.exec(`UPDATE identity.memberships SET clearance = $3 WHERE tenant_id = $1 AND user_id = $2`, p.tenant, p.id, tier)
}
