package tracker

import (
	"context"

	"parapet/internal/agentrun"
	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

// promoteIssueHandler creates a task from an issue. The policies authorize both: the
// issue, which requires issue.update (issue.update.own is not enough), and the new
// task.
func loadIssueToPromote(ctx context.Context, c *executor.Call, in *contract.PromoteIssueIn) (issueRow, authz.Resource, error) {
	row, err := loadIssue(ctx, c, in.Issue, true)
	return row, row.resource(c.Tenant), err
}

func (s *Service) promoteIssue(ctx context.Context, c *executor.Call, _ *contract.PromoteIssueIn, issue issueRow) (*contract.Task, error) {
	if err := evaluateCustomDecision(ctx, c, "issue", authz.PromoteIssue{Actor: c.Actor.Subject, Resource: issue.resource(c.Tenant)}); err != nil {
		return nil, err
	}
	project, err := loadProject(ctx, c, loadProjectSQL, issue.ProjectID)
	if err != nil {
		return nil, err
	}
	if err := c.Decide(ctx, contract.PermTaskCreate, project.newTaskResource(c)); err != nil {
		return nil, err
	}
	if issue.PromotedTaskID != nil {
		task, err := loadTask(ctx, c, issue.ProjectID, string(*issue.PromotedTaskID), false)
		if err != nil {
			return nil, err
		}
		if err := authorizeUnchanged(ctx, c, contract.PermTasksRead, task.resource(c.Tenant)); err != nil {
			return nil, err
		}
		return task.toTaskForCaller(ctx, c), nil
	}
	row := taskRow{
		ID: uid.New(), ProjectID: issue.ProjectID, Title: issue.Title, Description: issue.Description, IssueType: contract.TypeBug,
		Priority: priorityForSeverity(issue.Severity), AssigneeID: issue.AssigneeID, DueDate: issue.DueDate, Labels: []string{},
		CreatedBy: c.Actor.UserID,
	}
	row.setStatus(c, initialStatus(project.statuses()))
	var assignee *authz.Candidate
	if row.AssigneeID != nil {
		// The issue's assignee may no longer be assignable; the task is then unassigned.
		assignee, err = s.loadAssignable(ctx, c, "assignee", *row.AssigneeID, project.Classification)
		if fault.HasCode(err, fault.CodeValidation) {
			row.AssigneeID, err = nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	if err := insertTaskRow(ctx, c, &row); err != nil {
		return nil, err
	}
	issue.PromotedTaskID, issue.TaskNumber, issue.UpdatedAt = &row.ID, &row.Number, c.Now
	if err := updateIssueRow(ctx, c, &issue); err != nil {
		return nil, err
	}
	rows, err := loadTasks(ctx, c, []op.UUID{row.ID})
	if err != nil {
		return nil, err
	}
	task := rows[row.ID]
	recordTask(c, task, "task.created", contract.EventTaskCreated, nil, map[string]any{
		"issueType": task.IssueType, "priority": task.Priority, "status": task.Status, "assignee": task.AssigneeID, "issueId": issue.ID,
	})
	recordIssue(c, &issue, "issue.promoted", contract.EventIssuePromoted, []string{"promotedTaskId"}, map[string]any{"taskId": task.ID})
	if err := agentrun.QueueOnAssignment(ctx, c, task.toRunTask(c.Tenant), assignee); err != nil {
		return nil, err
	}
	return task.toTaskForCaller(ctx, c), nil
}

// priorityForSeverity returns the priority of a task created from an issue of this
// severity.
func priorityForSeverity(severity string) string {
	switch severity {
	case contract.SeverityCritical:
		return contract.PriorityUrgent
	case contract.SeverityHigh:
		return contract.PriorityHigh
	case contract.SeverityLow:
		return contract.PriorityLow
	default:
		return contract.PriorityMedium
	}
}

const clearPromotedTasksSQL = `
UPDATE projects.issues i SET promoted_task_id = NULL, updated_at = @now
WHERE i.tenant_id = @tenant AND i.project_id = @project AND i.promoted_task_id = ANY(@tasks::uuid[])
RETURNING i.id`

// clearPromotedTasks removes the link to the tasks from the issues that were promoted
// to them, and records the change. The issues can be promoted again.
func clearPromotedTasks(ctx context.Context, c *executor.Call, project op.UUID, tasks []op.UUID) error {
	ids, err := postgres.CollectScalars[op.UUID](ctx, c.DB, clearPromotedTasksSQL, postgres.Args{
		"tenant": c.Tenant, "project": project, "tasks": tasks, "now": c.Now,
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		row, err := loadIssue(ctx, c, string(id), false)
		if err != nil {
			return err
		}
		recordIssue(c, &row, "issue.updated", contract.EventIssueUpdated, []string{"promotedTaskId"}, nil)
	}
	return nil
}
