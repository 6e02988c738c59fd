package principal_test

import (
	"testing"
	"time"

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
	l.live.Delegations = principal.Delegations{Fingerprint: "first", InForce: []principal.Delegation{
		{ID: uid.New(), Delegator: l.worker, Scope: "tenant", Permissions: []string{"task.update", "role.assign"}},
		{ID: uid.New(), Delegator: uid.New(), Scope: "tenant", Permissions: []string{"task.update"}},
	}}
	return l
}

// holds asks as a gate does: for whatever is live.
func (l *lent) holds(live principal.Live) bool {
	l.t.Helper()
	p, err := l.ask(l.text)
	if err != nil {
		l.t.Fatal(err)
	}
	if p.Revision != live.Revision || p.Lent != live.Delegations.Fingerprint {
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
	l := newLent(t, options{})
	if l.holds(principal.Live{Revision: l.live.Revision}) {
		t.Error("held without a delegation")
	}
	for range 2 {
		if !l.holds(l.live) {
			t.Error("what was lent is not held")
		}
	}
	if p, err := l.ask(l.text); err != nil || p.Lent != "first" {
		t.Errorf("the next request begins with %q, %v", p.Lent, err)
	}
	if l.holds(principal.Live{Revision: l.live.Revision}) {
		t.Error("held after the delegation's end")
	}
}

// Who is suspended lends nothing: at once where a notice is heard, and after five
// minutes where none is.
func TestSuspendedDelegatorLendsNothing(t *testing.T) {
	t.Parallel()
	l := newLent(t, options{})
	if !l.holds(l.live) {
		t.Fatal("not lent")
	}
	l.exec(`UPDATE identity.users SET status = 'SUSPENDED' WHERE id = $1`, l.worker)
	start := l.clock.Now()
	l.clock.set(start.Add(principal.SubjectTTL - time.Second))
	if !l.holds(l.live) {
		t.Error("the permission cache ended early without a notice")
	}
	l.clock.set(start.Add(principal.SubjectTTL))
	if l.holds(l.live) {
		t.Error("lent for longer than the permission cache lasts")
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
