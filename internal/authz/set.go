package authz

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
)

// The entry points that the engine evaluates by name.
const (
	entryAllow   = "parapet/access/allow"
	entryBehalf  = "parapet/access/behalf"
	entryDenial  = "parapet/access/denial"
	entrySubject = "parapet/subject/subject"
)

// set is one compiled and prepared revision of the policies. It is immutable.
type set struct {
	revision  string
	store     storage.Store
	txn       storage.Transaction
	compiler  *ast.Compiler
	allow     *rego.PreparedEvalQuery
	behalf    *rego.PreparedEvalQuery
	denial    *rego.PreparedEvalQuery
	subject   *rego.PreparedEvalQuery
	queries   map[string]*rego.PreparedEvalQuery
	templates map[string]*node
	// partial is the prepared partial evaluation of parapet.access.allow.
	partial *rego.PreparedPartialQuery
	// plans caches the templates for the columns of queries, by filterKey.
	plans     sync.Map
	planCount atomic.Int64
	catalogue *Catalogue
	tiers     map[string]struct{}
	// terms caches the terms of permission and module names.
	terms map[string]*ast.Term
}

// newSet compiles the policies and prepares all queries and filters.
func newSet(ctx context.Context, f *files) (*set, error) {
	compiler, err := f.compile()
	if err != nil {
		return nil, err
	}
	s := &set{
		revision: f.revision,
		compiler: compiler,
		store: inmem.NewFromObjectWithOpts(f.data,
			inmem.OptRoundTripOnWrite(false), inmem.OptReturnASTValuesOnRead(true)),
		queries: map[string]*rego.PreparedEvalQuery{},
	}
	// All evaluations share one read transaction, because the store is never written.
	if s.txn, err = s.store.NewTransaction(ctx); err != nil {
		return nil, fmt.Errorf("authz: %w", err)
	}
	if s.catalogue, err = readCatalogue(f.data); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	s.intern()
	if err := s.prepareTemplates(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// prepare prepares a query for every rule with the annotation entrypoint.
func (s *set) prepare(ctx context.Context) error {
	for _, entry := range s.entrypoints() {
		query, err := rego.New(
			rego.Compiler(s.compiler),
			rego.Store(s.store),
			rego.Transaction(s.txn),
			rego.ParsedQuery(ast.NewBody(ast.NewExpr(ast.NewTerm(entryRef(entry))))),
			rego.StrictBuiltinErrors(true),
			rego.GenerateJSON(func(term *ast.Term, _ *rego.EvalContext) (any, error) { return term.Value, nil }),
		).PrepareForEval(ctx)
		if err != nil {
			return fmt.Errorf("authz: prepare %s: %w", entry, err)
		}
		s.queries[entry] = &query
	}
	for entry, field := range map[string]**rego.PreparedEvalQuery{
		entryAllow: &s.allow, entryBehalf: &s.behalf, entryDenial: &s.denial, entrySubject: &s.subject,
	} {
		if *field = s.queries[entry]; *field == nil {
			return fmt.Errorf("authz: there is no entry point %s", entry)
		}
	}
	return nil
}

func (s *set) entrypoints() []string {
	var entries []string
	for _, annotated := range s.compiler.GetAnnotationSet().Flatten() {
		if a := annotated.Annotations; a != nil && a.Entrypoint {
			parts := make([]string, 0, len(annotated.Path)-1)
			for _, term := range annotated.Path[1:] {
				if text, ok := term.Value.(ast.String); ok {
					parts = append(parts, string(text))
				}
			}
			entries = append(entries, strings.Join(parts, "/"))
		}
	}
	sort.Strings(entries)
	return entries
}

func entryRef(entry string) ast.Ref {
	ref := ast.Ref{ast.DefaultRootDocument}
	for _, part := range strings.Split(entry, "/") {
		ref = append(ref, ast.StringTerm(part))
	}
	return ref
}

func (s *set) intern() {
	s.terms = map[string]*ast.Term{}
	for _, p := range s.catalogue.Permissions {
		s.terms[p.Name] = ast.StringTerm(p.Name)
		s.terms[p.Module] = ast.StringTerm(p.Module)
	}
	for _, name := range s.catalogue.Modules {
		s.terms[name] = ast.StringTerm(name)
	}
	for name := range s.catalogue.AuditScopes {
		s.terms[name] = ast.StringTerm(name)
	}
	s.tiers = map[string]struct{}{}
	for _, tier := range s.catalogue.Tiers {
		s.terms[tier] = ast.StringTerm(tier)
		s.tiers[tier] = struct{}{}
	}
}

// term returns a term for the text, from the cache if it is a name in the policy data.
func (s *set) term(text string) *ast.Term {
	if t, ok := s.terms[text]; ok {
		return t
	}
	return ast.StringTerm(text)
}
