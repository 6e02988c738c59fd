package principal_test

import (
	"slices"
	"testing"
	"time"

	"parapet/internal/authz"
	"parapet/internal/op"
	"parapet/internal/postgres/pgtest"
	"parapet/internal/principal"
	"parapet/internal/uid"
)

// delegationFixture is a user without a role who received a colleague's delegation.
type delegationFixture struct {
	*fixture
	t                *testing.T
	worker, delegate op.UUID
	text             string
	live             principal.LiveState
}

func newDelegationFixture(t *testing.T, o options) *delegationFixture {
	t.Helper()
	w := newFixture(t, o)
	acme := w.tenant("acme")
	l := &delegationFixture{fixture: w, t: t, worker: w.user(acme, "worker@acme.example"), delegate: w.user(acme, "colleague@acme.example")}
	w.assign(acme, l.worker, w.role(acme, "Lead", "task.update", "role.assign"))
	l.text, _ = w.key(acme, l.delegate)
	if err := w.owner.QueryRow(t.Context(), `SELECT grants_revision FROM identity.tenants WHERE id = $1`, acme).Scan(&l.live.Revision); err != nil {
		t.Fatal(err)
	}
	l.live.Delegations = principal.Delegations{Fingerprint: "first", Active: []principal.Delegation{
		{ID: uid.New(), Delegator: l.worker, Scope: "tenant", Permissions: []string{"task.update", "role.assign"}},
		{ID: uid.New(), Delegator: uid.New(), Scope: "tenant", Permissions: []string{"task.update"}},
	}}
	return l
}

// holdsTaskUpdate reports whether the delegate holds task.update in the given state. It
// refreshes the principal as the executor does.
func (l *delegationFixture) holdsTaskUpdate(live principal.LiveState) bool {
	l.t.Helper()
	p, err := l.authenticate(l.text)
	if err != nil {
		l.t.Fatal(err)
	}
	if p.Revision != live.Revision || p.DelegationFingerprint != live.Delegations.Fingerprint {
		if p, err = l.checker.Refresh(l.t.Context(), p, live); err != nil {
			l.t.Fatal(err)
		}
	}
	if p.Subject.Holds("role.assign") {
		l.t.Error("delegate holds role.assign, want only permissions of the tracker to be delegated")
	}
	return p.Subject.Holds("task.update")
}

// The subject has the permissions of its delegator's roles while the delegation is active.
func TestRefresh_AppliesActiveDelegations(t *testing.T) {
	t.Parallel()
	l := newDelegationFixture(t, options{ttl: 30 * time.Second})
	if l.holdsTaskUpdate(principal.LiveState{Revision: l.live.Revision}) {
		t.Error("without a delegation: task.update is held")
	}
	for range 2 {
		if !l.holdsTaskUpdate(l.live) {
			t.Error("with the delegation: task.update is not held")
		}
	}
	if p, err := l.authenticate(l.text); err != nil || p.DelegationFingerprint != "first" {
		t.Errorf("next request: got fingerprint %q, %v, want first", p.DelegationFingerprint, err)
	}
	if l.holdsTaskUpdate(principal.LiveState{Revision: l.live.Revision}) {
		t.Error("after the delegation: task.update is held")
	}
}

// A delegation of a suspended delegator has no effect: immediately after a notification,
// and without one after the cache TTL.
func TestRefresh_WhenDelegatorIsSuspended_DropsDelegation(t *testing.T) {
	t.Parallel()
	const ttl = 30 * time.Second
	l := newDelegationFixture(t, options{ttl: ttl})
	if !l.holdsTaskUpdate(l.live) {
		t.Fatal("active delegator: task.update is not held")
	}
	l.exec(`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, l.worker)
	start := l.clock.Now()
	l.clock.setTime(start.Add(ttl - time.Second))
	if !l.holdsTaskUpdate(l.live) {
		t.Error("suspended, within the cache TTL: task.update is not held")
	}
	l.clock.setTime(start.Add(ttl))
	if l.holdsTaskUpdate(l.live) {
		t.Error("suspended, after the cache TTL: task.update is held")
	}
	l.exec(`UPDATE identity.users SET status = 'ACTIVE' WHERE id = $1`, l.worker)
	l.checker.DropAll()
	if !l.holdsTaskUpdate(l.live) {
		t.Error("active again: task.update is not held")
	}
	l.exec(`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, l.worker)
	l.checker.Invalidate("user", l.worker)
	if l.holdsTaskUpdate(l.live) {
		t.Error("suspended, after Invalidate: task.update is held")
	}
}

// The delegator's stored clearance limits what the delegate may read on its behalf. A
// change of the clearance raises the tenant's revision and takes effect on the next request.
func TestRefresh_LimitsDelegationToDelegatorClearance(t *testing.T) {
	t.Parallel()
	l := newDelegationFixture(t, options{ttl: 30 * time.Second})
	for _, c := range []struct {
		stored string
		reads  []string
	}{
		{"CONFIDENTIAL", []string{"UNCLASSIFIED", "INTERNAL", "RESTRICTED", "CONFIDENTIAL"}},
		{"INTERNAL", []string{"UNCLASSIFIED", "INTERNAL"}},
		{"", []string{"UNCLASSIFIED"}},
		// The delegate's key has the clearance SECRET.
		{"SECRET", []string{"UNCLASSIFIED", "INTERNAL", "RESTRICTED", "CONFIDENTIAL", "SECRET"}},
	} {
		l.exec(`UPDATE identity.memberships SET clearance = nullif($2, '') WHERE user_id = $1`, l.worker, c.stored)
		if err := l.owner.QueryRow(t.Context(), `SELECT grants_revision FROM identity.tenants`).Scan(&l.live.Revision); err != nil {
			t.Fatal(err)
		}
		for _, tier := range l.engine.Catalogue().Tiers {
			if got, want := l.canUpdateTask(tier), slices.Contains(c.reads, tier); got != want {
				t.Errorf("delegator's clearance %q: task.update of a %s task allowed = %t, want %t", c.stored, tier, got, want)
			}
		}
	}
}

// canUpdateTask reports whether the delegate may update a task with this classification.
// It refreshes the principal as the executor does.
func (l *delegationFixture) canUpdateTask(classification string) bool {
	l.t.Helper()
	p, err := l.authenticate(l.text)
	if err == nil && (p.Revision != l.live.Revision || p.DelegationFingerprint != l.live.Delegations.Fingerprint) {
		p, err = l.checker.Refresh(l.t.Context(), p, l.live)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	d, err := l.engine.Decide(l.t.Context(), authz.Input{
		Permission: "task.update", Effect: authz.Write, Module: "tracker", Actor: p.Subject,
		Resource: authz.Resource{Type: "task", Tenant: string(p.Tenant), Classification: classification},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return d.Allow
}

func TestRefresh_AppliesDelegatorSuspensionAfterNotification(t *testing.T) {
	t.Parallel()
	l := newDelegationFixture(t, options{ttl: time.Minute, listen: true})
	l.runChecker()
	setStatus := func(status string) { l.exec(`UPDATE identity.users SET status = $2 WHERE id = $1`, l.worker, status) }
	// The listener may still be connecting: repeat until it has received a notification.
	pgtest.Eventually(t, time.Minute, "the delegation is dropped after the delegator's suspension", func() bool {
		setStatus("ACTIVE")
		if !l.holdsTaskUpdate(l.live) {
			return false
		}
		setStatus("SUSPENDED")
		for range 20 {
			if !l.holdsTaskUpdate(l.live) {
				return true
			}
			time.Sleep(10 * time.Millisecond)
		}
		return false
	})
}
