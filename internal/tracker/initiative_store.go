package tracker

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/executor"
	"parapet/internal/fault"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// initiativeType maps policy attributes to the columns of alias i. An initiative
// belongs to no project, so roles granted in a project do not apply to it.
var initiativeType = authz.NewRecordType("initiative", authz.Attributes[initiativeRow]{
	Tenant:         authz.TenantColumn[initiativeRow]("i.tenant_id"),
	ID:             authz.NewAttribute("i.id", func(r *initiativeRow) string { return string(r.ID) }),
	Organisation:   authz.NewAttribute("i.organisation_id", func(r *initiativeRow) string { return idText(r.OrganisationID) }),
	Creator:        authz.NewAttribute("i.created_by", func(r *initiativeRow) string { return string(r.CreatedBy) }),
	Classification: authz.NewAttribute("i.classification", func(r *initiativeRow) string { return r.Classification }),
})

var initiativeColumns = initiativeType.Columns()

func initiativeConstraints() postgres.Constraints {
	return postgres.Constraints{
		"initiatives_dates_in_order": fault.Validation("endDate", "endDate cannot be before startDate."),
		"projects_initiative":        fault.Conflict("A project was added to the initiative concurrently. Try again."),
		"tasks_initiative":           fault.Conflict("An epic was tagged with the initiative concurrently. Try again."),
	}
}

type initiativeRow struct {
	ID             op.UUID
	Name           string
	Description    string
	Status         string
	StartDate      op.Date
	EndDate        *op.Date
	Classification string
	OrganisationID *op.UUID
	Progress       int
	CreatedBy      op.UUID
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

const initiativeSelect = `
SELECT i.id, i.name, i.description, i.status, i.start_date::text AS start_date, i.end_date::text AS end_date, i.classification,
       i.organisation_id, i.progress, i.created_by, i.created_at, i.updated_at`

const loadInitiativeSQL = initiativeSelect + `
FROM projects.initiatives i
WHERE i.tenant_id = @tenant AND i.id = @initiative`

// A change of an initiative locks its row FOR UPDATE. Adding a project or an epic locks it
// FOR KEY SHARE, which prevents its deletion.
const (
	lockInitiativeSQL     = loadInitiativeSQL + ` FOR UPDATE OF i`
	keyShareInitiativeSQL = loadInitiativeSQL + ` FOR KEY SHARE OF i`
)

// loadInitiative reads an initiative with one of the three statements above.
func loadInitiative(ctx context.Context, c *executor.Call, sql string, initiative op.UUID) (initiativeRow, error) {
	row, err := postgres.One[initiativeRow](ctx, c.DB, sql, postgres.Args{"tenant": c.Tenant, "initiative": initiative})
	if postgres.IsNoRows(err) {
		return row, fault.NotFound("initiative")
	}
	return row, err
}

// lockInitiativeResource locks an initiative against deletion and returns its policy input.
func lockInitiativeResource(ctx context.Context, c *executor.Call, id op.UUID) (authz.Resource, error) {
	row, err := loadInitiative(ctx, c, keyShareInitiativeSQL, id)
	return row.resource(c.Tenant), err
}

// resource converts the initiative to policy input.
func (r *initiativeRow) resource(tenant op.UUID) authz.Resource {
	return initiativeType.Resource(string(tenant), r)
}

func (r *initiativeRow) toInitiative() *contract.Initiative {
	return &contract.Initiative{
		ID: r.ID, Name: r.Name, Description: r.Description, Status: r.Status, StartDate: r.StartDate, EndDate: postgres.ValueOrZero(r.EndDate),
		Classification: r.Classification, OrganisationID: postgres.ValueOrZero(r.OrganisationID), Progress: r.Progress,
		CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

const insertInitiativeSQL = `
INSERT INTO projects.initiatives (tenant_id, id, name, description, status, start_date, end_date, classification, organisation_id,
                                  created_by, created_at, updated_at)
VALUES (@tenant, @id, @name, @description, @status, @start, @end, @classification, @organisation, @creator, @now, @now)`

func insertInitiativeRow(ctx context.Context, c *executor.Call, r *initiativeRow) error {
	args := r.args(c)
	args["creator"] = r.CreatedBy
	_, err := c.DB.Exec(ctx, insertInitiativeSQL, args)
	return postgres.MapError(err, initiativeConstraints())
}

const updateInitiativeSQL = `
UPDATE projects.initiatives i
SET name = @name, description = @description, status = @status, start_date = @start, end_date = @end,
    classification = @classification, organisation_id = @organisation, updated_at = @now
WHERE i.tenant_id = @tenant AND i.id = @id`

func updateInitiativeRow(ctx context.Context, c *executor.Call, r *initiativeRow) error {
	_, err := c.DB.Exec(ctx, updateInitiativeSQL, r.args(c))
	return postgres.MapError(err, initiativeConstraints())
}

func (r *initiativeRow) args(c *executor.Call) postgres.Args {
	return postgres.Args{
		"tenant": c.Tenant, "id": r.ID, "name": r.Name, "description": r.Description, "status": r.Status, "start": r.StartDate,
		"end": r.EndDate, "classification": r.Classification, "organisation": r.OrganisationID, "now": c.Now,
	}
}

// Lock the projects and epics of an initiative. The caller has locked the initiative, so no
// project or epic can be added in the meantime.
const (
	projectsOfInitiativeSQL = `
SELECT p.id FROM projects.projects p
WHERE p.tenant_id = @tenant AND p.initiative_id = @initiative
ORDER BY p.id FOR NO KEY UPDATE`

	epicsOfInitiativeSQL = `
SELECT t.id FROM projects.tasks t
WHERE t.tenant_id = @tenant AND t.initiative_id = @initiative
ORDER BY t.id FOR NO KEY UPDATE`

	detachProjectsSQL = `
UPDATE projects.projects p SET initiative_id = NULL, updated_at = @now
WHERE p.tenant_id = @tenant AND p.id = ANY(@ids::uuid[])`

	detachEpicsSQL = `
UPDATE projects.tasks t SET initiative_id = NULL, updated_at = @now
WHERE t.tenant_id = @tenant AND t.id = ANY(@ids::uuid[])`

	projectsByIDsSQL = projectSelect + `
FROM projects.projects p
WHERE p.tenant_id = @tenant AND p.id = ANY(@ids::uuid[])
ORDER BY p.id`

	deleteInitiativeSQL = `DELETE FROM projects.initiatives i WHERE i.tenant_id = @tenant AND i.id = @initiative`
)

// detachInitiativeMembers removes all projects and epics from the initiative. It
// returns the updated projects and the ids of the epics.
func detachInitiativeMembers(ctx context.Context, c *executor.Call, initiative op.UUID) ([]projectRow, []op.UUID, error) {
	of := postgres.Args{"tenant": c.Tenant, "initiative": initiative}
	projects, err := postgres.CollectScalars[op.UUID](ctx, c.DB, projectsOfInitiativeSQL, of)
	if err != nil {
		return nil, nil, err
	}
	epics, err := postgres.CollectScalars[op.UUID](ctx, c.DB, epicsOfInitiativeSQL, of)
	if err != nil {
		return nil, nil, err
	}
	batch := &pgx.Batch{}
	batch.Queue(detachProjectsSQL, postgres.Args{"tenant": c.Tenant, "ids": projects, "now": c.Now})
	batch.Queue(detachEpicsSQL, postgres.Args{"tenant": c.Tenant, "ids": epics, "now": c.Now})
	if err := c.Tx.SendBatch(ctx, batch).Close(); err != nil {
		return nil, nil, err
	}
	rows, err := postgres.Collect[projectRow](ctx, c.DB, projectsByIDsSQL, postgres.Args{"tenant": c.Tenant, "ids": projects})
	return rows, epics, err
}

func deleteInitiativeRow(ctx context.Context, c *executor.Call, initiative op.UUID) error {
	_, err := c.DB.Exec(ctx, deleteInitiativeSQL, postgres.Args{"tenant": c.Tenant, "initiative": initiative})
	return postgres.MapError(err, initiativeConstraints())
}
