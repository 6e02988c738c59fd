package tracker

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/gate"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// decisionChannel is where the database announces that an open decision request
// was answered, cancelled or deleted.
const decisionChannel = "parapet_decisions"

// waiters are the calls of this process that wait for a decision. A notice wakes
// those that wait for its request; they read it anew, so that a notice too many
// costs a read, and one too few, after which all are woken, costs its delay.
type waiters struct {
	mu    sync.Mutex
	woken map[op.UUID]map[chan struct{}]bool
	// over is closed when nobody is to wait any longer.
	over chan struct{}
	once sync.Once
}

func newWaiters() *waiters {
	return &waiters{woken: map[op.UUID]map[chan struct{}]bool{}, over: make(chan struct{})}
}

// add gives the channel on which a waiter for the request is woken, and the
// function that takes it away.
func (w *waiters) add(request op.UUID) (<-chan struct{}, func()) {
	woken := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.woken[request] == nil {
		w.woken[request] = map[chan struct{}]bool{}
	}
	w.woken[request][woken] = true
	return woken, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.woken[request], woken)
		if len(w.woken[request]) == 0 {
			delete(w.woken, request)
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
	for _, all := range w.woken {
		wake(all)
	}
}

// hear wakes those whom a notice concerns; all, when it cannot be read.
func (w *waiters) hear(payload string) {
	var notice struct {
		Request op.UUID `json:"request"`
	}
	if err := json.Unmarshal([]byte(payload), &notice); err != nil {
		w.wakeAll()
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	wake(w.woken[notice.Request])
}

// end lets everybody answer with what there is, now and from now on.
func (w *waiters) end() { w.once.Do(func() { close(w.over) }) }

// EndWaits lets the calls that wait for a decision answer at once, with the
// request as it is. A process that is about to stop calls it, so that nobody's
// wait holds up the end.
func (s *Service) EndWaits() { s.waiting.end() }

// waitDecision binds the long poll. It is a read that is repeated after each
// notice: every look is a call of its own, with its tenant context and its
// decision, and between two looks nothing of the database is held.
func (s *Service) waitDecision() op.Bound {
	look := gate.Handle(s.gate, contract.WaitDecision, gate.Handler[contract.WaitDecisionIn, contract.DecisionRequest, taskRow]{
		Load: func(ctx context.Context, c *gate.Call, in *contract.WaitDecisionIn) (taskRow, authz.Resource, error) {
			return taskOf(ctx, c, in.ProjectID, in.Task, false)
		},
		Do: func(ctx context.Context, c *gate.Call, in *contract.WaitDecisionIn, task taskRow) (*contract.DecisionRequest, error) {
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
		// Listening comes before the first look: an answer in between wakes.
		woken, leave := s.waiting.add(typed.RequestID)
		defer leave()
		end := time.NewTimer(time.Duration(typed.TimeoutSeconds) * time.Second)
		defer end.Stop()
		for last := false; ; {
			out, err := look.Call(ctx, in)
			request, ok := out.(*contract.DecisionRequest)
			if err != nil || last || !ok || request.Status != contract.DecisionOpen {
				return out, err
			}
			select {
			case <-woken:
			case <-end.C:
				last = true
			case <-s.waiting.over:
				return out, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}}
}

// hearDecisions makes the waiters hear.
func (s *Service) hearDecisions(n *postgres.Notices) {
	n.On(postgres.Hearer{Channel: decisionChannel, Missed: s.waiting.wakeAll, Hear: s.waiting.hear})
}
