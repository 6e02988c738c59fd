package authz

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"

	"parapet/internal/telemetry"
)

// failure is an evaluation without a result, with its reason code.
type failure struct {
	reason string
	cause  error
}

func (f *failure) Error() string {
	if f.cause == nil {
		return "authz: " + f.reason
	}
	return fmt.Sprintf("authz: %s: %v", f.reason, f.cause)
}

func (f *failure) Unwrap() error { return f.cause }

// slot contains the reusable parts of one evaluation: the options, and a timer that cancels
// the evaluation. The timer saves one goroutine per evaluation.
type slot struct {
	cancel  topdown.Cancel
	timer   *time.Timer
	options [4]rego.EvalOption
}

func newSlot(s *set, timeout time.Duration) *slot {
	sl := &slot{cancel: topdown.NewCancel()}
	sl.timer = time.AfterFunc(timeout, sl.cancel.Cancel)
	sl.options = [4]rego.EvalOption{
		1: rego.EvalExternalCancel(sl.cancel),
		2: rego.EvalMetrics(metrics.NoOp()),
		3: rego.EvalTransaction(s.txn),
	}
	return sl
}

// evaluator runs the prepared queries of one policy set, each with a timeout.
type evaluator struct {
	set     *set
	timeout time.Duration
	slots   sync.Pool
}

func (v *evaluator) acquireSlot() *slot {
	if sl, ok := v.slots.Get().(*slot); ok {
		sl.timer.Reset(v.timeout)
		return sl
	}
	return newSlot(v.set, v.timeout)
}

// releaseSlot reuses the slot unless its timer has fired: a triggered cancel cannot be
// reset.
func (v *evaluator) releaseSlot(sl *slot) {
	if sl.timer.Stop() {
		sl.options[0] = nil
		v.slots.Put(sl)
	}
}

// eval returns the single result of the query for the input.
func (v *evaluator) eval(ctx context.Context, query *rego.PreparedEvalQuery, input ast.Value) (ast.Value, *failure) {
	if err := ctx.Err(); err != nil {
		return nil, &failure{ReasonTimeout, err}
	}
	sl := v.acquireSlot()
	sl.options[0] = rego.EvalParsedInput(input)
	started := time.Now()
	results, err := query.Eval(ctx, sl.options[:]...)
	telemetry.AddDecisionTime(ctx, time.Since(started))
	v.releaseSlot(sl)
	switch {
	case err != nil && topdown.IsCancel(err):
		return nil, &failure{ReasonTimeout, err}
	case err != nil:
		return nil, &failure{ReasonError, err}
	case len(results) == 0:
		return nil, &failure{reason: ReasonUndefined}
	case len(results) != 1 || len(results[0].Expressions) != 1:
		return nil, &failure{ReasonType, errors.New("more than one result")}
	}
	value, ok := results[0].Expressions[0].Value.(ast.Value)
	if !ok {
		return nil, &failure{ReasonType, fmt.Errorf("a result of type %T", results[0].Expressions[0].Value)}
	}
	return value, nil
}
