package authz

import "github.com/open-policy-agent/opa/v1/ast"

// Candidate is a user whom work is to be given to, or an agent that somebody
// speaks for, as the directory has it now. The zero Candidate is nobody.
type Candidate struct {
	ID     string
	Tenant string
	Kind   string
	// Status is the user's status, Membership that of its membership in Tenant.
	Status     string
	Membership string
	// Clearance is the membership's; empty when there is none.
	Clearance string
	// Roles are all that the tenant has on record for the user, in any scope.
	Roles []HeldRole
	// AgentsAllowed tells whether the tenant runs agents.
	AgentsAllowed bool
}

// Assign asks whether work on Resource can be given to Candidate. A refusal is
// VALIDATION, with why as its first reason; the field is the caller's to name.
type Assign struct {
	Actor     *Subject
	Candidate Candidate
	Resource  Resource
}

func (Assign) entrypoint() string { return "parapet/work/give" }

// ActAsAgent asks whether the actor may speak for Agent on Resource. It is
// FORBIDDEN with the missing permission, or VALIDATION of the field agent.
type ActAsAgent struct {
	Actor    *Subject
	Agent    Candidate
	Resource Resource
}

func (ActAsAgent) entrypoint() string { return "parapet/work/act_as_agent" }

// RaiseDecision asks whether a decision request may be raised on the task that
// Resource is, as the identity Acting: the actor, or an agent that ActAsAgent
// allowed.
type RaiseDecision struct {
	Actor    *Subject
	Acting   string
	Resource Resource
	// Assignee is the task's, empty where it has none.
	Assignee string
	// Category is that of the task's status.
	Category string
}

func (RaiseDecision) entrypoint() string { return "parapet/work/raise_decision" }

// PromoteIssue asks whether the actor may make a task of the issue that Resource is:
// a permission for its own issues alone does not do.
type PromoteIssue struct {
	Actor    *Subject
	Resource Resource
}

func (PromoteIssue) entrypoint() string { return "parapet/work/promote_issue" }

// CountRecords asks whether the actor may count all records that Permission reads in
// the place that Resource is, whoever's they are.
type CountRecords struct {
	Actor      *Subject
	Permission string
	Resource   Resource
}

func (CountRecords) entrypoint() string { return "parapet/work/count_records" }

// StartRun asks, for the system, whether a run of Agent on Resource may start now.
type StartRun struct {
	Agent    Candidate
	Resource Resource
}

func (StartRun) entrypoint() string { return "parapet/work/start_run" }

// CancelDecision asks whether the actor may cancel a decision request on the
// task that Resource is. RaisedBy is the identity that it was raised as.
type CancelDecision struct {
	Actor    *Subject
	RaisedBy string
	Resource Resource
}

func (CancelDecision) entrypoint() string { return "parapet/work/cancel_decision" }

// ReleaseClaim asks whether the actor may give a claimed task back.
type ReleaseClaim struct {
	Actor    *Subject
	Holder   string
	Resource Resource
}

func (ReleaseClaim) entrypoint() string { return "parapet/work/release_claim" }

// withRecord is withActor with the record that the question is about.
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

// workContext is what the decision log says of such a question: who is meant
// stands beside the record.
func workContext(actor *Subject, r *Resource, candidate string) decisionContext {
	return decisionContext{
		actor: actor, permission: "tasks.update.any", module: "tracker",
		input: MaskedInput{Effect: Write, Resource: maskResource(r), Candidate: maskID(candidate)},
	}
}

func (q Assign) about() decisionContext {
	a := workContext(q.Actor, &q.Resource, q.Candidate.ID)
	a.permission = ""
	return a
}

func (q ActAsAgent) about() decisionContext { return workContext(q.Actor, &q.Resource, q.Agent.ID) }

func (q RaiseDecision) about() decisionContext { return workContext(q.Actor, &q.Resource, q.Acting) }

func (q PromoteIssue) about() decisionContext {
	a := workContext(q.Actor, &q.Resource, "")
	a.permission = "issue.update"
	return a
}

func (q CountRecords) about() decisionContext {
	a := workContext(q.Actor, &q.Resource, "")
	a.permission, a.input.Effect = q.Permission, Read
	return a
}

func (q StartRun) about() decisionContext {
	a := workContext(nil, &q.Resource, q.Agent.ID)
	a.permission = ""
	return a
}

func (q CancelDecision) about() decisionContext { return workContext(q.Actor, &q.Resource, q.RaisedBy) }

func (q ReleaseClaim) about() decisionContext { return workContext(q.Actor, &q.Resource, q.Holder) }
