package tracker

import (
	"context"
	"fmt"
	"strings"

	"parapet/internal/agentrun"
	"parapet/internal/authz"
	contract "parapet/internal/contract/tracker"
	"parapet/internal/delegation"
	"parapet/internal/executor"
	"parapet/internal/op"
	"parapet/internal/postgres"
)

// RecordsIn selects a record type and the permission to decide about.
type RecordsIn struct {
	Type       string `query:"type" doc:"The type."`
	Permission string `query:"permission" doc:"The permission."`
}

// Records holds the ids of all rows of a type, of those that the policy filter selects, and of
// those that a decision on each loaded row allows.
type Records struct{ All, Filtered, Decided []op.UUID }

var probeRecords = op.New[RecordsIn, Records](op.Spec{
	Name: "probe-records", Module: contract.Module, Method: "GET", Path: "/probe", Permission: contract.PermTasksRead, Effect: op.Read, Summary: "For tests.",
})

// ProbeRecords binds an operation for tests. For the caller, it compares the policy
// filter of a record type with the decisions on its loaded rows.
func (s *Service) ProbeRecords() op.Bound {
	return executor.CustomDecision(s.executor, probeRecords, func(ctx context.Context, c *executor.Call, in *RecordsIn) (*Records, error) {
		probe, ok := recordProbes[in.Type]
		if !ok {
			return nil, fmt.Errorf("no type %q", in.Type)
		}
		return probe(ctx, c, in.Permission)
	})
}

type recordProbe func(ctx context.Context, c *executor.Call, permission string) (*Records, error)

// probeOf returns a probe for a type. sql selects its rows and ends in a WHERE clause.
func probeOf[Row any](t *authz.RecordType[Row], sql string, id func(*Row) op.UUID) recordProbe {
	return func(ctx context.Context, c *executor.Call, permission string) (*Records, error) {
		rows, err := postgres.Collect[Row](ctx, c.DB, sql, postgres.Args{"tenant": c.Tenant})
		if err != nil {
			return nil, err
		}
		out := &Records{}
		for i := range rows {
			out.All = append(out.All, id(&rows[i]))
			if c.Decide(ctx, permission, t.Resource(string(c.Tenant), &rows[i])) == nil {
				out.Decided = append(out.Decided, id(&rows[i]))
			}
		}
		f, err := c.Filter(ctx, permission, t.Columns())
		if err != nil {
			return nil, err
		}
		args := postgres.Args{"tenant": c.Tenant}
		f.AddTo(args)
		rows, err = postgres.Collect[Row](ctx, c.DB, sql+" AND "+f.SQL(), args)
		for i := range rows {
			out.Filtered = append(out.Filtered, id(&rows[i]))
		}
		return out, err
	}
}

var recordProbes = map[string]recordProbe{
	"project": probeOf(projectType, projectSelect+`
FROM projects.projects p
WHERE p.tenant_id = @tenant`, func(r *projectRow) op.UUID { return r.ID }),
	"initiative": probeOf(initiativeType, initiativeSelect+`
FROM projects.initiatives i
WHERE i.tenant_id = @tenant`, func(r *initiativeRow) op.UUID { return r.ID }),
	"task":  probeOf(taskType, taskSelect, func(r *taskRow) op.UUID { return r.ID }),
	"issue": probeOf(issueType, issueSelect, func(r *issueRow) op.UUID { return r.ID }),
	"run":   probeOf(agentrun.Type, agentrun.Select, func(r *agentrun.Row) op.UUID { return r.ID }),
	"deliverable": probeOf(deliverableType, strings.Replace(deliverableSelect, "AND p.id = @project AND d.project_id = @project", "", 1),
		func(r *deliverableRow) op.UUID { return r.ID }),
	"comment": probeOf(commentType, commentSelect+`
FROM projects.comments m
JOIN projects.projects p ON p.tenant_id = @tenant AND p.id = m.project_id
WHERE m.tenant_id = @tenant`, func(r *commentRow) op.UUID { return r.ID }),
	"time entry": probeOf(timeEntryType, timeEntrySelect+`
FROM projects.time_entries e
JOIN projects.projects p ON p.tenant_id = @tenant AND p.id = e.project_id
WHERE e.tenant_id = @tenant`, func(r *timeEntryRow) op.UUID { return r.ID }),
	"delegation": probeOf(delegation.Type, delegation.Select+"@tenant", func(r *delegation.Row) op.UUID { return r.ID }),
	"criterion":  probeCriteria,
}

// probeCriteria is the probe for criteria, which are decided with their deliverable or
// task.
func probeCriteria(ctx context.Context, c *executor.Call, permission string) (*Records, error) {
	const from = criterionSelect + `
JOIN projects.projects p ON p.tenant_id = k.tenant_id AND p.id = k.project_id
LEFT JOIN projects.deliverables d ON d.tenant_id = k.tenant_id AND d.id = k.deliverable_id
LEFT JOIN projects.tasks t ON t.tenant_id = k.tenant_id AND t.id = k.task_id
WHERE k.tenant_id = @tenant`
	rows, err := postgres.Collect[criterionRow](ctx, c.DB, from, postgres.Args{"tenant": c.Tenant})
	if err != nil {
		return nil, err
	}
	out := &Records{}
	for _, r := range rows {
		o := &criterionWithParent{criterion: r}
		if r.DeliverableID != nil {
			d, err := loadDeliverable(ctx, c, r.ProjectID, *r.DeliverableID, false)
			if err != nil {
				return nil, err
			}
			o.deliverable = &d
		} else {
			t, err := loadTask(ctx, c, r.ProjectID, string(*r.TaskID), false)
			if err != nil {
				return nil, err
			}
			o.task = &t
		}
		out.All = append(out.All, r.ID)
		if c.Decide(ctx, permission, o.resource(c.Tenant)) == nil {
			out.Decided = append(out.Decided, r.ID)
		}
	}
	f, err := c.Filter(ctx, permission, criterionColumns)
	if err != nil {
		return nil, err
	}
	args := postgres.Args{"tenant": c.Tenant}
	f.AddTo(args)
	rows, err = postgres.Collect[criterionRow](ctx, c.DB, from+" AND "+f.SQL(), args)
	for _, r := range rows {
		out.Filtered = append(out.Filtered, r.ID)
	}
	return out, err
}
