package principal_test

import (
	"slices"
	"testing"
	"time"

	"parapet/internal/authz"
	"parapet/internal/op"
	"parapet/internal/principal"
	"parapet/internal/uid"
)

// lent is a worker without a role, for whom a colleague's delegation is in force.
type lent struct {
	*world
	t                *testing.T
	worker, delegate op.UUID
	text             string
	live             principal.Live
}

func newLent(t *testing.T, o options) *lent {
	t.Helper()
	w := newWorld(t, o)
	acme := w.tenant("acme")
	l := &lent{world: w, t: t, worker: w.user(acme, "worker@acme.example"), delegate: w.user(acme, "colleague@acme.example")}
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

// holds asks as an executor does: for whatever is live.
func (l *lent) holds(live principal.Live) bool {
	l.t.Helper()
	p, err := l.ask(l.text)
	if err != nil {
		l.t.Fatal(err)
	}
	if p.Revision != live.Revision || p.DelegationFingerprint != live.Delegations.Fingerprint {
		if p, err = l.checker.Refresh(l.t.Context(), p, live); err != nil {
			l.t.Fatal(err)
		}
	}
	if p.Subject.Holds("role.assign") {
		l.t.Error("what is not the tracker's was lent")
	}
	return p.Subject.Holds("task.update")
}

// The subject has what its delegator's roles grant, for as long as the delegations
// are the same.
func TestSubjectHasWhatWasLent(t *testing.T) {
	t.Parallel()
	l := newLent(t, options{ttl: 30 * time.Second})
	if l.holds(principal.Live{Revision: l.live.Revision}) {
		t.Error("held without a delegation")
	}
	for range 2 {
		if !l.holds(l.live) {
			t.Error("what was lent is not held")
		}
	}
	if p, err := l.ask(l.text); err != nil || p.DelegationFingerprint != "first" {
		t.Errorf("the next request begins with %q, %v", p.DelegationFingerprint, err)
	}
	if l.holds(principal.Live{Revision: l.live.Revision}) {
		t.Error("held after the delegation's end")
	}
}

// A suspended delegator lends nothing: at once where a notice is heard, and where none
// is, after the time that a success of the principal check is remembered.
func TestSuspendedDelegatorLendsNothing(t *testing.T) {
	t.Parallel()
	const remembered = 30 * time.Second
	l := newLent(t, options{ttl: remembered})
	if !l.holds(l.live) {
		t.Fatal("not lent")
	}
	l.exec(`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, l.worker)
	start := l.clock.Now()
	l.clock.set(start.Add(remembered - time.Second))
	if !l.holds(l.live) {
		t.Error("the subject was made anew without a notice")
	}
	l.clock.set(start.Add(remembered))
	if l.holds(l.live) {
		t.Error("lent for longer than the principal check is remembered")
	}
	l.exec(`UPDATE identity.users SET status = 'ACTIVE' WHERE id = $1`, l.worker)
	l.checker.DropAll()
	if !l.holds(l.live) {
		t.Error("not lent again")
	}
	l.exec(`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, l.worker)
	l.checker.Changed("user", l.worker)
	if l.holds(l.live) {
		t.Error("the process that suspends the delegator goes on")
	}
}

// The clearance on record of the delegator bounds what the delegate reads for it. A
// change of it raises the tenant's revision, so the next request knows it.
func TestDelegatorClearanceIsLive(t *testing.T) {
	t.Parallel()
	l := newLent(t, options{ttl: 30 * time.Second})
	for _, c := range []struct {
		stored string
		reads  []string
	}{
		{"CONFIDENTIAL", []string{"UNCLASSIFIED", "INTERNAL", "RESTRICTED", "CONFIDENTIAL"}},
		{"INTERNAL", []string{"UNCLASSIFIED", "INTERNAL"}},
		{"", []string{"UNCLASSIFIED"}},
		// The key of the delegate was signed with SECRET.
		{"SECRET", []string{"UNCLASSIFIED", "INTERNAL", "RESTRICTED", "CONFIDENTIAL", "SECRET"}},
	} {
		l.exec(`UPDATE identity.memberships SET clearance = nullif($2, '') WHERE user_id = $1`, l.worker, c.stored)
		if err := l.owner.QueryRow(t.Context(), `SELECT grants_revision FROM identity.tenants`).Scan(&l.live.Revision); err != nil {
			t.Fatal(err)
		}
		for _, tier := range l.engine.Catalogue().Tiers {
			if got, want := l.updates(tier), slices.Contains(c.reads, tier); got != want {
				t.Errorf("delegator %q: task.update of a %s task is %t", c.stored, tier, got)
			}
		}
	}
}

// updates tells whether the delegate may update a task of this classification, asked
// as an executor asks.
func (l *lent) updates(classification string) bool {
	l.t.Helper()
	p, err := l.ask(l.text)
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

func TestNoticeEndsWhatWasLent(t *testing.T) {
	t.Parallel()
	l := newLent(t, options{ttl: time.Minute, listen: true})
	l.run()
	set := func(status string) { l.exec(`UPDATE identity.users SET status = $2 WHERE id = $1`, l.worker, status) }
	// The listener may still be connecting: a second suspension is heard in any case.
	within(t, 10*time.Second, "the delegator's suspension is heard", func() bool {
		set("ACTIVE")
		if !l.holds(l.live) {
			return false
		}
		set("SUSPENDED")
		for range 20 {
			if !l.holds(l.live) {
				return true
			}
			time.Sleep(10 * time.Millisecond)
		}
		return false
	})
}
