package tracker

import (
	"context"
	"time"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

func (s *Service) timeEntryOperations() []op.Bound {
	return []op.Bound{
		list(s, contract.ListTimeEntries, timeEntryColumns, s.listTimeEntries),
		handle(s, contract.CreateTimeEntry, loadParentOfNewTimeEntry, s.createTimeEntry),
		handle(s, contract.UpdateTimeEntry, loadTimeEntryToUpdate, updateTimeEntry),
		handle(s, contract.DeleteTimeEntry, loadTimeEntryToDelete, deleteTimeEntry),
	}
}

func loadParentOfNewTimeEntry(ctx context.Context, c *executor.Call, in *contract.CreateTimeEntryIn) (parentRecordRow, authz.Resource, error) {
	switch {
	case in.TaskID != "" && in.IssueID != "":
		return parentRecordRow{}, authz.Resource{}, fault.Validation("issueId", "Set either taskId or issueId, not both.")
	case in.ProjectID == "" && in.TaskID == "" && in.IssueID == "":
		return parentRecordRow{}, authz.Resource{}, fault.Validation("projectId", "Set projectId, taskId or issueId.")
	}
	if in.UserID == "" {
		in.UserID = c.Actor.UserID
	}
	parent, err := loadParentRecord(ctx, c, in.ProjectID, in.TaskID, in.IssueID, true)
	// The owner is the user who spent the time, so that a permission for own time
	// entries does not allow recording another user's time.
	resource := parent.resource(c.Tenant)
	resource.Owner = string(in.UserID)
	return parent, resource, err
}

func (s *Service) createTimeEntry(ctx context.Context, c *executor.Call, in *contract.CreateTimeEntryIn, parent parentRecordRow) (*contract.TimeEntry, error) {
	if in.ProjectID != "" && in.ProjectID != parent.ProjectID {
		return nil, fault.Validation(parent.Noun+"Id", "The "+parent.Noun+" is in another project. Omit projectId, or set it to the project of the "+parent.Noun+".")
	}
	if err := validateSpentOn(c, in.Date); err != nil {
		return nil, err
	}
	if in.UserID != c.Actor.UserID {
		if err := s.checkAssignable(ctx, c, "userId", in.UserID, parent.Classification); err != nil {
			return nil, err
		}
	}
	row := timeEntryRow{
		ID: uid.New(), ProjectID: parent.ProjectID, TaskID: postgres.NullIfZero(in.TaskID), IssueID: postgres.NullIfZero(in.IssueID), UserID: in.UserID,
		SpentOn: in.Date, Minutes: in.Minutes, Note: in.Note, Billable: in.Billable, CreatedBy: c.Actor.UserID,
		CreatedAt: c.Now, UpdatedAt: c.Now, OrganisationID: parent.OrganisationID, Classification: parent.Classification,
	}
	if err := insertTimeEntryRow(ctx, c, &row); err != nil {
		return nil, err
	}
	recordTimeEntry(c, &row, "time_entry.created", contract.EventTimeEntryCreated, nil)
	return row.toTimeEntry(), nil
}

// validateSpentOn rejects days after tomorrow in UTC: tomorrow has already begun in
// some time zones.
func validateSpentOn(c *executor.Call, day op.Date) error {
	if tomorrow := c.Now.UTC().AddDate(0, 0, 1).Format(time.DateOnly); string(day) > tomorrow {
		return fault.Validation("date", "The date cannot be later than tomorrow, "+tomorrow+".")
	}
	return nil
}

func loadTimeEntryToUpdate(ctx context.Context, c *executor.Call, in *contract.UpdateTimeEntryIn) (timeEntryRow, authz.Resource, error) {
	row, err := loadTimeEntry(ctx, c, in.TimeEntryID)
	return row, row.resource(c.Tenant), err
}

func updateTimeEntry(ctx context.Context, c *executor.Call, in *contract.UpdateTimeEntryIn, old timeEntryRow) (*contract.TimeEntry, error) {
	row := old
	changed, err := row.apply(in)
	if err != nil {
		return nil, err
	}
	if row.SpentOn != old.SpentOn {
		if err := validateSpentOn(c, row.SpentOn); err != nil {
			return nil, err
		}
	}
	if len(changed) == 0 {
		if err := authorizeUnchanged(ctx, c, contract.PermTimeEntriesRead, old.resource(c.Tenant)); err != nil {
			return nil, err
		}
		return old.toTimeEntry(), nil
	}
	row.UpdatedAt = c.Now
	if err := updateTimeEntryRow(ctx, c, &row); err != nil {
		return nil, err
	}
	recordTimeEntry(c, &row, "time_entry.updated", contract.EventTimeEntryUpdated, changed)
	return row.toTimeEntry(), nil
}

// apply copies the fields that are set in the request and returns the names of those that
// changed.
func (r *timeEntryRow) apply(in *contract.UpdateTimeEntryIn) ([]string, error) {
	var p op.Patch
	op.Set(&p, "date", &r.SpentOn, in.Date)
	op.Set(&p, "minutes", &r.Minutes, in.Minutes)
	op.SetOrClear(&p, "note", &r.Note, in.Note)
	op.Set(&p, "billable", &r.Billable, in.Billable)
	return p.Changed()
}

func loadTimeEntryToDelete(ctx context.Context, c *executor.Call, in *contract.DeleteTimeEntryIn) (timeEntryRow, authz.Resource, error) {
	row, err := loadTimeEntry(ctx, c, in.TimeEntryID)
	return row, row.resource(c.Tenant), err
}

func deleteTimeEntry(ctx context.Context, c *executor.Call, _ *contract.DeleteTimeEntryIn, row timeEntryRow) (*op.None, error) {
	if _, err := c.DB.Exec(ctx, deleteTimeEntrySQL, postgres.Args{"tenant": c.Tenant, "id": row.ID}); err != nil {
		return nil, err
	}
	recordTimeEntry(c, &row, "time_entry.deleted", contract.EventTimeEntryDeleted, nil)
	return &op.None{}, nil
}
