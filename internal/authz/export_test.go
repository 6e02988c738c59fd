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
