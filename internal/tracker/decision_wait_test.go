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
	"parapet/internal/postgres/pgtest"
	"parapet/internal/tracker"
)

// otherProcess simulates another process: a second tracker module on the same database, with
// its own connections and notification listener.
type otherProcess struct {
	*world
	service *tracker.Service
	// notified receives the payloads of the notifications about decision requests, after the
	// service has handled them.
	notified chan string
}

// newModule creates a second tracker module with a pool of conns connections. deps sets
// additional dependencies.
func (w *world) newModule(conns int32, deps tracker.Deps) *otherProcess {
	w.t.Helper()
	deps.Executor = executor.New(executor.Config{
		Module: contract.Module, Engine: w.engine, Principals: w, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler),
		Pool: w.db.PoolWith(w.t, postgres.Config{URL: w.db.RoleURL(postgres.RoleTracker), MaxConns: conns, TenantConns: int(conns), AcquireTimeout: time.Minute, LockTimeout: time.Minute}),
	})
	deps.Directory = w
	a := &otherProcess{service: tracker.New(deps)}
	a.world = &world{t: w.t, db: w.db, owner: w.owner, engine: w.engine, acme: w.acme, globex: w.globex, orgA: w.orgA, orgB: w.orgB,
		orgG: w.orgG, manager: w.manager, people: w.people, operations: map[string]op.Bound{}}
	for _, b := range a.service.Operations() {
		a.operations[b.Name] = b
	}
	return a
}

// startProcess creates a second tracker module that listens for notifications.
func (w *world) startProcess(conns int32) *otherProcess {
	w.t.Helper()
	notifications := postgres.NewNotifications(w.db.RoleURL(postgres.RoleTracker), nil)
	a := w.newModule(conns, tracker.Deps{Notifications: notifications})
	ready := make(chan struct{})
	a.notified = make(chan string, 100)
	notifications.AddListener(postgres.Listener{Channel: "parapet_decisions", Missed: sync.OnceFunc(func() { close(ready) }), Handle: func(payload string) {
		select {
		case a.notified <- payload:
		default: // the test does not read them
		}
	}})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { notifications.Run(ctx) })
	w.t.Cleanup(func() { stop(); running.Wait() })
	<-ready
	return a
}

// waitForCalls waits until n wait-decision calls of the process have read an open request and wait.
func (a *otherProcess) waitForCalls(n int64) {
	a.t.Helper()
	pgtest.Eventually(a.t, time.Minute, fmt.Sprintf("%d calls of wait-decision wait", n), func() bool { return a.service.WaitDecisionCalls() == n })
}

// waitResult is the result of a wait-decision call and the time when it returned.
type waitResult struct {
	request *contract.DecisionRequest
	err     error
	at      time.Time
}

// startWait calls wait-decision in the background.
func (w *world) startWait(who *person, in fields) <-chan waitResult {
	answered := make(chan waitResult, 1)
	go func() {
		out, err := w.call(who, "wait-decision", in)
		request, _ := out.(*contract.DecisionRequest)
		answered <- waitResult{request, err, time.Now()}
	}()
	return answered
}

// receiveWithin receives the result of a wait, or fails the test after d.
func (w *world) receiveWithin(d time.Duration, answered <-chan waitResult) waitResult {
	w.t.Helper()
	select {
	case a := <-answered:
		return a
	case <-time.After(d):
		w.t.Fatalf("wait-decision: got no response, want one within %s", d)
		return waitResult{}
	}
}

func TestWaitDecision_WokenByAnswerInOtherProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	task := w.createTask(w.createProject("Apollo"), "Land")
	answering, waiting := w.startProcess(2), w.startProcess(2)
	for range 20 {
		waiting.waitForAnswer(answering, task)
	}
}

// waitForAnswer raises a decision request, waits for its answer in this process, and answers it in
// another. It returns the time from the end of answer-decision to the end of wait-decision.
func (a *otherProcess) waitForAnswer(answering *otherProcess, task *contract.Task) time.Duration {
	w := a.world
	w.t.Helper()
	request := w.createDecisionRequest(task, 0)
	answered := a.startWait(w.manager, decisionInput(task, request, fields{"timeoutSeconds": 55}))
	a.waitForCalls(1)
	do[contract.DecisionRequest](answering.world, w.manager, "answer-decision", decisionInput(task, request, fields{"answer": "yes"}))
	ended := time.Now()
	got := w.receiveWithin(30*time.Second, answered)
	if got.err != nil || got.request.Status != contract.DecisionAnswered || got.request.Answer != "yes" {
		w.t.Fatalf("wait-decision: got %+v, %v, want the answer yes", got.request, got.err)
	}
	return max(got.at.Sub(ended), 0)
}

// BenchmarkWaitDecision reports the time from an answer in one process until wait-decision returns in
// another.
func BenchmarkWaitDecision(b *testing.B) {
	w := newWorld(b)
	task := w.createTask(w.createProject("Apollo"), "Land")
	answering, waiting := w.startProcess(2), w.startProcess(2)
	var took []time.Duration
	for b.Loop() {
		took = append(took, waiting.waitForAnswer(answering, task))
	}
	slices.Sort(took)
	for _, percent := range []int{50, 99} {
		b.ReportMetric(took[len(took)*percent/100].Seconds()*1000, fmt.Sprintf("p%d-ms", percent))
	}
}

func TestWaitDecision_EndsOnAnswerTimeoutCancelAndShutdown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	task := w.createTask(p, "Land")
	process := w.startProcess(2)

	// Immediately, if the request is already answered.
	done := w.createDecisionRequest(task, 0)
	do[contract.DecisionRequest](w, w.manager, "answer-decision", decisionInput(task, done, fields{"answer": "yes"}))
	if a := w.receiveWithin(30*time.Second, process.startWait(w.manager, decisionInput(task, done, fields{"timeoutSeconds": 55}))); a.err != nil || a.request.Answer != "yes" {
		t.Errorf("wait-decision for an answered request: got %+v, want the answer yes immediately", a)
	}
	// After the timeout, with the open request.
	request := w.createDecisionRequest(task, 0)
	start := time.Now()
	if a := w.receiveWithin(30*time.Second, process.startWait(w.manager, decisionInput(task, request, fields{"timeoutSeconds": 1}))); a.err != nil || a.request.Status != contract.DecisionOpen || a.at.Sub(start) < time.Second {
		t.Errorf("wait-decision with a timeout of 1s: got %+v after %s, want the open request after the timeout", a, a.at.Sub(start))
	}
	// When the caller's context is cancelled.
	bound := process.operations["wait-decision"]
	ctx, cancel := context.WithCancel(w.requestContext(w.manager))
	result := make(chan error, 1)
	go func() {
		_, err := bound.Call(ctx, &contract.WaitDecisionIn{ProjectID: p.ID, Task: task.Key, RequestID: request, TimeoutSeconds: 55})
		result <- err
	}()
	process.waitForCalls(1)
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("wait-decision with a cancelled context: got %v, want context.Canceled", err)
	}
	// When the task is deleted: NOT_FOUND.
	answered := process.startWait(w.manager, decisionInput(task, request, fields{"timeoutSeconds": 55}))
	process.waitForCalls(1)
	do[op.None](w, w.manager, "delete-task", fields{"projectId": p.ID, "task": task.Key})
	if a := w.receiveWithin(30*time.Second, answered); !fault.HasCode(a.err, fault.CodeNotFound) {
		t.Errorf("wait-decision after the deletion of the task: got %+v, want NOT_FOUND", a)
	}
	// At shutdown, all waits end.
	other := w.createTask(p, "Other")
	request = w.createDecisionRequest(other, 0)
	var all []<-chan waitResult
	for range 20 {
		all = append(all, process.startWait(w.manager, decisionInput(other, request, fields{"timeoutSeconds": 55})))
	}
	process.waitForCalls(20)
	process.service.EndWaits()
	for _, answered := range append(all, process.startWait(w.manager, decisionInput(other, request, fields{"timeoutSeconds": 55}))) {
		if a := w.receiveWithin(30*time.Second, answered); a.err != nil || a.request.Status != contract.DecisionOpen {
			t.Errorf("wait-decision after EndWaits: got %+v, want the open request", a)
		}
	}
}

func TestWaitDecision_RequiresPermissionThroughoutTheWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, secret := w.createProject("Apollo"), w.createProject("Secret", fields{"classification": "SECRET"})
	task, hidden := w.createTask(p, "Land"), w.createTask(secret, "Launch")
	request, covert := w.createDecisionRequest(task, 0), w.createDecisionRequest(hidden, 0)
	at := fields{"timeoutSeconds": 55}
	member := w.addPerson(person{roles: []string{"Member"}})
	w.wantError(fault.CodeForbidden, w.addPerson(person{}), "wait-decision", decisionInput(task, request, at))
	w.wantError(fault.CodeNotFound, member, "wait-decision", decisionInput(hidden, covert, at))
	w.wantError(fault.CodeNotFound, member, "wait-decision", decisionInput(task, covert, at))
	w.wantError(fault.CodeNotFound, w.addPerson(person{tenant: w.globex, roles: []string{"Admin"}}), "wait-decision", decisionInput(task, request, at))
	w.wantError(fault.CodeValidation, member, "wait-decision", decisionInput(task, request, fields{"timeoutSeconds": 56}))

	// A caller who loses the permission while waiting gets an error at the next read.
	process := w.startProcess(2)
	answered := process.startWait(member, decisionInput(task, request, at))
	process.waitForCalls(1)
	w.exec(`UPDATE identity.memberships SET status = 'SUSPENDED' WHERE user_id = $1`, member.id)
	do[contract.DecisionRequest](w, w.manager, "answer-decision", decisionInput(task, request, fields{"answer": "yes"}))
	if a := w.receiveWithin(30*time.Second, answered); !fault.HasCode(a.err, fault.CodeForbidden) {
		t.Errorf("wait-decision after the suspension of the caller: got %+v, want FORBIDDEN", a)
	}
}

// TestWaitDecision_HoldsNoDatabaseConnection: 50 calls wait with a pool of one
// connection, and other operations still succeed.
func TestWaitDecision_HoldsNoDatabaseConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.createProject("Apollo")
	task := w.createTask(p, "Land")
	request := w.createDecisionRequest(task, 0)
	process := w.startProcess(1)
	var all []<-chan waitResult
	for range 50 {
		all = append(all, process.startWait(w.manager, decisionInput(task, request, fields{"timeoutSeconds": 55})))
	}
	process.waitForCalls(50)
	for i := range 5 {
		do[contract.Task](process.world, w.manager, "create-task", fields{"projectId": p.ID, "title": fmt.Sprint("Other ", i), "allowDuplicate": true})
	}
	do[contract.DecisionRequest](process.world, w.manager, "answer-decision", decisionInput(task, request, fields{"answer": "yes"}))
	for _, answered := range all {
		if a := w.receiveWithin(30*time.Second, answered); a.err != nil || a.request.Status != contract.DecisionAnswered {
			t.Errorf("wait-decision: got %+v, want the answered request", a)
		}
	}
}

// TestWaitDecision_ListenerReconnectsAndReadsMissedAnswer: the answer is stored
// while the listener is disconnected; the waiting call returns it after the reconnect.
func TestWaitDecision_ListenerReconnectsAndReadsMissedAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	task := w.createTask(w.createProject("Apollo"), "Land")
	request := w.createDecisionRequest(task, 0)
	process := w.startProcess(2)
	answered := process.startWait(w.manager, decisionInput(task, request, fields{"timeoutSeconds": 55}))
	process.waitForCalls(1)
	// Disabling the trigger simulates a lost notification.
	w.exec(`ALTER TABLE projects.decision_requests DISABLE TRIGGER decision_requests_notify`)
	do[contract.DecisionRequest](w, w.manager, "answer-decision", decisionInput(task, request, fields{"answer": "yes"}))
	// Notifications arrive in order: if this one is the first, there was none of the answer.
	const later = `{"request":"00000000-0000-0000-0000-000000000001"}`
	w.exec(`SELECT pg_notify('parapet_decisions', $1)`, later)
	select {
	case got := <-process.notified:
		if got != later {
			t.Fatalf("got the notification %s, want none of the answer", got)
		}
	case <-time.After(time.Minute):
		t.Fatal("the listener got no notification")
	}
	if n := process.service.WaitDecisionCalls(); n != 1 {
		t.Errorf("got %d calls that wait without a notification, want 1", n)
	}
	w.exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'parapet-notifications'`)
	if a := w.receiveWithin(30*time.Second, answered); a.err != nil || a.request.Answer != "yes" {
		t.Errorf("wait-decision after the listener reconnected: got %+v, want the answer yes", a)
	}
}

// TestWaitDecision_LimitsWaitsPerUser: the limit of one user does not affect other
// users, and a finished wait allows another one.
func TestWaitDecision_LimitsWaitsPerUser(t *testing.T) {
	t.Parallel()
	const limit, excess = 256, 3
	w := newWorld(t)
	task := w.createTask(w.createProject("Apollo"), "Land")
	request := w.createDecisionRequest(task, 0)
	a := w.startProcess(4)
	user, other := w.addPerson(person{roles: []string{"Member"}}), w.addPerson(person{roles: []string{"Member"}})
	in := decisionInput(task, request, fields{"timeoutSeconds": 55})
	answered := make(chan waitResult, limit+excess)
	for range limit + excess {
		go func() { answered <- a.receiveWithin(time.Minute, a.startWait(user, in)) }()
	}
	for range excess {
		got := a.receiveWithin(30*time.Second, answered)
		if f := fault.From(got.err); got.err == nil || f.Code != fault.CodeRateLimited || f.RetryAfter <= 0 {
			t.Fatalf("more than %d waits: got %+v, %v, want RATE_LIMITED with Retry-After", limit, got.request, got.err)
		}
	}
	others := a.startWait(other, in)
	do[contract.DecisionRequest](a.world, w.manager, "answer-decision", decisionInput(task, request, fields{"answer": "yes"}))
	if got := a.receiveWithin(30*time.Second, others); got.err != nil || got.request.Answer != "yes" {
		t.Errorf("wait-decision of another user: got %+v, %v; want the answer yes", got.request, got.err)
	}
	for range limit {
		if got := a.receiveWithin(30*time.Second, answered); got.err != nil || got.request.Answer != "yes" {
			t.Fatalf("wait-decision within the limit: got %+v, %v; want the answer yes", got.request, got.err)
		}
	}
	do[contract.DecisionRequest](a.world, user, "wait-decision", in)
}
