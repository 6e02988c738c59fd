package tracker

import (
	"context"
	"encoding/json"
	"slices"

	contract "parapet/internal/contract/tracker"
	"parapet/internal/events"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// Subscribers are those of the module.
func (s *Service) Subscribers() []events.Subscriber {
	return []events.Subscriber{{
		Name: "initiative-progress",
		Types: []string{
			contract.EventTaskCreated, contract.EventTaskUpdated, contract.EventTaskDeleted,
			contract.EventProjectUpdated, contract.EventInitiativeUpdated,
		},
		Handle: s.followProgress,
	}}
}

// progressChange is what an event says of the progress of initiatives: what it may have
// changed in one project, or in an initiative itself.
type progressChange struct {
	projects, initiatives []op.UUID
	// correlation is that of the latest event.
	correlation op.UUID
}

// read takes an event in. Most changes of a task are no progress.
func (m *progressChange) read(e *events.Event) {
	var payload struct {
		Resource struct {
			ID        op.UUID `json:"id"`
			ProjectID op.UUID `json:"projectId"`
		} `json:"resource"`
		Changed []string `json:"changed"`
	}
	if json.Unmarshal(e.Payload, &payload) != nil {
		return // of another form, and so not of this module
	}
	field := "status"
	switch e.Type {
	case contract.EventTaskCreated, contract.EventTaskDeleted:
		field = ""
	case contract.EventProjectUpdated:
		field = "customStatuses"
	case contract.EventInitiativeUpdated:
		field = "projects"
	}
	if field != "" && !slices.Contains(payload.Changed, field) {
		return
	}
	m.correlation = e.CorrelationID
	switch e.Type {
	case contract.EventInitiativeUpdated:
		m.initiatives = append(m.initiatives, payload.Resource.ID)
	case contract.EventProjectUpdated:
		m.projects = append(m.projects, payload.Resource.ID)
	default:
		m.projects = append(m.projects, payload.Resource.ProjectID)
	}
}

// followProgress works out anew how far the initiatives are that a batch of
// events touches, each once. Its effect is the module's own transaction in each
// tenant and not the batch's: it follows from the tasks as they are, so that to
// do it again changes and tells nothing.
func (s *Service) followProgress(ctx context.Context, _ postgres.Querier, list []events.Event) error {
	var tenants []op.UUID
	touched := map[op.UUID]*progressChange{}
	for i := range list {
		tenant := list[i].TenantID
		if touched[tenant] == nil {
			touched[tenant] = &progressChange{}
			tenants = append(tenants, tenant)
		}
		touched[tenant].read(&list[i])
	}
	for _, tenant := range tenants {
		m := touched[tenant]
		if len(m.projects) == 0 && len(m.initiatives) == 0 {
			continue
		}
		caused := op.WithRequest(ctx, op.Request{ID: string(m.correlation)})
		err := s.executor.RunAsSystem(caused, tenant, func(ctx context.Context, c *executor.Call) error { return updateProgress(ctx, c, m) })
		if err != nil {
			return err
		}
	}
	return nil
}

// The initiatives are held in one order and before anything is counted, so that
// what is counted last is what stays.
const lockMovedProjectsSQL = `
SELECT i.id FROM projects.initiatives i
WHERE i.tenant_id = @tenant
  AND (i.id = ANY(@initiatives::uuid[])
       OR i.id IN (SELECT p.initiative_id FROM projects.projects p WHERE p.tenant_id = @tenant AND p.id = ANY(@projects::uuid[])))
ORDER BY i.id FOR NO KEY UPDATE`

// The counts come from the index of statuses alone, project by project.
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

const setProgressSQL = `
UPDATE projects.initiatives i SET progress = @progress
WHERE i.tenant_id = @tenant AND i.id = @id AND i.progress <> @progress`

type progressCount struct {
	ID          op.UUID
	Done, Total int64
}

// percent is the share of done tasks, rounded down: nothing is whole before it is.
func (n progressCount) percent() int {
	if n.Total == 0 {
		return 0
	}
	return int(n.Done * 100 / n.Total)
}

// updateProgress counts the initiatives that were touched and tells those whose
// progress has changed, by the name of today and by the legacy one.
func updateProgress(ctx context.Context, c *executor.Call, m *progressChange) error {
	initiatives, projects := m.initiatives, m.projects
	slices.Sort(projects)
	ids, err := postgres.CollectScalars[op.UUID](ctx, c.DB, lockMovedProjectsSQL, postgres.Args{
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
		tag, err := c.DB.Exec(ctx, setProgressSQL, postgres.Args{"tenant": c.Tenant, "id": id, "progress": progress})
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
		c.Record(executor.AuditEntry{
			Action: "initiative.progress_updated", ResourceType: "initiative", ResourceID: string(id), Classification: row.Classification,
			Changes: map[string]any{"progress": progress},
		})
		for _, e := range []struct{ name, aggregate string }{
			{contract.EventInitiativeProgressUpdated, "initiative"}, {contract.EventProgrammeProgressUpdated, "programme"},
		} {
			c.Emit(executor.Event{Type: e.name, AggregateType: e.aggregate, AggregateID: id, Payload: row.initiative(), Changed: []string{"progress"}})
		}
	}
	return nil
}
