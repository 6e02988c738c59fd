package tracker

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/principal"
)

// decisionChannel is the PostgreSQL notification channel on which the database
// announces that an open decision request was answered, cancelled or deleted.
const decisionChannel = "parapet_decisions"

// waiters manages the calls of this process that wait for a decision. A notification
// wakes the calls that wait for its request, and they read the request again. An
// unnecessary notification therefore costs only one read. If notifications may have been
// missed, all calls are woken.
type waiters struct {
	mu sync.Mutex
	// wakeSignal holds the channels of the waiting calls by decision request.
	wakeSignal map[op.UUID]map[chan struct{}]bool
	// waitersByUser counts the waiting calls per user.
	waitersByUser map[op.UUID]int
	// lookupSlots is a semaphore that limits concurrent reads after a notification.
	lookupSlots chan struct{}
	// waiting counts the calls that have read an open request and wait to be woken.
	waiting atomic.Int64
	// done is closed to end all waits.
	done      chan struct{}
	closeOnce sync.Once
}

const (
	// maxWaitsPerUser is the maximum number of concurrently waiting calls of one user
	// per process.
	maxWaitsPerUser = 256
	// parallelLookups is the maximum number of woken calls that read the database
	// concurrently.
	parallelLookups = 4
	// waitRetryDelay is the Retry-After of a call that exceeds maxWaitsPerUser.
	waitRetryDelay = 5 * time.Second
)

func newWaiters() *waiters {
	return &waiters{
		wakeSignal: map[op.UUID]map[chan struct{}]bool{}, waitersByUser: map[op.UUID]int{}, lookupSlots: make(chan struct{}, parallelLookups), done: make(chan struct{}),
	}
}

// add registers a waiting call. It returns the channel that wakes the call and the
// function that unregisters it, or nil if the user already has maxWaitsPerUser
// waiting calls.
func (w *waiters) add(user, request op.UUID) (<-chan struct{}, func()) {
	woken := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waitersByUser[user] >= maxWaitsPerUser {
		return nil, nil
	}
	w.waitersByUser[user]++
	if w.wakeSignal[request] == nil {
		w.wakeSignal[request] = map[chan struct{}]bool{}
	}
	w.wakeSignal[request][woken] = true
	return woken, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.wakeSignal[request], woken)
		if w.waitersByUser[user]--; w.waitersByUser[user] == 0 {
			delete(w.waitersByUser, user)
		}
		if len(w.wakeSignal[request]) == 0 {
			delete(w.wakeSignal, request)
		}
	}
}

func wake(channels map[chan struct{}]bool) {
	for woken := range channels {
		select {
		case woken <- struct{}{}:
		default:
			// A wake-up is already pending.
		}
	}
}

// wakeAll wakes all waiting calls, because notifications may have been missed.
func (w *waiters) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, channels := range w.wakeSignal {
		wake(channels)
	}
}

// handleNotification wakes the calls that wait for the request in the payload, or all
// calls if the payload is invalid.
func (w *waiters) handleNotification(payload string) {
	var notification struct {
		Request op.UUID `json:"request"`
	}
	if err := json.Unmarshal([]byte(payload), &notification); err != nil {
		w.wakeAll()
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	wake(w.wakeSignal[notification.Request])
}

// lookup calls f, which reads the decision request. The first lookup of a waiting call
// runs immediately; a later one (isRetry) waits for a free slot.
func (w *waiters) lookup(ctx context.Context, isRetry bool, f func() (any, error)) (any, error) {
	if !isRetry {
		return f()
	}
	select {
	case w.lookupSlots <- struct{}{}:
		defer func() { <-w.lookupSlots }()
		return f()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// await blocks until the call is woken, timeout fires (timedOut), all waits end (ended) or
// ctx ends.
func (w *waiters) await(ctx context.Context, woken <-chan struct{}, timeout <-chan time.Time) (timedOut, ended bool, err error) {
	w.waiting.Add(1)
	defer w.waiting.Add(-1)
	select {
	case <-woken:
		return false, false, nil
	case <-timeout:
		return true, false, nil
	case <-w.done:
		return false, true, nil
	case <-ctx.Done():
		return false, false, ctx.Err()
	}
}

// endAll makes all current and future waiting calls return immediately.
func (w *waiters) endAll() { w.closeOnce.Do(func() { close(w.done) }) }

// EndWaits makes all calls that wait for a decision return the request as it is.
// Called at shutdown, so that waiting calls don't delay it.
func (s *Service) EndWaits() { s.decisionWaiters.endAll() }

// WaitDecisionCalls returns the number of wait-decision calls that wait for an answer.
func (s *Service) WaitDecisionCalls() int64 { return s.decisionWaiters.waiting.Load() }

// waitDecision binds the long poll of wait-decision. It reads the request again after
// each notification. Each read is a separate executor call with its own
// authorization and transaction; no database connection is held between reads.
func (s *Service) waitDecision() op.Bound {
	read := executor.Handle(s.executor, contract.WaitDecision, loadTaskToWaitForDecision, getDecision)
	return op.Bound{Operation: read.Operation, Call: func(ctx context.Context, in any) (any, error) {
		typed, ok := in.(*contract.WaitDecisionIn)
		if !ok {
			return nil, fmt.Errorf("tracker: %s was called with %T", read.Name, in)
		}
		caller := principal.FromContext(ctx)
		if caller == nil {
			return nil, fault.Unauthorized()
		}
		// Register before the first read, so that no answer is missed.
		woken, unregister := s.decisionWaiters.add(caller.UserID, typed.RequestID)
		if woken == nil {
			return nil, fault.RateLimited(waitRetryDelay)
		}
		defer unregister()
		timeout := time.NewTimer(time.Duration(typed.TimeoutSeconds) * time.Second)
		defer timeout.Stop()
		for timedOut, isRetry := false, false; ; isRetry = true {
			out, err := s.decisionWaiters.lookup(ctx, isRetry, func() (any, error) { return read.Call(ctx, in) })
			request, ok := out.(*contract.DecisionRequest)
			if err != nil || timedOut || !ok || request.Status != contract.DecisionOpen {
				return out, err
			}
			var ended bool
			switch timedOut, ended, err = s.decisionWaiters.await(ctx, woken, timeout.C); {
			case err != nil:
				return nil, err
			case ended:
				return out, nil
			}
		}
	}}
}

func loadTaskToWaitForDecision(ctx context.Context, c *executor.Call, in *contract.WaitDecisionIn) (taskRow, authz.Resource, error) {
	return loadTaskResource(ctx, c, in.ProjectID, in.Task, false)
}

func getDecision(ctx context.Context, c *executor.Call, in *contract.WaitDecisionIn, task taskRow) (*contract.DecisionRequest, error) {
	row, err := loadDecision(ctx, c, decisionByIDSQL, &task, in.RequestID)
	if err != nil {
		return nil, err
	}
	return row.toDecisionRequest(&task), nil
}

// listenForDecisions subscribes the waiting calls to the database's notifications.
func (s *Service) listenForDecisions(n *postgres.Notifications) {
	n.AddListener(postgres.Listener{Channel: decisionChannel, Missed: s.decisionWaiters.wakeAll, Handle: s.decisionWaiters.handleNotification})
}
