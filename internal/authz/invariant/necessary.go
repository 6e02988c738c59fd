package invariant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Kind is the kind of a Condition.
type Kind int

// The kinds of conditions. AllOf, AnyOf and Not combine others.
const (
	True Kind = iota
	False
	AllOf
	AnyOf
	Not
	// Equal compares Left with Right, Member looks for Left in Right.
	Equal
	Member
	// IsText tests whether Left is a string, Truthy whether it is neither undefined nor
	// false.
	IsText
	Truthy
)

// Condition is a boolean expression over an actor and a record.
type Condition struct {
	Kind        Kind
	Kids        []Condition
	Left, Right Operand
}

// Operand is a path into the actor ("grants/tasks.read/tenant"), an attribute of the record
// ("tenant"), or a value.
type Operand struct {
	Actor  string
	Record string
	Value  ast.Value
}

func (o Operand) String() string {
	switch {
	case o.Actor != "":
		return "actor/" + o.Actor
	case o.Record != "":
		return "resource/" + o.Record
	}
	return fmt.Sprint(o.Value)
}

// truth is the known value of a leaf condition.
type truth int

const (
	unknown truth = iota
	never
	always
)

// canBeTrue reports whether the condition can be true, given the known values of its leaves,
// and returns an example.
func (k Condition) canBeTrue(leaf func(Condition) truth) (example []string, ok bool) {
	switch k.Kind {
	case True:
		return nil, true
	case False:
		return nil, false
	case AllOf:
		for _, kid := range k.Kids {
			w, ok := kid.canBeTrue(leaf)
			if !ok {
				return nil, false
			}
			example = append(example, w...)
		}
		return example, true
	case AnyOf:
		for _, kid := range k.Kids {
			if w, ok := kid.canBeTrue(leaf); ok {
				return w, true
			}
		}
		return nil, false
	case Not:
		if k.Kids[0].isAlwaysTrue(leaf) {
			return nil, false
		}
		return []string{"not " + k.Kids[0].String()}, true
	}
	if leaf(k) == never {
		return nil, false
	}
	return []string{k.String()}, true
}

// isAlwaysTrue reports whether the condition is true for all values of the unknown leaves.
func (k Condition) isAlwaysTrue(leaf func(Condition) truth) bool {
	switch k.Kind {
	case True:
		return true
	case False:
		return false
	case AllOf:
		return !slices.ContainsFunc(k.Kids, func(kid Condition) bool { return !kid.isAlwaysTrue(leaf) })
	case AnyOf:
		return slices.ContainsFunc(k.Kids, func(kid Condition) bool { return kid.isAlwaysTrue(leaf) })
	case Not:
		_, can := k.Kids[0].canBeTrue(leaf)
		return !can
	}
	return leaf(k) == always
}

func (k Condition) String() string {
	switch k.Kind {
	case True:
		return "true"
	case False:
		return "false"
	case Equal:
		return k.Left.String() + " == " + k.Right.String()
	case Member:
		return k.Left.String() + " in " + k.Right.String()
	case IsText:
		return "is_string(" + k.Left.String() + ")"
	case Truthy:
		return k.Left.String()
	}
	kids := make([]string, len(k.Kids))
	for i, kid := range k.Kids {
		kids[i] = kid.String()
	}
	switch k.Kind {
	case Not:
		return "not (" + kids[0] + ")"
	case AnyOf:
		return "(" + strings.Join(kids, " or ") + ")"
	}
	return "(" + strings.Join(kids, " and ") + ")"
}

// necessaryCondition is a condition without which parapet/access/allow must not allow.
type necessaryCondition struct {
	name string
	// applies selects the permissions that need the condition.
	applies func(Permission) bool
	// leaf returns the known value of a leaf if the necessary condition is false.
	leaf func(Permission, Condition) truth
}

func anyPermission(Permission) bool { return true }

func notAudit(p Permission) bool { return !p.audit() }

func necessaryConditions() []necessaryCondition {
	return []necessaryCondition{
		{"the record's tenant is the actor's", anyPermission, func(_ Permission, k Condition) truth {
			return neverIf(k.Kind == Equal && k.Left.Record == "tenant" && k.Right.Actor == "tenant")
		}},
		{"the caveats allow the effect", anyPermission, func(p Permission, k Condition) truth {
			return neverIf(k.Kind == Member && k.Right.Actor == "effects" && isValue(k.Left, p.Effect))
		}},
		{"the caveats allow the module", anyPermission, func(p Permission, k Condition) truth {
			return neverIf(k.Kind == Member && k.Right.Actor == "modules" && isValue(k.Left, p.Module))
		}},
		{"the caveats allow the project", anyPermission, func(_ Permission, k Condition) truth {
			return neverIf(readsActorPath(k, "all_projects") || k.Right.Actor == "projects" || k.Right.Actor == "initiatives")
		}},
		{"the clearance covers a SECRET record", notAudit, secretRecord},
		{"audit.read.classified is held for a SECRET record", Permission.audit, func(p Permission, k Condition) truth {
			if readsActorPath(k, "audit/classified") {
				return never
			}
			return secretRecord(p, k)
		}},
		{"a role grants the permission", notAudit, func(_ Permission, k Condition) truth { return neverIf(readsActorPath(k, "grants")) }},
		{"a role grants an audit.read.* permission", Permission.audit, func(_ Permission, k Condition) truth {
			return neverIf(readsActorPath(k, "audit") || readsActorPath(k, "grants"))
		}},
		{"the tenant is a programme office", func(p Permission) bool { return slices.Contains(platformPermissions, p.Name) }, func(_ Permission, k Condition) truth {
			return neverIf(k.Kind == Equal && (k.Left.Actor == "tenant_type" || k.Right.Actor == "tenant_type"))
		}},
	}
}

func neverIf(b bool) truth {
	if b {
		return never
	}
	return unknown
}

func isValue(o Operand, text string) bool {
	s, ok := o.Value.(ast.String)
	return ok && string(s) == text
}

// readsActorPath reports whether the condition reads this part of the actor.
func readsActorPath(k Condition, path string) bool {
	return slices.ContainsFunc([]string{k.Left.Actor, k.Right.Actor}, func(p string) bool { return p == path || strings.HasPrefix(p, path+"/") })
}

// secretRecord returns the known values of leaves if the record is SECRET and the actor's
// clearance is lower.
func secretRecord(_ Permission, k Condition) truth {
	if k.Left.Record != "classification" {
		return unknown
	}
	var holds bool
	switch {
	case k.Kind == IsText:
		holds = true
	case k.Kind == Equal && k.Right.Value != nil:
		holds = isValue(k.Right, "SECRET")
	case k.Kind == Member && k.Right.Value != nil:
		holds = contains(k.Right.Value, "SECRET")
	case k.Right.Actor == "readable":
		holds = false
	default:
		return unknown
	}
	if holds {
		return always
	}
	return never
}

func contains(value ast.Value, text string) bool {
	found := false
	look := func(t *ast.Term) {
		if s, ok := t.Value.(ast.String); ok && string(s) == text {
			found = true
		}
	}
	switch value := value.(type) {
	case *ast.Array:
		value.Foreach(look)
	case ast.Set:
		value.Foreach(look)
	case ast.Object:
		value.Foreach(func(_, t *ast.Term) { look(t) })
	}
	return found
}

func checkNecessary(c *checker) {
	for _, p := range c.permissions {
		for _, effect := range effects() {
			if c.err != nil {
				return
			}
			p.Effect = effect
			residual, err := c.set.Residual(c.ctx, p.Name, effect, p.Module)
			if err != nil {
				c.err = fmt.Errorf("invariant %s: %s: %w", c.current.Name, p.Name, err)
				return
			}
			for _, n := range necessaryConditions() {
				c.decisions++
				if !n.applies(p) {
					continue
				}
				if example, ok := residual.canBeTrue(func(k Condition) truth { return n.leaf(p, k) }); ok && c.err == nil {
					c.err = &Violation{
						Invariant: c.current, Entrypoint: entryAllow, Problem: fmt.Sprintf("allows %s (%s) without the condition that %s, if", p.Name, effect, n.name),
						Counterexample: strings.Join(example, " and "),
					}
				}
			}
		}
	}
}
