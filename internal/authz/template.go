package authz

import (
	"context"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
)

// node is a boolean expression over the actor and a row: what remains of the rule for a
// known permission (OPA's term: the residual of a partial evaluation). It is computed once
// per revision and permission, and bound to many actors.
type node struct {
	kind kind
	kids []*node
	// left and right are the operands of a comparison. The kinds isText and truthy have only
	// left.
	left, right operand
}

type kind int

const (
	isTrue kind = iota
	isFalse
	allOf
	anyOf
	isNotTrue
	equal
	memberOf
	isText
	truthy
)

// operand is one side of a comparison: a path into the actor, an attribute of the row, or a
// value.
type operand struct {
	actor ast.Ref
	row   string
	value ast.Value
}

func (o operand) isRow() bool { return o.row != "" }

// rowAttribute reports whether a filter may use the attribute.
func rowAttribute(name string) bool {
	switch name {
	case "id", "type", "tenant", "organisation", "project", "creator", "owner", "classification":
		return true
	}
	return false
}

const rowPrefix = "resource."

// prepareTemplates computes the residual for every permission of the catalogue and for
// audit.read. If one cannot be translated to SQL, the set is rejected.
func (s *set) prepareTemplates(ctx context.Context) error {
	query := ast.Equality.Expr(ast.NewTerm(entryRef(entryAllow)), ast.BooleanTerm(true))
	partial, err := rego.New(
		rego.Compiler(s.compiler),
		rego.Store(s.store),
		rego.Transaction(s.txn),
		rego.ParsedQuery(ast.NewBody(query)),
		rego.Unknowns([]string{"input.actor", "input.resource"}),
		rego.DisableInlining(s.helpers()),
		rego.StrictBuiltinErrors(true),
	).PrepareForPartial(ctx)
	if err != nil {
		return fmt.Errorf("authz: prepare the filters: %w", err)
	}
	s.partial = &partial
	s.templates = map[string]*node{}
	for _, p := range s.catalogue.Permissions {
		if err := s.prepareTemplate(ctx, p); err != nil {
			return err
		}
	}
	for name := range s.catalogue.AuditScopes {
		if s.templates[name] == nil || !s.catalogue.Knows(name) {
			if err := s.prepareTemplate(ctx, Permission{Name: name, Module: "audit", Effect: Read}); err != nil {
				return err
			}
		}
	}
	return nil
}

// helpers returns the rules that are not inlined into the residual. Inlining would multiply
// all their alternatives.
func (s *set) helpers() []string {
	var paths []string
	for _, module := range s.compiler.Modules {
		pkg := module.Package.Path.String()
		if pkg != "data.parapet.access" {
			continue
		}
		for _, rule := range module.Rules {
			if len(rule.Head.Args) == 0 && rule.Head.Name != "allow" {
				paths = append(paths, rule.Ref().String())
			}
		}
	}
	return paths
}

func (s *set) prepareTemplate(ctx context.Context, p Permission) error {
	tree, err := s.residual(ctx, p)
	if err == nil {
		s.templates[p.Name] = tree
	}
	return err
}

// residual returns what remains of the rule if permission, effect and module are known.
func (s *set) residual(ctx context.Context, p Permission) (*node, error) {
	input := newDocument()
	input.text("permission", p.Name)
	input.text("effect", string(p.Effect))
	input.text("module", p.Module)
	result, err := s.partial.Partial(ctx, rego.EvalParsedInput(input.Object), rego.EvalTransaction(s.txn))
	if err != nil {
		return nil, fmt.Errorf("authz: filter of %s: %w", p.Name, err)
	}
	t := translation{support: map[string][]*ast.Rule{}, active: map[string]bool{}}
	for _, module := range result.Support {
		for _, rule := range module.Rules {
			name := rule.Ref().GroundPrefix().String()
			t.support[name] = append(t.support[name], rule)
		}
	}
	tree, err := t.bodies(result.Queries)
	if err != nil {
		return nil, fmt.Errorf("authz: filter of %s: %w", p.Name, err)
	}
	return tree, nil
}

// translation translates residual Rego into a tree. It rejects everything that it does not
// know, because omitting a condition would allow too much.
type translation struct {
	// support contains the rules that partial evaluation created, by name.
	support map[string][]*ast.Rule
	// active contains the rules that are being translated, to detect recursion.
	active map[string]bool
}

// bodies returns the OR of the bodies. No body is false; an empty body is true.
func (t *translation) bodies(bodies []ast.Body) (*node, error) {
	n := &node{kind: anyOf}
	for _, body := range bodies {
		kid, err := t.body(body)
		if err != nil {
			return nil, err
		}
		n.kids = append(n.kids, kid)
	}
	return n.simplify(), nil
}

func (t *translation) body(body ast.Body) (*node, error) {
	n := &node{kind: allOf}
	for _, expr := range body {
		kid, err := t.expr(expr)
		if err != nil {
			return nil, err
		}
		n.kids = append(n.kids, kid)
	}
	return n.simplify(), nil
}

func (t *translation) expr(expr *ast.Expr) (*node, error) {
	if len(expr.With) > 0 {
		return nil, fmt.Errorf("%v: the keyword with cannot be translated to SQL", expr)
	}
	n, err := t.withoutNegation(expr)
	if err != nil {
		return nil, err
	}
	if expr.Negated {
		return (&node{kind: isNotTrue, kids: []*node{n}}).simplify(), nil
	}
	return n, nil
}

// withoutNegation translates an expression as if it were not negated.
func (t *translation) withoutNegation(expr *ast.Expr) (*node, error) {
	if term, ok := expr.Terms.(*ast.Term); ok {
		switch value := term.Value.(type) {
		case ast.Boolean:
			if value {
				return &node{kind: isTrue}, nil
			}
			return &node{kind: isFalse}, nil
		case ast.Ref:
			if rules, ok := t.support[value.String()]; ok {
				return t.rule(value.String(), rules)
			}
			left, err := t.operand(term)
			if err != nil {
				return nil, err
			}
			if left.isRow() {
				return nil, fmt.Errorf("%v: an attribute of a row is not a condition", expr)
			}
			return &node{kind: truthy, left: left}, nil
		}
	}
	if !expr.IsCall() {
		return nil, fmt.Errorf("%v cannot be translated to SQL", expr)
	}
	operands := make([]operand, 0, 2)
	for _, term := range expr.Operands() {
		o, err := t.operand(term)
		if err != nil {
			return nil, err
		}
		operands = append(operands, o)
	}
	operator := expr.Operator().String()
	n := &node{}
	switch {
	case len(operands) == 2 && (operator == ast.Equality.Name || operator == ast.Equal.Name):
		n.kind = equal
		if operands[1].isRow() {
			operands[0], operands[1] = operands[1], operands[0]
		}
		if operands[1].isRow() {
			return nil, fmt.Errorf("%v: a comparison of two attributes of a row cannot be translated to SQL", expr)
		}
	case len(operands) == 2 && operator == ast.Member.Name:
		n.kind = memberOf
		if operands[1].isRow() {
			return nil, fmt.Errorf("%v: an attribute of a row is not a collection", expr)
		}
	case len(operands) == 1 && operator == ast.IsString.Name:
		n.kind = isText
	default:
		return nil, fmt.Errorf("%v: %s cannot be translated to SQL", expr, operator)
	}
	n.left = operands[0]
	if len(operands) == 2 {
		n.right = operands[1]
	}
	return n, nil
}

// rule returns the OR of a support rule's bodies. The value of the rule must be true.
func (t *translation) rule(name string, rules []*ast.Rule) (*node, error) {
	if t.active[name] {
		return nil, fmt.Errorf("%s is recursive", name)
	}
	t.active[name] = true
	defer delete(t.active, name)
	var bodies []ast.Body
	for _, rule := range rules {
		if rule.Default {
			if !rule.Head.Value.Equal(ast.BooleanTerm(false)) {
				return nil, fmt.Errorf("%s: the default is not false", name)
			}
			continue
		}
		if rule.Else != nil || len(rule.Head.Args) > 0 || rule.Head.Key != nil || !rule.Head.Value.Equal(ast.BooleanTerm(true)) {
			return nil, fmt.Errorf("%v is not a simple condition", rule)
		}
		bodies = append(bodies, rule.Body)
	}
	return t.bodies(bodies)
}

func (t *translation) operand(term *ast.Term) (operand, error) {
	ref, ok := term.Value.(ast.Ref)
	if !ok {
		if !term.IsGround() {
			return operand{}, fmt.Errorf("%v: a variable cannot be translated to SQL", term)
		}
		return operand{value: term.Value}, nil
	}
	if !ref.IsGround() || len(ref) < 3 || !ref[0].Equal(ast.InputRootDocument) {
		return operand{}, fmt.Errorf("%v cannot be translated to SQL", ref)
	}
	switch head, _ := ref[1].Value.(ast.String); head {
	case "actor":
		return operand{actor: ref[2:]}, nil
	case "resource":
		name, _ := ref[2].Value.(ast.String)
		if len(ref) == 3 && rowAttribute(string(name)) {
			return operand{row: rowPrefix + string(name)}, nil
		}
	}
	return operand{}, fmt.Errorf("%v is not an attribute of a row", ref)
}

// simplify folds constants and removes ANDs and ORs with a single operand.
func (n *node) simplify() *node {
	neutral, absorbing := isTrue, isFalse
	switch n.kind {
	case anyOf:
		neutral, absorbing = isFalse, isTrue
	case isNotTrue:
		switch n.kids[0].kind {
		case isTrue:
			return &node{kind: isFalse}
		case isFalse:
			return &node{kind: isTrue}
		}
		return n
	}
	var kids []*node
	for _, kid := range n.kids {
		switch kid.kind {
		case absorbing:
			return &node{kind: absorbing}
		case neutral:
		default:
			kids = append(kids, kid)
		}
	}
	switch len(kids) {
	case 0:
		return &node{kind: neutral}
	case 1:
		return kids[0]
	}
	n.kids = kids
	return n
}
