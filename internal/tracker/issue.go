package tracker

import (
	"context"
	"strings"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

func (s *Service) issueOperations() []op.Bound {
	return []op.Bound{
		list(s, contract.ListIssues, issueColumns, s.listIssues),
		handleReturning(s, contract.CreateIssue, loadProjectOfNewIssue, createIssue, loadReturnedIssue),
		handle(s, contract.GetIssue, loadIssueToRead, getIssue),
		changeIssue(s, contract.UpdateIssue, issueChange[contract.UpdateIssueIn]{
			ref: func(in *contract.UpdateIssueIn) string { return in.Issue }, apply: applyIssueUpdate,
			action: "issue.updated", event: contract.EventIssueUpdated,
		}),
		handle(s, contract.DeleteIssue, loadIssueToDelete, deleteIssue),
		changeIssue(s, contract.AssignIssue, issueChange[contract.AssignIssueIn]{
			ref: func(in *contract.AssignIssueIn) string { return in.Issue }, apply: s.applyIssueAssignment,
			action: "issue.assigned", event: contract.EventIssueAssigned, countsAsResponse: true,
		}),
		changeIssue(s, contract.EscalateIssue, issueChange[contract.EscalateIssueIn]{
			ref: func(in *contract.EscalateIssueIn) string { return in.Issue }, apply: applyIssueEscalation,
			action: "issue.escalated", event: contract.EventIssueEscalated,
		}),
		changeIssue(s, contract.TransitionIssue, issueChange[contract.TransitionIssueIn]{
			ref: func(in *contract.TransitionIssueIn) string { return in.Issue }, apply: applyIssueTransition,
			action: "issue.transitioned", event: contract.EventIssueTransitioned, countsAsResponse: true,
		}),
		changeIssue(s, contract.ResolveIssue, issueChange[contract.ResolveIssueIn]{
			ref: func(in *contract.ResolveIssueIn) string { return in.Issue }, apply: applyIssueResolution,
			action: "issue.resolved", event: contract.EventIssueResolved, countsAsResponse: true,
		}),
		handleReturning(s, contract.PromoteIssue, loadIssueToPromote, s.promoteIssue, loadReturnedTask),
	}
}

// slaDeadlines returns when the first response to an issue and its resolution are due.
func slaDeadlines(severity string, created time.Time) (respond, resolve time.Time) {
	responseHours, resolutionHours := 24, 168
	switch severity {
	case contract.SeverityCritical:
		responseHours, resolutionHours = 1, 8
	case contract.SeverityHigh:
		responseHours, resolutionHours = 4, 24
	case contract.SeverityMedium:
		responseHours, resolutionHours = 8, 72
	}
	return created.Add(time.Duration(responseHours) * time.Hour), created.Add(time.Duration(resolutionHours) * time.Hour)
}

func loadProjectOfNewIssue(ctx context.Context, c *executor.Call, in *contract.CreateIssueIn) (projectRow, authz.Resource, error) {
	project, err := loadProject(ctx, c, loadProjectKeyShareSQL, in.ProjectID)
	return project, project.newTaskResource(c), err
}

func loadReturnedIssue(ctx context.Context, c *executor.Call, out *contract.Issue) (authz.Resource, error) {
	row, err := loadIssue(ctx, c, string(out.ID), false)
	return row.resource(c.Tenant), err
}

func createIssue(ctx context.Context, c *executor.Call, in *contract.CreateIssueIn, project projectRow) (*contract.Issue, error) {
	row := issueRow{
		issueSummaryRow: issueSummaryRow{
			ID: uid.New(), ProjectID: project.ID, Prefix: project.toProject().IssuePrefix, Title: strings.TrimSpace(in.Title),
			Severity: in.Severity, Status: contract.IssueOpen, DueDate: postgres.NullIfZero(in.DueDate),
			CreatedBy: c.Actor.UserID, CreatedAt: c.Now, UpdatedAt: c.Now,
		},
		Description: in.Description, OrganisationID: project.OrganisationID, Classification: project.Classification,
	}
	row.FirstResponseDueAt, row.ResolutionDueAt = slaDeadlines(row.Severity, row.CreatedAt)
	if err := insertIssueRow(ctx, c, &row); err != nil {
		return nil, err
	}
	recordIssue(c, &row, "issue.created", contract.EventIssueCreated, nil, map[string]any{"severity": row.Severity})
	return row.toIssue(c.Now), nil
}

func loadIssueToRead(ctx context.Context, c *executor.Call, in *contract.GetIssueIn) (issueRow, authz.Resource, error) {
	row, err := loadIssue(ctx, c, in.Issue, false)
	return row, row.resource(c.Tenant), err
}

func getIssue(_ context.Context, c *executor.Call, _ *contract.GetIssueIn, row issueRow) (*contract.Issue, error) {
	return row.toIssue(c.Now), nil
}

// issueChange describes an operation that changes one issue.
type issueChange[In any] struct {
	// ref returns the key or id of the issue.
	ref func(in *In) string
	// apply copies the requested changes to r.
	apply  func(ctx context.Context, c *executor.Call, in *In, r *issueRow) error
	action string
	event  *op.EventType
	// countsAsResponse marks operations that are a first response to the issue, unless its
	// creator runs them.
	countsAsResponse bool
}

// changeIssue binds an operation that changes one issue.
func changeIssue[In any](s *Service, o op.Op[In, contract.Issue], h issueChange[In]) op.Bound {
	load := func(ctx context.Context, c *executor.Call, in *In) (issueRow, authz.Resource, error) {
		row, err := loadIssue(ctx, c, h.ref(in), true)
		return row, row.resource(c.Tenant), err
	}
	return handle(s, o, load, func(ctx context.Context, c *executor.Call, in *In, old issueRow) (*contract.Issue, error) {
		row := old
		var p op.Patch
		op.Watch(&p, "title", &row.Title)
		op.Watch(&p, "description", &row.Description)
		op.Watch(&p, "severity", &row.Severity)
		op.Watch(&p, "status", &row.Status)
		op.Watch(&p, "resolution", &row.Resolution)
		op.Watch(&p, "assignee", &row.AssigneeID)
		op.Watch(&p, "dueDate", &row.DueDate)
		if err := h.apply(ctx, c, in, &row); err != nil {
			return nil, err
		}
		changed, err := p.Changed()
		if err != nil {
			return nil, err
		}
		if len(changed) == 0 {
			if err := authorizeUnchanged(ctx, c, contract.PermIssuesRead, old.resource(c.Tenant)); err != nil {
				return nil, err
			}
			return old.toIssue(c.Now), nil
		}
		if h.countsAsResponse && row.FirstRespondedAt == nil && c.Actor.UserID != row.CreatedBy {
			row.FirstRespondedAt = &c.Now
			changed = append(changed, "firstRespondedAt")
		}
		row.UpdatedAt = c.Now
		if err := updateIssueRow(ctx, c, &row); err != nil {
			return nil, err
		}
		recordIssue(c, &row, h.action, h.event, changed, row.auditChanges(&old))
		return row.toIssue(c.Now), nil
	})
}

func applyIssueUpdate(_ context.Context, _ *executor.Call, in *contract.UpdateIssueIn, r *issueRow) error {
	var p op.Patch
	op.SetTrimmed(&p, "title", &r.Title, in.Title)
	op.SetOrClear(&p, "description", &r.Description, in.Description)
	op.SetOptional(&p, "dueDate", &r.DueDate, in.DueDate)
	_, err := p.Changed()
	return err
}

func (s *Service) applyIssueAssignment(ctx context.Context, c *executor.Call, in *contract.AssignIssueIn, r *issueRow) error {
	if !in.Assignee.Set {
		return fault.Validation("assignee", "The field assignee is required: the id of a user, or an empty string to unassign.")
	}
	if in.Assignee.Or("") == "" {
		r.AssigneeID = nil
		return nil
	}
	user := in.Assignee.Value
	if user == postgres.ValueOrZero(r.AssigneeID) {
		return nil
	}
	r.AssigneeID = &user
	return s.checkAssignable(ctx, c, "assignee", user, r.Classification)
}

func applyIssueEscalation(_ context.Context, _ *executor.Call, in *contract.EscalateIssueIn, r *issueRow) error {
	r.Severity = in.Severity
	r.FirstResponseDueAt, r.ResolutionDueAt = slaDeadlines(r.Severity, r.CreatedAt)
	return nil
}

func applyIssueTransition(_ context.Context, c *executor.Call, in *contract.TransitionIssueIn, r *issueRow) error {
	r.setStatus(c, in.To)
	return nil
}

func applyIssueResolution(_ context.Context, c *executor.Call, in *contract.ResolveIssueIn, r *issueRow) error {
	r.setStatus(c, contract.IssueResolved)
	r.Resolution = &in.Resolution
	return nil
}

// setStatus sets the status. A final status sets the resolution time; any other status
// clears the resolution.
func (r *issueRow) setStatus(c *executor.Call, status string) {
	r.Status = status
	switch {
	case status != contract.IssueResolved && status != contract.IssueClosed:
		r.Resolution, r.ResolvedAt = nil, nil
	case r.ResolvedAt == nil:
		r.ResolvedAt = &c.Now
	}
}

// auditChanges returns the old and new values of the changed fields whose values are
// codes or ids.
func (r *issueRow) auditChanges(old *issueRow) map[string]any {
	changes := map[string]any{}
	for _, f := range []struct{ name, from, to string }{
		{"severity", old.Severity, r.Severity},
		{"status", old.Status, r.Status},
		{"resolution", postgres.ValueOrZero(old.Resolution), postgres.ValueOrZero(r.Resolution)},
		{"assignee", idText(old.AssigneeID), idText(r.AssigneeID)},
	} {
		if f.from != f.to {
			changes[f.name] = map[string]*string{"from": postgres.NullIfZero(f.from), "to": postgres.NullIfZero(f.to)}
		}
	}
	return changes
}

func loadIssueToDelete(ctx context.Context, c *executor.Call, in *contract.DeleteIssueIn) (issueRow, authz.Resource, error) {
	row, err := loadIssue(ctx, c, in.Issue, true)
	return row, row.resource(c.Tenant), err
}

func deleteIssue(ctx context.Context, c *executor.Call, _ *contract.DeleteIssueIn, row issueRow) (*op.None, error) {
	if err := authorizeCascade(ctx, c, "issues", row.ID); err != nil {
		return nil, err
	}
	if _, err := c.DB.Exec(ctx, deleteIssueSQL, postgres.Args{"tenant": c.Tenant, "id": row.ID}); err != nil {
		return nil, postgres.MapError(err, issueConstraints())
	}
	recordIssue(c, &row, "issue.deleted", contract.EventIssueDeleted, nil, nil)
	return &op.None{}, nil
}
