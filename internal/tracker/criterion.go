package tracker

import (
	"context"
	"fmt"
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

func (s *Service) criterionOperations() []op.Bound {
	return []op.Bound{
		handle(s, contract.CreateCriterion, loadParentOfNewCriterion, createCriterion),
		handle(s, contract.UpdateCriterion, loadCriterionToUpdate, updateCriterion),
		handle(s, contract.DeleteCriterion, loadCriterionToDelete, deleteCriterion),
		list(s, contract.ListCriteria, criterionColumns, s.listCriteria),
	}
}

// maxCriterionText is the maximum length of a criterion in characters.
const maxCriterionText = 2000

// maxCriteria is the maximum number of criteria of a deliverable or a task. It
// equals the maximum number of failed criteria in a RejectDeliverableIn.
const maxCriteria = 100

// criterionWithParent is a criterion with the deliverable or task that it belongs to.
type criterionWithParent struct {
	criterion   criterionRow
	deliverable *deliverableRow
	task        *taskRow
}

// resource converts the criterion to policy input.
func (o *criterionWithParent) resource(tenant op.UUID) authz.Resource {
	return criterionType.Resource(string(tenant), o)
}

// parentResource converts the parent deliverable or task to policy input. It is
// empty if no parent was loaded.
func (o *criterionWithParent) parentResource(tenant op.UUID) authz.Resource {
	switch {
	case o.deliverable != nil:
		return o.deliverable.resource(tenant)
	case o.task != nil:
		return o.task.resource(tenant)
	default:
		return authz.Resource{}
	}
}

// requireChangeable returns an error if the criterion belongs to an accepted or
// rejected deliverable.
func (o *criterionWithParent) requireChangeable() error {
	if o.deliverable != nil && isFinalDeliverableStatus(o.deliverable.Status) {
		return finalStatusError(o.deliverable.Status)
	}
	return nil
}

func (o *criterionWithParent) classification() string {
	if o.deliverable != nil {
		return o.deliverable.Classification
	}
	return o.task.Classification
}

// loadCriterionParent reads and locks the deliverable or task of a criterion.
func loadCriterionParent(ctx context.Context, c *executor.Call, project, deliverable, task op.UUID) (*criterionWithParent, error) {
	o := &criterionWithParent{}
	if deliverable != "" {
		row, err := loadDeliverable(ctx, c, project, deliverable, true)
		o.deliverable = &row
		return o, err
	}
	row, err := loadTask(ctx, c, project, string(task), true)
	o.task = &row
	return o, err
}

// loadCriterion locks the parent of a criterion, then reads and locks the criterion.
func loadCriterion(ctx context.Context, c *executor.Call, project, id op.UUID) (*criterionWithParent, error) {
	args := postgres.Args{"tenant": c.Tenant, "project": project, "id": id}
	row, err := postgres.One[criterionRow](ctx, c.DB, criterionByIDSQL, args)
	if err == nil {
		var o *criterionWithParent
		if o, err = loadCriterionParent(ctx, c, project, postgres.ValueOrZero(row.DeliverableID), postgres.ValueOrZero(row.TaskID)); err == nil {
			o.criterion, err = postgres.One[criterionRow](ctx, c.DB, criterionByIDSQL+` FOR UPDATE`, args)
			if err == nil {
				return o, nil
			}
		}
	}
	if postgres.IsNoRows(err) || fault.HasCode(err, fault.CodeNotFound) {
		err = fault.NotFound("criterion")
	}
	return &criterionWithParent{}, err
}

func loadParentOfNewCriterion(ctx context.Context, c *executor.Call, in *contract.CreateCriterionIn) (*criterionWithParent, authz.Resource, error) {
	if (in.DeliverableID == "") == (in.TaskID == "") {
		return nil, authz.Resource{}, fault.Validation("deliverableId", "Give exactly one of deliverableId and taskId.")
	}
	o, err := loadCriterionParent(ctx, c, in.ProjectID, in.DeliverableID, in.TaskID)
	return o, o.parentResource(c.Tenant), err
}

func createCriterion(ctx context.Context, c *executor.Call, in *contract.CreateCriterionIn, o *criterionWithParent) (*contract.Criterion, error) {
	if err := o.requireChangeable(); err != nil {
		return nil, err
	}
	o.criterion = criterionRow{
		ID: uid.New(), ProjectID: in.ProjectID, DeliverableID: postgres.NullIfZero(in.DeliverableID), TaskID: postgres.NullIfZero(in.TaskID),
		Text: strings.TrimSpace(in.Text), CreatedBy: c.Actor.UserID, CreatedAt: c.Now, UpdatedAt: c.Now,
	}
	// The parent is locked, so the count cannot change concurrently.
	var n int
	err := c.DB.QueryRow(ctx, countCriteriaSQL, postgres.Args{
		"tenant": c.Tenant, "project": in.ProjectID, "deliverable": o.criterion.DeliverableID, "task": o.criterion.TaskID,
	}).Scan(&n)
	if err == nil && n >= maxCriteria {
		err = fault.Conflict(fmt.Sprintf("The limit of %d criteria is reached.", maxCriteria))
	}
	if err == nil {
		err = insertCriterionRow(ctx, c, &o.criterion)
	}
	if err != nil {
		return nil, err
	}
	return o.record(c, "criterion.created", contract.EventCriterionCreated, nil), nil
}

func loadCriterionToUpdate(ctx context.Context, c *executor.Call, in *contract.UpdateCriterionIn) (*criterionWithParent, authz.Resource, error) {
	o, err := loadCriterion(ctx, c, in.ProjectID, in.CriterionID)
	return o, o.resource(c.Tenant), err
}

func updateCriterion(ctx context.Context, c *executor.Call, in *contract.UpdateCriterionIn, o *criterionWithParent) (*contract.Criterion, error) {
	if err := o.requireChangeable(); err != nil {
		return nil, err
	}
	row := &o.criterion
	wasMet := row.Met
	var p op.Patch
	op.SetTrimmed(&p, "text", &row.Text, in.Text)
	op.Set(&p, "met", &row.Met, in.Met)
	changed, err := p.Changed()
	if err != nil {
		return nil, err
	}
	if row.Met != wasMet {
		row.MetBy, row.MetAt = nil, nil
		if row.Met {
			row.MetBy, row.MetAt = &c.Actor.UserID, &c.Now
		}
	}
	if len(changed) == 0 {
		if err := authorizeUnchanged(ctx, c, contract.PermDeliverablesRead, o.resource(c.Tenant)); err != nil {
			return nil, err
		}
		return row.toCriterion(), nil
	}
	row.UpdatedAt = c.Now
	if err := updateCriterionRow(ctx, c, row); err != nil {
		return nil, err
	}
	return o.record(c, "criterion.updated", contract.EventCriterionUpdated, changed), nil
}

func loadCriterionToDelete(ctx context.Context, c *executor.Call, in *contract.DeleteCriterionIn) (*criterionWithParent, authz.Resource, error) {
	o, err := loadCriterion(ctx, c, in.ProjectID, in.CriterionID)
	resource := o.resource(c.Tenant)
	if o.task != nil {
		// For deletion only the criterion's creator counts as its owner: a
		// user who may update the task could assign it to themselves.
		resource.Creator, resource.Owner = string(o.criterion.CreatedBy), ""
	}
	return o, resource, err
}

func deleteCriterion(ctx context.Context, c *executor.Call, _ *contract.DeleteCriterionIn, o *criterionWithParent) (*op.None, error) {
	if err := o.requireChangeable(); err != nil {
		return nil, err
	}
	o.record(c, "criterion.deleted", contract.EventCriterionDeleted, nil)
	_, err := c.DB.Exec(ctx, deleteCriterionSQL, postgres.Args{"tenant": c.Tenant, "id": o.criterion.ID})
	return &op.None{}, err
}

// record adds the audit entry and the event of a change and returns the API type.
func (o *criterionWithParent) record(c *executor.Call, action string, event *op.EventType, changed []string) *contract.Criterion {
	row := &o.criterion
	changes := map[string]any{"projectId": row.ProjectID, "deliverableId": row.DeliverableID, "taskId": row.TaskID, "met": row.Met}
	if changed != nil {
		changes["fields"] = changed
	}
	c.Record(executor.Change{
		Action: action, Type: "criterion", ID: row.ID, Classification: o.classification(),
		Fields: changed, Details: changes,
		Event: event, Payload: row.toCriterion(),
	})
	return row.toCriterion()
}

// toCriterion converts the row to the API type.
func (r *criterionRow) toCriterion() *contract.Criterion {
	return &contract.Criterion{
		ID: r.ID, ProjectID: r.ProjectID, DeliverableID: postgres.ValueOrZero(r.DeliverableID), TaskID: postgres.ValueOrZero(r.TaskID), Text: r.Text,
		Met: r.Met, MetBy: postgres.ValueOrZero(r.MetBy), MetAt: r.MetAt, Failed: r.Failed,
		CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

// criterionRow is a row of projects.criteria.
type criterionRow struct {
	ID            op.UUID
	ProjectID     op.UUID
	DeliverableID *op.UUID
	TaskID        *op.UUID
	Text          string
	Met           bool
	MetBy         *op.UUID
	MetAt         *time.Time
	Failed        bool
	CreatedBy     op.UUID
	CreatedAt     time.Time
	UpdatedAt     time.Time
}
