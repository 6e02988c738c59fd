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

func (s *Service) deliverableOperations() []op.Bound {
	return []op.Bound{
		list(s, contract.ListDeliverables, deliverableColumns, s.listDeliverables),
		handle(s, contract.CreateDeliverable, loadProjectOfNewDeliverable, s.createDeliverable),
		handle(s, contract.GetDeliverable, loadDeliverableToRead, getDeliverable),
		handle(s, contract.UpdateDeliverable, loadDeliverableToUpdate, s.updateDeliverable),
		transitionDeliverable(s, contract.SubmitDeliverable, contract.DeliverableSubmitted, deliverableRef, nil),
		transitionDeliverable(s, contract.StartDeliverableReview, contract.DeliverableUnderReview, deliverableRef, nil),
		transitionDeliverable(s, contract.AcceptDeliverable, contract.DeliverableAccepted, reviewRef, nil),
		transitionDeliverable(s, contract.RejectDeliverable, contract.DeliverableRejected, rejectionRef, markFailedCriteria),
		transitionDeliverable(s, contract.ReviseDeliverable, contract.DeliverableRevised, reviewRef, nil),
		handle(s, contract.DeleteDeliverable, loadDeliverableToDelete, deleteDeliverable),
	}
}

// deliverableTransitions lists the allowed next statuses of each status. A status
// without next statuses is final.
var deliverableTransitions = map[string][]string{
	contract.DeliverableDraft:       {contract.DeliverableSubmitted},
	contract.DeliverableSubmitted:   {contract.DeliverableUnderReview},
	contract.DeliverableUnderReview: {contract.DeliverableAccepted, contract.DeliverableRejected, contract.DeliverableRevised},
	contract.DeliverableRevised:     {contract.DeliverableSubmitted},
}

// isFinalDeliverableStatus reports whether a deliverable with this status can no
// longer be changed.
func isFinalDeliverableStatus(status string) bool { return len(deliverableTransitions[status]) == 0 }

// finalStatusError is the error for changing a deliverable with a final status.
func finalStatusError(status string) error {
	return fault.Conflict("The deliverable is " + status + ". It and its criteria cannot be changed any more.")
}

func loadProjectOfNewDeliverable(ctx context.Context, c *executor.Call, in *contract.CreateDeliverableIn) (projectRow, authz.Resource, error) {
	project, err := loadProject(ctx, c, loadProjectKeyShareSQL, in.ProjectID)
	return project, project.newTaskResource(c), err
}

func (s *Service) createDeliverable(ctx context.Context, c *executor.Call, in *contract.CreateDeliverableIn, project projectRow) (*contract.Deliverable, error) {
	owner := in.Owner
	if owner == "" {
		owner = c.Actor.UserID
	}
	row := deliverableRow{
		ID: uid.New(), ProjectID: project.ID, TaskID: postgres.NullIfZero(in.TaskID), Title: strings.TrimSpace(in.Title), Description: in.Description,
		Status: contract.DeliverableDraft, OwnerID: &owner, DueDate: postgres.NullIfZero(in.DueDate),
		CreatedBy: c.Actor.UserID, CreatedAt: c.Now, UpdatedAt: c.Now,
		OrganisationID: project.OrganisationID, Classification: project.Classification,
	}
	criteria := make([]criterionRow, len(in.Criteria))
	for i, text := range in.Criteria {
		text = strings.TrimSpace(text)
		if n := utf8.RuneCountInString(text); n == 0 || n > maxCriterionText {
			return nil, fault.Validation(fmt.Sprintf("criteria.%d", i), fmt.Sprintf("A criterion must have 1 to %d characters.", maxCriterionText))
		}
		criteria[i] = criterionRow{ID: uid.New(), ProjectID: project.ID, DeliverableID: &row.ID, Text: text}
	}
	if in.Owner != "" {
		if err := s.checkAssignable(ctx, c, "owner", in.Owner, project.Classification); err != nil {
			return nil, err
		}
	}
	if err := requireTaskInProject(ctx, c, project.ID, in.TaskID); err != nil {
		return nil, err
	}
	if err := insertDeliverableRow(ctx, c, &row); err != nil {
		return nil, err
	}
	for i := range criteria {
		if err := insertCriterionRow(ctx, c, &criteria[i]); err != nil {
			return nil, err
		}
	}
	return recordDeliverable(ctx, c, &row, "deliverable.created", contract.EventDeliverableCreated, nil,
		map[string]any{"taskId": row.TaskID, "owner": row.OwnerID, "criteria": len(criteria)})
}

// requireTaskInProject returns an error unless the task id is empty or names a task of
// the project that the caller can read.
func requireTaskInProject(ctx context.Context, c *executor.Call, project, task op.UUID) error {
	if task == "" {
		return nil
	}
	end, err := loadRelatedTask(ctx, c, "taskId", "task", task)
	if err == nil && end.ProjectID != project {
		err = fault.Validation("taskId", "The project has no such task.")
	}
	return err
}

func loadDeliverableToRead(ctx context.Context, c *executor.Call, in *contract.DeliverableIn) (deliverableRow, authz.Resource, error) {
	row, err := loadDeliverable(ctx, c, in.ProjectID, in.DeliverableID, false)
	return row, row.resource(c.Tenant), err
}

func getDeliverable(ctx context.Context, c *executor.Call, _ *contract.DeliverableIn, row deliverableRow) (*contract.Deliverable, error) {
	return row.toDeliverable(ctx, c)
}

func loadDeliverableToUpdate(ctx context.Context, c *executor.Call, in *contract.UpdateDeliverableIn) (deliverableRow, authz.Resource, error) {
	row, err := loadDeliverable(ctx, c, in.ProjectID, in.DeliverableID, true)
	return row, row.resource(c.Tenant), err
}

func (s *Service) updateDeliverable(ctx context.Context, c *executor.Call, in *contract.UpdateDeliverableIn, old deliverableRow) (*contract.Deliverable, error) {
	if isFinalDeliverableStatus(old.Status) {
		return nil, finalStatusError(old.Status)
	}
	row := old
	changed, err := row.apply(in)
	if err != nil {
		return nil, err
	}
	if len(changed) == 0 {
		if err := authorizeUnchanged(ctx, c, contract.PermDeliverablesRead, old.resource(c.Tenant)); err != nil {
			return nil, err
		}
		return old.toDeliverable(ctx, c)
	}
	details := map[string]any{}
	if slices.Contains(changed, "owner") {
		details["owner"] = map[string]*op.UUID{"from": old.OwnerID, "to": row.OwnerID}
		if row.OwnerID != nil {
			if err := s.checkAssignable(ctx, c, "owner", *row.OwnerID, row.Classification); err != nil {
				return nil, err
			}
		}
	}
	if slices.Contains(changed, "taskId") {
		if err := requireTaskInProject(ctx, c, row.ProjectID, postgres.ValueOrZero(row.TaskID)); err != nil {
			return nil, err
		}
	}
	row.UpdatedAt = c.Now
	if err := updateDeliverableRow(ctx, c, &row); err != nil {
		return nil, err
	}
	return recordDeliverable(ctx, c, &row, "deliverable.updated", contract.EventDeliverableUpdated, changed, details)
}

// apply copies the fields that are set in the request and returns the names of those that
// changed.
func (r *deliverableRow) apply(in *contract.UpdateDeliverableIn) ([]string, error) {
	var p op.Patch
	op.SetTrimmed(&p, "title", &r.Title, in.Title)
	op.SetOrClear(&p, "description", &r.Description, in.Description)
	op.SetOptional(&p, "taskId", &r.TaskID, in.TaskID)
	op.SetOptional(&p, "owner", &r.OwnerID, in.Owner)
	op.SetOptional(&p, "dueDate", &r.DueDate, in.DueDate)
	return p.Changed()
}

// transitionDeliverable binds an operation that changes a deliverable's status. ref returns
// the ids and the reason from the input. apply is optional: it makes further changes and
// returns details for the audit entry.
func transitionDeliverable[In any](s *Service, o op.Op[In, contract.Deliverable], to string, ref func(*In) (project, id op.UUID, reason string),
	apply func(ctx context.Context, c *executor.Call, in *In, row *deliverableRow) (map[string]any, error),
) op.Bound {
	load := func(ctx context.Context, c *executor.Call, in *In) (deliverableRow, authz.Resource, error) {
		project, id, _ := ref(in)
		row, err := loadDeliverable(ctx, c, project, id, true)
		return row, row.resource(c.Tenant), err
	}
	return handle(s, o, load, func(ctx context.Context, c *executor.Call, in *In, row deliverableRow) (*contract.Deliverable, error) {
		from, allowed := row.Status, deliverableTransitions[row.Status]
		if !slices.Contains(allowed, to) {
			return nil, invalidTransitionError(from, to, allowed)
		}
		row.Status, row.UpdatedAt = to, c.Now
		switch to {
		case contract.DeliverableSubmitted:
			row.SubmittedBy, row.SubmittedAt = &c.Actor.UserID, &c.Now
		case contract.DeliverableUnderReview:
		default:
			row.ReviewedBy, row.ReviewedAt = &c.Actor.UserID, &c.Now
			_, _, row.ReviewReason = ref(in)
		}
		details := map[string]any{}
		if apply != nil {
			var err error
			if details, err = apply(ctx, c, in, &row); err != nil {
				return nil, err
			}
		}
		details["status"] = map[string]string{"from": from, "to": to}
		if err := updateDeliverableRow(ctx, c, &row); err != nil {
			return nil, err
		}
		return recordDeliverable(ctx, c, &row, "deliverable.status_changed", contract.EventDeliverableStatusChanged, []string{"status"}, details)
	})
}

func invalidTransitionError(from, to string, allowed []string) error {
	hint := from + " is final."
	if len(allowed) > 0 {
		hint = "Allowed next statuses: " + strings.Join(allowed, ", ") + "."
	}
	return fault.Conflict(fmt.Sprintf("The deliverable's status cannot change from %s to %s. %s", from, to, hint)).
		WithDetails(map[string]any{"status": from, "allowed": append([]string{}, allowed...)})
}

func deliverableRef(in *contract.DeliverableIn) (op.UUID, op.UUID, string) {
	return in.ProjectID, in.DeliverableID, ""
}

func reviewRef(in *contract.ReviewDeliverableIn) (op.UUID, op.UUID, string) {
	return in.ProjectID, in.DeliverableID, in.Reason
}

func rejectionRef(in *contract.RejectDeliverableIn) (op.UUID, op.UUID, string) {
	return in.ProjectID, in.DeliverableID, in.Reason
}

// markFailedCriteria marks the criteria of a rejection as failed. It returns an error
// if one of them does not belong to the deliverable.
func markFailedCriteria(ctx context.Context, c *executor.Call, in *contract.RejectDeliverableIn, row *deliverableRow) (map[string]any, error) {
	ids := slices.Clone(in.FailedCriteria)
	for i, id := range ids {
		if _, err := op.ParseUUID(string(id)); err != nil {
			return nil, fault.Validation(fmt.Sprintf("failedCriteria.%d", i), "failedCriteria must contain ids of criteria.")
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	tag, err := c.DB.Exec(ctx, failCriteriaSQL, postgres.Args{
		"tenant": c.Tenant, "project": row.ProjectID, "deliverable": row.ID, "ids": ids, "now": c.Now,
	})
	if err != nil {
		return nil, err
	}
	if int(tag.RowsAffected()) != len(ids) {
		return nil, fault.Validation("failedCriteria", "Each failed criterion must belong to this deliverable. get-deliverable lists its criteria; create-criterion adds one.")
	}
	return map[string]any{"failedCriteria": ids}, nil
}

func loadDeliverableToDelete(ctx context.Context, c *executor.Call, in *contract.DeliverableIn) (deliverableRow, authz.Resource, error) {
	row, err := loadDeliverable(ctx, c, in.ProjectID, in.DeliverableID, true)
	return row, row.resource(c.Tenant), err
}

func deleteDeliverable(ctx context.Context, c *executor.Call, _ *contract.DeliverableIn, row deliverableRow) (*op.None, error) {
	if err := authorizeCascade(ctx, c, "deliverables", row.ID); err != nil {
		return nil, err
	}
	if _, err := recordDeliverable(ctx, c, &row, "deliverable.deleted", contract.EventDeliverableDeleted, nil, map[string]any{"status": row.Status}); err != nil {
		return nil, err
	}
	_, err := c.DB.Exec(ctx, deleteDeliverableSQL, postgres.Args{"tenant": c.Tenant, "id": row.ID})
	return &op.None{}, err
}
