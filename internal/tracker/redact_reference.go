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

// reference points to the fields of a response that identify a related task, issue or
// initiative: its id and, unless key is nil, its key.
type reference struct {
	target *referenceTarget
	id     *op.UUID
	key    *string
}

// referenceTarget describes a type of related record.
type referenceTarget struct {
	permission string
	// noun is the policy resource type. It is empty for types whose records do not belong
	// to the project of the referring record.
	noun    string
	columns *authz.Columns
	// sql selects the ids of the records. The policy filter is appended to it.
	sql string
}

var (
	taskTarget = &referenceTarget{contract.PermTasksRead, "task", taskColumns, `
SELECT t.id FROM projects.tasks t JOIN projects.projects p ON p.tenant_id = t.tenant_id AND p.id = t.project_id
WHERE t.tenant_id = @tenant AND t.id = ANY(@ids::uuid[]) AND `}
	issueTarget = &referenceTarget{contract.PermIssuesRead, "issue", issueColumns, `
SELECT i.id FROM projects.issues i JOIN projects.projects p ON p.tenant_id = i.tenant_id AND p.id = i.project_id
WHERE i.tenant_id = @tenant AND i.id = ANY(@ids::uuid[]) AND `}
	initiativeTarget = &referenceTarget{contract.PermInitiativesRead, "", initiativeColumns, `
SELECT i.id FROM projects.initiatives i WHERE i.tenant_id = @tenant AND i.id = ANY(@ids::uuid[]) AND `}
)

// readableIDs returns those of the ids whose records the caller may read.
func (rt *referenceTarget) readableIDs(ctx context.Context, c *executor.Call, ids []op.UUID) ([]op.UUID, error) {
	f, err := c.Filter(ctx, rt.permission, rt.columns)
	if err != nil || f.None() {
		return nil, err
	}
	if rt.canReadAll(ctx, c) {
		return ids, nil
	}
	args := postgres.Args{"tenant": c.Tenant, "ids": ids}
	f.AddTo(args)
	return postgres.CollectScalars[op.UUID](ctx, c.DB, rt.sql+f.SQL(), args)
}

// canReadAll reports, without a query, whether the caller may read all such records in
// the projects that it can read: it has the permission in the whole tenant for its
// clearance. It always returns false in a write transaction, because each decision
// there is recorded with the delegation that allowed it.
func (rt *referenceTarget) canReadAll(ctx context.Context, c *executor.Call) bool {
	return rt.noun != "" && c.Tx == nil && c.Decide(ctx, rt.permission, authz.Resource{
		Type: rt.noun, Tenant: string(c.Tenant), Classification: c.Actor.Subject.Clearance(),
	}) == nil
}

// redactReferences replaces, in place, the ids of records that the caller may not read
// with opaque ids, and their keys with REDACTED. It also redacts records that no
// longer exist. It runs no query if all ids are empty.
func redactReferences(ctx context.Context, c *executor.Call, refs []reference) error {
	ids := map[*referenceTarget][]op.UUID{}
	for _, ref := range refs {
		if *ref.id != "" && !slices.Contains(ids[ref.target], *ref.id) {
			ids[ref.target] = append(ids[ref.target], *ref.id)
		}
	}
	for target, list := range ids {
		readable, err := target.readableIDs(ctx, c, list)
		if err != nil {
			return err
		}
		for _, ref := range refs {
			if ref.target != target || *ref.id == "" || slices.Contains(readable, *ref.id) {
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

// handle binds an operation with executor.Handle and redacts the references in its response.
func handle[In, Out, R any](s *Service, o op.Op[In, Out], load executor.Load[In, R], do executor.Do[In, Out, R]) op.Bound {
	return handleReturning(s, o, load, do, nil)
}

// handleReturning is like handle, but binds with executor.HandleReturning.
func handleReturning[In, Out, R any](
	s *Service, o op.Op[In, Out], load executor.Load[In, R], do executor.Do[In, Out, R], returned executor.Returned[Out],
) op.Bound {
	return executor.HandleReturning(s.executor, o, load, func(ctx context.Context, c *executor.Call, in *In, resource R) (*Out, error) {
		out, err := do(ctx, c, in, resource)
		if err != nil {
			return nil, err
		}
		return out, redactReferences(ctx, c, referencesOf(out))
	}, returned)
}

// list binds an operation with executor.List and redacts the references in its response.
func list[In, Out any](
	s *Service, o op.Op[In, Out], columns *authz.Columns, do func(ctx context.Context, c *executor.Call, in *In, f authz.Filter) (*Out, error),
) op.Bound {
	return executor.List(s.executor, o, columns, func(ctx context.Context, c *executor.Call, in *In, f authz.Filter) (*Out, error) {
		out, err := do(ctx, c, in, f)
		if err != nil {
			return nil, err
		}
		return out, redactReferences(ctx, c, referencesOf(out))
	})
}

// referencesOf returns the references in a response. Epics, dependencies and the
// initiatives of projects and tasks are not included: they are redacted where they are
// read.
func referencesOf(out any) []reference {
	switch out := out.(type) {
	case *contract.Task:
		return taskReferences(out)
	case *contract.ClaimNextReadyOut:
		return taskReferences(out.Task)
	case *contract.Issue:
		return []reference{{taskTarget, &out.PromotedTaskID, &out.PromotedTaskKey}}
	case *op.Page[contract.IssueSummary]:
		return collectReferences(out.Items, func(i *contract.IssueSummary) []reference { return []reference{{taskTarget, &i.PromotedTaskID, nil}} })
	case *contract.Deliverable:
		return []reference{{taskTarget, &out.TaskID, nil}}
	case *op.Page[contract.DeliverableSummary]:
		return collectReferences(out.Items, func(d *contract.DeliverableSummary) []reference { return []reference{{taskTarget, &d.TaskID, nil}} })
	case *contract.Criterion:
		return []reference{{taskTarget, &out.TaskID, nil}}
	case *op.Page[contract.Criterion]:
		return collectReferences(out.Items, func(k *contract.Criterion) []reference { return []reference{{taskTarget, &k.TaskID, nil}} })
	case *contract.Comment:
		return commentReferences(out)
	case *op.Page[contract.Comment]:
		return collectReferences(out.Items, commentReferences)
	case *contract.TimeEntry:
		return timeEntryReferences(out)
	case *contract.TimeEntryPage:
		return collectReferences(out.Items, timeEntryReferences)
	}
	return nil
}

func collectReferences[T any](items []T, of func(*T) []reference) []reference {
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
	return []reference{{issueTarget, &t.Issue.ID, &t.Issue.Key}}
}

func commentReferences(m *contract.Comment) []reference {
	return []reference{{taskTarget, &m.TaskID, nil}, {issueTarget, &m.IssueID, nil}}
}

func timeEntryReferences(e *contract.TimeEntry) []reference {
	return []reference{{taskTarget, &e.TaskID, nil}, {issueTarget, &e.IssueID, nil}}
}

// redactRunTasks replaces the tasks in the runs that the caller may not read, in place.
func redactRunTasks(ctx context.Context, c *executor.Call, runs ...*contract.AgentRunSummary) error {
	refs := make([]reference, len(runs))
	for i, r := range runs {
		refs[i] = reference{taskTarget, &r.TaskID, &r.TaskKey}
	}
	return redactReferences(ctx, c, refs)
}
