package tracker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"parapet/internal/clock"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/tracker"
)

// another is the world as another process sees it: a module of its own on the
// same database, with its own connections and its own ear.
type another struct {
	*world
	service *tracker.Service
}

// module binds the module once more, on a pool of so many connections, with what
// deps adds.
func (w *world) module(conns int32, deps tracker.Deps) *another {
	w.t.Helper()
	deps.Executor = executor.New(executor.Config{
		Module: contract.Module, Engine: w.engine, Principals: w, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler),
		Pool: w.db.PoolWith(w.t, postgres.Config{URL: w.db.RoleURL(postgres.RoleTracker), MaxConns: conns, TenantConns: int(conns), AcquireTimeout: time.Minute, LockTimeout: time.Minute}),
	})
	deps.Directory = w
	a := &another{service: tracker.New(deps)}
	a.world = &world{t: w.t, db: w.db, owner: w.owner, engine: w.engine, acme: w.acme, globex: w.globex, orgA: w.orgA, orgB: w.orgB,
		orgG: w.orgG, manager: w.manager, people: w.people, operations: map[string]op.Bound{}}
	for _, b := range a.service.Operations() {
		a.operations[b.Name] = b
	}
	return a
}

// process starts one more process's module, which hears.
func (w *world) process(conns int32) *another {
	w.t.Helper()
	notices := postgres.NewNotifications(w.db.RoleURL(postgres.RoleTracker), nil)
	a := w.module(conns, tracker.Deps{Notices: notices})
	ready := make(chan struct{})
	notices.AddListener(postgres.Listener{Channel: "parapet_decisions", Missed: sync.OnceFunc(func() { close(ready) }), Handle: func(string) {}})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { notices.Run(ctx) })
	w.t.Cleanup(func() { stop(); running.Wait() })
	<-ready
	return a
}

// waited is what a wait gave, and when.
type waited struct {
	request *contract.DecisionRequest
	err     error
	at      time.Time
}

// wait begins to wait in the background.
func (w *world) wait(who *person, in fields) <-chan waited {
	answered := make(chan waited, 1)
	go func() {
		out, err := w.try(who, "wait-decision", in)
		request, _ := out.(*contract.DecisionRequest)
		answered <- waited{request, err, time.Now()}
	}()
	return answered
}

func (w *world) within(d time.Duration, answered <-chan waited) waited {
	w.t.Helper()
	select {
	case a := <-answered:
		return a
	case <-time.After(d):
		w.t.Fatalf("nobody was woken within %s", d)
		return waited{}
	}
}

// TestAnAnswerReachesAWaiterOfAnotherProcess measures the time from the end of
// the answer's call to the end of the wait's, which runs in another process.
func TestAnAnswerReachesAWaiterOfAnotherProcess(t *testing.T) {
	t.Parallel()
	const rounds = 250
	w := newWorld(t)
	task := w.task(w.project("Apollo"), "Land")
	here, there := w.process(2), w.process(2)
	var after, whole []time.Duration
	for range rounds {
		request := w.asked(task, 0)
		answered := there.wait(w.manager, names(task, request, fields{"timeoutSeconds": 30}))
		// Long enough for the first look, so that it is the notice that wakes.
		time.Sleep(10 * time.Millisecond)
		begun := time.Now()
		do[contract.DecisionRequest](here.world, w.manager, "answer-decision", names(task, request, fields{"answer": "yes"}))
		ended := time.Now()
		a := w.within(10*time.Second, answered)
		if a.err != nil || a.request.Status != contract.DecisionAnswered || a.request.Answer != "yes" {
			t.Fatalf("waited for %+v, %v", a.request, a.err)
		}
		after, whole = append(after, max(a.at.Sub(ended), 0)), append(whole, a.at.Sub(begun))
	}
	slices.Sort(after)
	slices.Sort(whole)
	of := func(all []time.Duration, percent int) time.Duration {
		return all[len(all)*percent/100].Round(10 * time.Microsecond)
	}
	t.Logf("%d rounds, answer in one process, waiter in another: from the answer's commit p50 %s p99 %s, from its request p50 %s p99 %s",
		rounds, of(after, 50), of(after, 99), of(whole, 50), of(whole, 99))
	if p99 := of(after, 99); p99 > time.Second {
		t.Errorf("p99 is %s, more than a second", p99)
	}
}

func TestAWaitEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("Apollo")
	task := w.task(p, "Land")
	here := w.process(2)

	// At once, when there is nothing to wait for.
	done := w.asked(task, 0)
	do[contract.DecisionRequest](w, w.manager, "answer-decision", names(task, done, fields{"answer": "yes"}))
	if a := w.within(5*time.Second, here.wait(w.manager, names(task, done, fields{"timeoutSeconds": 55}))); a.err != nil || a.request.Answer != "yes" {
		t.Errorf("got %+v", a)
	}
	// After its time, with the request as it is.
	request := w.asked(task, 0)
	begun := time.Now()
	if a := w.within(5*time.Second, here.wait(w.manager, names(task, request, fields{"timeoutSeconds": 1}))); a.err != nil || a.request.Status != contract.DecisionOpen || a.at.Sub(begun) < time.Second {
		t.Errorf("got %+v after %s", a, a.at.Sub(begun))
	}
	// When the caller goes away.
	bound := here.operations["wait-decision"]
	ctx, leave := context.WithCancel(w.as(w.manager))
	gone := make(chan error, 1)
	go func() {
		_, err := bound.Call(ctx, &contract.WaitDecisionIn{ProjectID: p.ID, Task: task.Key, RequestID: request, TimeoutSeconds: 55})
		gone <- err
	}()
	time.Sleep(20 * time.Millisecond)
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	// When the task goes: there is nothing to wait for, and nothing to tell.
	answered := here.wait(w.manager, names(task, request, fields{"timeoutSeconds": 55}))
	time.Sleep(20 * time.Millisecond)
	do[op.None](w, w.manager, "delete-task", fields{"projectId": p.ID, "task": task.Key})
	if a := w.within(5*time.Second, answered); !fault.HasCode(a.err, fault.CodeNotFound) {
		t.Errorf("got %+v", a)
	}
	// And when the process is about to stop, for all at once.
	other := w.task(p, "Other")
	request = w.asked(other, 0)
	var all []<-chan waited
	for range 20 {
		all = append(all, here.wait(w.manager, names(other, request, fields{"timeoutSeconds": 55})))
	}
	time.Sleep(20 * time.Millisecond)
	here.service.EndWaits()
	for _, answered := range append(all, here.wait(w.manager, names(other, request, fields{"timeoutSeconds": 55}))) {
		if a := w.within(5*time.Second, answered); a.err != nil || a.request.Status != contract.DecisionOpen {
			t.Errorf("got %+v", a)
		}
	}
}

func TestWhoMayWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, secret := w.project("Apollo"), w.project("Secret", fields{"classification": "SECRET"})
	task, hidden := w.task(p, "Land"), w.task(secret, "Launch")
	request, covert := w.asked(task, 0), w.asked(hidden, 0)
	at := fields{"timeoutSeconds": 55}
	member := w.person(person{roles: []string{"Member"}})
	w.refused(fault.CodeForbidden, w.person(person{}), "wait-decision", names(task, request, at))
	w.refused(fault.CodeNotFound, member, "wait-decision", names(hidden, covert, at))
	w.refused(fault.CodeNotFound, member, "wait-decision", names(task, covert, at))
	w.refused(fault.CodeNotFound, w.person(person{tenant: w.globex, roles: []string{"Admin"}}), "wait-decision", names(task, request, at))
	w.refused(fault.CodeValidation, member, "wait-decision", names(task, request, fields{"timeoutSeconds": 56}))

	// Who loses the right while waiting is refused by the look that the notice brings.
	here := w.process(2)
	answered := here.wait(member, names(task, request, at))
	time.Sleep(20 * time.Millisecond)
	w.exec(`UPDATE identity.memberships SET status = 'SUSPENDED' WHERE user_id = $1`, member.id)
	do[contract.DecisionRequest](w, w.manager, "answer-decision", names(task, request, fields{"answer": "yes"}))
	if a := w.within(5*time.Second, answered); !fault.HasCode(a.err, fault.CodeForbidden) {
		t.Errorf("got %+v", a)
	}
}

// TestWaitersHoldNoConnection: fifty wait on a pool of one, and work goes on.
func TestWaitersHoldNoConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("Apollo")
	task := w.task(p, "Land")
	request := w.asked(task, 0)
	here := w.process(1)
	var all []<-chan waited
	for range 50 {
		all = append(all, here.wait(w.manager, names(task, request, fields{"timeoutSeconds": 55})))
	}
	time.Sleep(50 * time.Millisecond)
	for i := range 5 {
		do[contract.Task](here.world, w.manager, "create-task", fields{"projectId": p.ID, "title": fmt.Sprint("Other ", i), "allowDuplicate": true})
	}
	do[contract.DecisionRequest](here.world, w.manager, "answer-decision", names(task, request, fields{"answer": "yes"}))
	for _, answered := range all {
		if a := w.within(10*time.Second, answered); a.err != nil || a.request.Status != contract.DecisionAnswered {
			t.Errorf("got %+v", a)
		}
	}
}

// TestWaitDecision_ListenerReconnectsAndReadsMissedAnswer: the answer comes while nobody listens; the waiter
// learns of it when the process listens again.
func TestWaitDecision_ListenerReconnectsAndReadsMissedAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	task := w.task(w.project("Apollo"), "Land")
	request := w.asked(task, 0)
	here := w.process(2)
	answered := here.wait(w.manager, names(task, request, fields{"timeoutSeconds": 55}))
	time.Sleep(50 * time.Millisecond)
	// An answer that announces nothing stands for one whose notice was lost.
	w.exec(`ALTER TABLE projects.decision_requests DISABLE TRIGGER decision_requests_notify`)
	do[contract.DecisionRequest](w, w.manager, "answer-decision", names(task, request, fields{"answer": "yes"}))
	select {
	case a := <-answered:
		t.Fatalf("the waiter was woken without a notice: %+v", a)
	case <-time.After(300 * time.Millisecond):
	}
	w.exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'parapet-notices'`)
	if a := w.within(10*time.Second, answered); a.err != nil || a.request.Answer != "yes" {
		t.Errorf("got %+v", a)
	}
}

// TestTheWaitsOfOneUserAreBounded: one user's waits leave room for others', and an
// end makes room for another.
func TestTheWaitsOfOneUserAreBounded(t *testing.T) {
	t.Parallel()
	const most, more = 256, 3
	w := newWorld(t)
	task := w.task(w.project("Apollo"), "Land")
	request := w.asked(task, 0)
	a := w.process(4)
	greedy, other := w.person(person{roles: []string{"Member"}}), w.person(person{roles: []string{"Member"}})
	in := names(task, request, fields{"timeoutSeconds": 55})
	answered := make(chan waited, most+more)
	for range most + more {
		go func() { answered <- a.within(time.Minute, a.wait(greedy, in)) }()
	}
	for range more {
		got := a.within(30*time.Second, answered)
		if f := fault.From(got.err); got.err == nil || f.Code != fault.CodeRateLimited || f.RetryAfter <= 0 {
			t.Fatalf("more than %d waits: got %+v, %v, want RATE_LIMITED with a time to wait", most, got.request, got.err)
		}
	}
	others := a.wait(other, in)
	do[contract.DecisionRequest](a.world, w.manager, "answer-decision", names(task, request, fields{"answer": "yes"}))
	if got := a.within(30*time.Second, others); got.err != nil || got.request.Answer != "yes" {
		t.Errorf("another user: got %+v, %v", got.request, got.err)
	}
	for range most {
		if got := a.within(30*time.Second, answered); got.err != nil || got.request.Answer != "yes" {
			t.Fatalf("got %+v, %v", got.request, got.err)
		}
	}
	do[contract.DecisionRequest](a.world, greedy, "wait-decision", in)
}
