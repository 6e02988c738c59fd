// Package invariant holds what every policy set must keep, whatever its rules,
// its data and its own tests say.
//
// A policy set can be replaced while a server runs. The tests that come with a set
// say what its author wanted; they do not protect against a wrong author. The
// invariants are part of the program instead. The engine checks them before it
// accepts a set, and rejects a set that breaks one, with the invariant's name and a
// minimal counterexample.
//
// The package guarantees:
//
//   - Inputs and expectations are in this package. Of the set's own data it reads
//     only what is itself under test: the catalogue and the default roles.
//   - Inputs are generated from fixed lists, without chance: the same set always
//     gets the same answer.
//   - Decisions are evaluated through the set's entry points, from a caller's token
//     and stored grants to the decision, as the engine does it.
//   - What the rule about one record needs at least (the tenant, the effect, the
//     module, the clearance, a grant) is also proved on the residual of its partial
//     evaluation, which covers every value of every field.
package invariant

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Set is a compiled policy set.
type Set interface {
	// Entrypoints lists the rules that can be evaluated, such as "parapet/access/allow".
	Entrypoints() []string
	// Eval evaluates an entry point; nil is undefined, and false an evaluation that fails
	// on the input. The engine denies both.
	Eval(ctx context.Context, entrypoint string, input ast.Value) (ast.Value, error)
	// Permissions is the set's catalogue.
	Permissions() []Permission
	// DefaultRoles gives the permissions of each default role.
	DefaultRoles() map[string][]string
	// Ladder is the set's tiers, lowest first.
	Ladder() []string
	// Admits tells whether the list filter of the permission passes a row with these
	// attributes for the actor, which is a result of parapet/subject/subject. An
	// attribute that is not there is NULL.
	Admits(permission string, actor ast.Value, row map[string]string) (bool, error)
	// Residual is what is left of parapet/access/allow when permission, effect and
	// module are known and the actor and the record are not.
	Residual(ctx context.Context, permission, effect, module string) (Condition, error)
}

// Permission is an entry of the catalogue.
type Permission struct {
	Name     string
	Module   string
	Effect   string
	Platform bool
}

// Invariant is a rule that every policy set must keep.
type Invariant struct {
	// Name identifies the invariant in errors, logs and audit entries.
	Name string
	// Sentence says what the invariant demands.
	Sentence string
	check    func(*checker)
}

// Violation is a case in which a set breaks an invariant.
type Violation struct {
	Invariant Invariant
	// Entrypoint is the rule that gave the wrong answer.
	Entrypoint string
	// Counterexample is the smallest input found that still gets it, as JSON; or a
	// sentence where the fault is in the data.
	Counterexample string
	// Problem says what the answer was.
	Problem string
}

// Error names the invariant and shows the counterexample.
func (v *Violation) Error() string {
	return fmt.Sprintf("invariant %s is broken (%s): %s %s: %s", v.Invariant.Name, v.Invariant.Sentence, v.Entrypoint, v.Problem, v.Counterexample)
}

// Report says how much was checked.
type Report struct {
	// Decisions counts the evaluated inputs.
	Decisions int
}

// Check checks every invariant and returns the first violation as a *Violation, or the
// error that stopped an evaluation.
func Check(ctx context.Context, set Set) (Report, error) {
	var whole Report
	for _, i := range All() {
		report, err := i.Check(ctx, set)
		whole.Decisions += report.Decisions
		if err != nil {
			return whole, err
		}
	}
	return whole, nil
}

// Check checks this invariant alone.
func (i Invariant) Check(ctx context.Context, set Set) (Report, error) {
	c := newChecker(ctx, set)
	c.current = i
	i.check(c)
	return Report{c.decisions}, c.err
}

// Denied lists the entry points that deny even the questions which the invariants take
// for allowed and then spoil. Such an invariant would hold for want of any allow: a test
// of the embedded policies expects none.
func Denied(ctx context.Context, set Set) ([]string, error) {
	c := newChecker(ctx, set)
	cl := c.able()
	var out []string
	questions := append(append(allowedVerdicts(cl), c.administration(cl)...),
		access(c.powerful(), Permission{Name: "task.delete", Module: "tracker", Effect: "write"}, ownRecord()),
		access(c.delegated(delegation(c, "tenant")), Permission{Name: "task.delete", Module: "tracker", Effect: "write"}, record()),
		question{cl, giveWork, object{"resource": record(), "candidate": candidate("HUMAN")}},
		question{entry: startRun, request: object{"resource": record(), "candidate": candidate("AGENT")}},
		question{cl, listKeys, object{"service_owned": false}},
		question{entry: "parapet/profiles/validate", request: object{"target": wikiSync()}},
		question{entry: "parapet/actas/verdict", request: object{
			"token_kind": "session", "token_tenant": tenantA, "principal_kind": "HUMAN", "module": "tracker", "header": true, "target": tenantB,
		}},
	)
	for _, q := range questions {
		if c.problem(q) == "" {
			out = append(out, q.String())
		}
	}
	return out, c.err
}

// All lists the invariants, in the order in which they are checked.
func All() []Invariant {
	return []Invariant{
		{"ladder", "The five tiers keep their order: UNCLASSIFIED, INTERNAL, RESTRICTED, CONFIDENTIAL, SECRET.", checkLadder},
		{"catalogue-effects", "A permission whose name does not say that it reads is a write.", checkCatalogueEffects},
		{"platform-permissions", "The permissions that administer tenants are marked as platform permissions.", checkPlatformMarks},
		{"boolean", "A decision is a boolean and a verdict is an object with a boolean allow; anything else, and any incomplete input, does not allow.", checkBoolean},
		{"tenant", "Nothing of another tenant, or of no tenant, is allowed.", checkTenant},
		{"act-as", "A token of one tenant brings no roles into another, and service principals and internal tokens stay in their tenant.", checkActAs},
		{"clearance", "Nothing above the caller's clearance is allowed.", checkClearance},
		{"audit-clearance", "Without audit.read.classified, an audit entry is readable only if it is unclassified.", checkAuditClearance},
		{"subject", "A missing, empty or malformed subject is allowed nothing.", checkSubject},
		{"input", "A request with a missing or wrong-typed field is not allowed.", checkInput},
		{"grant", "A caller is allowed nothing that no role grants it where the record lies.", checkGrant},
		{"hidden", "The denial of a record in another tenant or above the caller's clearance does not reveal that the record exists.", checkHidden},
		{"unknown-caveat", "A caveat that is not known allows nothing.", checkUnknownCaveat},
		{"caveat", "A caveat narrows: read-only to reads, project to one project, module to one module.", checkCaveat},
		{"platform", "A platform permission is worth nothing outside a programme office.", checkPlatform},
		{"guest", "The default role Guest Customer only reads and manages its own API keys.", checkGuest},
		{"auditor", "The default role Auditor only reads and manages its own API keys.", checkAuditor},
		{"powerless-role", "The default role PLATFORM_ADMIN grants nothing.", checkPowerlessRole},
		{"profile", "A service principal is exactly its registered profile, and the default roles of the profiles grant no more.", checkProfile},
		{"service-key", "A key for a service principal needs a person's session (or key, to list and revoke), api_key.issue_for_service on record, and an active service principal of the same tenant.", checkServiceKey},
		{"personal-key", "A personal key is issued by session, to people and agents, with api_key.issue, and is listed and revoked by its owner only.", checkPersonalKey},
		{"key-lifetime", "A service principal's key lives at most 90 days, any other at most 365 and at most the operator's cap.", checkKeyLifetime},
		{"delegation", "A delegate is allowed only what the delegation names, the delegator holds now and both may read, in the delegation's scope.", checkDelegation},
		{"delegation-made", "A delegation is made between two active members of the tenant, for permissions that both the delegator and the caller hold.", checkDelegationMade},
		{"assignment", "Work is given only to active members of the tenant with clearance for it, never to guests or service principals.", checkAssignment},
		{"speaking-for-agent", "Nobody acts as an agent or ends another's work without tasks.update.any.", checkSpeaking},
		{"no-subject", "Without a subject no question about keys, accounts, authority, delegations or work is allowed.", checkNoSubject},
		{"giving", "Nobody gives a permission or a role that they do not hold there themselves.", checkGiving},
		{"giving-clearance", "Nobody gives a clearance above their own, or raises their own.", checkGivingClearance},
		{"account", "Nobody takes over or reactivates an account that holds more than they do, in any tenant, or one of another home tenant.", checkAccount},
		{"oneself", "Nobody suspends, removes or restores themselves, and every tenant keeps an administrator who can give roles.", checkOneself},
		{"role-names", "A role grants nothing by its name, and default and GLOBAL roles keep their names for themselves.", checkNames},
		{"filter", "A list filter passes no record that the decision denies.", checkFilter},
		{"necessary-conditions", "For every value of every field, an allow needs the same tenant, the effect, the module, a project within the caveats, clearance, and a grant.", checkNecessary},
	}
}

// checker runs invariants against one set and stops at the first violation.
type checker struct {
	ctx       context.Context
	set       Set
	current   Invariant
	err       error
	decisions int
	// permissions are the names of the catalogue and those that this package knows.
	permissions []Permission
	// sample holds one permission of each kind.
	sample      []Permission
	entrypoints map[string]bool
}

func newChecker(ctx context.Context, set Set) *checker {
	c := &checker{ctx: ctx, set: set, entrypoints: map[string]bool{}}
	known := map[string]bool{}
	for _, p := range set.Permissions() {
		p.Effect = effectOf(p.Name)
		c.permissions = append(c.permissions, p)
		known[p.Name] = true
	}
	for _, p := range required() {
		if !known[p.Name] {
			c.permissions = append(c.permissions, p)
		}
	}
	kinds := map[string]bool{}
	for _, p := range append(required(), c.permissions...) {
		kind := fmt.Sprint(p.Module, p.Effect, p.Platform, p.audit(), strings.HasSuffix(p.Name, ".own"))
		if !kinds[kind] || slices.Contains(essential, p.Name) {
			kinds[kind] = true
			c.sample = append(c.sample, p)
		}
	}
	slices.SortFunc(c.sample, func(a, b Permission) int { return strings.Compare(a.Name, b.Name) })
	c.sample = slices.Compact(c.sample)
	for _, name := range set.Entrypoints() {
		c.entrypoints[name] = true
	}
	return c
}

// question is one evaluation: a caller, and the input of an entry point without the
// actor, which comes from the caller.
type question struct {
	caller  *caller
	entry   string
	request object
}

// deny reports a violation if the answer allows or is malformed. The fields named
// in keep are part of why the answer must be a denial: a counterexample has them.
func (c *checker) deny(q question, keep ...string) {
	if c.err != nil {
		return
	}
	c.decisions++
	if problem := c.problem(q); problem != "" && c.err == nil {
		c.violate(q, problem, keep)
	}
}

func (c *checker) violate(q question, problem string, keep []string) {
	q = c.shrink(q, keep)
	text := q.String()
	c.err = &Violation{Invariant: c.current, Entrypoint: q.entry, Problem: problem, Counterexample: text}
}

// faulty reports a violation in the set's data.
func (c *checker) faulty(where, sentence string) {
	if c.err == nil {
		c.err = &Violation{Invariant: c.current, Entrypoint: where, Problem: "is wrong", Counterexample: sentence}
	}
}

// problem says what is wrong with the answer, "" where it is a denial.
func (c *checker) problem(q question) string {
	value := c.eval(q.entry, c.input(q))
	if c.err != nil {
		return ""
	}
	switch allowed, ok := decision(q.entry, value); {
	case !ok:
		return fmt.Sprintf("answers %v, which is not a decision", value)
	case allowed:
		return "allows"
	}
	if q.entry != entryAllow || q.caller == nil || !q.caller.delegates() {
		return ""
	}
	value = c.eval(entryBehalf, c.input(q))
	if set, ok := value.(ast.Set); c.err == nil && (!ok || set.Len() > 0) {
		return fmt.Sprintf("allows on behalf of %v", value)
	}
	return ""
}

// decision reads an answer. Undefined denies, but for the rule about one record,
// which has a default.
func decision(entry string, value ast.Value) (allowed, ok bool) {
	switch value := value.(type) {
	case nil:
		return false, entry != entryAllow
	case ast.Boolean:
		return bool(value), true
	case ast.Object:
		if entry == entryAllow {
			return false, false
		}
		term := value.Get(ast.StringTerm("allow"))
		if term == nil {
			return false, !verdictEntries[entry]
		}
		b, ok := term.Value.(ast.Boolean)
		return bool(b), ok
	}
	return false, entry != entryAllow && !verdictEntries[entry]
}

func (c *checker) eval(entry string, input ast.Value) ast.Value {
	value, err := c.set.Eval(c.ctx, entry, input)
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("invariant %s: %s: %w", c.current.Name, entry, err)
	}
	return value
}

// input is the entry point's input document: the request, with the actor.
func (c *checker) input(q question) ast.Value {
	request := q.request
	if q.caller != nil {
		actor := q.caller.actor(c)
		if actor != nil {
			request = request.with("actor", actor)
		}
	}
	return toValue(request)
}

// String is the question as JSON.
func (q question) String() string {
	whole := object{"request": readable(q.request)}
	if q.caller != nil {
		whole["caller"] = q.caller.input
	}
	text, err := json.Marshal(whole)
	if err != nil {
		return fmt.Sprint(map[string]any(whole))
	}
	return string(text)
}

// readable is the document with the subjects in it as plain JSON.
func readable(value any) any {
	switch value := value.(type) {
	case object:
		out := object{}
		for key, inner := range value {
			out[key] = readable(inner)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, inner := range value {
			out[i] = readable(inner)
		}
		return out
	case ast.Value:
		if plain, err := ast.JSON(value); err == nil {
			return plain
		}
	}
	return value
}
