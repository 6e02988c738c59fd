package authz

import (
	"regexp"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
)

// DecisionSink takes decision records without ever waiting: what it cannot take
// it drops and counts.
type DecisionSink interface {
	Record(DecisionRecord)
}

// DecisionRecord is one line of the decision log. Its input is masked: ids and
// codes only, no token, secret, address or free text.
type DecisionRecord struct {
	Time time.Time
	// Tenant and Actor are empty where there is no actor.
	Tenant string
	Actor  string
	// Credential is what the request was made with; zero where there was none.
	Credential CredentialID
	// Subject is who asked, as the policies saw it; nil where there was no subject.
	Subject *SubjectSnapshot
	// Rule is the entrypoint that answered, Permission what was asked for.
	Rule       string
	Permission string
	Module     string
	Input      MaskedInput
	Allow      bool
	Hidden     bool
	Reasons    []string
	Revision   string
	RequestID  string
}

// MaskedInput is what of an input may be kept.
type MaskedInput struct {
	Effect   Effect          `json:"effect,omitempty"`
	Actor    *MaskedActor    `json:"actor,omitempty"`
	Resource *MaskedResource `json:"resource,omitempty"`
	// ServiceOwned is the path of a question about keys.
	ServiceOwned bool `json:"serviceOwned,omitempty"`
	// ExpiresInDays is the wish of a question about a personal key.
	ExpiresInDays *int `json:"expiresInDays,omitempty"`
	// Candidate is who is meant beside the actor, in a question about work.
	Candidate string `json:"candidate,omitempty"`
	// OnBehalfOf and Delegation tell whose authority it was, and by what, where
	// the actor's own did not do.
	OnBehalfOf string `json:"onBehalfOf,omitempty"`
	Delegation string `json:"delegation,omitempty"`
	// Header tells that a request named its tenant itself.
	Header bool `json:"header,omitempty"`
	// Rows tell of a list where its rows keep each attribute of a record; the filter was
	// bound for these. Nil for everything that is no list.
	Rows map[string]MaskedColumn `json:"rows,omitempty"`
	// CustomDecision is the input of a question without the subject; see maskCustomDecision.
	Question map[string]any `json:"question,omitempty"`
	// Omitted names what of the input is not kept; see Replayed.Incomplete.
	Omitted []string `json:"omitted,omitempty"`
}

// MaskedActor is an actor without roles and grants, whose names are free text.
type MaskedActor struct {
	Kind         string `json:"kind,omitempty"`
	TokenKind    string `json:"tokenKind,omitempty"`
	TenantType   string `json:"tenantType,omitempty"`
	Organisation string `json:"organisation,omitempty"`
	Clearance    string `json:"clearance,omitempty"`
}

// MaskedResource is a resource whose texts are ids and codes.
type MaskedResource struct {
	Type           string `json:"type,omitempty"`
	ID             string `json:"id,omitempty"`
	Key            string `json:"key,omitempty"`
	Tenant         string `json:"tenant,omitempty"`
	Organisation   string `json:"organisation,omitempty"`
	Project        string `json:"project,omitempty"`
	Creator        string `json:"creator,omitempty"`
	Owner          string `json:"owner,omitempty"`
	Classification string `json:"classification,omitempty"`
	// NullClassification tells that the stored classification is NULL.
	NullClassification bool `json:"nullClassification,omitempty"`
}

// masked stands for a text that is not kept.
const masked = "masked"

func maskID(s string) string {
	if s == "" || isUUID(s) {
		return s
	}
	return masked
}

// recordKey is the form of the keys of tasks and issues: a prefix and a number.
var recordKey = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,15}-[0-9]{1,12}$`)

// maskKey keeps the key of a record; anything else may be free text.
func maskKey(s string) string {
	if s == "" || recordKey.MatchString(s) {
		return s
	}
	return masked
}

// maskNoun keeps lower-case words such as a resource's type.
func maskNoun(s string) string {
	if len(s) > 64 {
		return masked
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && c != '_' {
			return masked
		}
	}
	return s
}

// maskName keeps the names that the policy data knows: permissions, modules.
func (s *set) maskName(name string) string {
	if _, ok := s.terms[name]; ok || name == "" {
		return name
	}
	return masked
}

func (s *set) maskTier(tier string) string {
	if _, ok := s.tiers[tier]; ok || tier == "" {
		return tier
	}
	return masked
}

// maskRequestID keeps ids as they are made and taken: short, without spaces.
func maskRequestID(s string) string {
	if len(s) > 64 {
		return masked
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return masked
		}
	}
	return s
}

func maskActor(actor *Subject) *MaskedActor {
	if actor == nil {
		return nil
	}
	return &MaskedActor{
		Kind: actor.kind, TokenKind: actor.tokenKind, TenantType: actor.tenantType,
		Organisation: actor.organisation, Clearance: actor.clearance,
	}
}

func (m *MaskedInput) onBehalfOf(b *OnBehalf) {
	if b != nil {
		m.OnBehalfOf, m.Delegation = maskID(b.Delegator), maskID(b.Delegation)
	}
}

// maskResource leaves the classification to whoever knows the tiers.
func maskResource(r *Resource) *MaskedResource {
	return &MaskedResource{
		Type: maskNoun(r.Type), ID: maskID(r.ID), Key: maskKey(r.Key), Tenant: maskID(r.Tenant),
		Organisation: maskID(r.Organisation), Project: maskID(r.Project),
		Creator: maskID(r.Creator), Owner: maskID(r.Owner), NullClassification: r.NullClassification,
	}
}

func (e *Engine) record(s *set, in *Input, decision *Decision) {
	if e.sink == nil {
		return
	}
	r := &in.Resource
	record := DecisionRecord{
		Time: e.clock.Now(), Rule: entryAllow,
		Permission: s.maskName(in.Permission), Module: s.maskName(in.Module),
		Allow: decision.Allow, Hidden: decision.Hidden, Reasons: decision.Reasons,
		Revision: decision.Revision, RequestID: maskRequestID(in.RequestID),
		Input: MaskedInput{
			Effect:   in.Effect,
			Actor:    maskActor(in.Actor),
			Resource: maskResource(r),
		},
	}
	record.Input.Resource.Classification = s.maskTier(r.Classification)
	record.Input.onBehalfOf(decision.OnBehalfOf)
	record.from(in.Actor)
	e.sink.Record(record)
}

// from says who asked.
func (r *DecisionRecord) from(s *Subject) {
	if s == nil {
		return
	}
	r.Tenant, r.Actor, r.Credential = s.tenant, s.id, s.credential.masked()
	if s.snapshot != nil {
		r.Subject = s.snapshot()
	}
}

// masked is the credential with an id that is an id, or none.
func (c CredentialID) masked() CredentialID {
	if !isUUID(c.ID) || (c.Kind != TokenSession && c.Kind != TokenAPIKey) {
		return CredentialID{}
	}
	return c
}

// RecordList puts into the decision log that a list was given by a filter: which
// rows it held is not said, only who asked, by which permission, and whether any
// row could pass.
func (e *Engine) RecordList(actor *Subject, permission, module, requestID string, f Filter) {
	if e.sink == nil || actor == nil {
		return
	}
	s := e.current.Load().set
	decision := listDecision(f)
	record := DecisionRecord{
		Time: e.clock.Now(), Rule: entryAllow,
		Permission: s.maskName(permission), Module: s.maskName(module), Allow: decision.Allow, Reasons: decision.Reasons,
		Revision: s.revision, RequestID: maskRequestID(requestID),
		Input: MaskedInput{Effect: Read, Actor: maskActor(actor)},
	}
	if f.bound != nil {
		// The policies may have been reloaded since the filter was bound.
		record.Revision, record.Input.Rows = f.bound.revision, f.bound.columns.masked()
	}
	record.from(actor)
	e.sink.Record(record)
}

// listDecision is what the log says of a list that was given by a filter.
func listDecision(f Filter) Decision {
	if f.None() {
		return Decision{Reasons: []string{"filtered_out"}}
	}
	return Decision{Allow: true, Reasons: []string{"filtered"}}
}

func (e *Engine) recordCustomDecision(s *set, q CustomDecision, input ast.Value, verdict *Verdict) {
	if e.sink == nil {
		return
	}
	about := q.about()
	record := DecisionRecord{
		Time: e.clock.Now(), Rule: q.entrypoint(), Module: s.maskName(about.module),
		Permission: about.permission, Input: about.input, Allow: verdict.Allow,
		Hidden: verdict.hidden(), Reasons: verdict.Reasons,
		Revision: verdict.Revision, RequestID: maskRequestID(about.requestID),
	}
	record.Input.Actor = maskActor(about.actor)
	record.Input.onBehalfOf(verdict.OnBehalfOf)
	if about.recorded != nil {
		input = about.recorded
	}
	record.Input.Question = maskCustomDecision(input, about.actor)
	record.Tenant, record.Actor, record.Credential = maskID(about.tenant), maskID(about.user), about.credential.masked()
	record.from(about.actor)
	e.sink.Record(record)
}

// decisionContext is what the decision log says of a question.
type decisionContext struct {
	actor *Subject
	// tenant, user and credential stand in where there is no actor yet.
	tenant, user string
	credential   CredentialID
	permission   string
	module       string
	requestID    string
	input        MaskedInput
	// recorded is the input to be kept where it is not the one that was evaluated.
	recorded ast.Value
}

func principalResource(id, tenant string) *MaskedResource {
	return &MaskedResource{Type: "user", ID: maskID(id), Tenant: maskID(tenant)}
}

func (q IssueServiceKey) about() decisionContext {
	return decisionContext{
		actor: q.Actor, permission: "api_key.issue_for_service", module: "identity",
		input: MaskedInput{Effect: Write, Resource: principalResource(q.Target.ID, q.Target.Tenant), ServiceOwned: true},
	}
}

func (q IssueSelfKey) about() decisionContext {
	return decisionContext{
		actor: q.Actor, permission: "api_key.issue", module: "identity",
		input: MaskedInput{Effect: Write, ExpiresInDays: q.ExpiresInDays},
	}
}

func (q ListKeys) about() decisionContext {
	a := decisionContext{actor: q.Actor, permission: "api_key.read.own", module: "identity", input: MaskedInput{Effect: Read}}
	if q.Owner != nil {
		a.permission = "api_key.issue_for_service"
		a.input.ServiceOwned = true
		a.input.Resource = principalResource(q.Owner.ID, q.Owner.Tenant)
	}
	return a
}

func (q RevokeKey) about() decisionContext {
	a := decisionContext{
		actor: q.Actor, permission: "api_key.revoke.own", module: "identity",
		input: MaskedInput{Effect: Write, ServiceOwned: q.ServiceOwned, Resource: &MaskedResource{
			Type: "api_key", ID: maskID(q.Key.JTI), Tenant: maskID(q.Key.Tenant), Owner: maskID(q.Key.Owner.ID),
		}},
	}
	if q.ServiceOwned {
		a.permission = "api_key.issue_for_service"
	}
	return a
}

func (q ValidateProfile) about() decisionContext {
	return decisionContext{module: "identity", input: MaskedInput{Resource: principalResource(q.Target.ID, q.Target.Tenant)}}
}

func (q AuthenticatedAccess) about() decisionContext {
	return decisionContext{actor: q.Actor, module: q.Module, input: MaskedInput{Effect: q.Effect}}
}

func (q ActAs) about() decisionContext {
	return decisionContext{tenant: q.TokenTenant, user: q.User, credential: q.Credential, module: q.Module, input: MaskedInput{
		Header: q.Header, Resource: &MaskedResource{Type: "tenant", Tenant: maskID(q.Target)},
	}}
}
