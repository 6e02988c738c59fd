package authz

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"parapet/internal/clock"
)

// Engine decides. It is safe for concurrent use.
type Engine struct {
	current atomic.Pointer[evaluator]
	reload  sync.Mutex
	timeout time.Duration
	sink    DecisionSink
	clock   clock.Clock
	logger  *slog.Logger
	counts  counters
}

// New compiles the policies and prepares every query and filter.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	e := &Engine{timeout: cfg.Timeout, sink: cfg.Sink, clock: cfg.Clock, logger: cfg.Logger}
	if e.timeout <= 0 {
		e.timeout = DefaultTimeout
	}
	if e.clock == nil {
		e.clock = clock.System{}
	}
	if e.logger == nil {
		e.logger = slog.Default()
	}
	source := cfg.Source
	if source.Policies == nil {
		source = Embedded()
	}
	f, err := readPolicies(source.Policies)
	if err != nil {
		return nil, err
	}
	s, err := newSet(ctx, f)
	if err != nil {
		return nil, err
	}
	e.current.Store(&evaluator{set: s, timeout: e.timeout})
	return e, nil
}

// Reload builds a whole new set from the source, runs its tests, and only then
// puts it in the place of the present one. On any error the present set stays.
// A source without a test is refused: nothing speaks for it.
func (e *Engine) Reload(ctx context.Context, source Source) error {
	e.reload.Lock()
	defer e.reload.Unlock()
	s, err := e.build(ctx, source)
	if err != nil {
		e.counts.reloadFailures.Add(1)
		e.logger.ErrorContext(ctx, "policies refused, the present ones stay",
			"revision", e.Revision(), "error", err)
		return err
	}
	before := e.Revision()
	e.current.Store(&evaluator{set: s, timeout: e.timeout})
	e.counts.reloads.Add(1)
	e.logger.InfoContext(ctx, "policies loaded", "revision", s.revision, "before", before)
	return nil
}

func (e *Engine) build(ctx context.Context, source Source) (*set, error) {
	if source.Policies == nil || source.Tests == nil {
		return nil, fmt.Errorf("authz: a source needs policies and tests")
	}
	f, err := readPolicies(source.Policies)
	if err != nil {
		return nil, err
	}
	s, err := newSet(ctx, f)
	if err != nil {
		return nil, err
	}
	report, err := RunTests(ctx, source)
	if err != nil {
		return nil, err
	}
	if len(report.Failed) > 0 {
		return nil, fmt.Errorf("authz: %d policy tests failed, the first is %s", len(report.Failed), report.Failed[0])
	}
	if report.Passed == 0 {
		return nil, fmt.Errorf("authz: the source has no policy tests")
	}
	return s, nil
}

// Revision is the hash of the policies in use.
func (e *Engine) Revision() string { return e.current.Load().set.revision }

// Catalogue is the data of the policies in use. It is not to be changed.
func (e *Engine) Catalogue() *Catalogue { return e.current.Load().set.catalogue }

// EvalRaw evaluates an entrypoint such as "parapet/access/allow" with any JSON
// input, for differential tests. What gives no answer is an error; sets come
// back as sorted arrays.
func (e *Engine) EvalRaw(ctx context.Context, entrypoint string, input any) (any, error) {
	v := e.current.Load()
	query, ok := v.set.queries[entrypoint]
	if !ok {
		return nil, fmt.Errorf("authz: there is no entrypoint %s", entrypoint)
	}
	value, err := ast.InterfaceToValue(input)
	if err != nil {
		return nil, fmt.Errorf("authz: input: %w", err)
	}
	result, failed := v.eval(ctx, query, value)
	if failed != nil {
		return nil, failed
	}
	return ast.JSON(result)
}
