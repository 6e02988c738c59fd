package tracker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

func (s *Service) createTaskHandler() executor.Handler[contract.CreateTaskIn, contract.Task, projectRow] {
	return executor.Handler[contract.CreateTaskIn, contract.Task, projectRow]{
		Load: func(ctx context.Context, c *executor.Call, in *contract.CreateTaskIn) (projectRow, authz.Resource, error) {
			project, err := loadProject(ctx, c, keepProjectSQL, in.ProjectID)
			return project, project.newTaskResource(c), err
		},
		Do: s.createTask, Returned: loadReturnedTask,
	}
}

// loadReturnedTask is the task of an answer as it is now.
func loadReturnedTask(ctx context.Context, c *executor.Call, out *contract.Task) (authz.Resource, error) {
	row, err := loadTask(ctx, c, out.ProjectID, string(out.ID), false)
	return row.resource(c.Tenant), err
}

// newTaskResource is a task that the caller is about to create in the project.
func (r *projectRow) newTaskResource(c *executor.Call) authz.Resource {
	resource := r.resource(c.Tenant)
	resource.ID, resource.Owner, resource.Creator = "", "", string(c.Actor.UserID)
	// The noun of a refusal that hides: it is the project that is not there.
	resource.Type = "project"
	return resource
}

func (s *Service) createTask(ctx context.Context, c *executor.Call, in *contract.CreateTaskIn, project projectRow) (*contract.Task, error) {
	labels, err := checkLabels(in.Labels)
	if err != nil {
		return nil, err
	}
	status := initialStatus(project.statuses())
	if in.Status != "" {
		if status, err = findStatus(project.statuses(), in.Status); err != nil {
			return nil, err
		}
	}
	if err := project.checkEstimate(in.EstimatePoints); err != nil {
		return nil, err
	}
	row := taskRow{
		ID: uid.New(), ProjectID: project.ID, Title: strings.TrimSpace(in.Title), Description: in.Description,
		IssueType: in.IssueType, Priority: in.Priority, Progress: in.Progress, AssigneeID: optional(in.Assignee),
		DueDate: optional(in.DueDate), EstimatePoints: in.EstimatePoints, Labels: labels, CreatedBy: c.Actor.UserID,
	}
	row.move(c, status)
	var assignee *authz.Candidate
	if in.Assignee != "" {
		if assignee, err = s.loadAssignable(ctx, c, "assignee", in.Assignee, project.Classification); err != nil {
			return nil, err
		}
	}
	check, err := s.checkDuplicates(ctx, c, in, row.Title, &project)
	if err != nil {
		return nil, err
	}
	if in.EpicID != "" || in.ParentTaskID != "" {
		// The counter before any task, as an import takes them.
		if err := lockCounter(ctx, c, project.ID); err != nil {
			return nil, err
		}
	}
	if err := setEpic(ctx, c, &row, in.EpicID); err != nil {
		return nil, err
	}
	if err := setParent(ctx, c, &row, in.ParentTaskID); err != nil {
		return nil, err
	}
	if err := setInitiative(ctx, c, &row, optional(in.InitiativeID)); err != nil {
		return nil, err
	}
	if err := insertTaskRow(ctx, c, &row); err != nil {
		return nil, err
	}
	rows, err := loadTasks(ctx, c, []op.UUID{row.ID})
	if err != nil {
		return nil, err
	}
	created := rows[row.ID]
	more := map[string]any{
		"issueType": created.IssueType, "priority": created.Priority, "status": created.Status, "assignee": created.AssigneeID,
	}
	if check != nil {
		more["duplicateCheck"] = check
	}
	recordTask(c, created, "task.created", contract.EventTaskCreated, nil, more)
	if err := assigned(ctx, c, created, assignee); err != nil {
		return nil, err
	}
	return created.show(ctx, c), nil
}

// move puts the task into a status, with what follows from its category.
func (r *taskRow) move(c *executor.Call, status contract.Status) {
	r.Status, r.StatusCategory = status.Name, status.Category
	if status.Category == contract.CategoryDone {
		r.Progress = 100
	}
	switch {
	case !isOver(status.Category):
		r.CompletedAt = nil
	case r.CompletedAt == nil:
		r.CompletedAt = &c.Now
	}
}

func (s *Service) getTaskHandler() executor.Handler[contract.GetTaskIn, contract.Task, taskRow] {
	return executor.Handler[contract.GetTaskIn, contract.Task, taskRow]{
		Load: func(ctx context.Context, c *executor.Call, in *contract.GetTaskIn) (taskRow, authz.Resource, error) {
			row, err := loadTask(ctx, c, in.ProjectID, in.Task, false)
			return row, row.resource(c.Tenant), err
		},
		Do: func(ctx context.Context, c *executor.Call, in *contract.GetTaskIn, row taskRow) (*contract.Task, error) {
			task := row.show(ctx, c)
			var err error
			if task.CustomFields, err = loadFieldValues(ctx, c, &row); err != nil {
				return nil, err
			}
			return task, addDecisionRequest(ctx, c, &row, in.DecisionRequestID, task)
		},
	}
}

func (s *Service) updateTaskHandler() executor.Handler[contract.UpdateTaskIn, contract.Task, taskRow] {
	return executor.Handler[contract.UpdateTaskIn, contract.Task, taskRow]{
		Load: func(ctx context.Context, c *executor.Call, in *contract.UpdateTaskIn) (taskRow, authz.Resource, error) {
			row, err := loadTask(ctx, c, in.ProjectID, in.Task, true)
			return row, row.resource(c.Tenant), err
		},
		Do: s.updateTask,
	}
}

func (s *Service) updateTask(ctx context.Context, c *executor.Call, in *contract.UpdateTaskIn, old taskRow) (*contract.Task, error) {
	row := old
	if err := row.apply(c, in); err != nil {
		return nil, err
	}
	if row.IssueType != old.IssueType {
		if err := checkIssueTypeChange(ctx, c, &row, &old); err != nil {
			return nil, err
		}
	}
	if in.EpicID.Set && in.EpicID.Or("") != value(old.EpicID) {
		if err := setEpic(ctx, c, &row, in.EpicID.Or("")); err != nil {
			return nil, err
		}
	}
	if in.ParentTaskID.Set && in.ParentTaskID.Or("") != value(old.ParentTaskID) {
		if err := setParent(ctx, c, &row, in.ParentTaskID.Or("")); err != nil {
			return nil, err
		}
	}
	if in.InitiativeID.Set && in.InitiativeID.Or("") != value(old.InitiativeID) {
		if err := setInitiative(ctx, c, &row, optional(in.InitiativeID.Or(""))); err != nil {
			return nil, err
		}
	}
	if row.IssueType != contract.TypeEpic && row.InitiativeID != nil {
		return nil, taskConstraints()["tasks_initiative_is_for_epics"]
	}
	if row.IssueType == contract.TypeEpic && (row.EpicID != nil || row.ParentTaskID != nil) {
		return nil, taskConstraints()["tasks_epic_stands_alone"]
	}
	changed := row.differences(&old)
	if len(changed) == 0 {
		if err := authorizeUnchanged(ctx, c, contract.PermTasksRead, old.resource(c.Tenant)); err != nil {
			return nil, err
		}
		return old.show(ctx, c), nil
	}
	var assignee *authz.Candidate
	if row.AssigneeID != nil && value(row.AssigneeID) != value(old.AssigneeID) {
		var err error
		if assignee, err = s.loadAssignable(ctx, c, "assignee", *row.AssigneeID, row.Classification); err != nil {
			return nil, err
		}
	}
	if err := updateTaskRow(ctx, c, &row); err != nil {
		return nil, err
	}
	rows, err := loadTasks(ctx, c, []op.UUID{row.ID})
	if err != nil {
		return nil, err
	}
	now := rows[row.ID]
	more := map[string]any{}
	if now.Status != old.Status {
		more["status"] = map[string]string{"from": old.Status, "to": now.Status}
	}
	if value(now.AssigneeID) != value(old.AssigneeID) {
		more["assignee"] = map[string]*op.UUID{"from": old.AssigneeID, "to": now.AssigneeID}
	}
	if value(now.InitiativeID) != value(old.InitiativeID) {
		more["initiative"] = map[string]*op.UUID{"from": opaqueRef(c.Tenant, old.InitiativeID), "to": opaqueRef(c.Tenant, now.InitiativeID)}
	}
	recordTask(c, now, "task.updated", contract.EventTaskUpdated, changed, more)
	if err := assigned(ctx, c, now, assignee); err != nil {
		return nil, err
	}
	return now.show(ctx, c), nil
}

// apply sets the fields that were given, but for the edges to other tasks.
func (r *taskRow) apply(c *executor.Call, in *contract.UpdateTaskIn) error {
	for _, f := range []struct {
		name string
		null bool
	}{
		{"title", in.Title.Null}, {"status", in.Status.Null}, {"issueType", in.IssueType.Null},
		{"priority", in.Priority.Null}, {"progress", in.Progress.Null},
	} {
		if f.null {
			return cannotClear(f.name)
		}
	}
	r.Title = strings.TrimSpace(in.Title.Or(r.Title))
	if r.Title == "" {
		return fault.Validation("title", "The field title can't be blank.")
	}
	r.Description = in.Description.Or(r.Description)
	r.IssueType = in.IssueType.Or(r.IssueType)
	r.Priority = in.Priority.Or(r.Priority)
	r.Progress = in.Progress.Or(r.Progress)
	r.AssigneeID = change(in.Assignee, r.AssigneeID)
	r.DueDate = change(in.DueDate, r.DueDate)
	if in.Labels.Set {
		labels, err := checkLabels(in.Labels.Or(nil))
		if err != nil {
			return err
		}
		r.Labels = labels
	}
	if in.EstimatePoints.Set {
		r.EstimatePoints = in.EstimatePoints.Ptr()
		p := projectRow{StoryPoints: r.StoryPoints}
		if err := p.checkEstimate(r.EstimatePoints); err != nil {
			return err
		}
	}
	status := contract.Status{Name: r.Status, Category: r.StatusCategory}
	if in.Status.Set {
		var err error
		if status, err = findStatus(r.statuses(), in.Status.Value); err != nil {
			return err
		}
	}
	r.move(c, status)
	return nil
}

// differences names the fields in which r is not what old was.
func (r *taskRow) differences(old *taskRow) []string {
	var names []string
	for _, f := range []struct {
		name string
		same bool
	}{
		{"title", r.Title == old.Title},
		{"description", r.Description == old.Description},
		{"status", r.Status == old.Status},
		{"issueType", r.IssueType == old.IssueType},
		{"priority", r.Priority == old.Priority},
		{"progress", r.Progress == old.Progress},
		{"assignee", value(r.AssigneeID) == value(old.AssigneeID)},
		{"dueDate", value(r.DueDate) == value(old.DueDate)},
		{"epicId", value(r.EpicID) == value(old.EpicID)},
		{"parentTaskId", value(r.ParentTaskID) == value(old.ParentTaskID)},
		{"initiativeId", value(r.InitiativeID) == value(old.InitiativeID)},
		{"estimatePoints", (r.EstimatePoints == nil) == (old.EstimatePoints == nil) && value(r.EstimatePoints) == value(old.EstimatePoints)},
		{"labels", slices.Equal(r.Labels, old.Labels)},
	} {
		if !f.same {
			names = append(names, f.name)
		}
	}
	return names
}

func (s *Service) deleteTaskHandler() executor.Handler[contract.DeleteTaskIn, op.None, taskRow] {
	return executor.Handler[contract.DeleteTaskIn, op.None, taskRow]{
		Load: func(ctx context.Context, c *executor.Call, in *contract.DeleteTaskIn) (taskRow, authz.Resource, error) {
			row, err := loadTask(ctx, c, in.ProjectID, in.Task, true)
			return row, row.resource(c.Tenant), err
		},
		Do: deleteTask,
	}
}

// deleteTask deletes a task with its sub-tasks. An epic's children stay, and so do
// the issues that were promoted to the deleted tasks.
func deleteTask(ctx context.Context, c *executor.Call, _ *contract.DeleteTaskIn, row taskRow) (*op.None, error) {
	children, err := postgres.CollectScalars[op.UUID](ctx, c.DB, epicChildrenSQL, postgres.Args{"tenant": c.Tenant, "id": row.ID})
	if err != nil {
		return nil, err
	}
	ids, err := postgres.CollectScalars[op.UUID](ctx, c.DB, subTasksSQL, postgres.Args{"tenant": c.Tenant, "project": row.ProjectID, "id": row.ID})
	if err != nil {
		return nil, err
	}
	if err := authorizeCascade(ctx, c, "tasks", append([]op.UUID{row.ID}, ids...)...); err != nil {
		return nil, err
	}
	if err := detachChildren(ctx, c, children); err != nil {
		return nil, err
	}
	subTasks, err := loadTasks(ctx, c, ids)
	if err != nil {
		return nil, err
	}
	if err := forgetPromotions(ctx, c, row.ProjectID, append(ids, row.ID)); err != nil {
		return nil, err
	}
	if _, err := c.DB.Exec(ctx, deleteTasksSQL, postgres.Args{"tenant": c.Tenant, "ids": append(ids, row.ID)}); err != nil {
		return nil, postgres.MapError(err, taskConstraints())
	}
	for _, id := range ids {
		recordTask(c, subTasks[id], "task.deleted", contract.EventTaskDeleted, nil, map[string]any{"parentTaskId": row.ID})
	}
	recordTask(c, &row, "task.deleted", contract.EventTaskDeleted, nil, nil)
	return &op.None{}, nil
}

// checkEstimate holds an estimate against the project's scale. There is no
// default scale: without one, there is no estimate.
func (r *projectRow) checkEstimate(points *float64) error {
	switch {
	case points == nil || slices.Contains(r.StoryPoints, *points):
		return nil
	case len(r.StoryPoints) == 0:
		return fault.Validation("estimatePoints", "The project's story-point scale is unknown, so that its tasks have no estimates.")
	default:
		return fault.Validation("estimatePoints", fmt.Sprintf("The estimate must be one of the project's scale: %v.", r.StoryPoints))
	}
}

// maxLabel is the length in characters of the longest label.
const maxLabel = 50

// checkLabels gives the labels sorted and without doubles; never nil.
func checkLabels(given []string) ([]string, error) {
	labels := make([]string, 0, len(given))
	for i, l := range given {
		if l == "" || utf8.RuneCountInString(l) > maxLabel || l != strings.TrimSpace(l) || hasControl(l) {
			return nil, fault.Validation(fmt.Sprintf("labels.%d", i), "A label needs 1 to 50 characters, with no space around it and no control character in it.")
		}
		labels = append(labels, l)
	}
	slices.Sort(labels)
	return slices.Compact(labels), nil
}
