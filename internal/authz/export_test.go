package authz

import (
	"context"
	"fmt"
	"time"

	"parapet/internal/authz/invariant"
)

// BindAnew binds a filter without looking for a kept one, for the benchmark.
func BindAnew(e *Engine, permission string, actor *Subject, columns *Columns) Filter {
	p, _ := e.current.Load().set.plan(filterKey{permission, columns})
	return Filter{p.bind(actor)}
}

// NewUnchecked makes an engine of a source without its tests and the invariants, for
// tests of what the engine does with answers that no accepted policy set gives.
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

// CheckInvariant compiles a source and checks the invariant of that name alone.
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
			_, err := i.Check(ctx, candidate{v})
			return err
		}
	}
	return fmt.Errorf("no invariant is named %s", name)
}

// HasSnapshot tells whether the subject can be put into the decision log.
func HasSnapshot(s *Subject) bool { return s.snapshot != nil }

// TakeSnapshot makes the snapshot that the first record of a subject needs, for the
// benchmark.
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
