package tracker

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/events"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// Subscribers returns the module's event subscribers.
func (s *Service) Subscribers() []events.Subscriber {
	return []events.Subscriber{{
		Name: "initiative-progress",
		Types: []string{
			contract.EventTaskCreated.Name, contract.EventTaskUpdated.Name, contract.EventTaskDeleted.Name,
			contract.EventProjectUpdated.Name, contract.EventInitiativeUpdated.Name,
		},
		Handle: s.handleProgressEvents,
	}}
}

// progressChange lists the projects and initiatives of one tenant whose progress may
// have changed, collected from events.
type progressChange struct {
	projects, initiatives []op.UUID
	// correlationID is the correlation id of the latest such event.
	correlationID op.UUID
}

// addEvent adds the project or the initiative of an event. It ignores events that
// cannot change progress, such as a new task title.
func (m *progressChange) addEvent(e *events.Event) {
	var payload struct {
		Resource struct {
			ID        op.UUID `json:"id"`
			ProjectID op.UUID `json:"projectId"`
		} `json:"resource"`
		Changed []string `json:"changed"`
	}
	if json.Unmarshal(e.Payload, &payload) != nil {
		return // not an event of this module
	}
	field := "status"
	switch e.Type {
	case contract.EventTaskCreated.Name, contract.EventTaskDeleted.Name:
		field = ""
	case contract.EventProjectUpdated.Name:
		field = "customStatuses"
	case contract.EventInitiativeUpdated.Name:
		field = "projects"
	}
	if field != "" && !slices.Contains(payload.Changed, field) {
		return
	}
	m.correlationID = e.CorrelationID
	switch e.Type {
	case contract.EventInitiativeUpdated.Name:
		m.initiatives = append(m.initiatives, payload.Resource.ID)
	case contract.EventProjectUpdated.Name:
		m.projects = append(m.projects, payload.Resource.ID)
	default:
		m.projects = append(m.projects, payload.Resource.ProjectID)
	}
}

// handleProgressEvents recalculates the progress of the initiatives that a batch of
// events affects, once per initiative. It uses one transaction per tenant instead of
// the batch's transaction. It counts the stored tasks, so handling an event again
// changes nothing and emits no event.
func (s *Service) handleProgressEvents(ctx context.Context, _ pgx.Tx, list []events.Event) error {
	var tenants []op.UUID
	changes := map[op.UUID]*progressChange{}
	for i := range list {
		tenant := list[i].TenantID
		if changes[tenant] == nil {
			changes[tenant] = &progressChange{}
			tenants = append(tenants, tenant)
		}
		changes[tenant].addEvent(&list[i])
	}
	for _, tenant := range tenants {
		m := changes[tenant]
		if len(m.projects) == 0 && len(m.initiatives) == 0 {
			continue
		}
		requestCtx := op.WithRequest(ctx, op.Request{ID: string(m.correlationID)})
		err := s.executor.RunAsSystem(requestCtx, tenant, func(ctx context.Context, c *executor.Call) error { return updateProgress(ctx, c, m) })
		if err != nil {
			return err
		}
	}
	return nil
}

// Locks the initiatives in id order before the tasks are counted, so that the result
// of the latest count is stored.
const lockChangedInitiativesSQL = `
SELECT i.id FROM projects.initiatives i
WHERE i.tenant_id = @tenant
  AND (i.id = ANY(@initiatives::uuid[])
       OR i.id IN (SELECT p.initiative_id FROM projects.projects p WHERE p.tenant_id = @tenant AND p.id = ANY(@projects::uuid[])))
ORDER BY i.id FOR NO KEY UPDATE`

// Counts tasks per status with an index-only scan for each project.
const countProgressSQL = `
SELECT p.initiative_id AS id,
       coalesce(sum(n.tasks) FILTER (WHERE s.category = 'DONE'), 0)::bigint AS done,
       coalesce(sum(n.tasks) FILTER (WHERE s.category <> 'CANCELLED'), 0)::bigint AS total
FROM projects.projects p
JOIN projects.statuses s ON s.tenant_id = @tenant AND s.project_id = p.id
CROSS JOIN LATERAL (SELECT count(*) AS tasks FROM projects.tasks t
                    WHERE t.tenant_id = @tenant AND t.project_id = p.id AND t.status = s.name) n
WHERE p.tenant_id = @tenant AND p.initiative_id = ANY(@ids::uuid[])
GROUP BY p.initiative_id`

const updateProgressSQL = `
UPDATE projects.initiatives i SET progress = @progress
WHERE i.tenant_id = @tenant AND i.id = @id AND i.progress <> @progress`

type progressCount struct {
	ID          op.UUID
	Done, Total int64
}

// percent returns the share of done tasks, rounded down, so that 100 means that all
// are done.
func (n progressCount) percent() int {
	if n.Total == 0 {
		return 0
	}
	return int(n.Done * 100 / n.Total)
}

// updateProgress recalculates the affected initiatives. For each one whose progress
// changed it emits the current event and the legacy programme event.
func updateProgress(ctx context.Context, c *executor.Call, m *progressChange) error {
	initiatives, projects := m.initiatives, m.projects
	slices.Sort(projects)
	ids, err := postgres.CollectScalars[op.UUID](ctx, c.DB, lockChangedInitiativesSQL, postgres.Args{
		"tenant": c.Tenant, "initiatives": initiatives, "projects": slices.Compact(projects),
	})
	if err != nil || len(ids) == 0 {
		return err
	}
	rows, err := postgres.Collect[progressCount](ctx, c.DB, countProgressSQL, postgres.Args{"tenant": c.Tenant, "ids": ids})
	if err != nil {
		return err
	}
	counts := map[op.UUID]progressCount{}
	for _, n := range rows {
		counts[n.ID] = n
	}
	for _, id := range ids {
		progress := counts[id].percent()
		tag, err := c.DB.Exec(ctx, updateProgressSQL, postgres.Args{"tenant": c.Tenant, "id": id, "progress": progress})
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			continue
		}
		row, err := loadInitiative(ctx, c, loadInitiativeSQL, id)
		if err != nil {
			return err
		}
		c.Record(executor.Change{
			Action: "initiative.progress_updated", Type: "initiative", ID: id, Classification: row.Classification,
			Details: map[string]any{"progress": progress},
			Event:   contract.EventInitiativeProgressUpdated, Payload: row.toInitiative(), Fields: []string{"progress"},
		})
		c.Record(executor.Change{
			Type: "programme", ID: id, Event: contract.EventProgrammeProgressUpdated, Payload: row.toInitiative(), Fields: []string{"progress"},
		})
	}
	return nil
}
