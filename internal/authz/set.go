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

// The entrypoints that the engine asks by name.
const (
	entryAllow   = "parapet/access/allow"
	entryBehalf  = "parapet/access/behalf"
	entryDenial  = "parapet/access/denial"
	entrySubject = "parapet/subject/subject"
)

// set is one revision of the policies, compiled and prepared. It is immutable.
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
	// partial gives the residual of the rule about one record.
	partial *rego.PreparedPartialQuery
	// plans holds the templates laid out in the columns of queries, by filterKey.
	plans     sync.Map
	planCount atomic.Int64
	catalogue *Catalogue
	tiers     map[string]struct{}
	// terms holds the permission and module names as ready-made terms.
	terms map[string]*ast.Term
}

// newSet compiles and prepares everything, or says what is wrong.
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
	// One read transaction serves every evaluation: the store is never written.
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

// prepare makes a query of every rule that is annotated as an entrypoint.
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
			return fmt.Errorf("authz: there is no entrypoint %s", entry)
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

// term gives a text as a term; names of the policy data are ready-made.
func (s *set) term(text string) *ast.Term {
	if t, ok := s.terms[text]; ok {
		return t
	}
	return ast.StringTerm(text)
}
