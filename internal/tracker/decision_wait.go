package tracker

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/principal"
)

// decisionChannel is where the database announces that an open decision request
// was answered, cancelled or deleted.
const decisionChannel = "parapet_decisions"

// waiters are the calls of this process that wait for a decision. A notice wakes
// those that wait for its request; they read it anew, so that a notice too many
// costs a read, and one too few, after which all are woken, costs its delay.
type waiters struct {
	mu         sync.Mutex
	wakeSignal map[op.UUID]map[chan struct{}]bool
	// waitersByUser is how many calls of each user wait.
	waitersByUser map[op.UUID]int
	// lookupSlots has room for those who look again at a time: of all whom one notice
	// wakes, no more are at the database than it can do with.
	lookupSlots chan struct{}
	// done is closed when nobody is to wait any longer.
	done chan struct{}
	sync sync.Once
}

const (
	// maxWaits is how many calls of one user wait in a process at a time.
	maxWaits = 256
	// parallelLookups is how many of those who were woken look at the database at once.
	parallelLookups = 4
	// waitRetryDelay is when a user with too many waits may ask again.
	waitRetryDelay = 5 * time.Second
)

func newWaiters() *waiters {
	return &waiters{
		wakeSignal: map[op.UUID]map[chan struct{}]bool{}, waitersByUser: map[op.UUID]int{}, lookupSlots: make(chan struct{}, parallelLookups), done: make(chan struct{}),
	}
}

// add gives the channel on which a waiter for the request is woken, and the
// function that takes it away; nil when so many of the user wait already that no
// other can.
func (w *waiters) add(user, request op.UUID) (<-chan struct{}, func()) {
	woken := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waitersByUser[user] >= maxWaits {
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

func wake(all map[chan struct{}]bool) {
	for woken := range all {
		select {
		case woken <- struct{}{}:
		default:
			// It is woken already and has not looked yet.
		}
	}
}

// wakeAll wakes everybody: notices may have been missed.
func (w *waiters) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, all := range w.wakeSignal {
		wake(all)
	}
}

// handleNotification wakes those whom a notice concerns; all, when it cannot be read.
func (w *waiters) handleNotification(payload string) {
	var notice struct {
		Request op.UUID `json:"request"`
	}
	if err := json.Unmarshal([]byte(payload), &notice); err != nil {
		w.wakeAll()
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	wake(w.wakeSignal[notice.Request])
}

// lookup calls f; when it is not the first lookup, in its turn.
func (w *waiters) lookup(ctx context.Context, again bool, f func() (any, error)) (any, error) {
	if !again {
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

// end lets everybody answer with what there is, now and from now on.
func (w *waiters) end() { w.sync.Do(func() { close(w.done) }) }

// EndWaits lets the calls that wait for a decision answer at once, with the
// request as it is. A process that is about to stop calls it, so that nobody's
// wait holds up the end.
func (s *Service) EndWaits() { s.decisionWaiters.end() }

// waitDecision binds the long poll. It is a read that is repeated after each
// notice: every look is a call of its own, with its tenant context and its
// decision, and between two looks nothing of the database is held.
func (s *Service) waitDecision() op.Bound {
	look := executor.Handle(s.executor, contract.WaitDecision, executor.Handler[contract.WaitDecisionIn, contract.DecisionRequest, taskRow]{
		Load: func(ctx context.Context, c *executor.Call, in *contract.WaitDecisionIn) (taskRow, authz.Resource, error) {
			return taskOf(ctx, c, in.ProjectID, in.Task, false)
		},
		Do: func(ctx context.Context, c *executor.Call, in *contract.WaitDecisionIn, task taskRow) (*contract.DecisionRequest, error) {
			row, err := loadDecision(ctx, c, decisionByIDSQL, &task, in.RequestID)
			if err != nil {
				return nil, err
			}
			return row.request(&task), nil
		},
	})
	return op.Bound{Operation: look.Operation, Call: func(ctx context.Context, in any) (any, error) {
		typed, ok := in.(*contract.WaitDecisionIn)
		if !ok {
			return nil, fmt.Errorf("tracker: %s was called with %T", look.Name, in)
		}
		who := principal.From(ctx)
		if who == nil {
			return nil, fault.Unauthorized()
		}
		// Listening comes before the first look: an answer in between wakes.
		woken, leave := s.decisionWaiters.add(who.UserID, typed.RequestID)
		if woken == nil {
			return nil, fault.RateLimited(waitRetryDelay)
		}
		defer leave()
		end := time.NewTimer(time.Duration(typed.TimeoutSeconds) * time.Second)
		defer end.Stop()
		for last, again := false, false; ; again = true {
			out, err := s.decisionWaiters.lookup(ctx, again, func() (any, error) { return look.Call(ctx, in) })
			request, ok := out.(*contract.DecisionRequest)
			if err != nil || last || !ok || request.Status != contract.DecisionOpen {
				return out, err
			}
			select {
			case <-woken:
			case <-end.C:
				last = true
			case <-s.decisionWaiters.done:
				return out, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}}
}

// listenForDecisions makes the waiters hear.
func (s *Service) listenForDecisions(n *postgres.Notifications) {
	n.On(postgres.Listener{Channel: decisionChannel, Missed: s.decisionWaiters.wakeAll, Handle: s.decisionWaiters.handleNotification})
}
