package tracker

import (
	"context"
	"fmt"
	"math"
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

func (s *Service) projectOperations() []op.Bound {
	return []op.Bound{
		list(s, contract.ListProjects, projectColumns, s.listProjects),
		handleReturning(s, contract.CreateProject, loadNewProject, s.createProject, loadReturnedProject),
		list(s, contract.FindProject, projectColumns, s.findProject),
		handle(s, contract.GetProject, loadProjectToRead, getProject),
		handle(s, contract.UpdateProject, loadProjectToUpdate, s.updateProject),
		handle(s, contract.DeleteProject, loadProjectToDelete, s.deleteProject),
	}
}

// createProjectHandler authorizes the new project in the organisation it will belong
// to.
func loadNewProject(_ context.Context, c *executor.Call, in *contract.CreateProjectIn) (op.UUID, authz.Resource, error) {
	organisation := in.OrganisationID
	if organisation == "" {
		organisation = c.Actor.Organisation
	}
	return organisation, authz.Resource{
		Type: "project", Tenant: string(c.Tenant), Organisation: string(organisation),
		Creator: string(c.Actor.UserID), Classification: in.Classification,
	}, nil
}

func loadReturnedProject(ctx context.Context, c *executor.Call, out *contract.Project) (authz.Resource, error) {
	row, err := loadProject(ctx, c, loadProjectSQL, out.ID)
	return row.resource(c.Tenant), err
}

func (s *Service) createProject(ctx context.Context, c *executor.Call, in *contract.CreateProjectIn, organisation op.UUID) (*contract.Project, error) {
	owner := in.OwnerID
	if owner == "" {
		owner = c.Actor.UserID
	}
	statuses := in.CustomStatuses
	if len(statuses) == 0 {
		statuses = contract.DefaultStatuses()
	}
	row := projectRow{
		projectSummaryRow: projectSummaryRow{
			ID: uid.New(), Name: strings.TrimSpace(in.Name), Status: contract.ProjectActive, Classification: in.Classification,
			Prefix: strings.ToUpper(in.Prefix), StartDate: in.StartDate, EndDate: postgres.NullIfZero(in.EndDate),
			OrganisationID: postgres.NullIfZero(organisation), OwnerID: &owner, InitiativeID: postgres.NullIfZero(in.InitiativeID),
			CreatedBy: c.Actor.UserID, CreatedAt: c.Now, UpdatedAt: c.Now,
		},
		Description: in.Description, IssuePrefix: customIssuePrefix(in.IssuePrefix), StoryPoints: in.StoryPointScale,
	}
	if len(row.StoryPoints) == 0 {
		row.StoryPoints = nil
	}
	row.setStatuses(statuses)
	if err := validateStatuses(statuses); err != nil {
		return nil, err
	}
	if err := row.validate(); err != nil {
		return nil, err
	}
	if in.OrganisationID != "" {
		if err := s.checkOrganisation(ctx, c, in.OrganisationID); err != nil {
			return nil, err
		}
	}
	if in.OwnerID != "" {
		if err := s.checkAssignable(ctx, c, "ownerId", in.OwnerID, row.Classification); err != nil {
			return nil, err
		}
	}
	if err := authorizeJoinInitiative(ctx, c, row.InitiativeID); err != nil {
		return nil, err
	}
	if err := insertWithFreePrefix(ctx, c, &row); err != nil {
		return nil, err
	}
	if err := insertStatusesAndCounter(ctx, c, &row); err != nil {
		return nil, err
	}
	c.Record(executor.Change{
		Action: "project.created", Type: "project", ID: row.ID, Classification: row.Classification,
		Details: map[string]any{"prefix": row.Prefix, "organisationId": organisation, "classification": row.Classification, "initiativeId": optionalOpaqueID(c.Tenant, row.InitiativeID)},
		Event:   contract.EventProjectCreated, Payload: row.toProjectForEvent(c.Tenant),
	})
	if err := recordInitiativeProjects(ctx, c, row.ID, row.InitiativeID); err != nil {
		return nil, err
	}
	return row.toProjectForCaller(ctx, c)
}

// prefixAttempts is the maximum number of derived prefixes that are tried.
const prefixAttempts = 1000

// insertWithFreePrefix inserts the project with the requested prefix, or with the
// first free prefix derived from its name.
func insertWithFreePrefix(ctx context.Context, c *executor.Call, row *projectRow) error {
	if row.Prefix != "" {
		free, err := insertProjectRow(ctx, c, row)
		if err == nil && !free {
			err = projectConstraints()["projects_prefix_once"]
		}
		return err
	}
	base := derivePrefix(row.Name)
	for n := 1; n <= prefixAttempts; n++ {
		row.Prefix = numberedPrefix(base, n)
		free, err := insertProjectRow(ctx, c, row)
		if err != nil || free {
			return err
		}
	}
	return fault.Conflict("No prefix derived from the name is free. Give a prefix in the request.")
}

func loadProjectToRead(ctx context.Context, c *executor.Call, in *contract.GetProjectIn) (projectRow, authz.Resource, error) {
	row, err := loadProject(ctx, c, loadProjectSQL, in.ProjectID)
	return row, row.resource(c.Tenant), err
}

func getProject(ctx context.Context, c *executor.Call, _ *contract.GetProjectIn, row projectRow) (*contract.Project, error) {
	return row.toProjectForCaller(ctx, c)
}

func loadProjectToUpdate(ctx context.Context, c *executor.Call, in *contract.UpdateProjectIn) (projectRow, authz.Resource, error) {
	row, err := loadProject(ctx, c, lockProjectSQL, in.ProjectID)
	return row, row.resource(c.Tenant), err
}

func (s *Service) updateProject(ctx context.Context, c *executor.Call, in *contract.UpdateProjectIn, old projectRow) (*contract.Project, error) {
	row := old
	changed, renames, err := row.apply(in)
	if err != nil {
		return nil, err
	}
	if err := row.validate(); err != nil {
		return nil, err
	}
	if len(renames) > 0 && !slices.Contains(changed, "customStatuses") {
		// customStatuses that undo the renames look unchanged, but the rows have been renamed.
		changed = append(changed, "customStatuses")
	}
	if len(changed) == 0 {
		if err := authorizeUnchanged(ctx, c, contract.PermProjectsRead, old.resource(c.Tenant)); err != nil {
			return nil, err
		}
		return old.toProjectForCaller(ctx, c)
	}
	// The caller needs the permission for the new classification and organisation, too, and
	// cannot move the project out of its own access.
	if row.Classification != old.Classification || idText(row.OrganisationID) != idText(old.OrganisationID) {
		if err := c.Decide(ctx, contract.PermProjectUpdate, row.resource(c.Tenant)); err != nil {
			return nil, err
		}
	}
	if slices.Contains(changed, "organisationId") && row.OrganisationID != nil {
		if err := s.checkOrganisation(ctx, c, *row.OrganisationID); err != nil {
			return nil, err
		}
	}
	if slices.Contains(changed, "ownerId") && row.OwnerID != nil {
		if err := s.checkAssignable(ctx, c, "ownerId", *row.OwnerID, row.Classification); err != nil {
			return nil, err
		}
	}
	initiativeChanged := slices.Contains(changed, "initiativeId")
	if initiativeChanged {
		if err := authorizeJoinInitiative(ctx, c, row.InitiativeID); err != nil {
			return nil, err
		}
	}
	row.UpdatedAt = c.Now
	if err := updateProjectRow(ctx, c, &row); err != nil {
		return nil, err
	}
	if slices.Contains(changed, "customStatuses") {
		if err := renameStatuses(ctx, c, row.ID, renames); err != nil {
			return nil, err
		}
		if err := replaceStatuses(ctx, c, row.ID, applyRenames(old.statuses(), renames), row.statuses(), renames); err != nil {
			return nil, err
		}
	}
	more := map[string]any{}
	if row.Classification != old.Classification {
		more["classification"] = map[string]string{"from": old.Classification, "to": row.Classification}
	}
	if initiativeChanged {
		more["initiative"] = map[string]*op.UUID{"from": optionalOpaqueID(c.Tenant, old.InitiativeID), "to": optionalOpaqueID(c.Tenant, row.InitiativeID)}
	}
	recordProject(c, &row, changed, more)
	if initiativeChanged {
		if err := recordInitiativeProjects(ctx, c, row.ID, old.InitiativeID, row.InitiativeID); err != nil {
			return nil, err
		}
	}
	return row.toProjectForCaller(ctx, c)
}

// recordProject adds the audit entry and the event of an update. The entry is critical
// if the classification changed.
func recordProject(c *executor.Call, r *projectRow, changed []string, more map[string]any) {
	changes := map[string]any{"fields": changed}
	for name, v := range more {
		changes[name] = v
	}
	c.Record(executor.Change{
		Action: "project.updated", Type: "project", ID: r.ID, Classification: r.Classification, Critical: slices.Contains(changed, "classification"),
		Fields: changed, Details: changes,
		Event: contract.EventProjectUpdated, Payload: r.toProjectForEvent(c.Tenant),
	})
}

// apply copies the fields that are set in the request. It returns the names of the fields
// that changed and the status renames that tasks must follow.
func (r *projectRow) apply(in *contract.UpdateProjectIn) (changed []string, renames []contract.StatusRename, err error) {
	var p op.Patch
	op.SetTrimmed(&p, "name", &r.Name, in.Name)
	op.Set(&p, "status", &r.Status, in.Status)
	op.SetOrClear(&p, "description", &r.Description, in.Description)
	op.Set(&p, "startDate", &r.StartDate, in.StartDate)
	op.SetOptional(&p, "endDate", &r.EndDate, in.EndDate)
	op.Set(&p, "prefix", &r.Prefix, in.Prefix)
	r.Prefix = strings.ToUpper(r.Prefix)
	op.Watch(&p, "issuePrefix", &r.IssuePrefix)
	if in.IssuePrefix.Set {
		r.IssuePrefix = customIssuePrefix(in.IssuePrefix.Value)
	}
	op.Set(&p, "classification", &r.Classification, in.Classification)
	op.SetOptional(&p, "organisationId", &r.OrganisationID, in.OrganisationID)
	op.SetOptional(&p, "ownerId", &r.OwnerID, in.OwnerID)
	op.SetOptional(&p, "initiativeId", &r.InitiativeID, in.InitiativeID)
	statuses := r.statuses()
	if renames, err = validateRenames(statuses, in.RenameStatuses); err != nil {
		return nil, nil, err
	}
	op.Set(&p, "customStatuses", &statuses, in.CustomStatuses)
	if in.CustomStatuses.Set && !in.CustomStatuses.Null {
		if err := validateStatuses(statuses); err != nil {
			return nil, nil, err
		}
	} else {
		statuses = applyRenames(statuses, renames)
	}
	r.setStatuses(statuses)
	op.SetOrClear(&p, "storyPointScale", &r.StoryPoints, in.StoryPointScale)
	if len(r.StoryPoints) == 0 {
		r.StoryPoints = nil
	}
	changed, err = p.Changed()
	return changed, renames, err
}

// validate checks the rules that the request's field tags cannot express.
func (r *projectRow) validate() error {
	if r.Name == "" {
		return fault.Validation("name", "The field name is required and cannot be blank.")
	}
	if r.EndDate != nil && *r.EndDate < r.StartDate {
		return fault.Validation("endDate", "endDate cannot be before startDate.")
	}
	seen := map[float64]bool{}
	for i, p := range r.StoryPoints {
		if math.IsNaN(p) || p < 0 || p > maxPoints || seen[p] {
			return fault.Validation(fmt.Sprintf("storyPointScale.%d", i), fmt.Sprintf("The values of the scale must be distinct numbers from 0 to %d.", maxPoints))
		}
		seen[p] = true
	}
	return nil
}

// maxPoints is the maximum value in a story-point scale.
const maxPoints = 10000

func (r *projectRow) setStatuses(statuses []contract.Status) {
	r.StatusNames, r.StatusCategories = nil, nil
	for _, s := range statuses {
		r.StatusNames = append(r.StatusNames, s.Name)
		r.StatusCategories = append(r.StatusCategories, s.Category)
	}
}

// customIssuePrefix returns the issue prefix in upper case, or nil for the default
// prefix, which all projects of the tenant share.
func customIssuePrefix(given string) *string {
	given = strings.ToUpper(given)
	if given == contract.DefaultIssuePrefix {
		return nil
	}
	return postgres.NullIfZero(given)
}

func (s *Service) checkOrganisation(ctx context.Context, c *executor.Call, organisation op.UUID) error {
	exists, err := s.directory.OrganisationExists(ctx, c.Tenant, organisation)
	if err == nil && !exists {
		err = fault.Validation("organisationId", "The organisation does not exist in the tenant.")
	}
	return err
}
