package authz

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"parapet/internal/authz/invariant"
)

// invariantSet implements invariant.Set for a compiled policy set.
type invariantSet struct{ *evaluator }

// checkInvariants checks the invariants. The error is a *invariant.Violation if the set
// breaks one.
func (v *evaluator) checkInvariants(ctx context.Context) (invariant.Report, error) {
	report, err := invariant.Check(ctx, invariantSet{v})
	if err != nil {
		return report, fmt.Errorf("authz: %w", err)
	}
	return report, nil
}

// Entrypoints returns the names of the entry points, sorted.
func (c invariantSet) Entrypoints() []string { return slices.Sorted(maps.Keys(c.set.queries)) }

// Eval evaluates an entry point. It returns nil if the result is undefined, which the engine
// denies.
func (c invariantSet) Eval(ctx context.Context, entrypoint string, input ast.Value) (ast.Value, error) {
	query, ok := c.set.queries[entrypoint]
	if !ok {
		return nil, fmt.Errorf("there is no entry point %s", entrypoint)
	}
	value, failed := c.eval(ctx, query, input)
	switch {
	case failed == nil:
		return value, nil
	case failed.reason == ReasonUndefined:
		return nil, nil
	case errors.Is(failed, ErrTimeout) || failed.reason == ReasonType:
		return nil, failed
	}
	// A built-in function that fails denies, as in any decision.
	return ast.Boolean(false), nil
}

// Permissions returns the permissions of the catalogue.
func (c invariantSet) Permissions() []invariant.Permission {
	var out []invariant.Permission
	for _, p := range c.set.catalogue.Permissions {
		out = append(out, invariant.Permission{Name: p.Name, Module: p.Module, Effect: string(p.Effect), Platform: p.Platform})
	}
	return out
}

// DefaultRoles returns the permissions of each default role.
func (c invariantSet) DefaultRoles() map[string][]string {
	out := map[string][]string{}
	for _, r := range c.set.catalogue.Roles {
		out[r.Name] = r.Grants
	}
	return out
}

// Ladder returns the clearance tiers, lowest first.
func (c invariantSet) Ladder() []string { return c.set.catalogue.Tiers }

// Admits reports whether the filter of the permission includes the row. It binds the filter
// to literal values instead of columns, so it needs no database.
func (c invariantSet) Admits(permission string, actor ast.Value, row map[string]string) (bool, error) {
	template, ok := c.set.templates[permission]
	if !ok {
		return false, nil // Filter returns an error in this case
	}
	object, ok := actor.(ast.Object)
	if !ok {
		return false, fmt.Errorf("the subject is not an object: %v", actor)
	}
	columns := map[string]Column{}
	for name, value := range row {
		columns[rowPrefix+name] = Literal(value)
	}
	bound := template.plan(NewColumns(columns)).bind(newSubject(object, c.set.revision))
	if bound.verdict != isTrue && bound.verdict != isFalse {
		return false, fmt.Errorf("the filter of %s is undecided although all values are known: %s", permission, bound.named)
	}
	return bound.verdict == isTrue, nil
}

// Residual returns the residual of the rule parapet.access.allow.
func (c invariantSet) Residual(ctx context.Context, permission, effect, module string) (invariant.Condition, error) {
	tree, err := c.set.residual(ctx, Permission{Name: permission, Effect: Effect(effect), Module: module})
	if err != nil {
		return invariant.Condition{}, err
	}
	return condition(tree), nil
}

func condition(n *node) invariant.Condition {
	kinds := map[kind]invariant.Kind{
		isTrue: invariant.True, isFalse: invariant.False, allOf: invariant.AllOf, anyOf: invariant.AnyOf, isNotTrue: invariant.Not,
		equal: invariant.Equal, memberOf: invariant.Member, isText: invariant.IsText, truthy: invariant.Truthy,
	}
	out := invariant.Condition{Kind: kinds[n.kind], Left: operandOf(n.left), Right: operandOf(n.right)}
	for _, kid := range n.kids {
		out.Kids = append(out.Kids, condition(kid))
	}
	return out
}

func operandOf(o operand) invariant.Operand {
	path := make([]string, 0, len(o.actor))
	for _, term := range o.actor {
		if s, ok := term.Value.(ast.String); ok {
			path = append(path, string(s))
		} else {
			path = append(path, term.String())
		}
	}
	return invariant.Operand{Actor: strings.Join(path, "/"), Record: strings.TrimPrefix(o.row, rowPrefix), Value: o.value}
}
