// Package invariant checks properties that every policy set must have, regardless of its
// rules, its data and its own tests.
//
// A policy set can be replaced while a server runs. The tests of a set show what its author
// intended; they do not protect against a malicious author. The invariants are therefore
// part of the program. The engine checks them before it accepts a set. If a set breaks one,
// the engine rejects it with the name of the invariant and a minimal counterexample.
//
// The package guarantees:
//
//   - Inputs and expected decisions are in this package. Of the set's own data it reads only
//     the data under test: the catalogue and the default roles.
//   - Inputs are generated from fixed lists, without randomness: the result for a set is
//     always the same.
//   - Decisions are evaluated through the set's entry points, from a caller's token and
//     stored grants to the decision, as the engine does.
//   - The necessary conditions of an allow (tenant, effect, module, clearance and grant) are
//     also proved on the residual of the partial evaluation, for all values of all fields.
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
	// Entrypoints returns the names of the entry points, for example "parapet/access/allow".
	Entrypoints() []string
	// Eval evaluates an entry point. It returns nil if the result is undefined, and false if
	// the evaluation fails on the input. The engine denies both.
	Eval(ctx context.Context, entrypoint string, input ast.Value) (ast.Value, error)
	// Permissions returns the catalogue of the set.
	Permissions() []Permission
	// DefaultRoles returns the permissions of each default role.
	DefaultRoles() map[string][]string
	// Ladder returns the clearance tiers of the set, lowest first.
	Ladder() []string
	// Admits reports whether the list filter of the permission includes a row with these
	// attributes. The actor is a result of parapet/subject/subject. A missing attribute is
	// NULL.
	Admits(permission string, actor ast.Value, row map[string]string) (bool, error)
	// Residual returns what remains of parapet/access/allow if permission, effect and module
	// are known, and the actor and the record are not.
	Residual(ctx context.Context, permission, effect, module string) (Condition, error)
}

// Permission is an entry of the permission catalogue.
type Permission struct {
	Name     string
	Module   string
	Effect   string
	Platform bool
}

// Invariant is a property that every policy set must have.
type Invariant struct {
	// Name identifies the invariant in errors, logs and audit entries.
	Name string
	// Sentence describes the property.
	Sentence string
	check    func(*checker)
}

// Violation is a case in which a set breaks an invariant.
type Violation struct {
	Invariant Invariant
	// Entrypoint is the rule with the wrong decision.
	Entrypoint string
	// Counterexample is the smallest input with the wrong decision that was found, as JSON.
	// If the data is wrong, it is a sentence.
	Counterexample string
	// Problem describes the wrong decision.
	Problem string
}

// Error returns the name of the invariant and the counterexample.
func (v *Violation) Error() string {
	return fmt.Sprintf("invariant %s is broken (%s): %s %s: %s", v.Invariant.Name, v.Invariant.Sentence, v.Entrypoint, v.Problem, v.Counterexample)
}

// Report contains statistics of the checks.
type Report struct {
	// Decisions is the number of evaluated inputs.
	Decisions int
}

// Check checks all invariants. It returns the first violation as a *Violation, or the error
// that stopped an evaluation.
func Check(ctx context.Context, set Set) (Report, error) {
	var total Report
	for _, i := range All() {
		report, err := i.Check(ctx, set)
		total.Decisions += report.Decisions
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// Check checks only this invariant.
func (i Invariant) Check(ctx context.Context, set Set) (Report, error) {
	c := newChecker(ctx, set)
	c.current = i
	i.check(c)
	return Report{c.decisions}, c.err
}

// Denied returns those queries that the set should allow but denies. The invariants change
// such allowed queries into forbidden ones. If an original is denied, its invariant tests
// nothing. A test expects that the embedded policies deny none.
func Denied(ctx context.Context, set Set) ([]string, error) {
	c := newChecker(ctx, set)
	cl := c.callerWithSamplePermissions()
	var out []string
	queries := append(append(allowedVerdicts(cl), c.accountRequests(cl)...),
		access(c.callerWithAllPermissions(), Permission{Name: "task.delete", Module: "tracker", Effect: "write"}, ownRecord()),
		access(c.delegated(delegation(c, "tenant")), Permission{Name: "task.delete", Module: "tracker", Effect: "write"}, otherUsersRecord()),
		query{cl, assignWork, object{"resource": otherUsersRecord(), "candidate": candidate("HUMAN")}},
		query{entry: startRun, request: object{"resource": otherUsersRecord(), "candidate": candidate("AGENT")}},
		query{cl, listKeys, object{"service_owned": false}},
		query{entry: "parapet/profiles/validate", request: object{"target": wikiSync()}},
		query{entry: "parapet/actas/verdict", request: object{
			"token_kind": "session", "token_tenant": tenantA, "principal_kind": "HUMAN", "module": "tracker", "header": true, "target": tenantB,
		}},
	)
	for _, q := range queries {
		if c.describeProblem(q) == "" {
			out = append(out, q.String())
		}
	}
	return out, c.err
}

// All returns the invariants in the order in which they are checked.
func All() []Invariant {
	return []Invariant{
		{"ladder", "The five tiers keep their order: UNCLASSIFIED, INTERNAL, RESTRICTED, CONFIDENTIAL, SECRET.", checkLadder},
		{"catalogue-effects", "A permission whose name does not say that it reads is a write.", checkCatalogueEffects},
		{"platform-permissions", "The permissions that administer tenants are marked as platform permissions.", checkPlatformMarks},
		{"boolean", "A decision is a boolean and a verdict is an object with a boolean allow; anything else, and any incomplete input, does not allow.", checkBoolean},
		{"tenant", "No record of another tenant, or without a tenant, is allowed.", checkTenant},
		{"act-as", "A token's roles do not apply in another tenant, and service principals and internal tokens cannot act there.", checkActAs},
		{"clearance", "No record above the caller's clearance is allowed.", checkClearance},
		{"audit-clearance", "Without audit.read.classified, an audit entry is readable only if it is unclassified.", checkAuditClearance},
		{"subject", "A request with a missing, empty or malformed subject is denied.", checkSubject},
		{"input", "A request with a missing field, or one of the wrong type, is denied.", checkInput},
		{"grant", "A request is denied unless a role of the caller grants the permission in a scope of the record.", checkGrant},
		{"hidden", "The denial of a record in another tenant or above the caller's clearance does not reveal that the record exists.", checkHidden},
		{"unknown-caveat", "A token with an unknown caveat is denied everything.", checkUnknownCaveat},
		{"caveat", "A caveat restricts the token: read-only to reads, project to one project, module to one module.", checkCaveat},
		{"platform", "A platform permission has no effect outside a programme office.", checkPlatform},
		{"guest", "The default role Guest Customer only reads and manages its own API keys.", checkGuestRole},
		{"auditor", "The default role Auditor only reads and manages its own API keys.", checkAuditorRole},
		{"powerless-role", "The default role PLATFORM_ADMIN grants nothing.", checkEmptyRole},
		{"profile", "A service principal must match its registered profile, and the default roles of the profiles grant no more.", checkProfile},
		{"service-key", "A key for a service principal requires a person's session (to list or revoke: also a key), api_key.issue_for_service on record, and an active service principal of the same tenant.", checkServiceKey},
		{"personal-key", "Only a session of a person or an agent with api_key.issue issues a personal key, and only its owner lists or revokes it.", checkPersonalKey},
		{"key-lifetime", "The lifetime of a service principal's key is at most 90 days, that of other keys at most 365 days and at most the operator's cap.", checkKeyLifetime},
		{"delegation", "A delegate may use only listed permissions that the delegator holds now, in the delegation's scope, on records that both can read.", checkDelegation},
		{"delegation-made", "A delegation requires two active members of the tenant, and permissions that both the delegator and the caller hold.", checkDelegationRequest},
		{"assignment", "Only active members of the tenant with sufficient clearance can be assigned work, never guests or service principals.", checkAssignment},
		{"speaking-for-agent", "Acting for an agent, or ending another user's work, requires tasks.update.any.", checkActForOthers},
		{"no-subject", "Without a subject, every rule about keys, accounts, grants, delegations and work denies.", checkNoSubject},
		{"giving", "Users cannot grant permissions or roles that they do not hold in the same scope.", checkGrantAuthority},
		{"giving-clearance", "Users cannot grant a clearance above their own, or raise their own.", checkGrantClearance},
		{"account", "Users cannot take over or reactivate an account that holds more than they do in any tenant, or whose home is another tenant.", checkAccount},
		{"oneself", "Users cannot suspend, remove or restore themselves, and every tenant keeps an administrator who can assign roles.", checkOwnAccount},
		{"role-names", "The name of a role grants nothing, and no other role can have the name of a default or GLOBAL role.", checkRoleNames},
		{"filter", "A list filter includes no record that the decision denies.", checkFilter},
		{"necessary-conditions", "For all values of all fields, an allow requires the same tenant, an effect, a module and a project that the caveats allow, sufficient clearance, and a grant.", checkNecessary},
	}
}

// checker checks invariants of one set and stops at the first violation.
type checker struct {
	ctx       context.Context
	set       Set
	current   Invariant
	err       error
	decisions int
	// permissions are the permissions of the catalogue and those that this package requires.
	permissions []Permission
	// sample contains the permissions in essential, and one permission of each combination
	// of module, effect and other properties. It contains no permission that needs no role.
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
	for _, p := range requiredPermissions() {
		if !known[p.Name] {
			c.permissions = append(c.permissions, p)
		}
	}
	kinds := map[string]bool{}
	for _, p := range append(requiredPermissions(), c.permissions...) {
		kind := fmt.Sprint(p.Module, p.Effect, p.Platform, p.audit(), strings.HasSuffix(p.Name, ".own"))
		if slices.Contains(memberPermissions, p.Name) {
			continue
		}
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

// query is one evaluation of an entry point. Its input is the request, with the subject of
// the caller as actor.
type query struct {
	caller  *caller
	entry   string
	request object
}

// requireDenial reports a violation if the result allows or is malformed. The fields in keep
// are the reason for the expected denial, so a counterexample keeps them.
func (c *checker) requireDenial(q query, keep ...string) {
	if c.err != nil {
		return
	}
	c.decisions++
	if problem := c.describeProblem(q); problem != "" && c.err == nil {
		c.reportViolation(q, problem, keep)
	}
}

// reportViolation reports the smallest input with the wrong decision.
func (c *checker) reportViolation(q query, problem string, keep []string) {
	q = c.minimise(q, keep)
	text := q.String()
	c.err = &Violation{Invariant: c.current, Entrypoint: q.entry, Problem: problem, Counterexample: text}
}

// reportDataFault reports a violation in the set's data at this path.
func (c *checker) reportDataFault(path, sentence string) {
	if c.err == nil {
		c.err = &Violation{Invariant: c.current, Entrypoint: path, Problem: "is wrong", Counterexample: sentence}
	}
}

// describeProblem describes what is wrong with the result. It returns "" for a denial.
func (c *checker) describeProblem(q query) string {
	value := c.eval(q.entry, c.input(q))
	if c.err != nil {
		return ""
	}
	switch allowed, ok := decision(q.entry, value); {
	case !ok:
		return fmt.Sprintf("returns %v, which is not a decision", value)
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

// decision interprets a result. Undefined denies, except for parapet/access/allow, which has
// a default.
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

// input returns the input document of the entry point: the request with the actor.
func (c *checker) input(q query) ast.Value {
	request := q.request
	if q.caller != nil {
		actor := q.caller.actor(c)
		if actor != nil {
			request = request.with("actor", actor)
		}
	}
	return toValue(request)
}

// String returns the request as JSON.
func (q query) String() string {
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

// readable converts the subjects in the document to plain JSON.
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
