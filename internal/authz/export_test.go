package authz

import (
	"context"
	"fmt"
	"time"

	"parapet/internal/authz/invariant"
)

// BindUncached binds a filter without the subject's cache, for the benchmark.
func BindUncached(e *Engine, permission string, actor *Subject, columns *Columns) Filter {
	p, _ := e.current.Load().set.plan(filterKey{permission, columns})
	return Filter{p.bind(actor)}
}

// NewUnchecked creates an engine without running the source's tests and the invariants, for
// tests with results that no accepted policy set returns.
func NewUnchecked(ctx context.Context, cfg Config) (*Engine, error) {
	source := cfg.Source
	cfg.Source = Source{}
	e, err := New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	c, err := source.read()
	if err != nil {
		return nil, err
	}
	v, err := e.compile(ctx, c)
	if err != nil {
		return nil, err
	}
	e.current.Store(v)
	return e, nil
}

// CheckInvariant compiles a source and checks the invariant with that name.
func CheckInvariant(ctx context.Context, source Source, name string) error {
	c, err := source.read()
	if err != nil {
		return err
	}
	e := &Engine{timeout: time.Minute}
	v, err := e.compile(ctx, c)
	if err != nil {
		return err
	}
	for _, i := range invariant.All() {
		if i.Name == name {
			_, err := i.Check(ctx, invariantSet{v})
			return err
		}
	}
	return fmt.Errorf("no invariant is named %s", name)
}

// HasSnapshot reports whether the subject has a snapshot for the decision log.
func HasSnapshot(s *Subject) bool { return s.snapshot != nil }

// TakeSnapshot creates the snapshot for the first record of a subject, for the benchmark.
func TakeSnapshot(in SubjectInput, s *Subject) error {
	_, err := newSubjectSnapshot(in.document(), s.term.Value)
	return err
}

// RevisionOf returns the revision of a source without checking it.
func RevisionOf(source Source) (string, error) {
	c, err := source.read()
	if err != nil {
		return "", err
	}
	return c.revision(), nil
}

// ReloadUnchecked replaces the policies without running tests or checking the
// invariants, for tests of what the replacement does to concurrent callers.
func (e *Engine) ReloadUnchecked(ctx context.Context, source Source) error {
	c, err := source.read()
	if err != nil {
		return err
	}
	v, err := e.compile(ctx, c)
	if err != nil {
		return err
	}
	e.current.Store(v)
	return nil
}
