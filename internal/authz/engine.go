package authz

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"parapet/internal/authz/invariant"
	"parapet/internal/clock"
)

// Engine evaluates the policies. It is safe for concurrent use.
type Engine struct {
	current atomic.Pointer[evaluator]
	reload  sync.Mutex
	timeout time.Duration
	sink    DecisionSink
	clock   clock.Clock
	logger  *slog.Logger
	counts  counters

	publicKey string
	onReload  func(context.Context, ReloadOutcome) error
}

// New compiles the policies and prepares all queries and filters.
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
	e.publicKey, e.onReload = cfg.PublicKey, cfg.OnReload
	v, err := e.initialSet(ctx, cfg.Source)
	if err != nil {
		return nil, err
	}
	e.current.Store(v)
	return e, nil
}

// initialSet builds the policy set that the engine starts with. It checks a set from another
// source completely. It does not check the embedded policies: the tests of every build do,
// and a check at each start would take seconds.
func (e *Engine) initialSet(ctx context.Context, source Source) (*evaluator, error) {
	if source.Policies != nil {
		c, err := source.read()
		if err != nil {
			return nil, err
		}
		v, _, err := e.build(ctx, source, c)
		return v, err
	}
	s, err := embeddedSet()
	if err != nil {
		return nil, err
	}
	return &evaluator{set: s, timeout: e.timeout}, nil
}

// embeddedSet compiles the embedded policies once per process, because many tests start
// their own engine. Engines can share the result, because a set is immutable.
var embeddedSet = sync.OnceValues(func() (*set, error) {
	c, err := Embedded().read()
	if err != nil {
		return nil, err
	}
	return c.compile(context.Background())
})

func (e *Engine) compile(ctx context.Context, c *contents) (*evaluator, error) {
	s, err := c.compile(ctx)
	if err != nil {
		return nil, err
	}
	return &evaluator{set: s, timeout: e.timeout}, nil
}

// compile parses the files and prepares the set.
func (c *contents) compile(ctx context.Context) (*set, error) {
	f, err := c.parse()
	if err != nil {
		return nil, err
	}
	return newSet(ctx, f)
}

// Reload replaces the policy set. It verifies the signature if the engine has a public key,
// compiles the set, runs its tests and checks the invariants. On any error, the current set
// stays in use. Config.OnReload is called in both cases; if it fails, the new set is
// rejected.
func (e *Engine) Reload(ctx context.Context, source Source) error {
	e.reload.Lock()
	defer e.reload.Unlock()
	outcome := ReloadOutcome{Before: e.Revision()}
	v, err := e.buildReload(ctx, source, &outcome)
	outcome.Err = err
	if e.onReload != nil {
		if failed := e.onReload(ctx, outcome); failed != nil {
			err = errors.Join(err, fmt.Errorf("authz: record the reload: %w", failed))
		}
	}
	if err != nil {
		e.counts.reloadFailures.Add(1)
		e.logger.ErrorContext(ctx, "policies rejected, the previous ones stay in use",
			"revision", outcome.Before, "rejected", outcome.After, "error", err)
		return err
	}
	e.current.Store(v)
	e.counts.reloads.Add(1)
	e.logger.InfoContext(ctx, "policies loaded", "revision", outcome.After, "before", outcome.Before)
	return nil
}

// ReloadOutcome is the outcome of a reload.
type ReloadOutcome struct {
	// Before is the revision in use. After is the revision of the new set, empty if the set
	// could not be read.
	Before, After string
	// Signer is the name of the key that signed the set, if a signature is required.
	Signer string
	// Err says why the set was rejected. It is nil if the set is accepted.
	Err error
}

// Invariant returns the name of the invariant that the rejected set breaks, or "".
func (o ReloadOutcome) Invariant() string {
	var violation *invariant.Violation
	if errors.As(o.Err, &violation) {
		return violation.Invariant.Name
	}
	return ""
}

// buildReload builds the new set of a reload, and sets the revision and the signer in the
// outcome.
func (e *Engine) buildReload(ctx context.Context, source Source, outcome *ReloadOutcome) (*evaluator, error) {
	c, err := source.read()
	if err != nil {
		return nil, err
	}
	outcome.After = c.revision()
	v, signer, err := e.build(ctx, source, c)
	outcome.Signer = signer
	return v, err
}

// build verifies, compiles and checks a set. A set without tests is rejected.
func (e *Engine) build(ctx context.Context, source Source, c *contents) (v *evaluator, signer string, err error) {
	if e.publicKey != "" {
		if signer, err = c.verify(source.Signature, e.publicKey); err != nil {
			return nil, "", err
		}
	}
	if len(c.tests) == 0 {
		return nil, signer, errors.New("authz: the source must contain policies and tests")
	}
	if v, err = e.compile(ctx, c); err != nil {
		return nil, signer, err
	}
	report, err := c.runTests(ctx)
	switch {
	case err != nil:
		return nil, signer, err
	case len(report.Failed) > 0:
		return nil, signer, fmt.Errorf("authz: %d policy tests failed, first: %s", len(report.Failed), report.Failed[0])
	case report.Passed == 0:
		return nil, signer, errors.New("authz: the source has no policy tests")
	}
	// The invariants come last, because they take longer than the tests.
	if _, err = v.checkInvariants(ctx); err != nil {
		return nil, signer, err
	}
	return v, signer, nil
}

// Revision returns the hash of the policies in use.
func (e *Engine) Revision() string { return e.current.Load().set.revision }

// Catalogue returns the data of the policies in use. Callers must not modify it.
func (e *Engine) Catalogue() *Catalogue { return e.current.Load().set.catalogue }

// EvalRaw evaluates an entry point such as "parapet/access/allow" with any JSON input, for
// differential tests. It returns an error if there is no result. Sets become sorted arrays.
func (e *Engine) EvalRaw(ctx context.Context, entrypoint string, input any) (any, error) {
	v := e.current.Load()
	query, ok := v.set.queries[entrypoint]
	if !ok {
		return nil, fmt.Errorf("authz: there is no entry point %s", entrypoint)
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
