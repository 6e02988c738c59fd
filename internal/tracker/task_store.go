package tracker

import (
	"context"
	"time"

	"parapet/internal/agentrun"
	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// taskType maps policy attributes to the columns of the aliases t (task) and p (its
// project).
var taskType = newTaskType("t", "p")

// newTaskType returns the record type of tasks for a query with these aliases for
// tasks and their projects.
func newTaskType(t, p string) *authz.RecordType[taskRow] {
	return authz.NewRecordType("task", authz.Attributes[taskRow]{
		Tenant:         authz.TenantColumn[taskRow](t + ".tenant_id"),
		ID:             authz.NewAttribute(t+".id", func(r *taskRow) string { return string(r.ID) }),
		Project:        authz.NewAttribute(t+".project_id", func(r *taskRow) string { return string(r.ProjectID) }),
		Organisation:   authz.NewAttribute(p+".organisation_id", func(r *taskRow) string { return idText(r.OrganisationID) }),
		Creator:        authz.NewAttribute(t+".created_by", func(r *taskRow) string { return string(r.CreatedBy) }),
		Owner:          authz.NewAttribute(t+".assignee_id", func(r *taskRow) string { return idText(r.AssigneeID) }),
		Classification: authz.NewAttribute(p+".classification", func(r *taskRow) string { return r.Classification }),
	})
}

var taskColumns = taskType.Columns()

// epicProjectColumns maps the policy attributes of an epic to the columns of alias ep,
// the epic's project. Whether an epic is visible depends only on its project.
var epicProjectColumns = authz.NewColumns(map[string]authz.Column{
	"resource.type":           authz.Literal("task"),
	"resource.tenant":         authz.UUID("ep.tenant_id"),
	"resource.project":        authz.UUID("ep.id"),
	"resource.organisation":   authz.UUID("ep.organisation_id"),
	"resource.classification": authz.Text("ep.classification"),
})

func taskConstraints() postgres.Constraints {
	return postgres.Constraints{
		"tasks_status_of_project":       fault.Conflict("The project's statuses changed concurrently. Try again."),
		"tasks_epic":                    fault.Conflict("The task is an epic with children, or its epic was deleted concurrently."),
		"tasks_parent_in_project":       fault.Conflict("The task has sub-tasks, or its parent was deleted concurrently."),
		"tasks_epic_stands_alone":       fault.Validation("issueType", "An epic cannot belong to another epic or be a sub-task."),
		"tasks_of_project":              fault.NotFound("project"),
		"tasks_parent_is_another":       fault.Validation("parentTaskId", "A task cannot be its own sub-task."),
		"tasks_initiative_is_for_epics": fault.Validation("issueType", "Only an epic can be tagged with an initiative. Set initiativeId to null first."),
	}
}

// taskRow is a task with the needed columns of its project, epic, lease and issue.
type taskRow struct {
	ID             op.UUID
	ProjectID      op.UUID
	Number         int64
	Title          string
	Description    string
	Status         string
	StatusCategory string
	IssueType      string
	Priority       string
	Progress       int
	AssigneeID     *op.UUID
	DueDate        *op.Date
	EpicID         *op.UUID
	EpicProjectID  *op.UUID
	ParentTaskID   *op.UUID
	InitiativeID   *op.UUID
	EstimatePoints *float64
	Labels         []string
	CreatedBy      op.UUID
	CreatedAt      time.Time
	UpdatedAt      time.Time
	CompletedAt    *time.Time

	Prefix           string
	OrganisationID   *op.UUID
	Classification   string
	StoryPoints      []float64
	StatusNames      []string
	StatusCategories []string

	EpicNumber         *int64
	EpicTitle          *string
	EpicPrefix         *string
	EpicProject        *op.UUID
	EpicOrganisationID *op.UUID
	EpicClassification *string

	BlockedBy      int
	Blocks         int
	LeaseHolder    *op.UUID
	LeaseExpiresAt *time.Time
	IssueID        *op.UUID
	IssuePrefix    *string
	IssueNumber    *int64
}

// blocked_by reads the status of each dependency in a subquery. With a join, the planner
// would read all tasks of the tenant for each row of the result.
const taskSelect = `
SELECT t.id, t.project_id, t.number, t.title, t.description, t.status, t.status_category, t.issue_type, t.priority, t.progress,
       t.assignee_id, t.due_date::text AS due_date, t.epic_id, t.epic_project_id, t.parent_task_id, t.initiative_id,
       t.estimate_points, t.labels, t.created_by, t.created_at, t.updated_at, t.completed_at,
       p.prefix, p.organisation_id, p.classification, p.story_points,
       ARRAY(SELECT s.name FROM projects.statuses s
             WHERE s.tenant_id = @tenant AND s.project_id = p.id ORDER BY s.position, s.name) AS status_names,
       ARRAY(SELECT s.category FROM projects.statuses s
             WHERE s.tenant_id = @tenant AND s.project_id = p.id ORDER BY s.position, s.name) AS status_categories,
       e.number AS epic_number, e.title AS epic_title, ep.prefix AS epic_prefix, ep.id AS epic_project,
       ep.organisation_id AS epic_organisation_id, ep.classification AS epic_classification,
       (SELECT count(*) FROM projects.dependencies d
        WHERE d.tenant_id = @tenant AND d.task_id = t.id
          AND (SELECT b.status_category FROM projects.tasks b WHERE b.tenant_id = @tenant AND b.id = d.depends_on_id)
              NOT IN ('DONE', 'CANCELLED')) AS blocked_by,
       (SELECT count(*) FROM projects.dependencies d WHERE d.tenant_id = @tenant AND d.depends_on_id = t.id) AS blocks,
       cl.holder_id AS lease_holder, cl.expires_at AS lease_expires_at,
       i.id AS issue_id, i.prefix AS issue_prefix, i.number AS issue_number
FROM projects.projects p
JOIN projects.tasks t ON t.tenant_id = @tenant AND t.project_id = p.id
LEFT JOIN projects.claims cl ON cl.tenant_id = @tenant AND cl.task_id = t.id
LEFT JOIN projects.tasks e ON e.tenant_id = @tenant AND e.id = t.epic_id
LEFT JOIN projects.projects ep ON ep.tenant_id = @tenant AND ep.id = e.project_id
LEFT JOIN projects.issues i ON i.tenant_id = @tenant AND i.project_id = t.project_id AND i.promoted_task_id = t.id
WHERE p.tenant_id = @tenant`

const (
	taskByIDSQL     = taskSelect + ` AND p.id = @project AND t.project_id = @project AND t.id = @id`
	taskByNumberSQL = taskSelect + ` AND p.id = @project AND t.project_id = @project AND t.number = @number AND p.prefix = @prefix`
	tasksByIDsSQL   = taskSelect + ` AND t.id = ANY(@ids::uuid[])`
	lockTaskClause  = ` FOR UPDATE OF t`
	// Locks the project before the task. The project is then not deleted, and its statuses
	// do not change; see loadProjectKeyShareSQL.
	shareLockProjectSQL = `SELECT 1 FROM projects.projects p WHERE p.tenant_id = @tenant AND p.id = @project FOR KEY SHARE`
)

// loadTask reads a task of the project by key or id. If lock is set, it locks the
// project and the task for a change. It returns NOT_FOUND for a task of another project and
// for a key with the prefix of another project.
func loadTask(ctx context.Context, c *executor.Call, project op.UUID, name string, lock bool) (taskRow, error) {
	ref, err := parseTaskRef(name)
	if err != nil {
		return taskRow{}, err
	}
	sql, args := taskByIDSQL, postgres.Args{"tenant": c.Tenant, "project": project}
	if ref.id != "" {
		args["id"] = ref.id
	} else {
		sql = taskByNumberSQL
		args["number"], args["prefix"] = ref.number, ref.prefix
	}
	var row taskRow
	if lock {
		row, err = lockAndRead[taskRow](ctx, c, lockProjectQuery(c, project), query{sql + lockTaskClause, args})
	} else {
		row, err = postgres.One[taskRow](ctx, c.DB, sql, args)
	}
	if postgres.IsNoRows(err) {
		return row, fault.NotFound("task")
	}
	return row, err
}

// loadTasks reads tasks of the tenant by id and returns them by id.
func loadTasks(ctx context.Context, c *executor.Call, ids []op.UUID) (map[op.UUID]*taskRow, error) {
	found := make(map[op.UUID]*taskRow, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	rows, err := postgres.Collect[taskRow](ctx, c.DB, tasksByIDsSQL, postgres.Args{"tenant": c.Tenant, "ids": ids})
	for i := range rows {
		found[rows[i].ID] = &rows[i]
	}
	return found, err
}

// resource converts the task to policy input.
func (r *taskRow) resource(tenant op.UUID) authz.Resource {
	return taskType.Resource(string(tenant), r)
}

// toRunTask converts the task to the task of an agent run.
func (r *taskRow) toRunTask(tenant op.UUID) *agentrun.Task {
	return &agentrun.Task{
		ID: r.ID, ProjectID: r.ProjectID, AssigneeID: postgres.ValueOrZero(r.AssigneeID), IsFinal: isFinalCategory(r.StatusCategory),
		Resource: r.resource(tenant), Public: r.toTaskForEvent(tenant),
	}
}

// loadRunTask reads the task of an agent run.
func loadRunTask(ctx context.Context, c *executor.Call, id op.UUID) (*agentrun.Task, error) {
	rows, err := loadTasks(ctx, c, []op.UUID{id})
	if err != nil {
		return nil, err
	}
	task := rows[id]
	if task == nil {
		return nil, fault.NotFound("task")
	}
	return task.toRunTask(c.Tenant), nil
}

func (r *taskRow) key() string { return taskKey(r.Prefix, r.Number) }

func (r *taskRow) statuses() []contract.Status {
	p := projectRow{StatusNames: r.StatusNames, StatusCategories: r.StatusCategories}
	return p.statuses()
}

func (r *taskRow) toSummary() contract.TaskSummary {
	s := contract.TaskSummary{
		ID: r.ID, Key: r.key(), ProjectID: r.ProjectID, Title: r.Title, Status: r.Status, StatusCategory: r.StatusCategory,
		IssueType: r.IssueType, Priority: r.Priority, Progress: r.Progress, Assignee: postgres.ValueOrZero(r.AssigneeID),
		DueDate: postgres.ValueOrZero(r.DueDate), EpicID: postgres.ValueOrZero(r.EpicID), ParentTaskID: postgres.ValueOrZero(r.ParentTaskID),
		InitiativeID: postgres.ValueOrZero(r.InitiativeID), EstimatePoints: r.EstimatePoints, Labels: r.Labels,
		CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, CompletedAt: r.CompletedAt,
	}
	if s.Labels == nil {
		s.Labels = []string{}
	}
	return s
}

// toTask returns the API object with nothing redacted. Responses use toTaskForCaller,
// events use toTaskForEvent.
func (r *taskRow) toTask() *contract.Task {
	t := &contract.Task{TaskSummary: r.toSummary(), Description: r.Description, BlockedBy: r.BlockedBy, Blocks: r.Blocks}
	if r.LeaseHolder != nil {
		t.Claim = &contract.Claim{Holder: *r.LeaseHolder, ExpiresAt: postgres.ValueOrZero(r.LeaseExpiresAt)}
	}
	if r.EpicID != nil {
		t.Epic = &contract.EpicRef{
			ID: *r.EpicID, Key: taskKey(postgres.ValueOrZero(r.EpicPrefix), postgres.ValueOrZero(r.EpicNumber)), Title: postgres.ValueOrZero(r.EpicTitle),
			IsCrossProject: r.EpicProjectID != nil,
		}
	}
	if r.IssueID != nil {
		t.Issue = &contract.IssueRef{ID: *r.IssueID, Key: taskKey(postgres.ValueOrZero(r.IssuePrefix), postgres.ValueOrZero(r.IssueNumber))}
	}
	return t
}

// toTaskForCaller returns the API object for a response. It redacts an epic and an
// initiative that the caller may not read, also if the decision fails.
func (r *taskRow) toTaskForCaller(ctx context.Context, c *executor.Call) *contract.Task {
	t := r.toTask()
	if err := redactInitiatives(ctx, c, &t.InitiativeID); err != nil {
		t.InitiativeID = postgres.ValueOrZero(optionalOpaqueID(c.Tenant, r.InitiativeID))
	}
	if r.EpicProjectID == nil {
		return t
	}
	err := c.Decide(ctx, contract.PermTasksRead, authz.Resource{
		Type: "task", Tenant: string(c.Tenant), Project: idText(r.EpicProject), Organisation: idText(r.EpicOrganisationID),
		Classification: postgres.ValueOrZero(r.EpicClassification),
	})
	if err != nil {
		redactEpic(c.Tenant, t)
	}
	return t
}

// Increments the project's counter and inserts the task with that number. The counter's row
// stays locked until the commit, so numbers are consecutive.
const insertTaskSQL = `
WITH taken AS (
    UPDATE projects.counters n SET last_number = n.last_number + 1
    WHERE n.tenant_id = @tenant AND n.project_id = @project
    RETURNING n.last_number
)
INSERT INTO projects.tasks (tenant_id, id, project_id, number, title, description, status, status_category, issue_type, priority,
                            progress, assignee_id, due_date, epic_id, epic_project_id, parent_task_id, initiative_id, estimate_points, labels,
                            created_by, created_at, updated_at, completed_at)
SELECT @tenant, @id, @project, taken.last_number, @title, @description, @status, @category, @issue_type, @priority,
       @progress, @assignee::uuid, @due::date, @epic::uuid, @epic_project::uuid, @parent::uuid, @initiative::uuid, @points::double precision, @labels::text[],
       @creator, @now, @now, @completed::timestamptz
FROM taken
RETURNING number`

// insertTaskRow inserts the task with the project's next number and sets r.Number.
func insertTaskRow(ctx context.Context, c *executor.Call, r *taskRow) error {
	args := r.args(c)
	args["project"], args["creator"] = r.ProjectID, r.CreatedBy
	err := c.DB.QueryRow(ctx, insertTaskSQL, args).Scan(&r.Number)
	return postgres.MapError(err, taskConstraints())
}

const updateTaskSQL = `
UPDATE projects.tasks t
SET title = @title, description = @description, status = @status, status_category = @category, issue_type = @issue_type,
    priority = @priority, progress = @progress, assignee_id = @assignee, due_date = @due, epic_id = @epic,
    epic_project_id = @epic_project, parent_task_id = @parent, initiative_id = @initiative, estimate_points = @points, labels = @labels,
    updated_at = @now, completed_at = @completed
WHERE t.tenant_id = @tenant AND t.id = @id`

func updateTaskRow(ctx context.Context, c *executor.Call, r *taskRow) error {
	_, err := c.DB.Exec(ctx, updateTaskSQL, r.args(c))
	return postgres.MapError(err, taskConstraints())
}

func (r *taskRow) args(c *executor.Call) postgres.Args {
	return postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "title": r.Title, "description": r.Description, "status": r.Status,
		"category": r.StatusCategory, "issue_type": r.IssueType, "priority": r.Priority, "progress": r.Progress,
		"assignee": r.AssigneeID, "due": r.DueDate, "epic": r.EpicID, "epic_project": r.EpicProjectID,
		"parent": r.ParentTaskID, "initiative": r.InitiativeID, "points": r.EstimatePoints, "labels": r.Labels, "now": c.Now, "completed": r.CompletedAt,
	}
}

const deleteTasksSQL = `DELETE FROM projects.tasks t WHERE t.tenant_id = @tenant AND t.id = ANY(@ids::uuid[])`

const subTasksSQL = `
SELECT t.id FROM projects.tasks t
WHERE t.tenant_id = @tenant AND t.project_id = @project AND t.parent_task_id = @id
ORDER BY t.id FOR UPDATE`

const epicChildrenSQL = `
SELECT t.id FROM projects.tasks t
WHERE t.tenant_id = @tenant AND t.epic_id = @id
ORDER BY t.id FOR UPDATE`

const detachChildrenSQL = `
UPDATE projects.tasks t SET epic_id = NULL, epic_project_id = NULL, updated_at = @now
WHERE t.tenant_id = @tenant AND t.id = ANY(@ids::uuid[])`

// detachChildren removes tasks from an epic that will be deleted, and records the
// change of each.
func detachChildren(ctx context.Context, c *executor.Call, ids []op.UUID) error {
	if len(ids) == 0 {
		return nil
	}
	if _, err := c.DB.Exec(ctx, detachChildrenSQL, postgres.Args{"tenant": c.Tenant, "ids": ids, "now": c.Now}); err != nil {
		return err
	}
	rows, err := loadTasks(ctx, c, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		recordTask(c, rows[id], "task.updated", contract.EventTaskUpdated, []string{"epicId"}, nil)
	}
	return nil
}

// recordTask adds the audit entry and the event of a change. The audit entry contains
// codes and ids, but no user-generated text.
func recordTask(c *executor.Call, r *taskRow, action string, event *op.EventType, changed []string, details map[string]any) {
	changes := map[string]any{"key": r.key(), "projectId": r.ProjectID}
	if changed != nil {
		changes["fields"] = changed
	}
	for name, v := range details {
		changes[name] = v
	}
	c.Record(executor.Change{
		Action: action, Type: "task", ID: r.ID, Classification: r.Classification,
		Fields: changed, Details: changes,
		Event: event, Payload: r.toTaskForEvent(c.Tenant),
	})
}
