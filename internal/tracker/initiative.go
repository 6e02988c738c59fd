package tracker

import (
	"context"
	"slices"
	"strings"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
	"parapet/internal/uid"
)

func (s *Service) initiativeOperations() []op.Bound {
	return []op.Bound{
		list(s, contract.ListInitiatives, initiativeColumns, s.listInitiatives),
		handleReturning(s, contract.CreateInitiative, loadNewInitiative, s.createInitiative, loadReturnedInitiative),
		list(s, contract.FindInitiative, initiativeColumns, s.findInitiative),
		handle(s, contract.GetInitiative, loadInitiativeToRead, getInitiative),
		handle(s, contract.UpdateInitiative, loadInitiativeToUpdate, s.updateInitiative),
		handle(s, contract.DeleteInitiative, loadInitiativeToDelete, deleteInitiative),
	}
}

// createInitiativeHandler authorizes the new initiative in the organisation it will
// belong to.
func loadNewInitiative(_ context.Context, c *executor.Call, in *contract.CreateInitiativeIn) (op.UUID, authz.Resource, error) {
	organisation := in.OrganisationID
	if organisation == "" {
		organisation = c.Actor.Organisation
	}
	return organisation, authz.Resource{
		Type: "initiative", Tenant: string(c.Tenant), Organisation: string(organisation),
		Creator: string(c.Actor.UserID), Classification: in.Classification,
	}, nil
}

func loadReturnedInitiative(ctx context.Context, c *executor.Call, out *contract.Initiative) (authz.Resource, error) {
	row, err := loadInitiative(ctx, c, loadInitiativeSQL, out.ID)
	return row.resource(c.Tenant), err
}

// createInitiative creates an initiative with status ACTIVE and without projects.
func (s *Service) createInitiative(ctx context.Context, c *executor.Call, in *contract.CreateInitiativeIn, organisation op.UUID) (*contract.Initiative, error) {
	row := initiativeRow{
		ID: uid.New(), Name: strings.TrimSpace(in.Name), Description: in.Description, Status: contract.InitiativeActive,
		StartDate: in.StartDate, EndDate: postgres.NullIfZero(in.EndDate), Classification: in.Classification,
		OrganisationID: postgres.NullIfZero(organisation), CreatedBy: c.Actor.UserID, CreatedAt: c.Now, UpdatedAt: c.Now,
	}
	if err := row.validate(); err != nil {
		return nil, err
	}
	if in.OrganisationID != "" {
		if err := s.checkOrganisation(ctx, c, in.OrganisationID); err != nil {
			return nil, err
		}
	}
	if err := insertInitiativeRow(ctx, c, &row); err != nil {
		return nil, err
	}
	recordInitiative(c, &row, "initiative.created", contract.EventInitiativeCreated, nil, map[string]any{
		"organisationId": row.OrganisationID, "classification": row.Classification,
	})
	return row.toInitiative(), nil
}

func loadInitiativeToRead(ctx context.Context, c *executor.Call, in *contract.GetInitiativeIn) (initiativeRow, authz.Resource, error) {
	row, err := loadInitiative(ctx, c, loadInitiativeSQL, in.InitiativeID)
	return row, row.resource(c.Tenant), err
}

func getInitiative(ctx context.Context, c *executor.Call, _ *contract.GetInitiativeIn, row initiativeRow) (*contract.InitiativeDetail, error) {
	return row.loadDetail(ctx, c)
}

func loadInitiativeToUpdate(ctx context.Context, c *executor.Call, in *contract.UpdateInitiativeIn) (initiativeRow, authz.Resource, error) {
	row, err := loadInitiative(ctx, c, lockInitiativeSQL, in.InitiativeID)
	return row, row.resource(c.Tenant), err
}

func (s *Service) updateInitiative(ctx context.Context, c *executor.Call, in *contract.UpdateInitiativeIn, old initiativeRow) (*contract.Initiative, error) {
	row := old
	changed, err := row.apply(in)
	if err != nil {
		return nil, err
	}
	if err := row.validate(); err != nil {
		return nil, err
	}
	if len(changed) == 0 {
		if err := authorizeUnchanged(ctx, c, contract.PermInitiativesRead, old.resource(c.Tenant)); err != nil {
			return nil, err
		}
		return old.toInitiative(), nil
	}
	// The caller needs the permission for the new classification and organisation, too.
	if row.Classification != old.Classification || idText(row.OrganisationID) != idText(old.OrganisationID) {
		if err := c.Decide(ctx, contract.PermInitiativeUpdate, row.resource(c.Tenant)); err != nil {
			return nil, err
		}
	}
	if slices.Contains(changed, "organisationId") && row.OrganisationID != nil {
		if err := s.checkOrganisation(ctx, c, *row.OrganisationID); err != nil {
			return nil, err
		}
	}
	row.UpdatedAt = c.Now
	if err := updateInitiativeRow(ctx, c, &row); err != nil {
		return nil, err
	}
	more := map[string]any{}
	if row.Status != old.Status {
		more["status"] = map[string]string{"from": old.Status, "to": row.Status}
	}
	if row.Classification != old.Classification {
		more["classification"] = map[string]string{"from": old.Classification, "to": row.Classification}
	}
	recordInitiative(c, &row, "initiative.updated", contract.EventInitiativeUpdated, changed, more)
	return row.toInitiative(), nil
}

// apply copies the fields that are set in the request and returns the names of those that
// changed.
func (r *initiativeRow) apply(in *contract.UpdateInitiativeIn) ([]string, error) {
	var p op.Patch
	op.SetTrimmed(&p, "name", &r.Name, in.Name)
	op.Set(&p, "status", &r.Status, in.Status)
	op.SetOrClear(&p, "description", &r.Description, in.Description)
	op.Set(&p, "startDate", &r.StartDate, in.StartDate)
	op.SetOptional(&p, "endDate", &r.EndDate, in.EndDate)
	op.Set(&p, "classification", &r.Classification, in.Classification)
	op.SetOptional(&p, "organisationId", &r.OrganisationID, in.OrganisationID)
	return p.Changed()
}

// validate checks the rules that the request's field tags cannot express.
func (r *initiativeRow) validate() error {
	if r.Name == "" {
		return fault.Validation("name", "The field name is required and cannot be blank.")
	}
	if r.EndDate != nil && *r.EndDate < r.StartDate {
		return initiativeConstraints()["initiatives_dates_in_order"]
	}
	return nil
}

func loadInitiativeToDelete(ctx context.Context, c *executor.Call, in *contract.DeleteInitiativeIn) (initiativeRow, authz.Resource, error) {
	row, err := loadInitiative(ctx, c, lockInitiativeSQL, in.InitiativeID)
	return row, row.resource(c.Tenant), err
}

// deleteInitiative deletes the initiative. Its projects and tagged epics stay: each
// loses its initiative and gets an audit entry and an event.
func deleteInitiative(ctx context.Context, c *executor.Call, _ *contract.DeleteInitiativeIn, row initiativeRow) (*op.None, error) {
	if err := authorizeCascade(ctx, c, "initiatives", row.ID); err != nil {
		return nil, err
	}
	projects, epics, err := detachInitiativeMembers(ctx, c, row.ID)
	if err != nil {
		return nil, err
	}
	tasks, err := loadTasks(ctx, c, epics)
	if err != nil {
		return nil, err
	}
	if err := deleteInitiativeRow(ctx, c, row.ID); err != nil {
		return nil, err
	}
	from := map[string]any{"initiative": map[string]any{"from": opaqueID(c.Tenant, row.ID), "to": nil}}
	for i := range projects {
		recordProject(c, &projects[i], []string{"initiativeId"}, from)
	}
	for _, id := range epics {
		recordTask(c, tasks[id], "task.updated", contract.EventTaskUpdated, []string{"initiativeId"}, from)
	}
	c.Record(executor.Change{
		Action: "initiative.deleted", Type: "initiative", ID: row.ID, Classification: row.Classification, Critical: true,
		Details: map[string]any{"projects": len(projects), "epics": len(epics)},
		Event:   contract.EventInitiativeDeleted, Payload: row.toInitiative(),
	})
	return &op.None{}, nil
}

// loadReadableInitiative reads and key-share locks the initiative that a project or an
// epic is added to. An initiative that the caller may not read returns the same error
// as one that does not exist.
func loadReadableInitiative(ctx context.Context, c *executor.Call, initiative op.UUID) (initiativeRow, error) {
	notFound := fault.Validation("initiativeId", "The initiative does not exist.")
	row, err := loadInitiative(ctx, c, keyShareInitiativeSQL, initiative)
	if fault.HasCode(err, fault.CodeNotFound) {
		return row, notFound
	}
	if err != nil {
		return row, err
	}
	if err := c.Decide(ctx, contract.PermInitiativesRead, row.resource(c.Tenant)); err != nil {
		return row, notFound.WithCause(err)
	}
	return row, nil
}

// authorizeJoinInitiative requires initiative.update to add a project to an
// initiative, because it changes the initiative's projects. A nil id is allowed.
func authorizeJoinInitiative(ctx context.Context, c *executor.Call, initiative *op.UUID) error {
	if initiative == nil {
		return nil
	}
	row, err := loadReadableInitiative(ctx, c, *initiative)
	if err != nil {
		return err
	}
	return c.Decide(ctx, contract.PermInitiativeUpdate, row.resource(c.Tenant))
}

// recordInitiativeProjects adds an audit entry and an event for each initiative that
// the project joined or left; nil ids are skipped. The entry has the initiative's
// classification and names the project by its opaque id. The project's own entry names
// the initiative in the same way. Both entries have the correlation id of the request.
func recordInitiativeProjects(ctx context.Context, c *executor.Call, project op.UUID, initiatives ...*op.UUID) error {
	for _, id := range initiatives {
		if id == nil {
			continue
		}
		row, err := loadInitiative(ctx, c, loadInitiativeSQL, *id)
		if err != nil {
			return err
		}
		c.Record(executor.Change{
			Action: "initiative.projects_changed", Type: "initiative", ID: row.ID, Classification: row.Classification,
			Fields: []string{"projects"}, Details: map[string]any{"project": opaqueID(c.Tenant, project)},
			Event: contract.EventInitiativeUpdated, Payload: row.toInitiative(),
		})
	}
	return nil
}

// setInitiative tags an epic with an initiative, or removes the tag if the id is nil.
func setInitiative(ctx context.Context, c *executor.Call, r *taskRow, initiative *op.UUID) error {
	r.InitiativeID = initiative
	if initiative == nil {
		return nil
	}
	if r.IssueType != contract.TypeEpic {
		return fault.Validation("initiativeId", "Only an epic can be tagged with an initiative.")
	}
	_, err := loadReadableInitiative(ctx, c, *initiative)
	return err
}

// recordInitiative adds the audit entry and the event of a change. The entry is
// critical if the classification changed.
func recordInitiative(c *executor.Call, r *initiativeRow, action string, event *op.EventType, changed []string, changes map[string]any) {
	if changed != nil {
		changes["fields"] = changed
	}
	c.Record(executor.Change{
		Action: action, Type: "initiative", ID: r.ID, Classification: r.Classification, Critical: slices.Contains(changed, "classification"),
		Fields: changed, Details: changes,
		Event: event, Payload: r.toInitiative(),
	})
}
