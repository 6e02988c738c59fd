package authz

import (
	"regexp"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
)

// DecisionSink receives decision records. It never blocks: it drops and counts records that
// it cannot take.
type DecisionSink interface {
	Record(DecisionRecord)
}

// DecisionRecord is an entry of the decision log. Its input contains only ids and codes: no
// token, secret, address or free text.
type DecisionRecord struct {
	Time time.Time
	// Tenant and Actor are empty if there is no actor.
	Tenant string
	Actor  string
	// Credential is the credential of the request, or the zero value.
	Credential CredentialID
	// Subject is the subject of the decision, or nil.
	Subject *SubjectSnapshot
	// Rule is the entry point that was evaluated, Permission the requested permission.
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

// MaskedInput is the part of an input that is logged.
type MaskedInput struct {
	Effect   Effect          `json:"effect,omitempty"`
	Actor    *MaskedActor    `json:"actor,omitempty"`
	Resource *MaskedResource `json:"resource,omitempty"`
	// ServiceOwned is set in a decision about keys of service principals.
	ServiceOwned bool `json:"serviceOwned,omitempty"`
	// ExpiresInDays is the requested lifetime of a personal key.
	ExpiresInDays *int `json:"expiresInDays,omitempty"`
	// Candidate is the other user in a decision about work.
	Candidate string `json:"candidate,omitempty"`
	// OnBehalfOf and Delegation are the delegator and the delegation, if only a delegation
	// allowed the request.
	OnBehalfOf string `json:"onBehalfOf,omitempty"`
	Delegation string `json:"delegation,omitempty"`
	// Header is true if the request named its tenant with x-act-as-org.
	Header bool `json:"header,omitempty"`
	// Rows maps the attributes of a record to the columns that the filter of a list was
	// bound to. It is nil if the decision is not about a list.
	Rows map[string]MaskedColumn `json:"rows,omitempty"`
	// Question is the input of a custom decision without the subject; see
	// maskCustomDecision.
	Question map[string]any `json:"question,omitempty"`
	// Omitted names the parts of the input that are not logged; see Replayed.Incomplete.
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

// MaskedResource is a resource that contains only ids and codes.
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
	// NullClassification is true if the stored classification is NULL.
	NullClassification bool `json:"nullClassification,omitempty"`
}

// masked replaces a text that is not logged.
const masked = "masked"

func maskID(s string) string {
	if s == "" || isUUID(s) {
		return s
	}
	return masked
}

// recordKey matches the keys of tasks and issues: a prefix and a number.
var recordKey = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,15}-[0-9]{1,12}$`)

// maskKey returns the key of a record; any other text is masked.
func maskKey(s string) string {
	if s == "" || recordKey.MatchString(s) {
		return s
	}
	return masked
}

// maskNoun returns lower-case words, for example the type of a resource; any other text is
// masked.
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

// maskName returns names of the policy data, for example permissions and modules; any other
// text is masked.
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

// maskRequestID returns request ids: short and without spaces. Any other text is masked.
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

// maskResource does not set the classification: only the caller knows the tiers.
func maskResource(r *Resource) *MaskedResource {
	return &MaskedResource{
		Type: maskNoun(r.Type), ID: maskID(r.ID), Key: maskKey(r.Key), Tenant: maskID(r.Tenant),
		Organisation: maskID(r.Organisation), Project: maskID(r.Project),
		Creator: maskID(r.Creator), Owner: maskID(r.Owner), NullClassification: r.NullClassification,
	}
}

// logDecision adds a decision about one record to the decision log.
func (e *Engine) logDecision(s *set, in *Input, decision *Decision) {
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
	record.setSubject(in.Actor)
	e.sink.Record(record)
}

// setSubject sets the fields that describe the subject.
func (r *DecisionRecord) setSubject(s *Subject) {
	if s == nil {
		return
	}
	r.Tenant, r.Actor, r.Credential = s.tenant, s.id, s.credential.masked()
	if s.snapshot != nil {
		r.Subject = s.snapshot()
	}
}

// masked returns the credential without an id that is not a UUID.
func (c CredentialID) masked() CredentialID {
	if !isUUID(c.ID) || (c.Kind != TokenSession && c.Kind != TokenAPIKey) {
		return CredentialID{}
	}
	return c
}

// RecordList adds the filter of a list to the decision log: the subject, the permission and
// whether any row could pass. The rows themselves are not logged.
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
	record.setSubject(actor)
	e.sink.Record(record)
}

// listDecision returns the decision that the log contains for a list.
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
	logged := q.logContext()
	record := DecisionRecord{
		Time: e.clock.Now(), Rule: q.entrypoint(), Module: s.maskName(logged.module),
		Permission: logged.permission, Input: logged.input, Allow: verdict.Allow,
		Hidden: verdict.isHidden(), Reasons: verdict.Reasons,
		Revision: verdict.Revision, RequestID: maskRequestID(logged.requestID),
	}
	record.Input.Actor = maskActor(logged.actor)
	record.Input.onBehalfOf(verdict.OnBehalfOf)
	if logged.recorded != nil {
		input = logged.recorded
	}
	record.Input.Question = maskCustomDecision(input, logged.actor)
	record.Tenant, record.Actor, record.Credential = maskID(logged.tenant), maskID(logged.user), logged.credential.masked()
	record.setSubject(logged.actor)
	e.sink.Record(record)
}

// decisionContext contains the fields of a decision record that are not in the verdict.
type decisionContext struct {
	actor *Subject
	// tenant, user and credential are set if there is no actor yet.
	tenant, user string
	credential   CredentialID
	permission   string
	module       string
	requestID    string
	input        MaskedInput
	// recorded is the input to log, if it differs from the evaluated one.
	recorded ast.Value
}

func principalResource(id, tenant string) *MaskedResource {
	return &MaskedResource{Type: "user", ID: maskID(id), Tenant: maskID(tenant)}
}

func (q IssueServiceKey) logContext() decisionContext {
	return decisionContext{
		actor: q.Actor, permission: "api_key.issue_for_service", module: "identity",
		input: MaskedInput{Effect: Write, Resource: principalResource(q.Target.ID, q.Target.Tenant), ServiceOwned: true},
	}
}

func (q IssueSelfKey) logContext() decisionContext {
	return decisionContext{
		actor: q.Actor, permission: "api_key.issue", module: "identity",
		input: MaskedInput{Effect: Write, ExpiresInDays: q.ExpiresInDays},
	}
}

func (q ListKeys) logContext() decisionContext {
	a := decisionContext{actor: q.Actor, permission: "api_key.read.own", module: "identity", input: MaskedInput{Effect: Read}}
	if q.Owner != nil {
		a.permission = "api_key.issue_for_service"
		a.input.ServiceOwned = true
		a.input.Resource = principalResource(q.Owner.ID, q.Owner.Tenant)
	}
	return a
}

func (q RevokeKey) logContext() decisionContext {
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

func (q ValidateProfile) logContext() decisionContext {
	return decisionContext{module: "identity", input: MaskedInput{Resource: principalResource(q.Target.ID, q.Target.Tenant)}}
}

func (q AuthenticatedAccess) logContext() decisionContext {
	return decisionContext{actor: q.Actor, module: q.Module, input: MaskedInput{Effect: q.Effect}}
}

func (q ActAs) logContext() decisionContext {
	return decisionContext{tenant: q.TokenTenant, user: q.User, credential: q.Credential, module: q.Module, input: MaskedInput{
		Header: q.Header, Resource: &MaskedResource{Type: "tenant", Tenant: maskID(q.Target)},
	}}
}
