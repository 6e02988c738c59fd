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

// maxCriterionText is the length in characters of the longest criterion.
const maxCriterionText = 2000

// maxCriteria is how many criteria a deliverable or a task can have: as many as
// one rejection can cite.
const maxCriteria = 100

// criterionOf is what a criterion is one of: a deliverable or a task.
type criterionOf struct {
	criterion   criterionRow
	deliverable *deliverableRow
	task        *taskRow
}

// resource is the criterion as the policies know it.
func (o *criterionOf) resource(tenant op.UUID) authz.Resource {
	return criterionType.Resource(string(tenant), o)
}

// bearer is what the criterion belongs to, as the policies know it. Before that is
// found, it is nothing.
func (o *criterionOf) bearer(tenant op.UUID) authz.Resource {
	switch {
	case o.deliverable != nil:
		return o.deliverable.resource(tenant)
	case o.task != nil:
		return o.task.resource(tenant)
	default:
		return authz.Resource{}
	}
}

// open refuses a change of the criteria of what was decided.
func (o *criterionOf) open() error {
	if o.deliverable != nil && isDecided(o.deliverable.Status) {
		return errDecided(o.deliverable.Status)
	}
	return nil
}

func (o *criterionOf) classification() string {
	if o.deliverable != nil {
		return o.deliverable.Classification
	}
	return o.task.Classification
}

// loadBearer reads the deliverable or the task that bears a criterion, and holds
// it.
func loadBearer(ctx context.Context, c *executor.Call, project, deliverable, task op.UUID) (*criterionOf, error) {
	o := &criterionOf{}
	if deliverable != "" {
		row, err := loadDeliverable(ctx, c, project, deliverable, true)
		o.deliverable = &row
		return o, err
	}
	row, err := loadTask(ctx, c, project, string(task), true)
	o.task = &row
	return o, err
}

// loadCriterion reads a criterion for a change. What bears it is held first.
func loadCriterion(ctx context.Context, c *executor.Call, project, id op.UUID) (*criterionOf, error) {
	args := postgres.Args{"tenant": c.Tenant, "project": project, "id": id}
	row, err := postgres.One[criterionRow](ctx, c.DB, criterionByIDSQL, args)
	if err == nil {
		var o *criterionOf
		if o, err = loadBearer(ctx, c, project, value(row.DeliverableID), value(row.TaskID)); err == nil {
			o.criterion, err = postgres.One[criterionRow](ctx, c.DB, criterionByIDSQL+` FOR UPDATE`, args)
			if err == nil {
				return o, nil
			}
		}
	}
	if postgres.IsNoRows(err) || fault.HasCode(err, fault.CodeNotFound) {
		err = fault.NotFound("criterion")
	}
	return &criterionOf{}, err
}

func (s *Service) createCriterionHandler() executor.Handler[contract.CreateCriterionIn, contract.Criterion, *criterionOf] {
	return executor.Handler[contract.CreateCriterionIn, contract.Criterion, *criterionOf]{
		Load: func(ctx context.Context, c *executor.Call, in *contract.CreateCriterionIn) (*criterionOf, authz.Resource, error) {
			if (in.DeliverableID == "") == (in.TaskID == "") {
				return nil, authz.Resource{}, fault.Validation("deliverableId", "Give exactly one of deliverableId and taskId.")
			}
			o, err := loadBearer(ctx, c, in.ProjectID, in.DeliverableID, in.TaskID)
			return o, o.bearer(c.Tenant), err
		},
		Do: func(ctx context.Context, c *executor.Call, in *contract.CreateCriterionIn, o *criterionOf) (*contract.Criterion, error) {
			if err := o.open(); err != nil {
				return nil, err
			}
			o.criterion = criterionRow{
				ID: uid.New(), ProjectID: in.ProjectID, DeliverableID: optional(in.DeliverableID), TaskID: optional(in.TaskID),
				Text: strings.TrimSpace(in.Text), CreatedBy: c.Actor.UserID, CreatedAt: c.Now, UpdatedAt: c.Now,
			}
			// What bears them is held, so that nobody else adds one meanwhile.
			var n int
			err := c.DB.QueryRow(ctx, countCriteriaSQL, postgres.Args{
				"tenant": c.Tenant, "project": in.ProjectID, "deliverable": o.criterion.DeliverableID, "task": o.criterion.TaskID,
			}).Scan(&n)
			if err == nil && n >= maxCriteria {
				err = fault.Conflict("There are 100 criteria already, and there can't be more.")
			}
			if err == nil {
				err = insertCriterionRow(ctx, c, &o.criterion)
			}
			if err != nil {
				return nil, err
			}
			return o.record(c, "criterion.created", contract.EventCriterionCreated, nil), nil
		},
	}
}

func (s *Service) updateCriterionHandler() executor.Handler[contract.UpdateCriterionIn, contract.Criterion, *criterionOf] {
	return executor.Handler[contract.UpdateCriterionIn, contract.Criterion, *criterionOf]{
		Load: func(ctx context.Context, c *executor.Call, in *contract.UpdateCriterionIn) (*criterionOf, authz.Resource, error) {
			o, err := loadCriterion(ctx, c, in.ProjectID, in.CriterionID)
			return o, o.resource(c.Tenant), err
		},
		Do: updateCriterion,
	}
}

func updateCriterion(ctx context.Context, c *executor.Call, in *contract.UpdateCriterionIn, o *criterionOf) (*contract.Criterion, error) {
	if err := o.open(); err != nil {
		return nil, err
	}
	if in.Text.Null {
		return nil, cannotClear("text")
	}
	if in.Met.Null {
		return nil, cannotClear("met")
	}
	row := &o.criterion
	words, met := strings.TrimSpace(in.Text.Or(row.Text)), in.Met.Or(row.Met)
	if words == "" {
		return nil, fault.Validation("text", "The field text can't be blank.")
	}
	var changed []string
	if words != row.Text {
		changed, row.Text = append(changed, "text"), words
	}
	if met != row.Met {
		changed, row.Met, row.MetBy, row.MetAt = append(changed, "met"), met, nil, nil
		if met {
			row.MetBy, row.MetAt = &c.Actor.UserID, &c.Now
		}
	}
	if len(changed) == 0 {
		if err := authorizeUnchanged(ctx, c, contract.PermDeliverablesRead, o.resource(c.Tenant)); err != nil {
			return nil, err
		}
		return row.criterion(), nil
	}
	row.UpdatedAt = c.Now
	if err := updateCriterionRow(ctx, c, row); err != nil {
		return nil, err
	}
	return o.record(c, "criterion.updated", contract.EventCriterionUpdated, changed), nil
}

func (s *Service) deleteCriterionHandler() executor.Handler[contract.DeleteCriterionIn, op.None, *criterionOf] {
	return executor.Handler[contract.DeleteCriterionIn, op.None, *criterionOf]{
		Load: func(ctx context.Context, c *executor.Call, in *contract.DeleteCriterionIn) (*criterionOf, authz.Resource, error) {
			o, err := loadCriterion(ctx, c, in.ProjectID, in.CriterionID)
			resource := o.resource(c.Tenant)
			if o.task != nil {
				// Whoever may update a task can assign it to itself, so only the
				// criterion's own creator counts for deleting it.
				resource.Creator, resource.Owner = string(o.criterion.CreatedBy), ""
			}
			return o, resource, err
		},
		Do: func(ctx context.Context, c *executor.Call, _ *contract.DeleteCriterionIn, o *criterionOf) (*op.None, error) {
			if err := o.open(); err != nil {
				return nil, err
			}
			o.record(c, "criterion.deleted", contract.EventCriterionDeleted, nil)
			_, err := c.DB.Exec(ctx, deleteCriterionSQL, postgres.Args{"tenant": c.Tenant, "id": o.criterion.ID})
			return &op.None{}, err
		},
	}
}

// record adds the audit entry and the event of a change.
func (o *criterionOf) record(c *executor.Call, action, event string, changed []string) *contract.Criterion {
	row := &o.criterion
	changes := map[string]any{"projectId": row.ProjectID, "deliverableId": row.DeliverableID, "taskId": row.TaskID, "met": row.Met}
	if changed != nil {
		changes["fields"] = changed
	}
	c.Record(executor.AuditEntry{
		Action: action, ResourceType: "criterion", ResourceID: string(row.ID), Changes: changes, Classification: o.classification(),
	})
	c.Emit(executor.Event{Type: event, AggregateType: "criterion", AggregateID: row.ID, Payload: row.criterion(), Changed: changed})
	return row.criterion()
}

// criterion is the public form.
func (r *criterionRow) criterion() *contract.Criterion {
	return &contract.Criterion{
		ID: r.ID, ProjectID: r.ProjectID, DeliverableID: value(r.DeliverableID), TaskID: value(r.TaskID), Text: r.Text,
		Met: r.Met, MetBy: value(r.MetBy), MetAt: inUTC(r.MetAt), Failed: r.Failed,
		CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
	}
}

// criterionRow is a criterion as it is stored.
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
