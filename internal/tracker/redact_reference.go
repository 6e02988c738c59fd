package tracker

import (
	"context"
	"slices"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// reference is where an answer names a task, an issue or an initiative beside the
// record that it shows: by its id and, unless key is nil, by its key.
type reference struct {
	to  *referenced
	id  *op.UUID
	key *string
}

// referenced is a type of records that others name.
type referenced struct {
	permission string
	// noun is set where such a record lies in the project of the one that names it.
	noun    string
	columns *authz.Columns
	// sql ends where the list of ids follows.
	sql string
}

var (
	toTask = &referenced{contract.PermTasksRead, "task", taskColumns, `
SELECT t.id FROM projects.tasks t JOIN projects.projects p ON p.tenant_id = t.tenant_id AND p.id = t.project_id
WHERE t.tenant_id = @tenant AND t.id = ANY(@ids::uuid[]) AND `}
	toIssue = &referenced{contract.PermIssuesRead, "issue", issueColumns, `
SELECT i.id FROM projects.issues i JOIN projects.projects p ON p.tenant_id = i.tenant_id AND p.id = i.project_id
WHERE i.tenant_id = @tenant AND i.id = ANY(@ids::uuid[]) AND `}
	toInitiative = &referenced{contract.PermInitiativesRead, "", initiativeColumns, `
SELECT i.id FROM projects.initiatives i WHERE i.tenant_id = @tenant AND i.id = ANY(@ids::uuid[]) AND `}
)

// visible gives those of the records that the caller may read.
func (to *referenced) visible(ctx context.Context, c *executor.Call, ids []op.UUID) ([]op.UUID, error) {
	f, err := c.Filter(ctx, to.permission, to.columns)
	if err != nil || f.None() {
		return nil, err
	}
	if to.readsAll(ctx, c) {
		return ids, nil
	}
	args := postgres.Args{"tenant": c.Tenant, "ids": ids}
	f.AddTo(args)
	return postgres.CollectScalars[op.UUID](ctx, c.DB, to.sql+f.SQL(), args)
}

// readsAll tells, without asking the database, that the caller may read every such
// record in the projects that it reads: it has the permission in the whole tenant up
// to its clearance. A change does not ask, because each decision of a change tells in
// whose name it is made.
func (to *referenced) readsAll(ctx context.Context, c *executor.Call) bool {
	return to.noun != "" && c.Tx == nil && c.Decide(ctx, to.permission, authz.Resource{
		Type: to.noun, Tenant: string(c.Tenant), Classification: c.Actor.Subject.Clearance(),
	}) == nil
}

// redactReferences replaces, in an answer, the ids of records that the caller may not
// read by opaque ones, and their keys by REDACTED. A record that is not there any
// more is replaced as well. It asks the database only where there is an id.
func redactReferences(ctx context.Context, c *executor.Call, refs []reference) error {
	ids := map[*referenced][]op.UUID{}
	for _, ref := range refs {
		if *ref.id != "" && !slices.Contains(ids[ref.to], *ref.id) {
			ids[ref.to] = append(ids[ref.to], *ref.id)
		}
	}
	for to, named := range ids {
		visible, err := to.visible(ctx, c, named)
		if err != nil {
			return err
		}
		for _, ref := range refs {
			if ref.to != to || *ref.id == "" || slices.Contains(visible, *ref.id) {
				continue
			}
			*ref.id = opaqueID(c.Tenant, *ref.id)
			if ref.key != nil {
				*ref.key = contract.Redacted
			}
		}
	}
	return nil
}

// handle binds an operation as executor.Handle does, and redacts its answer.
func handle[In, Out, R any](m *executor.Module, o op.Op[In, Out], h executor.Handler[In, Out, R]) op.Bound {
	do := h.Do
	h.Do = func(ctx context.Context, c *executor.Call, in *In, resource R) (*Out, error) {
		out, err := do(ctx, c, in, resource)
		if err != nil {
			return nil, err
		}
		return out, redactReferences(ctx, c, referencesOf(out))
	}
	return executor.Handle(m, o, h)
}

// list binds an operation as executor.List does, and redacts its answer.
func list[In, Out any](
	m *executor.Module, o op.Op[In, Out], columns *authz.Columns, do func(ctx context.Context, c *executor.Call, in *In, f authz.Filter) (*Out, error),
) op.Bound {
	return executor.List(m, o, columns, func(ctx context.Context, c *executor.Call, in *In, f authz.Filter) (*Out, error) {
		out, err := do(ctx, c, in, f)
		if err != nil {
			return nil, err
		}
		return out, redactReferences(ctx, c, referencesOf(out))
	})
}

// referencesOf finds the references of an answer. Epics, dependencies, initiatives of
// projects and of tasks are redacted where they are read.
func referencesOf(out any) []reference {
	switch out := out.(type) {
	case *contract.Task:
		return taskReferences(out)
	case *contract.ClaimNextReadyOut:
		return taskReferences(out.Task)
	case *contract.Issue:
		return []reference{{toTask, &out.PromotedTaskID, &out.PromotedTaskKey}}
	case *op.Page[contract.IssueSummary]:
		return each(out.Items, func(i *contract.IssueSummary) []reference { return []reference{{toTask, &i.PromotedTaskID, nil}} })
	case *contract.Deliverable:
		return []reference{{toTask, &out.TaskID, nil}}
	case *op.Page[contract.DeliverableSummary]:
		return each(out.Items, func(d *contract.DeliverableSummary) []reference { return []reference{{toTask, &d.TaskID, nil}} })
	case *contract.Criterion:
		return []reference{{toTask, &out.TaskID, nil}}
	case *op.Page[contract.Criterion]:
		return each(out.Items, func(k *contract.Criterion) []reference { return []reference{{toTask, &k.TaskID, nil}} })
	case *contract.Comment:
		return commentReferences(out)
	case *op.Page[contract.Comment]:
		return each(out.Items, commentReferences)
	case *contract.TimeEntry:
		return timeEntryReferences(out)
	case *contract.TimeEntryPage:
		return each(out.Items, timeEntryReferences)
	case *contract.AgentRun:
		return runReferences(&out.AgentRunSummary)
	case *op.Page[contract.AgentRunSummary]:
		return each(out.Items, runReferences)
	case *contract.Delegation:
		return []reference{{toInitiative, &out.InitiativeID, nil}}
	case *op.Page[contract.Delegation]:
		return each(out.Items, func(d *contract.Delegation) []reference { return []reference{{toInitiative, &d.InitiativeID, nil}} })
	}
	return nil
}

func each[T any](items []T, of func(*T) []reference) []reference {
	var refs []reference
	for i := range items {
		refs = append(refs, of(&items[i])...)
	}
	return refs
}

func taskReferences(t *contract.Task) []reference {
	if t == nil || t.Issue == nil {
		return nil
	}
	return []reference{{toIssue, &t.Issue.ID, &t.Issue.Key}}
}

func commentReferences(m *contract.Comment) []reference {
	return []reference{{toTask, &m.TaskID, nil}, {toIssue, &m.IssueID, nil}}
}

func timeEntryReferences(e *contract.TimeEntry) []reference {
	return []reference{{toTask, &e.TaskID, nil}, {toIssue, &e.IssueID, nil}}
}

func runReferences(r *contract.AgentRunSummary) []reference {
	return []reference{{toTask, &r.TaskID, &r.TaskKey}}
}
