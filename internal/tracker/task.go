package tracker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"parapet/internal/agentrun"
	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

func (s *Service) taskOperations() []op.Bound {
	return []op.Bound{
		list(s, contract.ListTasks, taskColumns, s.listTasks),
		handleReturning(s, contract.CreateTask, loadProjectOfNewTask, s.createTask, loadReturnedTask),
		handle(s, contract.GetTask, loadTaskToRead, getTask),
		handle(s, contract.UpdateTask, loadTaskToUpdate, s.updateTask),
		handle(s, contract.DeleteTask, loadTaskToDelete, deleteTask),
		list(s, contract.SearchTasks, taskColumns, s.searchAllTasks),
		list(s, contract.ListEpicChildren, taskColumns, s.listEpicChildren),
	}
}

func loadProjectOfNewTask(ctx context.Context, c *executor.Call, in *contract.CreateTaskIn) (projectRow, authz.Resource, error) {
	project, err := loadProject(ctx, c, loadProjectKeyShareSQL, in.ProjectID)
	return project, project.newTaskResource(c), err
}

// loadReturnedTask returns the policy input for the current state of a returned task.
func loadReturnedTask(ctx context.Context, c *executor.Call, out *contract.Task) (authz.Resource, error) {
	row, err := loadTask(ctx, c, out.ProjectID, string(out.ID), false)
	return row.resource(c.Tenant), err
}

// newTaskResource returns the policy input for a task that the caller is about to
// create in the project.
func (r *projectRow) newTaskResource(c *executor.Call) authz.Resource {
	resource := r.resource(c.Tenant)
	resource.ID, resource.Owner, resource.Creator = "", "", string(c.Actor.UserID)
	// NOT_FOUND errors name the project, because the task does not exist yet.
	resource.Type = "project"
	return resource
}

func (s *Service) createTask(ctx context.Context, c *executor.Call, in *contract.CreateTaskIn, project projectRow) (*contract.Task, error) {
	labels, err := normalizeLabels(in.Labels)
	if err != nil {
		return nil, err
	}
	status := initialStatus(project.statuses())
	if in.Status != "" {
		if status, err = findStatus(project.statuses(), in.Status); err != nil {
			return nil, err
		}
	}
	if err := project.validateEstimate(in.EstimatePoints); err != nil {
		return nil, err
	}
	row := taskRow{
		ID: uid.New(), ProjectID: project.ID, Title: strings.TrimSpace(in.Title), Description: in.Description,
		IssueType: in.IssueType, Priority: in.Priority, Progress: in.Progress, AssigneeID: postgres.NullIfZero(in.Assignee),
		DueDate: postgres.NullIfZero(in.DueDate), EstimatePoints: in.EstimatePoints, Labels: labels, CreatedBy: c.Actor.UserID,
	}
	row.setStatus(c, status)
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
		// Lock the counter before any task, in the same order as an import.
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
	if err := setInitiative(ctx, c, &row, postgres.NullIfZero(in.InitiativeID)); err != nil {
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
	details := map[string]any{
		"issueType": created.IssueType, "priority": created.Priority, "status": created.Status, "assignee": created.AssigneeID,
	}
	if check != nil {
		details["duplicateCheck"] = check
	}
	recordTask(c, created, "task.created", contract.EventTaskCreated, nil, details)
	if err := agentrun.QueueOnAssignment(ctx, c, created.toRunTask(c.Tenant), assignee); err != nil {
		return nil, err
	}
	return created.toTaskForCaller(ctx, c), nil
}

// setStatus sets the status and the fields that depend on its category: progress and
// completion time.
func (r *taskRow) setStatus(c *executor.Call, status contract.Status) {
	r.Status, r.StatusCategory = status.Name, status.Category
	if status.Category == contract.CategoryDone {
		r.Progress = 100
	}
	switch {
	case !isFinalCategory(status.Category):
		r.CompletedAt = nil
	case r.CompletedAt == nil:
		r.CompletedAt = &c.Now
	}
}

func loadTaskToRead(ctx context.Context, c *executor.Call, in *contract.GetTaskIn) (taskRow, authz.Resource, error) {
	row, err := loadTask(ctx, c, in.ProjectID, in.Task, false)
	return row, row.resource(c.Tenant), err
}

func getTask(ctx context.Context, c *executor.Call, in *contract.GetTaskIn, row taskRow) (*contract.Task, error) {
	task := row.toTaskForCaller(ctx, c)
	var err error
	if task.CustomFields, err = loadFieldValues(ctx, c, &row); err != nil {
		return nil, err
	}
	return task, addDecisionRequest(ctx, c, &row, in.DecisionRequestID, task)
}

func loadTaskToUpdate(ctx context.Context, c *executor.Call, in *contract.UpdateTaskIn) (taskRow, authz.Resource, error) {
	row, err := loadTask(ctx, c, in.ProjectID, in.Task, true)
	return row, row.resource(c.Tenant), err
}

func (s *Service) updateTask(ctx context.Context, c *executor.Call, in *contract.UpdateTaskIn, old taskRow) (*contract.Task, error) {
	row := old
	var patch op.Patch
	if err := row.apply(c, in, &patch); err != nil {
		return nil, err
	}
	if row.IssueType != old.IssueType {
		if err := checkIssueTypeChange(ctx, c, &row, &old); err != nil {
			return nil, err
		}
	}
	if in.EpicID.Set && in.EpicID.Or("") != postgres.ValueOrZero(old.EpicID) {
		if err := setEpic(ctx, c, &row, in.EpicID.Or("")); err != nil {
			return nil, err
		}
	}
	if in.ParentTaskID.Set && in.ParentTaskID.Or("") != postgres.ValueOrZero(old.ParentTaskID) {
		if err := setParent(ctx, c, &row, in.ParentTaskID.Or("")); err != nil {
			return nil, err
		}
	}
	if in.InitiativeID.Set && in.InitiativeID.Or("") != postgres.ValueOrZero(old.InitiativeID) {
		if err := setInitiative(ctx, c, &row, postgres.NullIfZero(in.InitiativeID.Or(""))); err != nil {
			return nil, err
		}
	}
	if row.IssueType != contract.TypeEpic && row.InitiativeID != nil {
		return nil, taskConstraints()["tasks_initiative_is_for_epics"]
	}
	if row.IssueType == contract.TypeEpic && (row.EpicID != nil || row.ParentTaskID != nil) {
		return nil, taskConstraints()["tasks_epic_stands_alone"]
	}
	changed, err := patch.Changed()
	if err != nil {
		return nil, err
	}
	if len(changed) == 0 {
		if err := authorizeUnchanged(ctx, c, contract.PermTasksRead, old.resource(c.Tenant)); err != nil {
			return nil, err
		}
		return old.toTaskForCaller(ctx, c), nil
	}
	var assignee *authz.Candidate
	if row.AssigneeID != nil && postgres.ValueOrZero(row.AssigneeID) != postgres.ValueOrZero(old.AssigneeID) {
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
	updated := rows[row.ID]
	details := map[string]any{}
	if updated.Status != old.Status {
		details["status"] = map[string]string{"from": old.Status, "to": updated.Status}
	}
	if postgres.ValueOrZero(updated.AssigneeID) != postgres.ValueOrZero(old.AssigneeID) {
		details["assignee"] = map[string]*op.UUID{"from": old.AssigneeID, "to": updated.AssigneeID}
	}
	if postgres.ValueOrZero(updated.InitiativeID) != postgres.ValueOrZero(old.InitiativeID) {
		details["initiative"] = map[string]*op.UUID{"from": optionalOpaqueID(c.Tenant, old.InitiativeID), "to": optionalOpaqueID(c.Tenant, updated.InitiativeID)}
	}
	recordTask(c, updated, "task.updated", contract.EventTaskUpdated, changed, details)
	if err := agentrun.QueueOnAssignment(ctx, c, updated.toRunTask(c.Tenant), assignee); err != nil {
		return nil, err
	}
	return updated.toTaskForCaller(ctx, c), nil
}

// apply copies the fields that are set in the request, except the epic, parent and
// initiative. p then knows which fields change, also those that the caller sets later.
func (r *taskRow) apply(c *executor.Call, in *contract.UpdateTaskIn, p *op.Patch) error {
	op.SetTrimmed(p, "title", &r.Title, in.Title)
	op.SetOrClear(p, "description", &r.Description, in.Description)
	op.Set(p, "status", &r.Status, in.Status)
	op.Set(p, "issueType", &r.IssueType, in.IssueType)
	op.Set(p, "priority", &r.Priority, in.Priority)
	op.Set(p, "progress", &r.Progress, in.Progress)
	op.SetOptional(p, "assignee", &r.AssigneeID, in.Assignee)
	op.SetOptional(p, "dueDate", &r.DueDate, in.DueDate)
	op.Watch(p, "epicId", &r.EpicID)
	op.Watch(p, "parentTaskId", &r.ParentTaskID)
	op.Watch(p, "initiativeId", &r.InitiativeID)
	op.Watch(p, "estimatePoints", &r.EstimatePoints)
	op.Watch(p, "labels", &r.Labels)
	if _, err := p.Changed(); err != nil {
		return err
	}
	if in.Labels.Set {
		labels, err := normalizeLabels(in.Labels.Or(nil))
		if err != nil {
			return err
		}
		r.Labels = labels
	}
	if in.EstimatePoints.Set {
		r.EstimatePoints = in.EstimatePoints.Ptr()
		project := projectRow{StoryPoints: r.StoryPoints}
		if err := project.validateEstimate(r.EstimatePoints); err != nil {
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
	r.setStatus(c, status)
	return nil
}

func loadTaskToDelete(ctx context.Context, c *executor.Call, in *contract.DeleteTaskIn) (taskRow, authz.Resource, error) {
	row, err := loadTask(ctx, c, in.ProjectID, in.Task, true)
	return row, row.resource(c.Tenant), err
}

// deleteTask deletes a task with its sub-tasks. The children of a deleted epic stay,
// and so do the issues that were promoted to a deleted task.
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
	if err := clearPromotedTasks(ctx, c, row.ProjectID, append(ids, row.ID)); err != nil {
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

// validateEstimate returns an error unless the estimate is in the project's story-point
// scale. There is no default scale: a project without a scale allows no estimates.
func (r *projectRow) validateEstimate(points *float64) error {
	switch {
	case points == nil || slices.Contains(r.StoryPoints, *points):
		return nil
	case len(r.StoryPoints) == 0:
		return fault.Validation("estimatePoints", "The project has no story-point scale, so its tasks cannot have estimates. Set storyPointScale first.")
	default:
		return fault.Validation("estimatePoints", fmt.Sprintf("estimatePoints must be a value of the project's scale: %v.", r.StoryPoints))
	}
}

// maxLabel is the maximum length of a label, in characters.
const maxLabel = 50

// normalizeLabels returns the labels sorted and without duplicates; never nil.
func normalizeLabels(given []string) ([]string, error) {
	labels := make([]string, 0, len(given))
	for i, l := range given {
		if l == "" || utf8.RuneCountInString(l) > maxLabel || l != strings.TrimSpace(l) || hasControlCharacter(l) {
			return nil, fault.Validation(fmt.Sprintf("labels.%d", i), "A label must have 1 to 50 characters, no leading or trailing space and no control characters.")
		}
		labels = append(labels, l)
	}
	slices.Sort(labels)
	return slices.Compact(labels), nil
}
