package authz

import "github.com/open-policy-agent/opa/v1/ast"

// Candidate is a user who is to be assigned work, or an agent that another user acts for.
// The zero value means that there is no such user.
type Candidate struct {
	ID     string
	Tenant string
	Kind   string
	// Status is the status of the user, Membership that of the membership in Tenant.
	Status     string
	Membership string
	// Clearance is the clearance of the membership, or "".
	Clearance string
	// Roles are all roles of the user in the tenant, in any scope.
	Roles []HeldRole
	// AgentsAllowed is true if the tenant runs agents.
	AgentsAllowed bool
}

// Assign decides whether Candidate can be assigned work on Resource. A denial has the code
// VALIDATION and the reason first in Reasons; the caller sets the field.
type Assign struct {
	Actor     *Subject
	Candidate Candidate
	Resource  Resource
}

func (Assign) entrypoint() string { return "parapet/work/give" }

// ActAsAgent decides whether the actor may act for Agent on Resource. A denial is FORBIDDEN
// with the missing permission, or VALIDATION of the field agent.
type ActAsAgent struct {
	Actor    *Subject
	Agent    Candidate
	Resource Resource
}

func (ActAsAgent) entrypoint() string { return "parapet/work/act_as_agent" }

// RaiseDecision decides whether a decision request may be raised on the task Resource by the
// user Acting: the actor, or an agent that ActAsAgent allowed.
type RaiseDecision struct {
	Actor    *Subject
	Acting   string
	Resource Resource
	// Assignee is the task's assignee, or "".
	Assignee string
	// Category is the category of the task's status.
	Category string
}

func (RaiseDecision) entrypoint() string { return "parapet/work/raise_decision" }

// PromoteIssue decides whether the actor may promote the issue Resource to a task. A
// permission held as .own is not enough.
type PromoteIssue struct {
	Actor    *Subject
	Resource Resource
}

func (PromoteIssue) entrypoint() string { return "parapet/work/promote_issue" }

// CountRecords decides whether the actor may count all records of a type in the scope of
// Resource. Permission is the permission to read them; held as .own, it is not enough.
type CountRecords struct {
	Actor      *Subject
	Permission string
	Resource   Resource
}

func (CountRecords) entrypoint() string { return "parapet/work/count_records" }

// StartRun decides, for the system, whether a run of Agent on Resource may start now.
type StartRun struct {
	Agent    Candidate
	Resource Resource
}

func (StartRun) entrypoint() string { return "parapet/work/start_run" }

// CancelDecision decides whether the actor may cancel a decision request on the task
// Resource. RaisedBy is the user who raised it.
type CancelDecision struct {
	Actor    *Subject
	RaisedBy string
	Resource Resource
}

func (CancelDecision) entrypoint() string { return "parapet/work/cancel_decision" }

// ReleaseClaim decides whether the actor may release the lease of the task Resource.
type ReleaseClaim struct {
	Actor    *Subject
	Holder   string
	Resource Resource
}

func (ReleaseClaim) entrypoint() string { return "parapet/work/release_claim" }

// withRecord is withActor with the record of the decision.
func withRecord(actor *Subject, r *Resource, add func(document)) ast.Value {
	return withActor(actor, func(d document) {
		d.value("resource", r.object(ast.StringTerm))
		if add != nil {
			add(d)
		}
	})
}

func (c Candidate) document() ast.Value {
	d := newDocument()
	d.optional("id", c.ID)
	d.optional("tenant", c.Tenant)
	d.text("kind", c.Kind)
	d.text("status", c.Status)
	d.text("membership", c.Membership)
	d.optional("clearance", c.Clearance)
	d.value("roles", heldRoles(c.Roles))
	d.boolean("agents_allowed", c.AgentsAllowed)
	return d.Object
}

func (q Assign) document() ast.Value {
	return withRecord(q.Actor, &q.Resource, func(d document) { d.value("candidate", q.Candidate.document()) })
}

func (q ActAsAgent) document() ast.Value {
	return withRecord(q.Actor, &q.Resource, func(d document) { d.value("candidate", q.Agent.document()) })
}

func (q RaiseDecision) document() ast.Value {
	return withRecord(q.Actor, &q.Resource, func(d document) {
		d.optional("acting", q.Acting)
		d.optional("assignee", q.Assignee)
		d.text("category", q.Category)
	})
}

func (q PromoteIssue) document() ast.Value {
	return withRecord(q.Actor, &q.Resource, nil)
}

func (q CountRecords) document() ast.Value {
	return withRecord(q.Actor, &q.Resource, func(d document) { d.text("permission", q.Permission) })
}

func (q StartRun) document() ast.Value {
	d := newDocument()
	d.value("resource", q.Resource.object(ast.StringTerm))
	d.value("candidate", q.Agent.document())
	return d.Object
}

func (q CancelDecision) document() ast.Value {
	return withRecord(q.Actor, &q.Resource, func(d document) { d.optional("raised_by", q.RaisedBy) })
}

func (q ReleaseClaim) document() ast.Value {
	return withRecord(q.Actor, &q.Resource, func(d document) { d.optional("holder", q.Holder) })
}

// workContext returns the context for the decision log, with the other user as candidate.
func workContext(actor *Subject, r *Resource, candidate string) decisionContext {
	return decisionContext{
		actor: actor, permission: "tasks.update.any", module: "tracker",
		input: MaskedInput{Effect: Write, Resource: maskResource(r), Candidate: maskID(candidate)},
	}
}

func (q Assign) logContext() decisionContext {
	a := workContext(q.Actor, &q.Resource, q.Candidate.ID)
	a.permission = ""
	return a
}

func (q ActAsAgent) logContext() decisionContext {
	return workContext(q.Actor, &q.Resource, q.Agent.ID)
}

func (q RaiseDecision) logContext() decisionContext {
	return workContext(q.Actor, &q.Resource, q.Acting)
}

func (q PromoteIssue) logContext() decisionContext {
	a := workContext(q.Actor, &q.Resource, "")
	a.permission = "issue.update"
	return a
}

func (q CountRecords) logContext() decisionContext {
	a := workContext(q.Actor, &q.Resource, "")
	a.permission, a.input.Effect = q.Permission, Read
	return a
}

func (q StartRun) logContext() decisionContext {
	a := workContext(nil, &q.Resource, q.Agent.ID)
	a.permission = ""
	return a
}

func (q CancelDecision) logContext() decisionContext {
	return workContext(q.Actor, &q.Resource, q.RaisedBy)
}

func (q ReleaseClaim) logContext() decisionContext {
	return workContext(q.Actor, &q.Resource, q.Holder)
}
